//! One connection to a server, whichever way it runs.
//!
//! Invariant: an exchange that is dropped is forgotten on both sides of the pipe; nothing
//! waits for an answer that nobody wants.

use std::{sync::Arc, time::Duration};

use tollgate_core::Payload;

use super::{
    http,
    rpc::{Heard, RpcError},
    stdio,
    whose::{Call, Session},
};

/// The longest wait that somebody may ask of us.
const LONGEST: Duration = Duration::from_secs(3600);

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LinkError {
    /// The connection is gone.
    #[error("{0}")]
    Lost(String),
    /// It takes no more for the moment.
    #[error("it takes no more messages for the moment")]
    Busy,
    /// The answer is larger than is read.
    #[error("its answer is larger than {0} bytes")]
    TooLarge(usize),
    /// It refused our credentials.
    #[error("it refused our credentials")]
    Unauthorized,
    /// There are no credentials for it.
    #[error("{0}")]
    Credentials(String),
    /// It asks us to slow down.
    #[error("it asks us to slow down")]
    RateLimited(Option<u64>),
    /// It says that it cannot answer for now.
    #[error("it says that it is not available")]
    Away(Option<u64>),
    /// What it said makes no sense.
    #[error("{0}")]
    Nonsense(String),
}

impl LinkError {
    /// How long it wants to be left alone, if it says so.
    pub(super) fn wait(&self) -> Option<Duration> {
        match self {
            Self::RateLimited(seconds) | Self::Away(seconds) => {
                seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST))
            }
            Self::Lost(_)
            | Self::Busy
            | Self::TooLarge(_)
            | Self::Unauthorized
            | Self::Credentials(_)
            | Self::Nonsense(_) => None,
        }
    }
}

/// One connection.
pub(super) enum Link {
    Stdio(stdio::Stdio),
    Http(Arc<http::Http>),
}

/// A request on its way.
pub(super) struct Outgoing<'a> {
    pub(super) id: u64,
    pub(super) method: &'a str,
    /// What a header names beside the method.
    pub(super) name: Option<&'a str>,
    /// An object already.
    pub(super) params: &'a str,
    /// Arguments that a header repeats.
    pub(super) headers: Vec<(String, String)>,
    /// Whose call it is; none of what is no call of an older server.
    pub(super) whose: Option<Session>,
}

impl Outgoing<'_> {
    /// What is known of it while it is under way.
    pub(super) fn call(&self) -> Option<Call> {
        self.whose.map(|whose| Call {
            whose,
            is_held: false,
        })
    }
}

/// One request under way; dropping it is losing interest.
pub(super) enum Exchange {
    Stdio(stdio::Exchange),
    Http(Box<http::Exchange>),
}

/// What an exchange gives next.
pub(super) enum Next {
    /// The end of it.
    Answer(Result<Payload, RpcError>),
    /// Something on the way.
    Said(Heard),
}

impl Link {
    /// Sends a request.
    pub(super) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Exchange, LinkError> {
        match self {
            Self::Stdio(link) => link.request(&outgoing).map(Exchange::Stdio),
            Self::Http(link) => {
                let exchange = link.request(outgoing).await?;
                Ok(Exchange::Http(Box::new(exchange)))
            }
        }
    }

    /// Sends what wants no answer.
    pub(super) async fn send(&self, message: String) -> Result<(), LinkError> {
        match self {
            Self::Stdio(link) => link.send(message),
            Self::Http(link) => link.send(message).await,
        }
    }

    /// Whether losing interest in a request has to be said.
    pub(super) fn says_cancelled(&self, modern: bool) -> bool {
        match self {
            Self::Stdio(_) => true,
            // Closing the stream says it.
            Self::Http(_) => !modern,
        }
    }

    /// Waits until the connection is gone; gives the reason.
    pub(super) async fn lost(&self) -> String {
        match self {
            Self::Stdio(link) => link.lost().await,
            Self::Http(link) => link.lost().await,
        }
    }
}

impl Exchange {
    /// Says whether it waits for an answer of ours; questions of others are then not its own.
    pub(super) fn is_held(&self, held: bool) {
        match self {
            Self::Stdio(exchange) => exchange.is_held(held),
            Self::Http(exchange) => exchange.is_held(held),
        }
    }

    /// Waits for what comes next.
    pub(super) async fn next(&mut self) -> Result<Next, LinkError> {
        match self {
            Self::Stdio(exchange) => exchange.next().await,
            Self::Http(exchange) => exchange.next().await,
        }
    }
}
