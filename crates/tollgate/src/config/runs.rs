//! Resolves what task runs may do, and where their templates are.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tollgate_engine::runs::Settings;

use super::{Environment, error::Notice, keys::runs::RawRuns, load::Layers};

/// Runs of task templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// Folders of templates, the user's own first.
    pub templates: Vec<PathBuf>,
    /// Where artifacts are kept; in the state folder, if nowhere is said.
    pub artifacts: Option<PathBuf>,
    /// Runs under way at once.
    pub concurrent: u32,
    /// Runs that are not over.
    pub queued: u64,
    /// The longest any run may take.
    pub timeout: Duration,
    /// What must succeed, in percent.
    pub threshold: u32,
    /// How long artifacts are kept.
    pub artifact_ttl: Duration,
    /// The largest answer of a step that is kept in the run.
    pub step_bytes: usize,
}

/// A folder that is not there may come, so it is worth a notice and no more.
pub(super) fn runs(raw: RawRuns, layers: &mut Layers, environment: &Environment) -> Runs {
    let origin = layers.origin(&["runs", "templates"]);
    for path in raw.templates.iter().filter(|path| !path.is_dir()) {
        layers.notices.push(Notice {
            origin: origin.clone(),
            key: Some("runs.templates".to_owned()),
            message: format!("there is no folder {}", path.display()),
        });
    }
    let own = environment.config_dir().map(|dir| dir.join("templates"));
    Runs {
        templates: own.into_iter().chain(raw.templates).collect(),
        artifacts: raw.artifacts,
        concurrent: raw.max_concurrent,
        queued: raw.max_queued,
        timeout: Duration::from_secs(raw.max_seconds),
        threshold: raw.partial_success_percent,
        artifact_ttl: Duration::from_secs(raw.artifact_seconds),
        step_bytes: usize::try_from(raw.step_bytes).unwrap_or(usize::MAX),
    }
}

impl Runs {
    /// As the engine wants it.
    pub fn settings(&self) -> Settings {
        Settings {
            concurrent: self.concurrent,
            queued: self.queued,
            timeout: self.timeout,
            artifact_ttl: self.artifact_ttl,
            threshold: f64::from(self.threshold) / 100.0,
            spill_bytes: self.step_bytes,
            ..Settings::default()
        }
    }

    /// Where artifacts are kept; `state` is the state folder.
    pub fn artifacts(&self, state: &Path) -> PathBuf {
        let default = || state.join("artifacts");
        self.artifacts.clone().unwrap_or_else(default)
    }
}
