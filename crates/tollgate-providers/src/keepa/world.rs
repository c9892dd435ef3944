//! The world of one call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;
use tollgate_core::{CallContext, Event, Timestamp};
use tollgate_keepa::{
    ApiKey, Error, Kind,
    chart::Chart,
    client::{Body, Client, Failed},
    request::Request,
    service::{Place, Reuse, Roots, Samples, Saved, Shelf, Target, Told, World, no_browser},
    tool::Profile,
};

use super::{Shared, kept};

pub(super) struct CallWorld<'a> {
    pub(super) shared: &'a Shared,
    pub(super) cx: &'a CallContext,
    /// All questions of a call share its time.
    deadline: Instant,
    /// What the call itself says its profile is.
    pub(super) said_profile: Option<Profile>,
    /// When the first of the answers it is made of stops being true; nothing live has an end.
    ends: AtomicI64,
}

impl<'a> CallWorld<'a> {
    pub(super) fn new(shared: &'a Shared, cx: &'a CallContext) -> Self {
        Self {
            shared,
            cx,
            deadline: Instant::now() + cx.time_left,
            said_profile: None,
            ends: AtomicI64::new(i64::MAX),
        }
    }

    /// When what this call answers stops being true, if it asked Keepa at all.
    pub(super) fn holds_until(&self) -> Option<Timestamp> {
        let ends = self.ends.load(Ordering::Relaxed);
        (ends < i64::MAX).then_some(Timestamp(ends))
    }

    fn hold_until(&self, ms: i64) {
        self.ends.fetch_min(ms, Ordering::Relaxed);
    }
}

impl World for CallWorld<'_> {
    async fn ask(&self, request: &Request, reuse: Reuse) -> Result<Told, Failed> {
        let settings = &self.shared.settings;
        let key = kept::key(request);
        let ttl = reuse
            .ttl_seconds
            .map_or(settings.cache_ttl, Duration::from_secs);
        let may_keep = !reuse.is_off && !ttl.is_zero();
        let now = settings.clock.now();
        if may_keep && let Some((answer, kept)) = kept::find(self.cx, now, &key, ttl).await {
            self.hold_until(kept.1);
            return Ok(Told {
                answer,
                kept_as: Some(key),
                kept: Some(kept),
            });
        }
        let secret = settings.key.as_ref().and_then(|source| source());
        let api_key =
            secret.map_or_else(|| ApiKey::new(""), |key| ApiKey::new(key.reveal().as_str()));
        let client = Client::new(&self.shared.http, settings.base_url.as_str(), api_key);
        let left = self.deadline.saturating_duration_since(Instant::now());
        let answer = tokio::select! {
            answer = client.call(request, left) => answer?,
            () = self.cx.cancel.cancelled() => {
                let error = Error::new(Kind::NetworkOrParseError, "the call was taken back");
                return Err(Failed { error, bucket: None });
            }
        };
        self.hold_until(match request.is_about_now() {
            true => now.0,
            false => now.plus(ttl).0,
        });
        let mut kept_as = None;
        if may_keep && let Body::Json(text) = &answer.body {
            kept::keep(self.cx, &*settings.clock, &key, request, (text, ttl)).await;
            kept_as = Some(key);
        }
        Ok(Told {
            answer,
            kept_as,
            kept: None,
        })
    }

    async fn evaluate(&self, specs: &str, samples: &str) -> Result<Value, Error> {
        let Some(evaluator) = &self.shared.settings.evaluator else {
            let message = "specs cannot be run from here";
            return Err(Error::new(Kind::UnsupportedCommand, message));
        };
        let files = &self.shared.files;
        let specs = files.folder(specs, &self.shared.memory, self.cx)?;
        let samples = files.folder(samples, &self.shared.memory, self.cx)?;
        evaluator(specs, samples)
            .await
            .map_err(|message| Error::argument(format!("the specs cannot be run: {message}")))
    }

    async fn paint(&self, chart: Chart) -> Result<Vec<u8>, Error> {
        let Some(painter) = &self.shared.settings.painter else {
            return Err(no_browser());
        };
        let painted = tokio::select! {
            painted = painter(chart) => painted,
            () = self.cx.cancel.cancelled() => Err("the call was taken back".to_owned()),
        };
        painted.map_err(|why| {
            let message = format!("the chart cannot be drawn as png, ask for svg: {why}");
            Error::new(Kind::UnsupportedCommand, message)
        })
    }

    fn load(&self, place: Place<'_>) -> Result<String, Error> {
        self.shared
            .files
            .load(self, place, &self.shared.memory, self.cx)
    }

    fn names(&self, shelf: Shelf) -> Vec<String> {
        self.shared.files.names(shelf)
    }

    fn samples(&self, folder: &str) -> Result<Samples, Error> {
        let files = &self.shared.files;
        files.samples(folder, &self.shared.memory, self.cx)
    }

    fn save(&self, target: Target<'_>, bytes: &[u8]) -> Result<Saved, Error> {
        let memory = &self.shared.memory;
        self.shared
            .files
            .save(target, bytes, memory, &self.cx.session)
    }

    fn recall(&self, cache_key: &str) -> Option<Arc<Value>> {
        self.shared.memory.recall(&self.cx.session, cache_key)
    }

    fn recalled(&self) -> Vec<String> {
        self.shared.memory.keys(&self.cx.session)
    }

    fn now_ms(&self) -> i64 {
        self.shared.settings.clock.now().0
    }

    fn profile(&self) -> Option<Profile> {
        let in_force = self.cx.profile.as_deref().and_then(Profile::named);
        // A call narrows the session's profile; whoever allows live reads narrows nothing.
        let narrows = |profile: &Profile| *profile != Profile::LiveReadAllowed;
        self.said_profile
            .filter(narrows)
            .or(in_force)
            .or(self.said_profile)
    }

    fn roots(&self) -> Roots {
        self.shared.files.roots(self.cx)
    }

    fn ledger(&self) -> Value {
        serde_json::to_value(&self.cx.ledger).unwrap_or_default()
    }

    fn has_key(&self) -> bool {
        let key = self.shared.settings.key.as_ref();
        key.and_then(|source| source()).is_some()
    }

    fn progress(&self, done: u64, total: u64, what: &str) {
        self.cx.events.emit(Event::Progress {
            done: done as f64,
            total: Some(total as f64),
            message: Some(what.to_owned()),
        });
    }
}
