//! What commands need of the world beside a connection: samples, files, pages and what was answered before.
//!
//! It is a trait because a gate, a command line and tests each keep these things elsewhere. Whoever implements it decides
//! which files may be touched; commands only say which they mean.

use std::{collections::BTreeMap, future::Future, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use crate::{
    Error,
    chart::Chart,
    client::{Answer, Failed},
    request::Request,
    tool::Profile,
};

/// Something to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A prepared answer, by its bare name.
    Fixture(&'a str),
    /// A file the caller names.
    Input(&'a str),
    /// A page of the handbook, by its bare name.
    Page(&'a str),
    /// The list of recorded evidence.
    Manifest,
    /// A file that list names.
    Evidence(&'a str),
    /// A file that this session wrote, and no other.
    Written(&'a str),
}

/// Samples of a folder by name, each with a fingerprint of its bytes.
pub type Samples = BTreeMap<String, String>;

/// That nobody here can make points out of a chart.
pub fn no_browser() -> Error {
    let message = "there is no browser here to draw with; ask for svg";
    Error::new(crate::Kind::UnsupportedCommand, message)
}

/// Things that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// Prepared answers.
    Fixtures,
    /// Pages of the handbook.
    Pages,
}

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The file, as the caller can name it again.
    pub path: String,
    /// How much was written.
    pub bytes: usize,
}

/// Where to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// Where the caller wants it.
    Path(&'a str),
    /// A file of this name among the session's own.
    Own(&'a str),
}

/// How an answer may be reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// For how long, if not for the usual time.
    pub ttl_seconds: Option<u64>,
    /// Not at all.
    pub is_off: bool,
}

/// An answer, and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The answer.
    pub answer: Answer,
    /// The key under which it was kept, if it was.
    pub kept_as: Option<String>,
    /// When it was first given and until when it holds, in milliseconds since 1970, if it is not new.
    pub kept: Option<(i64, i64)>,
}

/// Folders that a caller can name files of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Roots {
    /// Where the caller works.
    pub repo_root: Option<String>,
    /// What may be read.
    pub read_roots: Vec<String>,
    /// What may be written to: the session's own first, the others once a human has agreed.
    pub write_roots: Vec<String>,
}

/// The world, as far as commands need it.
pub trait World: Send + Sync {
    /// Asks Keepa, or answers from what was kept.
    fn ask(
        &self,
        request: &Request,
        reuse: Reuse,
    ) -> impl Future<Output = Result<Told, Failed>> + Send;

    /// Reads something.
    fn load(&self, place: Place<'_>) -> Result<String, Error>;

    /// The names of what is there, sorted.
    fn names(&self, shelf: Shelf) -> Vec<String>;

    /// The samples of a folder the caller names; one that is not there holds none.
    fn samples(&self, folder: &str) -> Result<Samples, Error>;

    /// Writes a file.
    fn save(&self, target: Target<'_>, bytes: &[u8]) -> Result<Saved, Error>;

    /// What this session answered under a key.
    fn recall(&self, cache_key: &str) -> Option<Arc<Value>>;

    /// The keys of what this session answered, latest last.
    fn recalled(&self) -> Vec<String>;

    /// Now, in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Whether a key is configured.
    fn has_key(&self) -> bool;

    /// The profile in force, where there is one.
    fn profile(&self) -> Option<Profile> {
        None
    }

    /// Folders that the caller can name files of.
    fn roots(&self) -> Roots {
        Roots::default()
    }

    /// What the session has spent, where somebody counts.
    fn ledger(&self) -> Value {
        Value::Null
    }

    /// Runs the specs of a folder on the samples of another, where somebody can.
    fn evaluate(
        &self,
        _specs: &str,
        _samples: &str,
    ) -> impl Future<Output = Result<Value, Error>> + Send {
        let message = "specs cannot be run from here";
        std::future::ready(Err(Error::new(crate::Kind::UnsupportedCommand, message)))
    }

    /// Makes a picture of points out of a chart, where somebody can.
    fn paint(&self, _chart: Chart) -> impl Future<Output = Result<Vec<u8>, Error>> + Send {
        std::future::ready(Err(no_browser()))
    }

    /// Notes what an answer cost, or that it did not tell.
    fn spent(&self, _tokens: Option<u64>) {}

    /// Says how far a long command has come.
    fn progress(&self, _done: u64, _total: u64, _what: &str) {}
}
