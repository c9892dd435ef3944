//! Runs and what they leave behind, as they are kept.
//!
//! Invariant: whoever changes a run names the fence it holds; a claim raises the fence, so
//! a process that was thought dead and is not can change nothing any more.

use async_trait::async_trait;

use super::StoreError;
use crate::{
    clock::Timestamp,
    identity::{Principal, SessionKey},
};

/// A run as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its id.
    pub id: String,
    /// Who started it, and in which session.
    pub session: SessionKey,
    /// The template it follows.
    pub template: String,
    /// Where it stands.
    pub status: String,
    /// Whether that is final.
    pub is_over: bool,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// The process that drives it.
    pub owner: Option<String>,
    /// How often it was claimed.
    pub fence: u64,
    /// Whether somebody wants it called off.
    pub is_canceled: bool,
    /// What is known of it, as the engine spells it.
    pub record: Vec<u8>,
    /// Whether it only waits for somebody's answer, and so takes nobody's place.
    pub is_resting: bool,
    /// What it was given, sealed; gone once it is over.
    pub sealed: Option<Vec<u8>>,
}

/// Something a run left behind. Its content is elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRow {
    /// Its id, which also names the content.
    pub id: String,
    /// The run.
    pub run: String,
    /// Whose it is.
    pub principal: Principal,
    /// What it is called.
    pub name: String,
    /// What kind of thing it is.
    pub kind: String,
    /// Its type for programs.
    pub mime_type: String,
    /// How many bytes.
    pub size: u64,
    /// The digest of its content, in hex.
    pub sha256: String,
    /// Whether text that reads like instructions may be in it.
    pub is_tainted: bool,
    /// When it was made.
    pub created: Timestamp,
    /// When its time is up; unknown while the run goes on.
    pub until: Option<Timestamp>,
    /// Whether the content has been taken away.
    pub is_gone: bool,
}

/// A change of a run or an artifact.
#[derive(Debug, Clone)]
pub enum RunChange {
    /// A new run; refused as `Conflict` if the id is taken.
    Open(Box<RunRow>),
    /// This process drives it from now on; refused as `Conflict` if it is over or was
    /// claimed since, and as `Busy` if `most` others are being driven. It does not rest.
    Claim {
        /// Which.
        id: String,
        /// Who.
        owner: String,
        /// The fence it had.
        fence: u64,
        /// How many may be driven at once.
        most: u32,
        /// Where it stands now.
        status: String,
        /// When.
        at: Timestamp,
    },
    /// Where it stands; refused as `Conflict` if the fence is not this.
    Move {
        /// Which.
        id: String,
        /// The fence.
        fence: u64,
        /// Where it stands.
        status: String,
        /// Whether that is final; then nobody drives it and its inputs are deleted.
        is_over: bool,
        /// What is known of it.
        record: Vec<u8>,
        /// When.
        at: Timestamp,
    },
    /// It only waits for somebody's answer and takes nobody's place, or goes on; refused as
    /// `Conflict` if the fence is not this, and as `Busy` if it would go on and `most` others
    /// are being driven.
    Rest {
        /// Which.
        id: String,
        /// The fence.
        fence: u64,
        /// Whether it rests from now on.
        rests: bool,
        /// How many may be driven at once.
        most: u32,
    },
    /// What is known of some of its steps; refused as `Conflict` if the fence is not this.
    Steps {
        /// Which run.
        id: String,
        /// The fence.
        fence: u64,
        /// The name of each, and what is known of it.
        steps: Vec<(String, Vec<u8>)>,
        /// When; the run changed then, too.
        at: Timestamp,
    },
    /// Somebody wants it called off; refused as `Missing` if there is none that could be.
    Cancel {
        /// Which.
        id: String,
        /// When.
        at: Timestamp,
    },
    /// An artifact whose content is in its place.
    Keep(ArtifactRow),
    /// The run is over: this is when the time of its artifacts is up.
    Until {
        /// The run.
        run: String,
        /// When.
        until: Timestamp,
    },
    /// The content of an artifact has been taken away.
    Gone {
        /// Which.
        artifact: String,
    },
}

/// Which runs to list.
#[derive(Debug, Clone, Default)]
pub struct RunQuery {
    /// Whose; everybody's, for those who may see that.
    pub principal: Option<Principal>,
    /// Only these.
    pub status: Option<String>,
    /// Only of this template.
    pub template: Option<String>,
    /// At most so many.
    pub limit: u32,
    /// After leaving out so many.
    pub offset: u32,
}

/// Runs and what they leave behind.
#[async_trait]
pub trait Runs: Send + Sync {
    /// One run.
    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError>;
    /// Whether somebody wants a run called off; `None` if there is no such run.
    async fn run_canceled(&self, id: &str) -> Result<Option<bool>, StoreError>;
    /// What is known of the steps of a run, by name.
    async fn run_steps(&self, id: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError>;
    /// Runs that match, the newest first.
    async fn runs(&self, query: &RunQuery) -> Result<Vec<RunRow>, StoreError>;
    /// Runs that nobody alive drives and that are not over, the oldest first.
    async fn waiting_runs(&self, limit: u32) -> Result<Vec<RunRow>, StoreError>;
    /// How many runs are not over.
    async fn open_runs(&self) -> Result<u64, StoreError>;
    /// One artifact.
    async fn artifact(&self, id: &str) -> Result<Option<ArtifactRow>, StoreError>;
    /// The artifacts of a run, the oldest first.
    async fn artifacts(&self, run: &str) -> Result<Vec<ArtifactRow>, StoreError>;
    /// Artifacts whose time is up and whose content is still there.
    async fn stale_artifacts(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<ArtifactRow>, StoreError>;
}

/// Content by name, too large for the state itself.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps content whole, or not at all.
    async fn put(&self, name: &str, content: Vec<u8>) -> Result<(), StoreError>;
    /// A part of it; `None` if it is not there.
    async fn part(&self, name: &str, from: u64, bytes: u64) -> Result<Option<Vec<u8>>, StoreError>;
    /// Takes it away; what is not there is gone already.
    async fn remove(&self, name: &str) -> Result<(), StoreError>;
}
