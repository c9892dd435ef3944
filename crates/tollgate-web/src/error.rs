//! Why the web did not give what was asked for: a closed list of kinds.

use std::{error::Error, time::Duration};

/// The kinds of failure, each with the name and the detail code that callers know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The address or the question cannot be used.
    InvalidInput,
    /// The address leads where we do not go.
    AddressRefused,
    /// The site's robots.txt does not want it read.
    RobotsDisallowed,
    /// The site wants to see a human.
    CaptchaRequired,
    /// The site answered 403.
    Forbidden,
    /// The site answered 429.
    TooManyRequests,
    /// The answer cannot be read.
    Parse,
    /// The answer is of a type we do not read.
    ContentType,
    /// No connection, or it broke.
    Network,
    /// It took too long.
    Timeout,
    /// Our key was refused or is missing, or the page wants a login.
    Auth,
    /// The server failed, or sends us around.
    BadGateway,
}

impl Kind {
    /// The name of the error.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidInput | Self::AddressRefused => "InvalidInput",
            Self::RobotsDisallowed
            | Self::CaptchaRequired
            | Self::Forbidden
            | Self::TooManyRequests => "WebBlocked",
            Self::Parse | Self::ContentType => "WebParseError",
            Self::Network => "NetworkError",
            Self::Timeout => "Timeout",
            Self::Auth => "AuthError",
            Self::BadGateway => "BadGateway",
        }
    }

    /// What the name alone does not say.
    pub const fn detail(self) -> Option<&'static str> {
        match self {
            Self::AddressRefused => Some("address_refused"),
            Self::RobotsDisallowed => Some("robots_disallowed"),
            Self::CaptchaRequired => Some("captcha_required"),
            Self::Forbidden => Some("http_403"),
            Self::TooManyRequests => Some("http_429"),
            Self::ContentType => Some("unsupported_content_type"),
            Self::InvalidInput
            | Self::Parse
            | Self::Network
            | Self::Timeout
            | Self::Auth
            | Self::BadGateway => None,
        }
    }
}

/// A failure.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct WebError {
    /// Which.
    pub kind: Kind,
    /// One sentence, without keys.
    pub message: String,
    /// When to try again, where the server said so.
    pub retry_after: Option<Duration>,
    /// The cause, for a log.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl WebError {
    /// A failure without a cause.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub(crate) fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidInput, message)
    }

    pub(crate) fn timeout(what: &str) -> Self {
        Self::new(Kind::Timeout, format!("{what} took too long"))
    }
}
