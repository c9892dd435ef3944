//! What an operator decides about the browser.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use tollgate_browser::{Limits, Whereabouts};

/// What an operator decides.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Whether there are such tools at all.
    pub is_enabled: bool,
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
}

impl Settings {
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
