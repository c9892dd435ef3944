//! What the client needs of the world: to send, to wait, and to know how much time has passed.
//!
//! It is a trait because two things implement it for good: the guarded HTTP client of the program, and tests that hold
//! time still. The client itself opens nothing.

use std::{future::Future, time::Duration};

use crate::request::{Method, SecretUrl};

/// A request ready to be sent.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// How.
    pub method: Method,
    /// Where to, with the key in it.
    pub url: SecretUrl,
    /// JSON to send along.
    pub body: Option<String>,
    /// When to give up.
    pub time_left: Duration,
}

/// What came back, as it came: the body may still be packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incoming {
    /// The HTTP status.
    pub status: u16,
    /// `Content-Type`, if there was one.
    pub content_type: Option<String>,
    /// `Retry-After` in seconds, if there was one.
    pub retry_after: Option<u64>,
    /// The body.
    pub body: Vec<u8>,
}

/// Nothing came back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub String);

/// The world, as far as the client needs it.
///
/// An implementation asks for gzip with `Accept-Encoding`, keeps connections open, follows no redirect and prints no
/// address.
pub trait Wire: Send + Sync {
    /// Sends a request and reads the whole answer.
    fn send(&self, outgoing: Outgoing) -> impl Future<Output = Result<Incoming, WireError>> + Send;

    /// Lets time pass.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// Time since some fixed moment; it never runs backwards.
    fn now(&self) -> Duration;
}
