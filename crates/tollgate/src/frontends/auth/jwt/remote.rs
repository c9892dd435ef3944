//! The issuer's keys at an address.
//!
//! Whatever strangers send, the address is asked at most once in [`BETWEEN`]; while it does
//! not answer, the keys it gave last count until [`USABLE`] is over.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use reqwest::{Client, StatusCode, Url, redirect::Policy};
use tollgate_core::Timestamp;

use super::{
    Refused,
    keys::{KeySet, LARGEST},
};

/// Between two questions, for a key that may be new.
const BETWEEN: Duration = Duration::from_secs(30);
/// Between two questions, as long as there are no keys at all.
const RETRY: Duration = Duration::from_secs(5);
/// After this the keys are fetched again.
const FRESH: Duration = Duration::from_secs(600);
/// After this they no longer count.
const USABLE: Duration = Duration::from_secs(3600);
/// How long an issuer may take to connect, and to answer.
const CONNECT: Duration = Duration::from_secs(3);
const ANSWER: Duration = Duration::from_secs(5);

pub(super) struct Remote {
    url: Url,
    client: Client,
    fetched: Mutex<Option<Fetched>>,
    /// When the address was asked last; whoever holds it asks.
    asked: tokio::sync::Mutex<Option<Timestamp>>,
}

#[derive(Clone)]
struct Fetched {
    keys: Arc<KeySet>,
    at: Timestamp,
}

impl Remote {
    pub(super) fn new(url: &str) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("the address of the keys: {error}"))?;
        let here = is_loopback(&url);
        if url.scheme() != "https" && !here {
            return Err("the address of the keys must be https".to_owned());
        }
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = Client::builder()
            .user_agent(concat!("tollgate/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            .pool_max_idle_per_host(1);
        if url.scheme() == "http" {
            // Without TLS the machine's certificates need not be read, or even be there.
            builder = builder.tls_certs_only([]);
        }
        if here {
            builder = builder.no_proxy();
        }
        let client = builder.build();
        let client = client.map_err(|error| format!("no client for the issuer's keys: {error}"))?;
        Ok(Self {
            url,
            client,
            fetched: Mutex::new(None),
            asked: tokio::sync::Mutex::new(None),
        })
    }

    pub(super) async fn keys(&self, now: Timestamp) -> Result<Arc<KeySet>, Refused> {
        let known = lock(&self.fetched).clone();
        let Some(known) = known.filter(|known| now < known.at.plus(USABLE)) else {
            let unknown = "the issuer's keys cannot be fetched at the moment";
            let asked = self.ask(None, now).await?;
            return asked.ok_or_else(|| Refused::Unavailable(unknown.to_owned()));
        };
        if now >= known.at.plus(FRESH) && self.asked.try_lock().is_ok() {
            // Old keys still count if this fails.
            return match self.ask(Some(&known.keys), now).await {
                Ok(Some(newer)) => Ok(newer),
                Ok(None) | Err(_) => Ok(known.keys),
            };
        }
        Ok(known.keys)
    }

    /// The newest keys: somebody else's answer if it is newer than `known`, or a new one if
    /// the address may be asked.
    pub(super) async fn ask(
        &self,
        known: Option<&Arc<KeySet>>,
        now: Timestamp,
    ) -> Result<Option<Arc<KeySet>>, Refused> {
        let mut asked = self.asked.lock().await;
        let current = lock(&self.fetched).clone();
        let current = current.filter(|current| now < current.at.plus(USABLE));
        if let Some(current) = &current
            && known.is_none_or(|known| !Arc::ptr_eq(known, &current.keys))
        {
            return Ok(Some(Arc::clone(&current.keys)));
        }
        let gap = if current.is_some() { BETWEEN } else { RETRY };
        let may_ask = asked.is_none_or(|at| now >= at.plus(gap) || now < at);
        if !may_ask {
            return Ok(current.map(|current| current.keys));
        }
        *asked = Some(now);
        let keys = self.fetch().await.map_err(|why| {
            Refused::Unavailable(format!("the issuer's keys cannot be fetched: {why}"))
        })?;
        let keys = Arc::new(keys);
        *lock(&self.fetched) = Some(Fetched {
            keys: Arc::clone(&keys),
            at: now,
        });
        Ok(Some(keys))
    }

    async fn fetch(&self) -> Result<KeySet, &'static str> {
        let sent = self.client.get(self.url.clone()).send().await;
        let mut response = sent.map_err(|_| "there is no answer")?;
        if response.status() != StatusCode::OK {
            return Err("the answer is no success");
        }
        let mut text = Vec::new();
        let broken = "the answer breaks off";
        while let Some(chunk) = response.chunk().await.map_err(|_| broken)? {
            text.extend_from_slice(&chunk);
            if text.len() > LARGEST {
                return Err("the answer is too large");
            }
        }
        KeySet::read(&text)
    }
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = bare.parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
