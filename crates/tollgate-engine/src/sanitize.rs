//! What a result loses before anyone may see it.
//!
//! Invariant: nothing outside this module can make a [`Clean`] value, and nothing
//! but clean values leaves the engine, reaches the cache or is written down.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use serde::Serialize;
use serde_json::{Map, Value};
use tollgate_core::{Block, Event, Failure, InputAsk, Payload, ToolResult, Warning};
use tollgate_sanitize::{
    Findings, Identifiers, KeyMaterial, Sanitizer, Scope, truncate_on_char_boundary, with_strings,
};

use crate::{binary, call::Checked};

/// A value that this module has cleaned.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Clean<T>(T);

impl<T> Clean<T> {
    /// Looks at it.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// Takes it out, to be printed.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl Clean<tollgate_core::Envelope> {
    /// Wraps an envelope put together from clean parts.
    pub(crate) fn assembled(envelope: tollgate_core::Envelope) -> Self {
        Self(envelope)
    }
}

impl Clean<Failure> {
    /// Wraps the failure of a clean answer.
    pub(crate) fn of_failure(failure: Failure) -> Self {
        Self(failure)
    }
}

impl Clean<Vec<Block>> {
    /// Wraps blocks of a clean answer.
    pub(crate) fn of_blocks(blocks: Vec<Block>) -> Self {
        Self(blocks)
    }
}

/// What cleaning found, as results and records tell it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) redactions: usize,
    pub(crate) applied: bool,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) taint: Vec<Value>,
    /// The same in the whole of an answer that shows only a part.
    pub(crate) taint_of_whole: Vec<Value>,
    pub(crate) changed: bool,
}

/// Cleans everything that passes the door.
#[derive(Debug, Clone)]
pub struct Cleaner {
    rules: Rules,
}

#[derive(Debug, Clone)]
enum Rules {
    Shipped(&'static Sanitizer),
    Extended(Arc<Sanitizer>),
}

impl Deref for Rules {
    type Target = Sanitizer;

    fn deref(&self) -> &Sanitizer {
        match self {
            Self::Shipped(rules) => rules,
            Self::Extended(rules) => rules,
        }
    }
}

impl Cleaner {
    /// Uses the shipped rules.
    pub fn shipped() -> Self {
        Self {
            rules: Rules::Shipped(Sanitizer::shipped()),
        }
    }

    /// Uses the shipped rules and an operator's own.
    pub fn with(rules: Sanitizer) -> Self {
        Self {
            rules: Rules::Extended(Arc::new(rules)),
        }
    }

    /// Which rules these are; cached answers are bound to it.
    pub fn version(&self) -> &str {
        self.rules.version()
    }

    /// Cleans an answer. `is_of_others` asks for markup that would run or load something; `hide`
    /// takes out what only this call is known to have been given.
    pub(crate) fn result(
        &self,
        checked: Checked,
        is_of_others: bool,
        scope: &Scope<'_>,
        hide: impl FnOnce(&mut ToolResult),
    ) -> (Clean<ToolResult>, Found) {
        let mut result = checked.into_inner();
        let mut found = Found::default();
        if let Some(payload) = self.payload(&result.payload, scope, &mut found) {
            result.payload = payload;
        }
        if let Some(whole) = &mut result.whole {
            // What is not shown does not count in what is told of the answer.
            let mut beyond = Found::default();
            if let Some(clean) = self.payload(whole, scope, &mut beyond) {
                **whole = clean;
            }
            found.taint_of_whole = beyond.taint;
        }
        for Block(block) in &mut result.blocks {
            if let Some(clean) = self.payload(block, scope, &mut found) {
                *block = clean;
            }
        }
        let blocks = result.blocks.iter().map(|Block(block)| block);
        let mut all = std::iter::once(&result.payload).chain(blocks);
        if is_of_others && all.any(is_active) {
            found.warnings.push(Warning::ActiveContent);
        }
        result.failure = result
            .failure
            .map(|failure| Box::new(self.failure(*failure).into_inner()));
        if let Some(service) = &mut result.service {
            service.request = self.value(&service.request);
            service.token_bucket = self.value(&service.token_bucket);
        }
        hide(&mut result);
        (Clean(result), found)
    }

    /// Cleans a failure: its message may quote a hostile service.
    pub(crate) fn failure(&self, mut failure: Failure) -> Clean<Failure> {
        failure.message = self.line(&failure.message);
        failure.detail = failure.detail.map(|text| self.line(&text));
        failure.recovery_suggestion = failure.recovery_suggestion.map(|text| self.line(&text));
        failure.recover_hint = failure.recover_hint.map(|text| self.line(&text));
        if let Value::Object(details) = self.value(&Value::Object(failure.details)) {
            failure.details = details;
        } else {
            failure.details = Map::new();
        }
        Clean(failure)
    }

    /// The places of a text that have the real form of key material.
    pub(crate) fn key_material(&self, text: &str) -> Vec<KeyMaterial> {
        self.rules.key_material(text)
    }

    /// Cleans a failure that asks for consent; its preview is the view a human gets, made clean
    /// by rules of its own.
    pub(crate) fn asking(&self, mut failure: Failure) -> Clean<Failure> {
        let preview = failure.details.get_mut("preview").map(Value::take);
        let Clean(mut failure) = self.failure(failure);
        if let (Some(place), Some(preview)) = (failure.details.get_mut("preview"), preview) {
            *place = preview;
        }
        Clean(failure)
    }

    /// Cleans arguments for the record; says whether anything was taken out.
    pub(crate) fn arguments<'a>(&self, raw: &'a str) -> (Cow<'a, str>, bool) {
        match self.rules.json(raw, &Scope::trusted()) {
            Ok(cleaned) => {
                let redacted = cleaned.findings.redacted();
                (cleaned.text, redacted)
            }
            Err(_) => (Cow::Borrowed("\"(unreadable)\""), true),
        }
    }

    /// Cleans what a provider asks for.
    pub(crate) fn ask(&self, ask: &mut InputAsk) {
        let (InputAsk::Elicitation(payload)
        | InputAsk::Sampling(payload)
        | InputAsk::Roots(payload)) = ask;
        let mut found = Found::default();
        if let Some(clean) = self.payload(payload, &Scope::trusted(), &mut found) {
            *payload = clean;
        }
    }

    /// Cleans what a provider says while it runs.
    pub(crate) fn event(&self, event: Event) -> Event {
        match event {
            Event::Progress {
                done,
                total,
                message,
            } => Event::Progress {
                done,
                total,
                message: message.map(|text| self.line(&text)),
            },
            Event::Log {
                level,
                logger,
                data,
            } => Event::Log {
                level,
                logger: logger.map(|text| self.line(&text)),
                data: self.value(&data),
            },
        }
    }

    /// Cleans a JSON value of ours.
    pub fn value(&self, value: &Value) -> Value {
        let raw = value.to_string();
        match self.rules.json(&raw, &Scope::trusted()) {
            Ok(cleaned) => match cleaned.text {
                Cow::Borrowed(_) => value.clone(),
                Cow::Owned(text) => serde_json::from_str(&text).unwrap_or_default(),
            },
            Err(_) => Value::Null,
        }
    }

    /// Cleans a line of text.
    pub fn line(&self, text: &str) -> String {
        self.rules.text(text, &Scope::trusted()).text.into_owned()
    }

    /// Whether a name can be written down as it is: nothing in it is secret, moves or hides.
    pub fn is_plain(&self, name: &str) -> bool {
        !name.chars().any(char::is_control) && self.line(name) == name
    }

    /// Cleans a document: JSON as JSON, where numbers and identifiers stay, and else as text.
    pub(crate) fn document(&self, text: &str, identifiers: &Identifiers) -> String {
        let scope = Scope::trusted().with_identifiers(identifiers);
        if text.starts_with(['{', '['])
            && let Ok(cleaned) = self.rules.json(text, &scope)
        {
            return cleaned.text.into_owned();
        }
        self.rules.text(text, &scope).text.into_owned()
    }

    /// Cleans a JSON value as an answer is: identifiers stay, and what says that it is binary.
    pub(crate) fn kept<'a>(&self, value: &'a Value, identifiers: &Identifiers) -> Cow<'a, Value> {
        let payload = Payload::from(value.clone());
        let scope = Scope::trusted().with_identifiers(identifiers);
        match self.payload(&payload, &scope, &mut Found::default()) {
            Some(clean) => Cow::Owned(clean.value().clone()),
            None => Cow::Borrowed(value),
        }
    }

    /// Cleans text of several lines; says whether anything was taken out.
    pub(crate) fn text(&self, text: &str) -> (String, bool) {
        let cleaned = self.rules.text(text, &Scope::trusted());
        let changed = cleaned.text != text;
        (cleaned.text.into_owned(), changed)
    }

    /// Cleans text, then keeps its first characters.
    pub(crate) fn preview(&self, clean: &str, characters: usize) -> String {
        let mut cut = clean
            .char_indices()
            .nth(characters)
            .map_or(clean, |(at, _)| truncate_on_char_boundary(clean, at))
            .to_owned();
        if cut.len() < clean.len() {
            cut.push('…');
        }
        cut
    }

    /// The cleaned payload, or nothing if it was clean already.
    fn payload(&self, payload: &Payload, scope: &Scope<'_>, found: &mut Found) -> Option<Payload> {
        match binary::take(payload) {
            Some(emptied) => {
                let clean = self.text_of(&emptied.payload, scope, found)?;
                let whole = emptied.refill(&clean);
                Some(whole.unwrap_or_else(|| Payload::from(Value::Null)))
            }
            None => self.text_of(payload, scope, found),
        }
    }

    fn text_of(&self, payload: &Payload, scope: &Scope<'_>, found: &mut Found) -> Option<Payload> {
        match self.rules.json(payload.raw(), scope) {
            Ok(cleaned) => {
                note(&cleaned.findings, found);
                match cleaned.text {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(text) => {
                        found.changed = true;
                        Some(Payload::parse(text).unwrap_or_else(|_| Payload::from(Value::Null)))
                    }
                }
            }
            Err(_) => {
                found.changed = true;
                Some(Payload::from(Value::Null))
            }
        }
    }
}

/// Whether a text within an answer would run or load something where it is rendered.
fn is_active(payload: &Payload) -> bool {
    if !tollgate_sanitize::may_be_active(payload.raw().as_bytes()) {
        return false;
    }
    // A tree would not hold what stands under a key that is given twice.
    let mut is_active = false;
    let looked = with_strings(payload.raw(), |text, is_name| {
        is_active |= !is_name && tollgate_sanitize::is_active(text);
        None
    });
    is_active || looked.is_err()
}

fn note(findings: &Findings, found: &mut Found) {
    let mut warn = |warning: Warning| {
        if !found.warnings.contains(&warning) {
            found.warnings.push(warning);
        }
    };
    if findings.has_pii() {
        warn(Warning::PiiRedacted);
    }
    if findings.has_secrets() {
        warn(Warning::SecretsRedacted);
    }
    if findings.stripped_invisible() + findings.stripped_terminal() > 0 {
        warn(Warning::InvisibleRemoved);
    }
    if !findings.tainted.is_empty() {
        warn(Warning::TaintedContent);
    }
    found.redactions += findings.replaced();
    found.applied |= findings.redacted();
    found.taint.extend(findings.tainted.iter().map(|span| {
        serde_json::json!({
            "pointer": span.pointer, "start": span.start, "end": span.end, "rule": &*span.rule,
        })
    }));
}
