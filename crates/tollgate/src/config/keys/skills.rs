//! Keys of skills.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::values::OtherRuns;

/// Skills: tools that belong together, the runs they allow, and a guide for agents.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSkills {
    /// Folders of manifests (`NAME.yaml`, with a guide in `NAME/SKILL.md`), beside `skills` in
    /// the user's configuration folder.
    #[schemars(extend("items" = folder()))]
    pub folders: Vec<PathBuf>,
    /// Whether runs of templates that no skill names may be made.
    pub other_runs: OtherRuns,
}

fn folder() -> Value {
    json!({"type": "string", "format": "path"})
}
