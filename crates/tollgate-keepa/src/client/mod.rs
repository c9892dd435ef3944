//! Asks Keepa, and knows how its answers can be wrong.
//!
//! Invariants: only reads are sent twice after a failure, and only once; a wait never outlasts the caller's deadline; a
//! 200 that carries an error is an error; no message leaves with the key in it.

mod answer;
mod bucket;
mod envelope;
mod subject;
mod wire;

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

pub use answer::{Answer, Body};
pub use bucket::Bucket;
pub(crate) use envelope::Envelope;
pub(crate) use subject::{Source, asked, mismatch, stands_in};
pub use wire::{Incoming, Outgoing, Wire, WireError};

use serde_json::Value;

use crate::{ApiKey, Error, Kind, client::answer::Read, request::Request};

/// Where Keepa answers, unless configured otherwise.
pub const BASE_URL: &str = "https://api.keepa.com";

/// How long to let a server recover before the second attempt.
const BREATHER: Duration = Duration::from_secs(2);
/// Added to a promised refill, which is rounded down.
const MARGIN: Duration = Duration::from_millis(100);
/// No refill is waited for longer than this: a token a minute is the slowest plan.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A failed call, and what its answer said about the tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// What went wrong.
    pub error: Error,
    /// The tokens, where the answer told.
    pub bucket: Option<Bucket>,
}

/// A client for one account.
pub struct Client<W> {
    wire: W,
    base: String,
    key: ApiKey,
    last: Mutex<Option<Bucket>>,
}

impl<W: Wire> Client<W> {
    /// A client that sends over `wire`.
    pub fn new(wire: W, base: impl Into<String>, key: ApiKey) -> Self {
        Self {
            wire,
            base: base.into(),
            key,
            last: Mutex::new(None),
        }
    }

    /// What the latest answer said about the tokens.
    pub fn bucket(&self) -> Option<Bucket> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and reads its answer, all within `time_left`.
    pub async fn call(&self, request: &Request, time_left: Duration) -> Result<Answer, Failed> {
        if self.key.is_empty() {
            let error = Error::new(Kind::AuthMissing, "a key is needed to ask Keepa");
            let error = error.with("offline_alternative", "use a fixture or a dry run");
            return Err(Failed {
                error,
                bucket: None,
            });
        }
        let deadline = self.wire.now() + time_left;
        let mut has_retried = false;
        let mut waited = None;
        loop {
            let left = deadline.saturating_sub(self.wire.now());
            let may_retry = request.is_read && !has_retried;
            let read = self.attempt(request, share(left, may_retry)).await;
            let failed = match read {
                Ok(answer) => return Ok(Answer { waited, ..answer }),
                Err(failed) => failed,
            };
            let left = deadline.saturating_sub(self.wire.now());
            match failed.next {
                Next::GiveUp => return Err(failed.failed),
                Next::Again if has_retried || BREATHER >= left => return Err(failed.failed),
                Next::Again => {
                    has_retried = true;
                    self.wire.pause(BREATHER).await;
                }
                Next::Refill(promised) if promised > LONGEST_WAIT => return Err(failed.failed),
                Next::Refill(promised) => {
                    let wait = promised + MARGIN;
                    if waited.is_some() || wait >= left {
                        return Err(failed.failed);
                    }
                    waited = Some(wait);
                    self.wire.pause(wait).await;
                }
            }
        }
    }

    async fn attempt(&self, request: &Request, left: Duration) -> Result<Answer, Attempt> {
        let outgoing = Outgoing {
            method: request.method,
            url: request.url(&self.base, &self.key),
            body: request.body.as_ref().map(ToString::to_string),
            time_left: left,
        };
        let again = if request.is_read {
            Next::Again
        } else {
            Next::GiveUp
        };
        let incoming = self.wire.send(outgoing).await.map_err(|error| {
            let message = self.key.scrub(&error.to_string());
            Attempt::of(Error::new(Kind::NetworkOrParseError, message), None, again)
        })?;
        let status = incoming.status;
        let read = answer::read(&incoming, request.is_binary).about(request);
        let bucket = read.bucket();
        if bucket.is_some() {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = bucket;
        }
        match read {
            Read::Fine(answer) => Ok(answer),
            Read::Wrong { error, refill, .. } => {
                let next = match status {
                    429 => refill.map_or(Next::GiveUp, Next::Refill),
                    500..=599 => again,
                    _ => Next::GiveUp,
                };
                let error = Error {
                    message: self.key.scrub(&error.message),
                    details: error
                        .details
                        .into_iter()
                        .map(|(name, value)| (name, scrubbed(&self.key, value)))
                        .collect(),
                    ..error
                };
                Err(Attempt::of(error, bucket, next))
            }
        }
    }
}

/// The most one attempt may take. Where another may follow it gets half of what is left beside the breather, so that an
/// answer that never comes does not use up the time for asking again.
fn share(left: Duration, may_retry: bool) -> Duration {
    match left.checked_sub(BREATHER) {
        Some(rest) if may_retry && !rest.is_zero() => rest / 2,
        _ => left,
    }
}

/// The value without the key, at every depth and in names, too.
fn scrubbed(key: &ApiKey, value: Value) -> Value {
    match value {
        Value::String(text) => key.scrub(&text).into(),
        Value::Array(all) => all.into_iter().map(|one| scrubbed(key, one)).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(name, one)| (key.scrub(&name), scrubbed(key, one)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// What to do after a failed attempt.
#[derive(Clone, Copy)]
enum Next {
    GiveUp,
    Again,
    Refill(Duration),
}

struct Attempt {
    failed: Failed,
    next: Next,
}

impl Attempt {
    fn of(error: Error, bucket: Option<Bucket>, next: Next) -> Self {
        let failed = Failed { error, bucket };
        Self { failed, next }
    }
}
