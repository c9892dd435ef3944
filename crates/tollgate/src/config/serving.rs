//! What is offered over HTTP and as resources, resolved.
//!
//! A half-written `[serve.oauth]` is an error, never a server that accepts more than meant.

use std::{collections::BTreeMap, net::IpAddr, path::PathBuf, time::Duration};

use tollgate_core::TrustLevel;

use super::{
    error::{ConfigError, Notice, Origin},
    keys::{
        keepa::RawKeepa,
        serve::{RawKnowledge, RawOauth, RawResources, RawResults, RawServe},
        values::{Algorithm, McpResults, ResultParts, Trust},
    },
    layer::dotted,
    load::Layers,
    resolve::size,
    secret::SecretRef,
};

/// Where and for whom HTTP is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serve {
    /// The address to listen on.
    pub host: String,
    /// The port to listen on; 0 takes any free one.
    pub port: u16,
    /// Whether a caller on this machine needs no token; `None` follows from what else there is.
    pub anonymous: Option<bool>,
    /// Values of `Host` that are answered beside those of this machine.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are answered beside those of this machine.
    pub allowed_origins: Vec<String>,
    /// Requests of one principal each second in the long run.
    pub requests_per_second: u32,
    /// Requests of one principal at once after a pause.
    pub burst: u32,
    /// Requests of one principal at the same time.
    pub concurrent_calls: usize,
    /// Connections at the same time.
    pub connections: usize,
    /// Those of one address whose callers are not known.
    pub connections_per_peer: usize,
    /// Addresses that are not counted so.
    pub trusted_proxies: Vec<IpAddr>,
    /// For the head of a request.
    pub header_timeout: Duration,
    /// For the body of a request.
    pub body_timeout: Duration,
    /// For a connection without a request.
    pub idle_timeout: Duration,
    /// For calls to finish after the server was told to stop.
    pub drain: Duration,
    /// Sessions of older MCP clients that are kept.
    pub sessions: usize,
    /// How long such a session is kept unused.
    pub session_ttl: Duration,
    /// Whose access tokens are accepted.
    pub oauth: Option<Oauth>,
}

/// Whose access tokens are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oauth {
    /// The authorization server, as its tokens name it.
    pub issuer: String,
    /// What a token must name: the identifier of this server.
    pub audience: String,
    /// Where the issuer's keys are.
    pub keys: KeySource,
    /// The signatures that are accepted.
    pub algorithms: Vec<Algorithm>,
    /// Scopes every token must have.
    pub scopes: Vec<String>,
    /// How far the issuer's clock may be off.
    pub leeway: Duration,
    /// How far bearers are trusted.
    pub trust: TrustLevel,
    /// Scopes with this prefix name the only toolsets a token may use.
    pub toolset_prefix: Option<String>,
}

/// Where an issuer's keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// In a file, read again when it changes.
    File(PathBuf),
    /// At an address, https or on this machine.
    Url(String),
}

/// How large an answer may be before the rest of it becomes a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Results {
    /// Whether MCP clients are given the envelope of every tool.
    pub envelope: bool,
    /// Which parts clients are sent, by name.
    pub clients: BTreeMap<String, ResultParts>,
    /// The longest text.
    pub text_bytes: usize,
    /// The largest structured content.
    pub structured_bytes: usize,
    /// The pieces in which a resource is read.
    pub chunk_bytes: usize,
    /// How long it is kept.
    pub keep: Duration,
    /// The longest text of another MCP server's answer.
    pub native_text_bytes: usize,
}

/// What else can be read as a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// Folders by name.
    pub roots: BTreeMap<String, PathBuf>,
}

/// Guided sessions over knowledge files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// A file or folder for each base.
    pub paths: Vec<PathBuf>,
    /// How long a session lives that nobody touches.
    pub session_ttl: Duration,
}

/// Amazon product research with Keepa.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keepa {
    /// Where the key is to be found.
    pub key: Option<SecretRef>,
    /// Where Keepa answers.
    pub base_url: String,
    /// Folders with samples.
    pub fixture_dirs: Vec<PathBuf>,
    /// The folder of evidence.
    pub evidence_dir: Option<PathBuf>,
    /// The folder of the handbook.
    pub wiki_dir: Option<PathBuf>,
    /// The two folders that promoting writes to.
    pub promote_dirs: Vec<PathBuf>,
    /// Whether agents may read what lies below the folder Tollgate was started in.
    pub read_working_dir: bool,
    /// For how long an answer is used again.
    pub cache_ttl: Duration,
    /// Whether this is a gate that runs specs, which starts no other; no file can say so.
    pub is_evaluation: bool,
}

pub(super) fn serve(raw: RawServe, layers: &Layers, errors: &mut Vec<ConfigError>) -> Serve {
    Serve {
        host: raw.host,
        port: raw.port,
        anonymous: raw.anonymous,
        allowed_hosts: raw.allowed_hosts,
        allowed_origins: raw.allowed_origins,
        requests_per_second: raw.requests_per_second,
        burst: raw.burst,
        concurrent_calls: size(raw.concurrent_calls),
        connections: size(raw.connections),
        connections_per_peer: size(raw.connections_per_peer),
        trusted_proxies: raw.trusted_proxies,
        header_timeout: Duration::from_secs(raw.header_timeout_seconds),
        body_timeout: Duration::from_secs(raw.body_timeout_seconds),
        idle_timeout: Duration::from_secs(raw.idle_timeout_seconds),
        drain: Duration::from_secs(raw.drain_seconds),
        sessions: size(raw.sessions),
        session_ttl: Duration::from_secs(raw.session_ttl_seconds),
        oauth: oauth(raw.oauth, layers, errors),
    }
}

fn oauth(raw: RawOauth, layers: &Layers, errors: &mut Vec<ConfigError>) -> Option<Oauth> {
    let mut wrong = |named_by: &str, key: &str, message: &str, hint: &str| {
        let origin = layers.origin(&["serve", "oauth", named_by]);
        let key = format!("serve.oauth.{key}");
        errors.push(ConfigError::new(origin, message).at(key).hint(hint));
    };
    let Some(issuer) = raw.issuer else {
        let set = [
            ("audience", raw.audience.is_some()),
            ("jwks_file", raw.jwks_file.is_some()),
            ("jwks_url", raw.jwks_url.is_some()),
        ];
        for (key, _) in set.into_iter().filter(|(_, set)| *set) {
            let message = "there is no issuer whose tokens it is about";
            wrong(key, key, message, "set `serve.oauth.issuer`");
        }
        return None;
    };
    let keys = match (raw.jwks_file, raw.jwks_url) {
        (Some(file), None) => Some(KeySource::File(file)),
        (None, Some(url)) => Some(KeySource::Url(url)),
        (Some(_), Some(_)) => {
            let message = "the issuer's keys are in a file already";
            wrong("jwks_url", "jwks_url", message, "set one of the two");
            None
        }
        (None, None) => {
            let message = "nothing says where the issuer's keys are";
            let hint = "set `serve.oauth.jwks_file` or `serve.oauth.jwks_url`";
            wrong("issuer", "issuer", message, hint);
            None
        }
    };
    if raw.audience.is_none() {
        let message = "without an audience, tokens for other servers would be accepted";
        wrong("issuer", "issuer", message, "set `serve.oauth.audience`");
    }
    if raw.algorithms.is_empty() {
        let message = "no token could be accepted";
        wrong("algorithms", "algorithms", message, "such as [\"RS256\"]");
    }
    Some(Oauth {
        issuer,
        audience: raw.audience?,
        keys: keys?,
        algorithms: raw.algorithms,
        scopes: raw.scopes,
        leeway: Duration::from_secs(raw.leeway_seconds),
        trust: match raw.trust {
            Trust::Local => TrustLevel::Local,
            Trust::Remote => TrustLevel::Remote,
        },
        toolset_prefix: raw.toolset_prefix,
    })
}

pub(super) fn results(raw: &RawResults) -> Results {
    Results {
        envelope: raw.form == McpResults::Envelope,
        clients: raw.clients.clone(),
        text_bytes: size(raw.text_bytes),
        structured_bytes: size(raw.structured_bytes),
        chunk_bytes: size(raw.chunk_bytes),
        keep: Duration::from_secs(raw.keep_seconds),
        native_text_bytes: size(raw.native_text_bytes),
    }
}

pub(super) fn resources(
    raw: RawResources,
    layers: &mut Layers,
    errors: &mut Vec<ConfigError>,
) -> Resources {
    check_roots("resources", &raw.roots, layers, errors);
    Resources { roots: raw.roots }
}

/// A folder that is not there may come back, so it is worth a notice and no more.
pub(super) fn check_roots(
    section: &str,
    roots: &BTreeMap<String, PathBuf>,
    layers: &mut Layers,
    errors: &mut Vec<ConfigError>,
) {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    for (name, folder) in roots {
        let key = dotted(&[section, "roots", name].map(str::to_owned));
        let origin: Origin = layers.origin(&[section, "roots", name]);
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            let message = "not a name for a root";
            let hint = "at most 64 lower-case letters, digits, `-` and `_`";
            errors.push(ConfigError::new(origin, message).at(key).hint(hint));
        } else if !folder.is_dir() {
            layers.notices.push(Notice {
                origin,
                key: Some(key),
                message: format!("there is no folder {}", folder.display()),
            });
        }
    }
}

/// A base that is not there may come back, so it is worth a notice and no more.
pub(super) fn knowledge(raw: RawKnowledge, layers: &mut Layers) -> Knowledge {
    let origin: Origin = layers.origin(&["knowledge", "paths"]);
    for path in raw.paths.iter().filter(|path| !path.exists()) {
        layers.notices.push(Notice {
            origin: origin.clone(),
            key: Some("knowledge.paths".to_owned()),
            message: format!("there is no {}", path.display()),
        });
    }
    Knowledge {
        paths: raw.paths,
        session_ttl: Duration::from_secs(raw.session_ttl_seconds),
    }
}

/// A folder that is not there may come back, so it is worth a notice and no more.
pub(super) fn keepa(raw: RawKeepa, layers: &mut Layers) -> Keepa {
    let origin: Origin = layers.origin(&["keepa", "fixture_dirs"]);
    for folder in raw.fixture_dirs.iter().filter(|folder| !folder.is_dir()) {
        layers.notices.push(Notice {
            origin: origin.clone(),
            key: Some("keepa.fixture_dirs".to_owned()),
            message: format!("there is no folder {}", folder.display()),
        });
    }
    Keepa {
        key: raw.key,
        base_url: raw.base_url,
        fixture_dirs: raw.fixture_dirs,
        evidence_dir: raw.evidence_dir,
        wiki_dir: raw.wiki_dir,
        promote_dirs: raw.promote_dirs,
        read_working_dir: raw.read_working_dir,
        cache_ttl: Duration::from_secs(raw.cache_ttl_seconds),
        is_evaluation: false,
    }
}
