//! From the configuration of the Keepa pack to what its provider needs.
//!
//! Invariant: the key is read when a question is asked, and kept nowhere.

mod evaluate;

use std::{path::PathBuf, sync::Arc};

use serde_json::json;
use tollgate_providers::{
    browser,
    keepa::{Evaluator, Painter, Settings},
};

pub(crate) use evaluate::{EvaluateError, Verdict, evaluate};

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
        working_dir: Some(environment.current_dir.clone()),
        reads_working_dir: config.keepa.read_working_dir,
        cache_ttl: from.cache_ttl,
        evaluator: (!from.is_evaluation).then(|| evaluator(config, environment)),
        painter: Some(painter(config, environment)),
        ..Settings::default()
    }
}

/// Draws charts with the browser, which is started for each of them.
fn painter(config: &Config, environment: &Environment) -> Painter {
    let settings = config.browser.settings(&config.state.dir, environment);
    let settings = Arc::new(settings);
    Arc::new(move |chart| {
        let settings = Arc::clone(&settings);
        Box::pin(
            async move { browser::paint(&settings, &chart.svg, chart.width, chart.height).await },
        )
    })
}

/// Runs specs for a command that asks for it: in a gate of its own, on a thread that may wait.
fn evaluator(config: &Config, environment: &Environment) -> Evaluator {
    let (config, environment) = (config.clone(), environment.clone());
    Arc::new(move |folder: PathBuf, samples: PathBuf| {
        let (config, environment) = (config.clone(), environment.clone());
        Box::pin(async move {
            let ran = evaluate(&folder, Some(&samples), "", &config, &environment).await;
            let verdicts = ran.map_err(|error| error.to_string())?;
            let failed: Vec<_> = verdicts
                .iter()
                .filter(|one| one.fails())
                .map(|one| json!({"id": one.id, "failures": one.failures}))
                .collect();
            let checked: Vec<_> = verdicts
                .iter()
                .filter(|one| one.failures.is_some())
                .map(|one| one.id.as_str())
                .collect();
            Ok(json!({
                "ok": failed.is_empty(),
                "count": checked.len(),
                "checked_specs": checked,
                "failed": failed,
            }))
        })
    })
}
