//! Resolves what code may be run, in which sandbox, with which limits.

use std::{path::PathBuf, time::Duration};

use tollgate_providers::sandbox::{Choice, Language, Limits, Settings, Tier};

use super::{
    error::Notice,
    keys::sandbox::{RawSandbox, SandboxLanguage, SandboxRunner, SandboxTier},
    load::Layers,
};

/// Running code in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// Whether code can be run.
    pub enabled: bool,
    /// Which kind of sandbox is used.
    pub runner: SandboxRunner,
    /// The least that is acceptable.
    pub least_tier: SandboxTier,
    /// The languages that are turned on.
    pub languages: Vec<SandboxLanguage>,
    /// Where workspaces are kept; in the state folder, if nowhere is said.
    pub workspaces: Option<PathBuf>,
    /// Folders beside `/usr` that programs can read.
    pub read_only: Vec<PathBuf>,
    /// The most that a run may use.
    pub limits: Limits,
    /// How long a workspace is kept that nobody uses.
    pub keep: Duration,
}

/// A folder that is not there may come back; until then runs are refused, so it is said.
pub(super) fn sandbox(raw: RawSandbox, layers: &mut Layers) -> Sandbox {
    let origin = layers.origin(&["sandbox", "read_only"]);
    for path in raw.read_only.iter().filter(|path| !path.exists()) {
        layers.notices.push(Notice {
            origin: origin.clone(),
            key: Some("sandbox.read_only".to_owned()),
            message: format!("there is no {}", path.display()),
        });
    }
    Sandbox {
        enabled: raw.enabled,
        runner: raw.runner,
        least_tier: raw.least_tier,
        languages: raw.languages,
        workspaces: raw.workspaces,
        read_only: raw.read_only,
        limits: Limits {
            wall: Duration::from_secs(raw.wall_seconds),
            cpu: Duration::from_secs(raw.cpu_seconds),
            memory: raw.memory_bytes,
            processes: raw.processes,
            output: raw.output_bytes,
            disk: raw.workspace_bytes,
            files: raw.workspace_files,
            ..Limits::default()
        },
        keep: Duration::from_secs(raw.keep_seconds),
    }
}

impl Sandbox {
    /// As the provider wants it; `state` is the state folder.
    pub fn settings(&self, state: &std::path::Path) -> Settings {
        let language = |language: &SandboxLanguage| match language {
            SandboxLanguage::Python => Language::Python,
            SandboxLanguage::Node => Language::Node,
            SandboxLanguage::Bash => Language::Bash,
        };
        let default = || state.join("sandbox");
        Settings {
            is_enabled: self.enabled,
            root: self.workspaces.clone().unwrap_or_else(default),
            choice: match self.runner {
                SandboxRunner::Auto => Choice::Auto,
                SandboxRunner::Native => Choice::Only(Tier::Native),
                SandboxRunner::Bubblewrap => Choice::Only(Tier::Bubblewrap),
                SandboxRunner::Landlock => Choice::Only(Tier::Landlock),
                SandboxRunner::Gvisor => Choice::Only(Tier::Gvisor),
            },
            least: match self.least_tier {
                SandboxTier::Landlock => Tier::Landlock,
                SandboxTier::Bubblewrap => Tier::Bubblewrap,
                SandboxTier::Native => Tier::Native,
                SandboxTier::Gvisor => Tier::Gvisor,
            },
            languages: self.languages.iter().map(language).collect(),
            limits: self.limits,
            keep: self.keep,
            read_only: self.read_only.clone(),
        }
    }
}
