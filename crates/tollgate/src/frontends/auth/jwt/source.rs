//! Where the issuer's keys come from.

use std::sync::Arc;

use tollgate_core::Timestamp;

use super::{Refused, file::KeyFile, keys::KeySet, remote::Remote};
use crate::config::KeySource;

pub(super) enum Source {
    File(KeyFile),
    Url(Box<Remote>),
}

impl Source {
    pub(super) fn new(source: &KeySource) -> Result<Self, String> {
        match source {
            KeySource::File(path) => KeyFile::new(path).map(Self::File),
            KeySource::Url(url) => Remote::new(url).map(Box::new).map(Self::Url),
        }
    }

    /// The keys as they are known now.
    pub(super) async fn keys(&self, now: Timestamp) -> Result<Arc<KeySet>, Refused> {
        match self {
            Self::File(file) => file.keys().map_err(|why| {
                Refused::Unavailable(format!("the issuer's keys cannot be read: {why}"))
            }),
            Self::Url(remote) => remote.keys(now).await,
        }
    }

    /// Keys that replaced `known`, if the source may be asked and has any.
    pub(super) async fn newer_keys(
        &self,
        known: &Arc<KeySet>,
        now: Timestamp,
    ) -> Result<Option<Arc<KeySet>>, Refused> {
        match self {
            // A file was looked at a moment ago.
            Self::File(_) => Ok(None),
            Self::Url(remote) => {
                let newest = remote.ask(Some(known), now).await?;
                Ok(newest.filter(|newest| !Arc::ptr_eq(newest, known)))
            }
        }
    }
}
