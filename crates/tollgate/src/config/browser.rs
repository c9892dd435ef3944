//! Resolves where the browser is, where its pages may lead, and how much there may be.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use tollgate_providers::browser::{
    Handover, Limits, Names, Settings, Whereabouts, profiles::Vault,
};

use super::{
    env::Environment,
    keys::browser::{RawBrowser, RawNames},
    resolve::size,
    secret::SecretRef,
};
use crate::vault;

/// What of our environment a browser is given: where programs are, how people write, and where
/// windows are shown.
const HANDED_ON: &[&str] = &[
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// Pages in a real browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Browser {
    /// Whether there are tools for it.
    pub enabled: bool,
    /// How its tools are called where they are listed.
    pub names: Names,
    /// Where Chromium is, if somebody says.
    pub chromium: Option<PathBuf>,
    /// Hosts that local callers may reach although their address is not public.
    pub allow_hosts: Vec<String>,
    /// The only hosts, if any.
    pub only_hosts: Vec<String>,
    /// Hosts that may not be reached.
    pub deny_hosts: Vec<String>,
    /// Folders whose files may be shown and uploaded.
    pub roots: Vec<PathBuf>,
    /// Tabs of one session.
    pub session_tabs: usize,
    /// Tabs of all sessions.
    pub tabs: usize,
    /// How long a session lives that nobody uses.
    pub session_ttl: Duration,
    /// How long a page may take to come.
    pub navigation: Duration,
    /// How large a download may be.
    pub download_bytes: u64,
    /// Where the key of kept logins is to be found, if not beside the state.
    pub profile_key: Option<SecretRef>,
}

pub(super) fn browser(raw: RawBrowser) -> Browser {
    Browser {
        enabled: raw.enabled,
        names: match raw.names {
            RawNames::Canonical => Names::Canonical,
            RawNames::Document => Names::Document,
        },
        chromium: raw.chromium,
        allow_hosts: raw.allow_hosts,
        only_hosts: raw.only_hosts,
        deny_hosts: raw.deny_hosts,
        roots: raw.roots,
        session_tabs: size(raw.session_tabs),
        tabs: size(raw.tabs),
        session_ttl: Duration::from_secs(raw.session_seconds),
        navigation: Duration::from_secs(raw.navigation_seconds),
        download_bytes: raw.download_bytes,
        profile_key: raw.profile_key,
    }
}

impl Browser {
    /// As the provider wants it; `state` is the state folder.
    pub fn settings(&self, state: &Path, environment: &Environment) -> Settings {
        let variable = |name: &str| environment.variables.get(&OsString::from(name)).cloned();
        let env: BTreeMap<OsString, OsString> = HANDED_ON
            .iter()
            .filter_map(|name| Some((OsString::from(name), variable(name)?)))
            .collect();
        let named = variable("CHROME_PATH").filter(|it| !it.is_empty());
        Settings {
            is_enabled: self.enabled,
            names: self.names,
            whereabouts: Whereabouts {
                named: self.chromium.clone().or(named.map(PathBuf::from)),
                path: variable("PATH"),
            },
            root: state.join("browser"),
            env,
            limits: Limits {
                tabs_per_session: self.session_tabs,
                tabs: self.tabs,
                headless_ttl: self.session_ttl,
                navigation: self.navigation,
                download_bytes: self.download_bytes,
                ..Limits::default()
            },
            allow_hosts: self.allow_hosts.clone(),
            only_hosts: self.only_hosts.clone(),
            deny_hosts: self.deny_hosts.clone(),
            roots: self.roots.clone(),
            artifacts: Handover::default(),
            vault: Vault(Some(Arc::new(vault::Vault {
                state_dir: state.to_owned(),
                key: self.profile_key.clone(),
                environment: environment.clone(),
                seals: OnceLock::new(),
            }))),
        }
    }
}
