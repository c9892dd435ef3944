//! What an operator decides about the browser.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    sync::Arc,
};

use tollgate_browser::{Limits, Whereabouts};
use tollgate_core::Artifacts;

use super::profiles::Vault;

/// How the tools that document 004 names are called in lists for clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Names {
    /// By their canonical ids, `browser.navigate`.
    #[default]
    Canonical,
    /// As the document calls them, `navigate`.
    Document,
}

/// What an operator decides.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Whether there are such tools at all.
    pub is_enabled: bool,
    /// How its tools are called where they are listed.
    pub names: Names,
    /// Where Chromium is.
    pub whereabouts: Whereabouts,
    /// The folder for what browsers write while they run, and for downloads.
    pub root: PathBuf,
    /// The environment of the browser.
    pub env: BTreeMap<OsString, OsString>,
    /// How much there may be of everything.
    pub limits: Limits,
    /// Hosts that local callers may reach although their address is not public.
    pub allow_hosts: Vec<String>,
    /// If not empty, the only hosts that may be reached.
    pub only_hosts: Vec<String>,
    /// Hosts that may not be reached.
    pub deny_hosts: Vec<String>,
    /// Folders whose files local callers may show and upload.
    pub roots: Vec<PathBuf>,
    /// Where downloads are handed over.
    pub artifacts: Handover,
    /// Who seals login state; without one none is kept.
    pub vault: Vault,
}

/// Where content is handed over; without it downloads stay in their folder.
#[derive(Clone, Default)]
pub struct Handover(pub Option<Arc<dyn Artifacts>>);

impl fmt::Debug for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handover")
    }
}

impl Settings {
    /// Whether a window can be shown to somebody.
    pub(super) fn has_screen(&self) -> bool {
        let is_set = |name: &str| {
            self.env
                .get(OsStr::new(name))
                .is_some_and(|it| !it.is_empty())
        };
        cfg!(not(target_os = "linux")) || ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set)
    }

    pub(super) fn browser(&self) -> tollgate_browser::Settings {
        tollgate_browser::Settings {
            whereabouts: self.whereabouts.clone(),
            root: self.root.join("run"),
            downloads: self.root.join("downloads"),
            env: self.env.clone(),
            limits: self.limits,
        }
    }
}
