//! Why the browser did not do what was asked: a closed list, with the codes callers know.

use std::io;

use crate::protocol::WireError;

/// Something that answers to what was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    /// Its id.
    pub id: String,
    /// Its name.
    pub label: String,
    /// How well it answers, from 0 to 1.
    pub score: f64,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such element now.
    #[error("there is no element `{id}` on the page")]
    ElementNotFound {
        /// What was asked for.
        id: String,
        /// What is there instead.
        near: Vec<Near>,
    },
    /// It is in a document of another site than the caller means.
    #[error("`{id}` is at another site than is meant: {site}")]
    OtherSite {
        /// What was asked for.
        id: String,
        /// Where it is.
        site: String,
    },
    /// The page did not come, or did not become as wanted, in time.
    #[error("{0}")]
    Timeout(String),
    /// There is no such session, or it has ended.
    #[error("there is no browser session `{0}`")]
    SessionNotFound(String),
    /// There is no such tab.
    #[error("there is no tab `{0}` in this session")]
    TabNotFound(String),
    /// The page or the browser died.
    #[error("the page crashed")]
    Crashed,
    /// The arguments make no sense here.
    #[error("{0}")]
    Invalid(String),
    /// The boundary does not let it through.
    #[error("{0}")]
    Refused(String),
    /// A script failed.
    #[error("{0}")]
    Script(String),
    /// The page could not be loaded.
    #[error("the page could not be loaded: {0}")]
    Load(String),
    /// A dialog of the page is open, and until it is answered the page does nothing.
    #[error("a dialog of the page is open: {0}")]
    Dialog(String),
    /// Too many tabs.
    #[error("{0}")]
    Limit(String),
    /// No browser is installed.
    #[error(transparent)]
    Missing(#[from] crate::process::find::Missing),
    /// The browser does not start.
    #[error("the browser could not be started")]
    NotStarted(String),
    /// The state that a session is kept with cannot be read or written.
    #[error("the saved state of the session cannot be used: {0}")]
    NotKept(String),
    /// The browser refused a command.
    #[error("the browser refused: {0}")]
    Protocol(String),
    /// A file could not be used.
    #[error("could not {what}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
}

impl Error {
    /// The code of the design document, where it has one.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::ElementNotFound { .. } => Some("ELEMENT_NOT_FOUND"),
            Self::Timeout(_) => Some("NAVIGATION_TIMEOUT"),
            Self::SessionNotFound(_) => Some("SESSION_NOT_FOUND"),
            Self::Crashed => Some("PAGE_CRASHED"),
            Self::Invalid(_)
            | Self::OtherSite { .. }
            | Self::Refused(_)
            | Self::TabNotFound(_)
            | Self::Limit(_) => Some("INVALID_PARAMETER"),
            Self::Script(_) | Self::Load(_) | Self::Dialog(_) | Self::Protocol(_) => {
                Some("EXECUTION_ERROR")
            }
            Self::Missing(_) | Self::NotStarted(_) | Self::NotKept(_) | Self::Io { .. } => None,
        }
    }

    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// What a frame said; nothing if it went away meanwhile, which is no failure of the page.
pub(crate) fn unless_gone<T>(said: Result<T, Error>) -> Result<Option<T>, Error> {
    match said {
        Ok(said) => Ok(Some(said)),
        Err(Error::Protocol(_) | Error::Script(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl From<WireError> for Error {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Gone => Self::Crashed,
            WireError::Silent(method) => {
                Self::Timeout(format!("the page did not react in time ({method})"))
            }
            WireError::Refused(why) => {
                // Chromium's words for a target that went away meanwhile.
                let is_gone = [
                    "Target closed",
                    "Session with given id",
                    "Target crashed",
                    "target closed",
                ]
                .iter()
                .any(|words| why.contains(words));
                if is_gone {
                    Self::Crashed
                } else {
                    Self::Protocol(why)
                }
            }
            WireError::Unreadable(why) => Self::Protocol(why),
        }
    }
}
