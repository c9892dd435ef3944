//! Keys of documents that can be edited.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Documents that can be edited, each change after a human has agreed to it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawDocs {
    /// Folders whose text files can be edited, each under a name. They can be read as
    /// resources too.
    #[schemars(extend("additionalProperties" = folder()))]
    pub roots: BTreeMap<String, PathBuf>,
    /// The largest file that can be edited, in bytes.
    #[schemars(range(min = 1024, max = 16_777_216), extend("x-untrusted" = "lower"))]
    pub file_bytes: u64,
    /// How long a proposed edit waits to be applied, in seconds.
    #[schemars(range(min = 60, max = 31_536_000), extend("x-untrusted" = "lower"))]
    pub proposal_ttl_seconds: u64,
    /// How long the version before an edit is kept, in seconds.
    #[schemars(range(min = 60, max = 315_360_000))]
    pub keep_seconds: u64,
}

fn folder() -> Value {
    json!({
        "type": "string",
        "format": "path",
        "description": "A folder whose text files can be edited under this name.",
    })
}
