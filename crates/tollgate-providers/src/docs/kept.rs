//! What is remembered of edits: proposals until they are applied, and old versions after that.
//!
//! Both live in the provider's state: they belong to one principal, end by themselves and
//! survive a restart. Invariant: a proposal's id is the digest of what it does to which
//! version of which file, so whoever agrees to the id agrees to exactly that.

use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tollgate_core::{
    CallContext, ErrorCode, ProviderError, StoreError, Timestamp, canonical::hex_digest,
};

use super::diff::{Lines, unified};

/// How often a list is written anew when others write it too.
const ATTEMPTS: usize = 16;

/// A change of one file that somebody has worked out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Proposal {
    /// The file, links followed.
    pub(super) file: String,
    /// The digest of the version it changes; nothing if it makes the file.
    pub(super) base: Option<String>,
    /// The version it makes.
    pub(super) text: String,
    /// The digest of that version.
    pub(super) made: String,
    /// The digest of the difference.
    pub(super) digest: String,
    /// Which lines differ.
    pub(super) lines: Vec<Lines>,
}

impl Proposal {
    /// What the change is known by.
    pub(super) fn id(&self) -> String {
        let base = self.base.as_deref().unwrap_or("none");
        let bound = format!("{}\0{base}\0{}\0{}", self.file, self.made, self.digest);
        format!("pe-{}", &hex_digest(bound.as_bytes())[..32])
    }

    /// The difference to the version it changes.
    pub(super) fn diff(&self, old: Option<&str>) -> String {
        unified(&self.file, old, Some(&self.text), &self.lines)
    }
}

/// A change that was made, and what was there before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Applied {
    pub(super) proposal: Proposal,
    /// The version before; nothing if there was no file.
    pub(super) old: Option<String>,
}

impl Applied {
    /// The difference that taking it back makes.
    pub(super) fn reverse_diff(&self) -> String {
        let Proposal {
            file, text, lines, ..
        } = &self.proposal;
        let lines: Vec<Lines> = lines.iter().map(Lines::reversed).collect();
        unified(file, Some(text), self.old.as_deref(), &lines)
    }
}

/// A kind of thing that is remembered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shelf {
    name: &'static str,
    /// The most that one principal keeps; the oldest gives way.
    most: usize,
    pub(super) keep: Duration,
    /// Whether a file is replaced because of it, so that it must outlive a power cut.
    is_relied_on: bool,
}

impl Shelf {
    /// Proposals.
    pub(super) const fn proposals(keep: Duration) -> Self {
        Self {
            name: "proposal",
            most: 50,
            keep,
            is_relied_on: false,
        }
    }

    /// Old versions.
    pub(super) const fn versions(keep: Duration) -> Self {
        Self {
            name: "applied",
            most: 100,
            keep,
            is_relied_on: true,
        }
    }

    fn key(self, id: &str) -> String {
        format!("{}/{id}", self.name)
    }

    /// What is kept under an id.
    pub(super) async fn get<T: DeserializeOwned>(
        self,
        cx: &CallContext,
        id: &str,
    ) -> Result<Option<T>, ProviderError> {
        let kept = cx.state.get(&self.key(id)).await.map_err(failed)?;
        kept.map(|kept| serde_json::from_slice(&kept.value))
            .transpose()
            .map_err(ProviderError::unavailable)
    }

    /// Keeps something under an id; what was there is replaced.
    pub(super) async fn put<T: Serialize>(
        self,
        cx: &CallContext,
        id: &str,
        value: &T,
        now: Timestamp,
    ) -> Result<(), ProviderError> {
        let value = serde_json::to_vec(value).map_err(ProviderError::unavailable)?;
        let until = Some(now.plus(self.keep));
        let key = self.key(id);
        for _ in 0..ATTEMPTS {
            let known = cx.state.get(&key).await.map_err(failed)?;
            let version = known.map(|known| known.version);
            let value = value.clone();
            let put = match self.is_relied_on {
                true => cx.state.compare_and_keep(&key, version, value, until).await,
                false => cx.state.compare_and_put(&key, version, value, until).await,
            };
            match put {
                Ok(_) => return self.list(cx, id, now).await,
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(StoreError::Busy))
    }

    /// Notes an id as the newest, and forgets the oldest if there are too many.
    async fn list(self, cx: &CallContext, id: &str, now: Timestamp) -> Result<(), ProviderError> {
        let until = Some(now.plus(self.keep));
        let key = format!("{}s", self.name);
        for _ in 0..ATTEMPTS {
            let known = cx.state.get(&key).await.map_err(failed)?;
            let version = known.as_ref().map(|known| known.version);
            let mut ids: Vec<String> = match &known {
                Some(known) => {
                    serde_json::from_slice(&known.value).map_err(ProviderError::unavailable)?
                }
                None => Vec::new(),
            };
            ids.retain(|other| other != id);
            ids.push(id.to_owned());
            let surplus = ids.len().saturating_sub(self.most);
            let gone: Vec<String> = ids.drain(..surplus).collect();
            let value = serde_json::to_vec(&ids).map_err(ProviderError::unavailable)?;
            match cx.state.compare_and_put(&key, version, value, until).await {
                Ok(_) => {
                    for old in gone {
                        self.forget(cx, &old).await?;
                    }
                    return Ok(());
                }
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(StoreError::Busy))
    }

    /// Forgets what is kept under an id.
    pub(super) async fn forget(self, cx: &CallContext, id: &str) -> Result<(), ProviderError> {
        cx.state.delete(&self.key(id)).await.map_err(failed)
    }
}

fn failed(error: StoreError) -> ProviderError {
    let (code, message) = match error {
        StoreError::Busy => (
            ErrorCode::RateLimited,
            "others are writing at the same time",
        ),
        StoreError::Full
        | StoreError::Held(_)
        | StoreError::Unsynced
        | StoreError::NotAcknowledged(_)
        | StoreError::ReadOnly
        | StoreError::Failed(_)
        | StoreError::Corrupt(_)
        | StoreError::Budget { .. }
        | StoreError::ApprovalGone
        | StoreError::ApprovalsFull
        | StoreError::AlreadyEnded
        | StoreError::Conflict
        | StoreError::Missing => (error.code(), "what edits need remembered cannot be kept"),
    };
    ProviderError {
        detail: Some("No file was changed.".to_owned()),
        source: Some(Box::new(error)),
        ..ProviderError::new(code, message)
    }
}
