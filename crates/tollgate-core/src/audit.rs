//! The shape of the audit log: entries, their chain, and what a reader may ask.
//!
//! Invariant: the body of a row is the truth. Columns are derived from it by
//! [`Columns::derive`], by the writer and by the verifier alike, so a changed
//! column is noticed just as a changed body is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::canonical::hex;

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// One entry on its way into the log, hashed before anyone holds a lock.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    body: String,
    content: Hash,
    columns: Columns,
}

impl AuditEntry {
    /// Takes a body: one JSON object.
    pub fn new(body: String) -> Self {
        Self {
            content: Sha256::digest(body.as_bytes()).into(),
            columns: Columns::derive(&body),
            body,
        }
    }

    /// Takes a body of which the columns are known; they must be what
    /// [`Columns::derive`] reads off it, or the row is later found to be damaged.
    pub fn with_columns(body: String, columns: Columns) -> Self {
        debug_assert_eq!(columns, Columns::derive(&body));
        Self {
            content: Sha256::digest(body.as_bytes()).into(),
            columns,
            body,
        }
    }

    /// The body.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The digest of the body.
    pub fn content(&self) -> &Hash {
        &self.content
    }

    /// What can be searched for.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }
}

/// What can be searched for, read off a body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Columns {
    /// Milliseconds since the epoch.
    pub at: i64,
    /// `ending`, `intent`, `approval`, `review`, …
    pub kind: String,
    /// The call it is about.
    pub call_id: Option<String>,
    /// The trace it belongs to.
    pub trace_id: Option<String>,
    /// Who called.
    pub principal: Option<String>,
    /// In which session.
    pub session: Option<String>,
    /// Which tool.
    pub tool: Option<String>,
    /// How it went.
    pub status: Option<String>,
}

impl Columns {
    /// Reads the columns off a body; one that cannot be read has none.
    pub fn derive(body: &str) -> Self {
        serde_json::from_str(body).unwrap_or_default()
    }
}

/// The hash of the entry at `seq`, given the one before it.
pub fn link(previous: &Hash, chain: &str, seq: u64, content: &Hash) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(previous);
    hasher.update(u64::try_from(chain.len()).unwrap_or(u64::MAX).to_be_bytes());
    hasher.update(chain.as_bytes());
    hasher.update(seq.to_be_bytes());
    hasher.update(content);
    hasher.finalize().into()
}

/// A row of the log as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// The chain it belongs to.
    pub chain: String,
    /// Its place there, from 1.
    pub seq: u64,
    /// Its hash, over everything before it.
    pub hash: Hash,
    /// What happened.
    pub body: String,
    /// As stored; compare with [`Columns::derive`].
    pub columns: Columns,
}

impl AuditRow {
    /// Whether this row follows `previous` and says what it said when written.
    pub fn follows(&self, previous: &Hash) -> bool {
        let content: Hash = Sha256::digest(self.body.as_bytes()).into();
        self.hash == link(previous, &self.chain, self.seq, &content)
            && self.columns == Columns::derive(&self.body)
    }
}

/// Where an entry stands in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The chain.
    pub chain: Arc<str>,
    /// The place there.
    pub seq: u64,
    /// The hash at that place.
    pub hash: Hash,
}

impl Place {
    /// `chain:seq:hash`, as results carry it.
    pub fn receipt(&self) -> String {
        let (seq, hash) = (self.seq.to_string(), hex(&self.hash));
        [&*self.chain, ":", &seq, ":", &hash].concat()
    }
}

/// A place in the chain that this installation vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedHead {
    /// The chain.
    pub chain: String,
    /// The place.
    pub seq: u64,
    /// The hash there, in hex.
    pub hash: String,
    /// The public key, in hex.
    pub key: String,
    /// The signature over [`SignedHead::message`], in hex.
    pub signature: String,
}

impl SignedHead {
    /// What is signed.
    pub fn message(chain: &str, seq: u64, hash: &str) -> String {
        format!("tollgate audit head\n{chain}\n{seq}\n{hash}\n")
    }
}

/// What a check of the whole log found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Rows looked at.
    pub rows: u64,
    /// Signed heads looked at.
    pub signed_heads: u64,
    /// The place up to which the anchor vouches, if there is one.
    pub anchored: Option<u64>,
    /// The hash at the end, in hex.
    pub head: String,
    /// Every time an operator accepted a state that was not the acknowledged one.
    pub accepted: Vec<Accepted>,
    /// Everything that is wrong; empty means the log is whole.
    pub problems: Vec<String>,
}

/// A state that was not the acknowledged one, accepted by an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The entry that says so.
    #[serde(default)]
    pub seq: u64,
    /// The epoch that began with it.
    pub epoch: u64,
    /// What was wrong, in stable words.
    pub reasons: Vec<String>,
    /// Who accepted it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
}

/// Which rows to read.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Only rows after this place (or before it, newest first).
    pub cursor: Option<u64>,
    /// At most so many.
    pub limit: u32,
    /// The last ones first.
    pub newest_first: bool,
    /// Only this kind.
    pub kind: Option<String>,
    /// Only this call.
    pub call_id: Option<String>,
    /// Only this trace.
    pub trace_id: Option<String>,
    /// Only this tool.
    pub tool: Option<String>,
    /// Only this session handle.
    pub session: Option<String>,
    /// Only this principal.
    pub principal: Option<String>,
}
