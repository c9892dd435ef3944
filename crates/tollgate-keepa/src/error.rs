//! Everything that can go wrong, as a closed list of kinds.
//!
//! Invariant: no message carries the key. What came from outside passes [`crate::ApiKey::scrub`] before it gets here.

use serde_json::{Map, Value};

macro_rules! kinds {
    ($($variant:ident $name:literal,)+) => {
        /// What kind of failure it is; the name is stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(#[doc = $name] $variant,)+
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its stable name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

kinds! {
    InvalidArgument "invalid_argument",
    UnsupportedCommand "unsupported_command",
    AuthMissing "auth_missing",
    ConfirmationRequired "confirmation_required",
    FixtureUnavailable "fixture_unavailable",
    FixtureNotFound "fixture_not_found",
    NetworkOrParseError "network_or_parse_error",
    BadRequest "bad_request",
    PaymentRequired "payment_required",
    InvalidParameter "invalid_parameter",
    NotEnoughToken "not_enough_token",
    ServerError "server_error",
    ApiError "api_error",
    ProductNotFound "product_not_found",
    HistoryUnavailable "history_unavailable",
    HistoryEmpty "history_empty",
    FixtureSyncFailed "fixture_sync_failed",
    ResourceNotFound "resource_not_found",
    MissingInputs "missing_inputs",
    InactiveTool "inactive_tool",
    ProfileRequiresFixtureOrDryRun "profile_requires_fixture_or_dry_run",
    CacheMiss "cache_miss",
    FileRefused "file_refused",
}

impl Kind {
    /// Whether Keepa may have been asked before it happened.
    pub const fn is_after_asking(self) -> bool {
        match self {
            Self::NetworkOrParseError
            | Self::BadRequest
            | Self::PaymentRequired
            | Self::InvalidParameter
            | Self::NotEnoughToken
            | Self::ServerError
            | Self::ApiError
            | Self::ProductNotFound
            | Self::HistoryUnavailable
            | Self::HistoryEmpty => true,
            Self::InvalidArgument
            | Self::UnsupportedCommand
            | Self::AuthMissing
            | Self::ConfirmationRequired
            | Self::FixtureUnavailable
            | Self::FixtureNotFound
            | Self::FixtureSyncFailed
            | Self::ResourceNotFound
            | Self::MissingInputs
            | Self::InactiveTool
            | Self::ProfileRequiresFixtureOrDryRun
            | Self::CacheMiss
            | Self::FileRefused => false,
        }
    }

    /// What an HTTP status other than 200 stands for.
    pub fn of_status(status: u16) -> Self {
        match status {
            400 => Self::BadRequest,
            402 => Self::PaymentRequired,
            405 => Self::InvalidParameter,
            429 => Self::NotEnoughToken,
            500..=599 => Self::ServerError,
            _ => Self::ApiError,
        }
    }
}

/// A failure with what a caller needs to go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {message}", kind.name())]
pub struct Error {
    /// What kind it is.
    pub kind: Kind,
    /// For people; holds no secret.
    pub message: String,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// For programs.
    pub details: Map<String, Value>,
}

impl Error {
    /// A failure without details.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            details: Map::new(),
        }
    }

    /// Something the caller has to write differently.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidArgument, message)
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_their_kinds() {
        let names = [400, 402, 405, 429, 500, 503, 404].map(|one| Kind::of_status(one).name());
        let expected = [
            "bad_request",
            "payment_required",
            "invalid_parameter",
            "not_enough_token",
            "server_error",
            "server_error",
            "api_error",
        ];
        assert_eq!(names, expected);
    }
}
