//! Callers of every kind at the door, with keys made for the occasion.

mod issuer;
mod oauth;
mod rotation;
mod tokens;

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use serde_json::{Value, json};
use tollgate_core::{
    Clock, HeldClock, Principal, Timestamp, TrustLevel,
    store::{Credential, CredentialKind},
};
use tollgate_engine::{Catalog, Gateway, NewToken, Parts, Selection, policy::Policies};
use tollgate_testkit::MemoryStore;

use super::{Authenticator, Identity, Refused};
use crate::config::{Algorithm, Config, Environment, Flags, KeySource, Oauth};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// A gateway without tools, and a clock that stands still.
struct Door {
    gateway: Gateway,
    clock: Arc<HeldClock>,
    config: Config,
}

impl Door {
    async fn new() -> Self {
        let clock = Arc::new(HeldClock::new(NOW));
        let parts = Parts::new(
            Arc::new(MemoryStore::default()),
            Catalog::collect(Vec::new(), &Selection::default()).await,
            Policies::shipped().unwrap(),
            Arc::clone(&clock) as Arc<dyn Clock>,
        );
        let environment = Environment {
            home: Some("/nowhere".into()),
            current_dir: "/".into(),
            ..Environment::default()
        };
        Self {
            gateway: Gateway::new(parts),
            clock,
            config: Config::load(&environment, &Flags::default()).unwrap(),
        }
    }

    async fn with_issuer(keys: KeySource) -> Self {
        let mut door = Self::new().await;
        door.config.serve.oauth = Some(Oauth {
            issuer: issuer::ISSUER.to_owned(),
            audience: issuer::AUDIENCE.to_owned(),
            keys,
            algorithms: vec![Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA],
            scopes: Vec::new(),
            leeway: Duration::from_secs(60),
            trust: TrustLevel::Remote,
            toolset_prefix: None,
        });
        door
    }

    fn open(&self) -> Authenticator {
        Authenticator::new(&self.config, self.gateway.clone()).unwrap()
    }

    fn later(&self, duration: Duration) {
        self.clock.set(self.clock.now().plus(duration));
    }

    async fn token(&self, kind: CredentialKind, scopes: Value) -> (Credential, String) {
        let new = NewToken {
            kind,
            label: None,
            scopes,
            expires: Some(NOW.plus(Duration::from_secs(3600))),
        };
        self.gateway.create_token(new).await.unwrap()
    }
}

fn bearing(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    headers.insert(AUTHORIZATION, value);
    headers
}

async fn from_elsewhere(door: &Authenticator, token: &str) -> Result<Identity, Refused> {
    door.identify(&bearing(token), false).await
}
