//! Keys of the Keepa pack.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::SecretRef;

/// Amazon product research with Keepa.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawKeepa {
    /// Where the key is to be found, `env:NAME` or `file:PATH`. Without it only samples and dry
    /// runs work.
    pub key: Option<SecretRef>,
    /// Where Keepa answers.
    #[schemars(extend("format" = "http-address"))]
    pub base_url: String,
    /// Folders with samples, searched before those that come along.
    #[schemars(extend("items" = folder()))]
    pub fixture_dirs: Vec<PathBuf>,
    /// The folder of evidence, with its `manifest.csv`.
    #[schemars(extend("format" = "path"))]
    pub evidence_dir: Option<PathBuf>,
    /// A folder of Markdown pages served as the handbook. Without it: Tollgate's own pages.
    #[schemars(extend("format" = "path"))]
    pub wiki_dir: Option<PathBuf>,
    /// The two folders that promoting a recording writes to.
    #[schemars(extend("items" = folder()))]
    pub promote_dirs: Vec<PathBuf>,
    /// Whether agents may name files below the folder that Tollgate was started in. Without it they read only the
    /// folders above and what their session wrote.
    pub read_working_dir: bool,
    /// For how long an answer of Keepa's is used again, in seconds; 0 is never.
    #[schemars(range(max = 31_536_000))]
    pub cache_ttl_seconds: u64,
}

fn folder() -> Value {
    json!({"type": "string", "format": "path"})
}
