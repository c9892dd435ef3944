//! Who is calling over HTTP, and how much they may ask for at a time.
//!
//! Invariants: a token that is shown is checked, never passed over, so a bad one is refused
//! even where none is needed; nothing of a token leaves this folder in an error, a log or a
//! debug print; whoever comes from elsewhere has a token.

mod bearer;
mod challenge;
mod jwt;
pub(crate) mod limits;
mod recent;
mod scopes;

#[cfg(test)]
mod tests;

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use http::HeaderMap;
use sha2::{Digest, Sha256};
use tollgate_core::{Principal, Timestamp, TrustLevel, store::CredentialKind};
use tollgate_engine::Gateway;

use self::{bearer::Shown, jwt::Resource, recent::Recent};
use crate::config::Config;

pub(crate) use self::scopes::TokenScopes;

/// How long an accepted token is believed without asking again; revoking takes as long.
const BELIEVED: Duration = Duration::from_secs(2);
/// Accepted tokens that are remembered.
const REMEMBERED: usize = 4096;

/// Somebody who may call, and within which bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Who it is.
    pub(crate) principal: Principal,
    /// How far they are trusted.
    pub(crate) trust: TrustLevel,
    /// The only toolsets they may use; `None` is no restriction.
    pub(crate) toolsets: Option<Vec<String>>,
    /// What each of their sessions may consume.
    pub(crate) session_limit: Option<u64>,
    /// When they must show another token.
    pub(crate) expires: Option<Timestamp>,
}

/// Why somebody may not call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A token is needed and none was shown.
    Missing,
    /// The token that was shown is not good.
    Invalid(&'static str),
    /// The token is good but lacks one of these scopes.
    Insufficient(Vec<String>),
    /// Nobody can say at the moment.
    Unavailable(String),
}

/// Whether somebody on this machine needs no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anonymous {
    /// The operator says so.
    Set(bool),
    /// As long as nobody has a way to say who calls.
    Unprotected,
    /// The configuration alone says that there are others.
    Protected,
}

/// Tells callers apart.
pub(crate) struct Authenticator {
    gateway: Gateway,
    anonymous: Anonymous,
    open: Mutex<Option<(Timestamp, bool)>>,
    oauth: Option<Resource>,
    recent: Recent,
}

impl Authenticator {
    /// Fails if tokens could not be checked, such as without the issuer's keys.
    pub(crate) fn new(config: &Config, gateway: Gateway) -> Result<Self, String> {
        let oauth = config.serve.oauth.clone().map(Resource::new).transpose()?;
        Ok(Self {
            gateway,
            anonymous: match config.serve.anonymous {
                Some(set) => Anonymous::Set(set),
                None if oauth.is_some() || !config.serve.allowed_hosts.is_empty() => {
                    Anonymous::Protected
                }
                None => Anonymous::Unprotected,
            },
            open: Mutex::default(),
            oauth,
            recent: Recent::new(REMEMBERED),
        })
    }

    /// Says who sent a request; `loopback` is whether the peer is on this machine.
    pub(crate) async fn identify(
        &self,
        headers: &HeaderMap,
        loopback: bool,
    ) -> Result<Identity, Refused> {
        let Some(shown) = bearer::shown(headers)? else {
            return self.without_token(headers, loopback).await;
        };
        let now = self.gateway.clock().now();
        let digest: [u8; 32] = Sha256::digest(shown.text()).into();
        if let Some(known) = self.recent.get(&digest, now) {
            return Ok(known);
        }
        let identity = match shown {
            Shown::Ours(token) => self.ours(token).await?,
            Shown::Foreign(token) => match &self.oauth {
                Some(oauth) => oauth.identify(token, now).await?,
                None => return Err(Refused::Invalid("the token is not known")),
            },
        };
        let until = now.plus(BELIEVED);
        let until = identity.expires.map_or(until, |ends| ends.min(until));
        self.recent.put(digest, &identity, now, until);
        Ok(identity)
    }

    /// Whether anybody from another machine could be let in: an issuer is configured, or
    /// there is a live bearer token.
    pub(crate) async fn is_protected(&self) -> Result<bool, Refused> {
        if self.oauth.is_some() {
            return Ok(true);
        }
        let now = self.gateway.clock().now();
        let all = self.gateway.store().credentials().await;
        let all = all.map_err(|_| unreadable())?;
        Ok(all
            .iter()
            .any(|one| one.kind == CredentialKind::Bearer && one.is_live(now)))
    }

    /// Whether callers on this machine need no token at the moment. A token that may call ends
    /// that within the time that tokens are believed.
    pub(crate) async fn lets_in_anybody(&self) -> Result<bool, Refused> {
        match self.anonymous {
            Anonymous::Set(set) => return Ok(set),
            Anonymous::Protected => return Ok(false),
            Anonymous::Unprotected => {}
        }
        let now = self.gateway.clock().now();
        let known = *self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, open)) = known
            && now.is_within(at, at.plus(BELIEVED))
        {
            return Ok(open);
        }
        let open = !self.is_protected().await?;
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, open));
        Ok(open)
    }

    async fn ours(&self, token: &str) -> Result<Identity, Refused> {
        let found = self.gateway.credential(token, CredentialKind::Bearer).await;
        let credential = found
            .map_err(|_| unreadable())?
            .ok_or(Refused::Invalid("the token is not known, or has ended"))?;
        let scopes = TokenScopes::read(&credential.scopes)
            .ok_or(Refused::Invalid("the token's scopes cannot be read"))?;
        Ok(Identity {
            principal: Principal::token(&credential.id),
            trust: scopes.trust,
            toolsets: scopes.toolsets,
            session_limit: scopes.session_limit,
            expires: credential.expires,
        })
    }

    /// A request that a proxy passed on came from somewhere else, whoever the peer is.
    async fn without_token(
        &self,
        headers: &HeaderMap,
        loopback: bool,
    ) -> Result<Identity, Refused> {
        if !loopback || bearer::is_forwarded(headers) || !self.lets_in_anybody().await? {
            return Err(Refused::Missing);
        }
        Ok(Identity {
            principal: Principal::anonymous(),
            trust: TrustLevel::Remote,
            toolsets: None,
            session_limit: None,
            expires: None,
        })
    }
}

fn unreadable() -> Refused {
    Refused::Unavailable("the tokens cannot be read at the moment".to_owned())
}
