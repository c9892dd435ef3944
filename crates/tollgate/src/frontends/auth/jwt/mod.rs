//! Access tokens of an OAuth authorization server: signed JSON (RFC 7519, RFC 9068).
//!
//! Invariant: claims are read only after the signature was checked with a key of the issuer,
//! under an algorithm that the operator listed and that belongs to that kind of key. Nothing
//! in a token can choose a key by any other way than `kid`.

mod claims;
mod file;
mod keys;
mod remote;
mod source;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;
use tollgate_core::{Principal, Timestamp};

use self::{claims::Claims, keys::Trial, source::Source};
use super::{Identity, Refused};
use crate::config::{Algorithm, Oauth};

/// This server as a resource that an issuer protects.
pub(super) struct Resource {
    settings: Oauth,
    source: Source,
}

/// What a token says before anything is believed.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

impl Resource {
    pub(super) fn new(settings: Oauth) -> Result<Self, String> {
        let source = Source::new(&settings.keys)?;
        Ok(Self { settings, source })
    }

    pub(super) fn settings(&self) -> &Oauth {
        &self.settings
    }

    /// Who a token speaks for.
    pub(super) async fn identify(&self, token: &str, now: Timestamp) -> Result<Identity, Refused> {
        let parts = Parts::of(token)?;
        let algorithm = self.algorithm(&parts.header)?;
        self.verify(&parts, algorithm, now).await?;
        let claims = Claims::read(&parts.payload)?;
        let expires = claims.check(&self.settings, now)?;
        self.identity(claims, expires)
    }

    fn algorithm(&self, header: &Header) -> Result<Algorithm, Refused> {
        if header.crit.is_some() {
            return Err(Refused::Invalid("the token asks for an unknown extension"));
        }
        if !header.typ.as_deref().is_none_or(is_access_token) {
            return Err(Refused::Invalid("the token is not an access token"));
        }
        keys::algorithm(&header.alg)
            .filter(|found| self.settings.algorithms.contains(found))
            .ok_or(Refused::Invalid("the token's algorithm is not accepted"))
    }

    async fn verify(
        &self,
        parts: &Parts<'_>,
        algorithm: Algorithm,
        now: Timestamp,
    ) -> Result<(), Refused> {
        let trial = Trial {
            algorithm,
            kid: parts.header.kid.as_deref(),
            message: parts.signed.as_bytes(),
            signature: &parts.signature,
        };
        let keys = self.source.keys(now).await?;
        if keys.know(&trial) {
            return keys.verify(&trial);
        }
        // The issuer may have a new key since.
        match self.source.newer_keys(&keys, now).await? {
            Some(newer) => newer.verify(&trial),
            None => keys.verify(&trial),
        }
    }

    fn identity(&self, claims: Claims, expires: Timestamp) -> Result<Identity, Refused> {
        let scopes = claims.scopes();
        let has = |wanted: &String| scopes.contains(&wanted.as_str());
        if !self.settings.scopes.iter().all(has) {
            return Err(Refused::Insufficient(self.settings.scopes.clone()));
        }
        let toolsets = self.settings.toolset_prefix.as_deref().map(|prefix| {
            let named = scopes.iter().filter_map(|scope| scope.strip_prefix(prefix));
            named.map(str::to_owned).collect()
        });
        Ok(Identity {
            principal: Principal::oauth(&self.settings.issuer, claims.subject()),
            trust: self.settings.trust,
            toolsets,
            session_limit: None,
            expires: Some(expires),
        })
    }
}

fn is_access_token(typ: &str) -> bool {
    let typ = typ.to_ascii_lowercase();
    let typ = typ.strip_prefix("application/").unwrap_or(&typ);
    matches!(typ, "jwt" | "at+jwt")
}

/// A token taken apart.
struct Parts<'t> {
    header: Header,
    /// What the signature is about: the first two parts as they were sent.
    signed: &'t str,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl<'t> Parts<'t> {
    fn of(token: &'t str) -> Result<Self, Refused> {
        let malformed = Refused::Invalid("the token is not a signed JSON token");
        let taken = || {
            let (signed, signature) = token.rsplit_once('.')?;
            let (header, payload) = signed.split_once('.')?;
            let header = URL_SAFE_NO_PAD.decode(header).ok()?;
            Some(Self {
                header: serde_json::from_slice(&header).ok()?,
                signed,
                payload: URL_SAFE_NO_PAD.decode(payload).ok()?,
                signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
            })
        };
        taken().ok_or(malformed)
    }
}
