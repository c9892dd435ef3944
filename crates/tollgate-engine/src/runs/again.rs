//! The calls of a run looked at again, and made again.
//!
//! Invariant: calls that are made again belong to a conversation of their own, which ends
//! with them; whatever they leave there, no other conversation sees it.

use std::sync::Arc;

use tollgate_core::{ErrorCode, SessionKey, StoreError, audit::AuditQuery};

use super::{Runs, body::Body};
use crate::{
    Caller,
    call::{Gateway, Inner, StepOf},
    ids,
    policy::Consent,
    replay::{Again, Recorded},
};

/// How many records are read in one go.
const PAGE: u32 = 1000;

impl Runs {
    /// Every call that a run made, each attempt of each step, in the order in which they
    /// ended. Calls that were only asked about are not among them.
    pub async fn recorded(&self, id: &str) -> Result<Vec<Recorded>, StoreError> {
        let Ok(inner) = self.0.engine() else {
            return Ok(Vec::new());
        };
        let row = inner.store.run(id).await?;
        let body = row.and_then(|row| Body::read(&row.record));
        let trace = body
            .as_ref()
            .and_then(|body| body.traceparent.split('-').nth(1));
        let mut query = AuditQuery {
            limit: PAGE,
            kind: Some("ending".to_owned()),
            trace_id: trace.map(str::to_owned),
            ..AuditQuery::default()
        };
        if query.trace_id.is_none() {
            return Ok(Vec::new());
        }
        let gateway = Gateway(inner);
        let mut calls = Vec::new();
        loop {
            let rows = gateway.store().records(&query).await?;
            query.cursor = rows.last().map(|row| row.seq);
            let is_last = rows.len() < PAGE as usize;
            for row in rows {
                let recorded = gateway.with_body(row).await?;
                let is_ours = recorded.field("run") == Some(id);
                let asked = ErrorCode::ConfirmationRequired.as_str();
                if is_ours && recorded.field("error_code") != Some(asked) {
                    calls.push(recorded);
                }
            }
            if is_last {
                return Ok(calls);
            }
        }
    }

    /// Makes the calls of a run again, one after the other, and compares.
    /// `accepts_cost` is the caller's own agreement to what they cost.
    pub async fn again(
        &self,
        caller: &Caller,
        id: &str,
        calls: &[Recorded],
        accepts_cost: bool,
    ) -> Vec<Option<Again>> {
        let (Ok(inner), Ok(conversation)) = (self.0.engine(), ids::random_id("rp")) else {
            return vec![None; calls.len()];
        };
        let gateway = Gateway(Arc::clone(&inner));
        let mut made = Vec::with_capacity(calls.len());
        for recorded in calls {
            let step = StepOf {
                run: format!("replay:{id}"),
                step: recorded.field("run_step").unwrap_or_default().to_owned(),
                // Whoever agreed to the run did not agree to this.
                consent: Consent::None,
                conversation: Some(conversation.clone()),
            };
            let again = gateway.again_in(caller, recorded, accepts_cost, Some(step));
            made.push(again.await);
        }
        let principal = caller.session.principal.clone();
        let tools = calls.iter().filter_map(|call| call.field("tool"));
        leave(&inner, tools, &SessionKey::new(principal, conversation)).await;
        made
    }
}

/// Tells those who serve these tools that a conversation is over.
pub(super) async fn leave<'t>(
    inner: &Inner,
    tools: impl Iterator<Item = &'t str>,
    conversation: &SessionKey,
) {
    let catalog = inner.catalog();
    let mut told: Vec<&str> = Vec::new();
    for tool in tools {
        let Some(listing) = catalog.find(tool) else {
            continue;
        };
        if !told.contains(&listing.provider.id()) {
            told.push(listing.provider.id());
            listing.provider.leave(conversation).await;
        }
    }
}
