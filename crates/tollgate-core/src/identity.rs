//! Who calls, through which door handle, and in which session.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who makes a call: `user:<uid>`, `token:<id>`, `oauth:<issuer>#<subject>` or `anonymous`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Principal(String);

impl Principal {
    /// The person whose user id runs this process.
    pub fn user(uid: u32) -> Self {
        Self(format!("user:{uid}"))
    }

    /// The bearer of a token of ours.
    pub fn token(id: &str) -> Self {
        Self(format!("token:{id}"))
    }

    /// Someone an OAuth issuer vouches for.
    pub fn oauth(issuer: &str, subject: &str) -> Self {
        Self(format!("oauth:{issuer}#{subject}"))
    }

    /// Loopback HTTP without a token.
    pub fn anonymous() -> Self {
        Self("anonymous".to_owned())
    }

    /// Reads back what the store kept.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The principal as it is written everywhere.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names a session: the same handle of another principal is another session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionKey {
    /// Whose session it is.
    pub principal: Principal,
    /// The name the caller gave it.
    pub handle: String,
}

impl SessionKey {
    /// A session of `principal`.
    pub fn new(principal: Principal, handle: impl Into<String>) -> Self {
        Self {
            principal,
            handle: handle.into(),
        }
    }

    /// What an approval is bound to beside the principal. The session of a stdio process ends with
    /// it, and the approval does not: a human may decide after the client is gone, and the client's
    /// next process repeats the call.
    pub fn approval_scope(&self) -> &str {
        let id = self.handle.strip_prefix(STDIO);
        match id.and_then(|rest| rest.strip_prefix('-')) {
            Some(id) if id.len() == 16 && id.bytes().all(|it| it.is_ascii_hexdigit()) => STDIO,
            _ => &self.handle,
        }
    }
}

/// How the handle of a stdio process begins; sixteen hexadecimal digits follow.
const STDIO: &str = "stdio";

/// The way a call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// A person or script at a shell.
    Cli,
    /// JSON lines over a pipe.
    Jsonl,
    /// The Model Context Protocol, over any transport.
    Mcp,
}

impl Surface {
    /// Every surface, for tools that are offered everywhere.
    pub const ALL: [Self; 3] = [Self::Cli, Self::Jsonl, Self::Mcp];

    /// The surface as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Jsonl => "jsonl",
            Self::Mcp => "mcp",
        }
    }
}

/// How a caller is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A command at a shell.
    Cli,
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl Transport {
    /// The transport as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// How far the caller's side of the connection is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustLevel {
    /// Reached over HTTP.
    Remote,
    /// A process of the same user on this machine.
    Local,
}

impl TrustLevel {
    /// Both levels.
    pub const ALL: [Self; 2] = [Self::Remote, Self::Local];

    /// The level as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Remote => "remote",
            Self::Local => "local",
        }
    }
}
