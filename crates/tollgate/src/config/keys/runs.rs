//! The keys of task runs.
//!
//! An untrusted project may make limits smaller and nothing else: which templates there are
//! is the user's alone, for they say which tools are called with what.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Runs of task templates.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRuns {
    /// Folders of templates (YAML or JSON), beside `templates` in the user's configuration folder.
    #[schemars(extend("items" = folder()))]
    pub templates: Vec<PathBuf>,
    /// Where the files that runs leave behind are kept; `artifacts` in the state folder if unset.
    #[schemars(extend("format" = "path"))]
    pub artifacts: Option<PathBuf>,
    /// How many runs are under way at once, in all processes together.
    #[schemars(range(min = 1, max = 1024), extend("x-untrusted" = "lower"))]
    pub max_concurrent: u32,
    /// How many runs may wait or be under way; one more is refused as `overloaded`.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-untrusted" = "lower"))]
    pub max_queued: u64,
    /// The longest any run may take, in seconds, whatever its template allows.
    #[schemars(range(min = 1, max = 86_400), extend("x-untrusted" = "lower"))]
    pub max_seconds: u64,
    /// The percentage of items that must succeed for a partial success, if a template does not say.
    #[schemars(range(min = 0, max = 100))]
    pub partial_success_percent: u32,
    /// How long artifacts are kept once their run is over, in seconds.
    #[schemars(range(min = 60, max = 31_536_000), extend("x-untrusted" = "lower"))]
    pub artifact_seconds: u64,
    /// The largest answer of a step that is kept in the run itself, in bytes; a larger one becomes an artifact.
    #[schemars(range(min = 1024, max = 16_777_216), extend("x-untrusted" = "lower"))]
    pub step_bytes: u64,
}

fn folder() -> Value {
    json!({"type": "string", "format": "path"})
}
