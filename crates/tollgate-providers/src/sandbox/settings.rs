//! What an operator decides about running code.

use std::{path::PathBuf, time::Duration};

use tollgate_sandbox::{Choice, Limits, Tier};

use super::Language;

/// What an operator decides.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether code can be run at all.
    pub is_enabled: bool,
    /// Where workspaces are kept.
    pub root: PathBuf,
    /// Which tier is wanted.
    pub choice: Choice,
    /// The least that is acceptable; below it nothing runs.
    pub least: Tier,
    /// The languages that are turned on.
    pub languages: Vec<Language>,
    /// The most that a call may use.
    pub limits: Limits,
    /// How long a workspace is kept that nobody uses.
    pub keep: Duration,
    /// Folders beside `/usr` that programs can read.
    pub read_only: Vec<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            is_enabled: false,
            root: PathBuf::new(),
            choice: Choice::Auto,
            least: Tier::Native,
            languages: vec![Language::Python, Language::Node],
            limits: Limits::default(),
            keep: Duration::from_secs(7 * 24 * 60 * 60),
            read_only: Vec::new(),
        }
    }
}
