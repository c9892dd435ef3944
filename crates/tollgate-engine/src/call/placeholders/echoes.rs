//! Values that went into arguments, where they come back.
//!
//! Invariant: a value stands in no answer, message or question of its session as it is; another form of it is not known.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;
use tollgate_core::{Block, Event, Failure, InputAsk, InputRequest, Payload, ToolResult};
use tollgate_sanitize::with_strings;

use super::Restored;
use crate::session::{Sealed, SessionState};

/// A shorter value that comes back in an answer is not looked for: it could be anything.
const SHORTEST_ECHO: usize = 6;

/// Values that were put into the arguments of this call and of earlier ones, to be hidden where they come back.
#[derive(Default)]
pub(in super::super) struct Echoes(Vec<(String, Arc<Sealed>)>);

impl Echoes {
    /// Notes what goes into this call, and knows what went into others.
    pub(in super::super) fn of(session: &SessionState, restored: Option<&Restored>) -> Self {
        if let Some(restored) = restored {
            session.note_uses(restored.ids());
        }
        let used = session.used_values().into_iter().map(|(id, sealed)| {
            let placeholder = format!("[REDACTED:{}#{id}]", sealed.rule);
            (placeholder, sealed)
        });
        Self(used.collect())
    }

    /// An answer or a message with the placeholders back in it, should it repeat a value.
    pub(in super::super) fn hidden(&self, text: &str) -> Option<String> {
        let mut hidden = None;
        for (placeholder, sealed) in &self.0 {
            let value = &sealed.value;
            let now: &str = hidden.as_deref().unwrap_or(text);
            if value.len() >= SHORTEST_ECHO && now.contains(value.as_str()) {
                hidden = Some(now.replace(value.as_str(), placeholder));
            }
        }
        hidden
    }

    /// The same for every string of a JSON text.
    pub(in super::super) fn hidden_in(&self, raw: &str) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        match with_strings(raw, |text, _| self.hidden(text)) {
            Ok(Cow::Owned(hidden)) => Some(hidden),
            Ok(Cow::Borrowed(_)) | Err(_) => None,
        }
    }

    /// The same for all of an answer that was cleaned.
    pub(in super::super) fn hide_in(&self, result: &mut ToolResult) {
        if self.0.is_empty() {
            return;
        }
        let blocks = result.blocks.iter_mut().map(|Block(block)| block);
        let whole = result.whole.as_deref_mut();
        for payload in blocks.chain(whole).chain([&mut result.payload]) {
            let hidden = self.hidden_in(payload.raw());
            if let Some(hidden) = hidden.and_then(|text| Payload::parse(text).ok()) {
                *payload = hidden;
            }
        }
        if let Some(failure) = &mut result.failure {
            self.hide_in_failure(failure);
        }
    }

    /// The same for what a tool says while it runs.
    pub(in super::super) fn hide_in_event(&self, event: &mut Event) {
        let hide = |text: &mut String| {
            if let Some(hidden) = self.hidden(text) {
                *text = hidden;
            }
        };
        match event {
            Event::Progress { message, .. } => message.iter_mut().for_each(hide),
            Event::Log { logger, data, .. } => {
                logger.iter_mut().for_each(hide);
                if let Some(hidden) = self.hidden_in(&data.to_string()) {
                    *data = serde_json::from_str(&hidden).unwrap_or_default();
                }
            }
        }
    }

    /// The same for what a tool asks for.
    pub(in super::super) fn hide_in_request(&self, request: &mut InputRequest) {
        for ask in request.asks.values_mut() {
            let (InputAsk::Elicitation(payload)
            | InputAsk::Sampling(payload)
            | InputAsk::Roots(payload)) = ask;
            let hidden = self.hidden_in(payload.raw());
            if let Some(hidden) = hidden.and_then(|text| Payload::parse(text).ok()) {
                *payload = hidden;
            }
        }
    }

    /// The same for why a call failed.
    pub(in super::super) fn hide_in_failure(&self, failure: &mut Failure) {
        if self.0.is_empty() {
            return;
        }
        let texts = [
            Some(&mut failure.message),
            failure.detail.as_mut(),
            failure.recovery_suggestion.as_mut(),
            failure.recover_hint.as_mut(),
        ];
        for text in texts.into_iter().flatten() {
            if let Some(hidden) = self.hidden(text) {
                *text = hidden;
            }
        }
        let details = Value::Object(failure.details.clone()).to_string();
        if let Some(hidden) = self.hidden_in(&details) {
            failure.details = serde_json::from_str(&hidden).unwrap_or_default();
        }
    }
}
