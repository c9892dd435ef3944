//! Resolves what may be read of the web, and by which search engines.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tollgate_providers::web::{
    Backend, BackendKind, Guard, KeySource, Limits, Politeness, Settings,
};

use super::{
    SecretRef,
    env::Environment,
    error::{Notice, Origin},
    keys::web::RawWeb,
    load::Layers,
    resolve::size,
};

const VARIABLE: &str = "WEB_SEARCH_BACKEND";

/// Searching and reading the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Web {
    /// Whether there are tools for it.
    pub enabled: bool,
    /// Hosts that may be reached although their address is not public.
    pub allow_hosts: Vec<String>,
    /// The ports that may be used elsewhere.
    pub ports: Vec<u16>,
    /// A file of authorities beside those the system knows.
    pub ca_file: Option<PathBuf>,
    /// Whether `robots.txt` is obeyed.
    pub robots: bool,
    /// How much of a page is read.
    pub page_bytes: usize,
    /// How long a fetch or a search may take.
    pub timeout: Duration,
    /// How many requests to one host run at the same time.
    pub host_requests: usize,
    /// The pause between two requests to one host.
    pub host_pause: Duration,
    /// How much is kept of what was read.
    pub cache_bytes: usize,
    /// The search engines, in the order they are asked.
    pub search: Vec<SearchEngine>,
}

/// A search engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchEngine {
    /// Which.
    pub kind: BackendKind,
    /// Where it answers, if not at its usual place.
    pub url: Option<String>,
    /// Where its key is to be found.
    pub key: Option<SecretRef>,
    /// The least time between two questions, if not the usual one.
    pub pause: Option<Duration>,
}

/// An unknown engine is worth a warning; without any that is known, answers are made up.
pub(super) fn web(raw: RawWeb, layers: &mut Layers, environment: &Environment) -> Web {
    let variable = environment
        .text(VARIABLE)
        .filter(|text| !text.trim().is_empty());
    let (names, origin, key) = match variable {
        Some(text) => {
            let names = text.split(',').map(|name| name.trim().to_owned()).collect();
            (names, Origin::Variable(VARIABLE.to_owned()), None)
        }
        None => {
            let origin = layers.origin(&["web", "search"]);
            (raw.search.clone(), origin, Some("web.search".to_owned()))
        }
    };
    let mut search: Vec<SearchEngine> = Vec::new();
    for name in &names {
        match BackendKind::parse(name) {
            Some(kind) => search.push(engine(kind, &raw)),
            None => layers.notices.push(Notice {
                origin: origin.clone(),
                key: key.clone(),
                message: format!("there is no search engine `{name}`; it is passed over"),
            }),
        }
    }
    if search.is_empty() {
        search.push(engine(BackendKind::Stub, &raw));
    }
    // Without it its servers are not trusted, which is worth a warning.
    if let Some(path) = &raw.ca_file
        && let Err(error) = std::fs::File::open(path)
    {
        let origin = layers.origin(&["web", "ca_file"]);
        layers.notices.push(Notice {
            origin,
            key: Some("web.ca_file".to_owned()),
            message: format!("{} cannot be read: {}", path.display(), error.kind()),
        });
    }
    Web {
        enabled: raw.enabled,
        ca_file: raw.ca_file,
        allow_hosts: raw.allow_hosts,
        ports: raw.ports,
        robots: raw.robots,
        page_bytes: size(raw.page_bytes),
        timeout: Duration::from_secs(raw.timeout_seconds),
        host_requests: size(raw.host_requests),
        host_pause: Duration::from_millis(raw.host_pause_ms),
        cache_bytes: size(raw.cache_bytes),
        search,
    }
}

fn engine(kind: BackendKind, raw: &RawWeb) -> SearchEngine {
    let (url, key, pause) = match kind {
        BackendKind::Stub => (&None, &None, None),
        BackendKind::Searxng => (&raw.searxng_url, &None, raw.searxng_pause_ms),
        BackendKind::DdgHtml => (&raw.ddg_url, &None, raw.ddg_pause_ms),
        BackendKind::Brave => (&raw.brave_url, &raw.brave_key, raw.brave_pause_ms),
        BackendKind::Serper => (&raw.serper_url, &raw.serper_key, raw.serper_pause_ms),
    };
    SearchEngine {
        kind,
        url: url.clone(),
        key: key.clone(),
        pause: pause.map(Duration::from_millis),
    }
}

impl Web {
    /// What is in the file; one that cannot be read was warned of.
    fn authorities(&self) -> Vec<u8> {
        let read = self.ca_file.as_ref().map(std::fs::read);
        read.and_then(Result::ok).unwrap_or_default()
    }

    /// As the provider wants it; keys are read when they are needed, and kept nowhere.
    pub fn settings(&self, browser: &super::Browser, environment: &Environment) -> Settings {
        let backend = |engine: &SearchEngine| {
            let key = engine.key.clone().map(|reference| -> KeySource {
                let environment = environment.clone();
                Arc::new(move || {
                    let secret = reference.read(&environment).ok()?;
                    Some(secret.reveal().clone())
                })
            });
            let usual = Backend::new(engine.kind);
            Backend {
                base_url: engine.url.clone(),
                key,
                pause: engine.pause.unwrap_or(usual.pause),
                ..usual
            }
        };
        let usual = Limits::default();
        let guard = Guard {
            allow_hosts: self.allow_hosts.clone(),
            ports: self.ports.clone(),
            authorities: self.authorities(),
            ..Guard::default()
        };
        Settings {
            is_enabled: self.enabled,
            browser_guard: Some(Guard {
                allow_hosts: browser.allow_hosts.clone(),
                only_hosts: browser.only_hosts.clone(),
                deny_hosts: browser.deny_hosts.clone(),
                ..guard.clone()
            }),
            guard,
            limits: Limits {
                bytes: self.page_bytes,
                total: self.timeout,
                first_byte: usual.first_byte.min(self.timeout),
                ..usual
            },
            politeness: Politeness {
                at_once: self.host_requests,
                pause: self.host_pause,
            },
            robots: self.robots,
            cache_bytes: self.cache_bytes,
            backends: self.search.iter().map(backend).collect(),
            ..Settings::default()
        }
    }
}
