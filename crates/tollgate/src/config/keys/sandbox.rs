//! The keys of what code may be run, in which sandbox, with which limits.
//!
//! An untrusted project may make limits smaller and nothing else: which sandbox is good
//! enough, which languages there are and what they can read is the user's alone.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Running code in a sandbox.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSandbox {
    /// Whether code can be run; a human still agrees to each call.
    pub enabled: bool,
    /// Which kind of sandbox is used.
    pub runner: SandboxRunner,
    /// The least that is acceptable; below it nothing is run.
    pub least_tier: SandboxTier,
    /// The languages that are turned on; each needs its interpreter below `/usr`.
    pub languages: Vec<SandboxLanguage>,
    /// Where workspaces are kept, one for each session; `sandbox` in the state folder if unset.
    #[schemars(extend("format" = "path"))]
    pub workspaces: Option<PathBuf>,
    /// Folders beside `/usr` that programs can read, such as one with more libraries.
    #[schemars(extend("items" = readable()))]
    pub read_only: Vec<PathBuf>,
    /// How long a run may take, in seconds.
    #[schemars(range(min = 1, max = 600), extend("x-untrusted" = "lower"))]
    pub wall_seconds: u64,
    /// How long all processes of a run may compute together, in seconds.
    #[schemars(range(min = 1, max = 3600), extend("x-untrusted" = "lower"))]
    pub cpu_seconds: u64,
    /// How much memory all processes of a run may use together, in bytes.
    #[schemars(range(min = 33_554_432, max = 1_099_511_627_776_u64), extend("x-untrusted" = "lower"))]
    pub memory_bytes: u64,
    /// How many processes and threads a run may have at the same time.
    #[schemars(range(min = 1, max = 10_000), extend("x-untrusted" = "lower"))]
    pub processes: u32,
    /// How much of what a run says is kept, for each of its two streams, in bytes.
    #[schemars(range(min = 1024, max = 1_048_576), extend("x-untrusted" = "lower"))]
    pub output_bytes: u64,
    /// How large a workspace may be, in bytes.
    #[schemars(range(min = 1_048_576, max = 1_099_511_627_776_u64), extend("x-untrusted" = "lower"))]
    pub workspace_bytes: u64,
    /// How many files and folders a workspace may hold.
    #[schemars(range(min = 10, max = 100_000), extend("x-untrusted" = "lower"))]
    pub workspace_files: u64,
    /// How long a workspace is kept that nobody uses, in seconds.
    #[schemars(range(min = 60, max = 31_536_000), extend("x-untrusted" = "lower"))]
    pub keep_seconds: u64,
}

fn readable() -> Value {
    json!({"type": "string", "format": "path"})
}

/// Which kind of sandbox is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxRunner {
    /// The best of `native`, `bubblewrap` and `landlock` that works.
    Auto,
    /// Namespaces made by Tollgate itself.
    Native,
    /// Namespaces made by `bwrap`.
    Bubblewrap,
    /// Landlock and seccomp without namespaces.
    Landlock,
    /// gVisor's `runsc`.
    Gvisor,
}

/// How good a sandbox must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxTier {
    /// Anything that confines at all.
    Landlock,
    /// Namespaces, whoever makes them.
    Bubblewrap,
    /// Namespaces made by Tollgate itself, or gVisor.
    Native,
    /// gVisor only.
    Gvisor,
}

/// A language that code may be written in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLanguage {
    /// Python 3.
    Python,
    /// JavaScript with Node.js.
    Node,
    /// Bash.
    Bash,
}
