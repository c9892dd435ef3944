//! What a call looks like to whoever is asked to agree to it.
//!
//! Invariant: the human's view is made by `consent_view` alone and is kept with the question; the
//! caller gets the same arguments, shorter, and of what the call would do only what ordinary
//! cleaning leaves: it may quote files that the caller has not read.

use serde_json::{Value, json};
use tollgate_core::{ErrorCode, Failure, canonical::Node};

use super::{Inner, Stop, consent::site_of, validate::Valid};
use crate::{
    consent_view::{Arguments, Code, Unshowable, Viewer, can_be_read},
    policy::{Consent, Verdict},
};

/// How much of the arguments and of the code a caller is told; what is left out is counted.
const CALLER_CHARACTERS: usize = 4000;
/// How much of what a call would do, by its provider's account.
const EFFECT_CHARACTERS: usize = 80_000;

/// What the human sees: all that would run. A call that cannot be shown so is refused.
pub(super) fn of(
    inner: &Inner,
    valid: &Valid,
    verdict: &Verdict,
    needed: Consent,
) -> Result<Value, Stop> {
    let viewer = viewer(inner);
    let spec = &valid.listing.spec;
    let node = Node::of(valid.told())
        .map_err(|error| Stop::new(ErrorCode::InvalidArguments, error.to_string()))?;
    let mut shown = json!({
        "tool": spec.name.as_str(),
        "title": viewer.line(&spec.title),
        "capability": valid.capability.as_str(),
        "destructive": spec.annotations.destructive,
        "sensitive_sink": spec.annotations.sensitive_sink,
        "rule": verdict.rule,
        "site": site_of(valid.told()),
    });
    let view = viewer.arguments(&node, &spec.input_schema);
    match view.and_then(|view| with_planned_code(inner, valid, view)) {
        Ok(view) => {
            shown["arguments"] = view.text.into();
            shown["hidden_characters"] = view.changes.hidden.into();
            shown["cleaned"] = view.changes.cleaned().into();
            shown["masked"] = view.changes.masked.into();
            shown["spelled_out"] = view.changes.spelled.into();
            if !view.code.is_empty() {
                shown["code"] = json!(view.code);
            }
        }
        // The cost is all that is asked about.
        Err(_) if needed != Consent::Human => shown["cleaned"] = true.into(),
        Err(error) => return Err(refused(&error, spec.name.as_str())),
    }
    if let Some(restored) = &valid.restored {
        shown["placeholders"] = spelled(&viewer, &restored.shown(spec));
    }
    if let Some(step) = &valid.step {
        shown["run"] = step.run.as_str().into();
        shown["run_step"] = step.step.as_str().into();
    }
    if let Some(plan) = &valid.plan {
        shown["plan"] = spelled(&viewer, &plan.shown);
    }
    Ok(shown)
}

/// The arguments with the code that the calls of a plan run, where a part of what it is made of was left out or masked.
fn with_planned_code(
    inner: &Inner,
    valid: &Valid,
    mut view: Arguments,
) -> Result<Arguments, Unshowable> {
    let is_whole = view.changes.hidden + view.changes.masked == 0;
    let Some(plan) = valid.plan.as_ref().filter(|_| !is_whole) else {
        return Ok(view);
    };
    let (viewer, catalog) = (viewer(inner), inner.catalog());
    for call in &plan.calls {
        let (Some(listing), Some(arguments)) = (catalog.find(call.tool.as_str()), &call.arguments)
        else {
            continue;
        };
        let arguments = listing.respelled(arguments.clone());
        let Ok(node) = Node::of(&arguments) else {
            continue;
        };
        for code in viewer.code(&node, &listing.spec.input_schema)? {
            if view.code.iter().all(|it| it.text != code.text) {
                let argument = format!("{}: {}", listing.spec.name, code.argument);
                view.code.push(Code { argument, ..code });
            }
        }
    }
    can_be_read(&view.code)?;
    Ok(view)
}

fn viewer(inner: &Inner) -> Viewer<'_> {
    Viewer {
        cleaner: &inner.cleaner,
        key: &inner.approval_key,
    }
}

fn refused(error: &Unshowable, tool: &str) -> Stop {
    let code = ErrorCode::CannotBeShown;
    let message = format!("nobody can be asked about this call of `{tool}`: {error}");
    Failure::new(code, message).suggest(code.advice()).into()
}

/// The same with every text on one line.
fn spelled(viewer: &Viewer<'_>, value: &Value) -> Value {
    match value {
        Value::String(text) => viewer.line(text).into(),
        Value::Array(items) => items.iter().map(|item| spelled(viewer, item)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (viewer.line(name), spelled(viewer, value)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Adds what the provider says the call would do; whatever is left out is said.
pub(super) fn add_effect(inner: &Inner, preview: &mut Value, effect: &str) {
    let (text, changes) = viewer(inner).text(effect, EFFECT_CHARACTERS);
    preview["effect"] = text.into();
    preview["effect_hidden_characters"] = changes.hidden.into();
    preview["effect_cleaned"] = changes.cleaned().into();
}

/// The view as its caller is told.
pub(super) fn for_caller(inner: &Inner, preview: &Value) -> Value {
    let mut told = preview.clone();
    let mut hidden = 0;
    let mut cut = |text: &mut Value| {
        let whole = text.as_str().unwrap_or_default();
        hidden += whole.chars().count().saturating_sub(CALLER_CHARACTERS);
        *text = inner.cleaner.preview(whole, CALLER_CHARACTERS).into();
    };
    if told["arguments"].is_string() {
        cut(&mut told["arguments"]);
    }
    for code in told
        .get_mut("code")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        cut(&mut code["text"]);
    }
    if hidden > 0 {
        let before = told["hidden_characters"].as_u64().unwrap_or_default();
        told["hidden_characters"] = (before + hidden as u64).into();
    }
    if let Some(effect) = preview["effect"].as_str() {
        let (clean, cleaned) = inner.cleaner.text(effect);
        told["effect"] = clean.into();
        told["effect_cleaned"] = (cleaned || preview["effect_cleaned"] == true).into();
    }
    told
}
