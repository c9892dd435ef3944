//! Resolves which documents can be edited.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use tollgate_providers::docs::Settings;

use super::{
    error::ConfigError, keys::docs::RawDocs, load::Layers, resolve::size, serving::check_roots,
};

/// Documents that can be edited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Docs {
    /// Folders by name.
    pub roots: BTreeMap<String, PathBuf>,
    /// The largest file.
    pub file_bytes: usize,
    /// How long a proposed edit waits.
    pub proposal_ttl: Duration,
    /// How long the version before an edit is kept.
    pub keep: Duration,
}

pub(super) fn docs(raw: RawDocs, layers: &mut Layers, errors: &mut Vec<ConfigError>) -> Docs {
    check_roots("docs", &raw.roots, layers, errors);
    Docs {
        roots: raw.roots,
        file_bytes: size(raw.file_bytes),
        proposal_ttl: Duration::from_secs(raw.proposal_ttl_seconds),
        keep: Duration::from_secs(raw.keep_seconds),
    }
}

impl Docs {
    /// As the provider wants it.
    pub fn settings(&self) -> Settings {
        Settings {
            roots: self.roots.clone(),
            file_bytes: self.file_bytes,
            proposal_ttl: self.proposal_ttl,
            keep: self.keep,
            ..Settings::default()
        }
    }
}
