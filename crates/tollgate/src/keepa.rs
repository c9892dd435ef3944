//! From the configuration of the Keepa pack to what its provider needs.
//!
//! Invariant: the key is read when a question is asked, and kept nowhere.

use std::sync::Arc;

use tollgate_providers::keepa::Settings;

use crate::{
    config::{Config, Environment},
    pages::PAGES,
};

/// Everything the provider needs.
pub(crate) fn settings(config: &Config, environment: &Environment) -> Settings {
    let from = &config.keepa;
    let key = from
        .key
        .clone()
        .map(|reference| -> tollgate_providers::keepa::KeySource {
            let environment = environment.clone();
            Arc::new(move || reference.read(&environment).ok())
        });
    let pages = PAGES
        .iter()
        .map(|page| (format!("{}.md", page.name), page.text));
    Settings {
        key,
        base_url: from.base_url.clone(),
        fixture_dirs: from.fixture_dirs.clone(),
        evidence_dir: from.evidence_dir.clone(),
        wiki_dir: from.wiki_dir.clone(),
        pages: pages.collect(),
        promote_dirs: from.promote_dirs.clone(),
        output_dir: config.state.dir.join("keepa"),
        cache_ttl: from.cache_ttl,
        ..Settings::default()
    }
}
