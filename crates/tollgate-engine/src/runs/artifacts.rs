//! What runs leave behind: kept, read in pieces, and swept when its time is up.
//!
//! Invariants: text is clean before it is kept; content that is there has a row, so that it is
//! swept whatever happens in between.

use std::sync::Arc;

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json, value::RawValue};
use sha2::{Digest, Sha256};
use tollgate_core::{
    Artifacts, NewContent, Principal, ProviderError, StoreError,
    canonical::hex,
    store::{ArtifactRow, Batch, Change, RunChange},
};
use tollgate_runs::{Content, NewArtifact, Note};

use super::{Shared, errors};
use crate::{call::Inner, record};

/// How many are swept in one go.
const SWEEP: u32 = 256;

/// Which step of which run leaves something behind.
pub(super) struct Origin<'a> {
    pub(super) run: &'a str,
    pub(super) principal: &'a Principal,
    pub(super) step: &'a str,
    pub(super) attempt: u32,
    /// Whether anything the run has read so far reads like instructions.
    pub(super) is_tainted: bool,
}

#[async_trait]
impl Artifacts for Shared {
    async fn keep(&self, content: NewContent) -> Result<String, ProviderError> {
        self.keep_content(content).await
    }
}

impl Shared {
    /// Keeps artifacts: first that they are there, then their content. A row whose content
    /// could not be kept ends with its run.
    pub(super) async fn keep(
        &self,
        inner: &Inner,
        origin: &Origin<'_>,
        artifacts: Vec<NewArtifact>,
    ) -> Result<Vec<Note>, StoreError> {
        let mut contents = Vec::new();
        let mut batch = Batch::default();
        for (at, artifact) in artifacts.into_iter().enumerate() {
            let (bytes, guessed) = match artifact.content {
                Content::Text(text) => (text.into_bytes(), "text/plain"),
                Content::Base64(coded) => match STANDARD.decode(coded.trim()) {
                    Ok(bytes) => (bytes, "application/octet-stream"),
                    // It said base64 and is none: then it is the text that it is.
                    Err(_) => (inner.cleaner.line(&coded).into_bytes(), "text/plain"),
                },
            };
            let note = Note {
                artifact_id: id(origin, at, &artifact.name),
                mime_type: artifact.mime_type.unwrap_or_else(|| guessed.to_owned()),
                size: bytes.len() as u64,
                sha256: hex(&Sha256::digest(&bytes)),
                name: artifact.name,
                kind: artifact.kind,
            };
            self.note(inner, origin, &note, &mut batch);
            contents.push((note, bytes));
        }
        if !contents.is_empty() {
            inner.store.commit(batch).await?;
        }
        let mut notes = Vec::with_capacity(contents.len());
        for (note, bytes) in contents {
            self.blobs.put(&note.artifact_id, bytes).await?;
            notes.push(note);
        }
        Ok(notes)
    }

    /// Keeps what a provider hands over; no run has left it.
    async fn keep_content(&self, content: NewContent) -> Result<String, ProviderError> {
        let inner = self.engine()?;
        let now = inner.clock.now();
        let named = format!("{}\n{}", content.principal.as_str(), content.origin);
        let row = ArtifactRow {
            id: format!("art_{}", &hex(&Sha256::digest(named.as_bytes()))[..24]),
            run: String::new(),
            principal: content.principal,
            name: content.name,
            kind: content.kind,
            mime_type: content.mime_type,
            size: content.bytes.len() as u64,
            sha256: hex(&Sha256::digest(&content.bytes)),
            // Strangers wrote it, and no step of a run was there to look at it.
            is_tainted: true,
            created: now,
            until: Some(now.plus(self.settings.artifact_ttl)),
            is_gone: false,
        };
        let facts = json!({
            "principal": row.principal.as_str(),
            "artifact": row.id,
            "size": row.size,
            "sha256": row.sha256,
        });
        let id = row.id.clone();
        let batch = Batch {
            changes: vec![Change::Run(RunChange::Keep(row))],
            audit: vec![record::note("artifact", now, facts)],
            ..Batch::default()
        };
        inner
            .store
            .commit(batch)
            .await
            .map_err(errors::from_store)?;
        let put = self.blobs.put(&id, content.bytes).await;
        put.map_err(errors::from_store)?;
        Ok(id)
    }

    fn note(&self, inner: &Inner, origin: &Origin<'_>, note: &Note, batch: &mut Batch) {
        let now = inner.clock.now();
        batch.changes.push(Change::Run(RunChange::Keep(ArtifactRow {
            id: note.artifact_id.clone(),
            run: origin.run.to_owned(),
            principal: origin.principal.clone(),
            name: note.name.clone(),
            kind: note.kind.clone(),
            mime_type: note.mime_type.clone(),
            size: note.size,
            sha256: note.sha256.clone(),
            is_tainted: origin.is_tainted,
            created: now,
            until: None,
            is_gone: false,
        })));
        batch.audit.push(record::note(
            "artifact",
            now,
            json!({
                "principal": origin.principal.as_str(),
                "run": origin.run,
                "run_step": origin.step,
                "artifact": note.artifact_id,
                "size": note.size,
                "sha256": note.sha256,
            }),
        ));
    }

    /// An artifact of this principal whose content is still there.
    pub(super) async fn artifact(
        &self,
        inner: &Inner,
        principal: &Principal,
        id: &str,
    ) -> Result<ArtifactRow, ProviderError> {
        let fact = || [("artifactId", Value::from(id))];
        let found = inner.store.artifact(id).await.map_err(errors::from_store)?;
        let Some(row) = found.filter(|row| row.principal == *principal) else {
            let message = format!("there is no artifact `{id}` of yours");
            return Err(errors::ARTIFACT_NOT_FOUND.with(message, fact()));
        };
        let now = inner.clock.now();
        if row.is_gone || row.until.is_some_and(|until| until <= now) {
            let message = format!("the time of artifact `{id}` is up");
            return Err(errors::ARTIFACT_EXPIRED.with(message, fact()));
        }
        Ok(row)
    }

    /// A part of an artifact; one whose content was lost counts as expired.
    async fn part(
        &self,
        row: &ArtifactRow,
        from: u64,
        bytes: u64,
    ) -> Result<Vec<u8>, ProviderError> {
        let part = self.blobs.part(&row.id, from, bytes).await;
        part.map_err(errors::from_store)?.ok_or_else(|| {
            let message = format!("the content of artifact `{}` is gone", row.id);
            errors::ARTIFACT_EXPIRED.with(message, [("artifactId", row.id.as_str().into())])
        })
    }

    /// A part of an artifact that begins within it, as long as wanted but never longer than
    /// `most`.
    pub(super) async fn piece(
        &self,
        row: &ArtifactRow,
        offset: u64,
        limit: Option<u64>,
        most: u64,
    ) -> Result<Vec<u8>, ProviderError> {
        if offset > row.size {
            let message = format!("`offset` {offset} is past the end at {}", row.size);
            return Err(errors::INVALID_PARAMETER.with(message, [("size", row.size.into())]));
        }
        let wanted = limit.map_or(most, |limit| limit.min(most));
        self.part(row, offset, wanted).await
    }

    /// Takes away the content of artifacts whose time is up. One that cannot be taken away
    /// is tried again with the next sweep, and keeps no other.
    pub(super) async fn sweep(self: &Arc<Self>, inner: &Inner) -> Result<usize, StoreError> {
        let stale = inner
            .store
            .stale_artifacts(inner.clock.now(), SWEEP)
            .await?;
        let mut changes = Vec::new();
        let mut failed = None;
        for row in stale {
            match self.blobs.remove(&row.id).await {
                Ok(()) => changes.push(Change::Run(RunChange::Gone { artifact: row.id })),
                Err(error) => failed = Some(error),
            }
        }
        let swept = changes.len();
        if let Some(error) = failed.filter(|_| swept == 0) {
            return Err(error);
        }
        if swept > 0 {
            let batch = Batch {
                changes,
                ..Batch::default()
            };
            inner.store.commit(batch).await?;
        }
        Ok(swept)
    }
}

/// The same step leaves the same ids behind, also if a crash makes it do so again.
fn id(origin: &Origin<'_>, at: usize, name: &str) -> String {
    let text = format!(
        "{}\n{}\n{}\n{at}\n{name}",
        origin.run, origin.step, origin.attempt
    );
    let digest = hex(&Sha256::digest(text.as_bytes()));
    format!("art_{}", &digest[..24])
}

/// Base64 as a JSON string. It holds nothing that JSON would have to escape, so nobody
/// looks for that in a quarter of a megabyte.
pub(super) fn coded(bytes: &[u8]) -> Result<Box<RawValue>, ProviderError> {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4 + 2);
    text.push('"');
    STANDARD.encode_string(bytes, &mut text);
    text.push('"');
    RawValue::from_string(text).map_err(ProviderError::unavailable)
}
