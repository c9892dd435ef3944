//! Endings for calls whose process died.
//!
//! Invariant: only intents whose owner is dead are ended, each exactly once; what
//! the tool had done by then is not known, and the ending says so.

use serde_json::json;
use tollgate_core::{
    ConsumedSource, ErrorCode, Failure, StoreError,
    store::{Batch, Change, Durability, Ending, Intent},
};

use crate::{
    call::{Gateway, Inner, StoredEnding},
    record::{self, ENDING},
};

impl Gateway {
    /// Ends every announced call whose process is dead; tells how many there were.
    pub async fn recover(&self) -> Result<usize, StoreError> {
        end_abandoned(&self.0).await
    }
}

/// Ends every announced call whose process is dead; tells how many there were.
pub(crate) async fn end_abandoned(inner: &Inner) -> Result<usize, StoreError> {
    let mut ended = 0;
    for intent in inner.store.abandoned().await? {
        match end(inner, intent).await {
            Ok(()) => ended += 1,
            Err(StoreError::AlreadyEnded) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ended)
}

async fn end(inner: &Inner, intent: Intent) -> Result<(), StoreError> {
    let code = ErrorCode::Interrupted;
    let message = format!("the process died while `{}` ran", intent.tool);
    let mut failure = Failure::new(code, message).suggest(code.advice());
    if intent.effect {
        failure = failure.with("outcome", "unknown");
    }
    let ending = StoredEnding {
        kept: None,
        failure: Some(failure),
        input: None,
    };
    let now = inner.clock.now();
    let mut changes = vec![Change::EndIntent(Ending {
        call: intent.call.clone(),
        answer: intent
            .effect
            .then(|| serde_json::to_vec(&ending).unwrap_or_default()),
        at: now,
    })];
    if intent.reserved > 0 {
        changes.push(Change::Settle {
            session: intent.session.clone(),
            reserved: intent.reserved,
            consumed: intent.reserved,
            source: ConsumedSource::EstimatedFallback,
        });
    }
    let entry = record::note(
        ENDING,
        now,
        json!({
            "call_id": intent.call.as_str(),
            "trace_id": intent.trace_id,
            "principal": intent.session.principal.as_str(),
            "session": intent.session.handle,
            "tool": intent.tool,
            "status": "error",
            "error_code": code.as_str(),
            "recovered": true,
            "owner": intent.owner,
            "began": intent.at,
            "consumed": intent.reserved,
        }),
    );
    let batch = Batch {
        changes,
        audit: vec![entry],
        durability: Durability::Disk,
    };
    inner.store.commit(batch).await.map(|_| ())
}
