//! Whether arguments and answers are what the spec says, and not too much of it.
//!
//! Invariant: only [`input`] makes a [`Valid`] call and only [`output`] makes a
//! [`Checked`] answer.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tollgate_core::{
    Capability, Control, ErrorCode, Estimate, EventSink, Failure, InputResponses, Payload, Plan,
    Shape, ToolResult,
    canonical::{CanonicalError, Form, Node, hex},
};

use super::{
    HumanConsent, Inner, StepOf, Stop,
    admit::Resolved,
    cache::{self, Place},
    known::Known,
    plan,
    state::Resumed,
};
use crate::{
    catalog::Listing,
    policy::Action,
    record::{CleanArguments, Trail},
    schema::{self, Problem},
};

/// The most characters of an idempotency key.
const MAX_KEY: usize = 255;

/// A call whose arguments fit the tool.
pub(super) struct Valid {
    pub(super) action: Action,
    pub(super) listing: Arc<Listing>,
    pub(super) arguments: Payload,
    pub(super) control: Control,
    pub(super) capability: Capability,
    pub(super) estimate: Estimate,
    pub(super) effect: bool,
    pub(super) known: Arc<Known>,
    pub(super) human: Option<HumanConsent>,
    pub(super) aside: Option<Arc<str>>,
    pub(super) responses: Option<InputResponses>,
    /// The question that `responses` answers, once it is known to be genuine.
    pub(super) resumes: Option<Resumed>,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) cancel: CancellationToken,
    /// The step of a run that it is.
    pub(super) step: Option<Arc<StepOf>>,
    /// What it is made of, once it was asked for.
    pub(super) plan: Option<Box<Plan>>,
}

impl Valid {
    /// What approvals are bound to beside the arguments.
    pub(super) fn bound_to(&self) -> Cow<'_, str> {
        plan::bound_to(&self.listing, self.plan.as_deref())
    }

    /// What makes a repeated effect the same one: the question it answers, or the caller's name for it.
    pub(super) fn effect_key(&self) -> Option<String> {
        let resumed = self.resumes.as_ref().map(|resumed| resumed.key.clone());
        resumed.or_else(|| self.control.idempotency_key.clone())
    }
}

/// An answer that fits the tool.
pub(crate) struct Checked(ToolResult);

impl Checked {
    pub(crate) fn into_inner(self) -> ToolResult {
        self.0
    }
}

/// The name of an effect is kept for long, so it is short.
fn check_key(key: Option<&str>) -> Result<(), Stop> {
    match key {
        Some(key) if key.is_empty() || key.chars().count() > MAX_KEY => {
            let message = format!("an idempotency key has 1 to {MAX_KEY} characters");
            Err(Stop::new(ErrorCode::InvalidArguments, message))
        }
        Some(_) | None => Ok(()),
    }
}

/// Boxed, because every stage after this one hands it on.
pub(super) fn input(
    inner: &Inner,
    resolved: Resolved,
    trail: &mut Trail,
) -> Result<Box<Valid>, Stop> {
    let Resolved { listing, request } = resolved;
    if request.arguments.raw().len() > inner.settings.argument_bytes {
        let limit = inner.settings.argument_bytes;
        let message = format!("the arguments are larger than {limit} bytes");
        return Err(Stop::new(ErrorCode::RequestTooLarge, message));
    }
    check_key(request.control.idempotency_key.as_deref())?;
    let known = match inner.known.find(&listing, request.arguments.raw()) {
        Some(known) => known,
        None => {
            let arguments = listing.respelled(request.arguments);
            let known = Arc::new(work_out(inner, &listing, arguments, trail)?);
            inner.known.meet(&known);
            known
        }
    };
    trail.arguments = Some(Arc::clone(&known.clean));
    trail.cache_key = Some(Arc::clone(&known.key.text));
    trail.capability = Some(known.capability);
    trail.estimate = known.estimate;
    trail.effect = known.effect;
    let mut control = request.control;
    if listing.spec.service_command.is_some() {
        lift_control(known.arguments.value(), &mut control);
    }
    Ok(Box::new(Valid {
        action: request.action,
        arguments: known.arguments.clone(),
        control,
        capability: known.capability,
        estimate: known.estimate,
        effect: known.effect,
        known,
        human: request.human,
        aside: request.aside,
        responses: request.responses,
        resumes: None,
        events: request.events,
        cancel: request.cancel,
        step: request.step,
        plan: None,
        listing,
    }))
}

/// All that follows from tool and arguments alone; as far as it gets, it is in the trail.
fn work_out(
    inner: &Inner,
    listing: &Arc<Listing>,
    arguments: Payload,
    trail: &mut Trail,
) -> Result<Known, Stop> {
    let node = Node::of(&arguments);
    let (text, redacted) = shown(inner, listing, &arguments, node.as_ref().ok());
    let clean = Arc::new(CleanArguments {
        fingerprint: fingerprint(inner, &arguments, node.as_ref().ok()),
        text,
        redacted,
    });
    trail.arguments = Some(Arc::clone(&clean));
    let spec = &listing.spec;
    let key = match &node {
        Ok(node) => cache::key_of(spec, node),
        Err(error) => return Err(not_canonical(error)),
    };
    trail.cache_key = Some(Arc::clone(&key.text));
    if arguments.value().is_null() && arguments.raw().trim_start().starts_with('{') {
        let message = "the arguments hold a number or an escape that cannot be represented";
        return Err(Stop::new(ErrorCode::InvalidArguments, message));
    }
    check_input(listing, arguments.value())?;
    let fields = as_object(arguments.value());
    let effect = spec.has_effect_with(fields);
    let is_kept = key.cacheable && !effect && !spec.telling.is_of_the_moment(fields);
    Ok(Known {
        estimate: spec.cost.estimate(fields),
        place: is_kept.then(|| Place {
            key: Arc::clone(&key.text),
            binding: cache::binding(inner, listing, &clean.fingerprint),
        }),
        listing: Arc::downgrade(listing),
        arguments: arguments.clone(),
        clean,
        key,
        capability: spec.capability_with(fields),
        effect,
    })
}

/// Arguments as they may be written down or shown; says whether anything was taken out.
pub(super) fn shown(
    inner: &Inner,
    listing: &Listing,
    arguments: &Payload,
    node: Option<&Node<'_>>,
) -> (String, bool) {
    let schema = &listing.spec.input_schema;
    match node.and_then(|node| cache::without_secrets(node, schema)) {
        Some(text) => (inner.cleaner.arguments(&text).0.into_owned(), true),
        None => {
            let (clean, redacted) = inner.cleaner.arguments(arguments.raw());
            (clean.into_owned(), redacted)
        }
    }
}

/// A keyed digest of the canonical arguments: equal arguments can be told, secrets cannot be guessed.
pub(crate) fn fingerprint(inner: &Inner, arguments: &Payload, node: Option<&Node<'_>>) -> String {
    let text = node.map(|node| node.print(Form::Jcs));
    let text = text.as_deref().unwrap_or(arguments.raw());
    hex(&inner.approval_key.fingerprint(text.as_bytes()))
}

/// Checks arguments against the input schema alone; `tools.call` needs this for its own.
pub(super) fn check_input(listing: &Listing, arguments: &Value) -> Result<(), Stop> {
    let tool = &listing.spec.name;
    if !arguments.is_object() {
        let message = format!("the arguments of `{tool}` must be a JSON object");
        return Err(Stop::new(ErrorCode::InvalidArguments, message));
    }
    let made = listing.made().map_err(|error| unusable(listing, error))?;
    let problems = schema::problems(&made.input, arguments);
    if problems.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the arguments of `{tool}` do not fit: {}",
        summary(&problems)
    );
    Err(Failure::new(ErrorCode::InvalidArguments, message)
        .suggest(ErrorCode::InvalidArguments.advice())
        .with("problems", listed(&problems))
        .into())
}

pub(super) fn output(listing: &Listing, result: ToolResult, limit: usize) -> Result<Checked, Stop> {
    if result.payload.raw().len() > limit {
        let message = format!("the answer is larger than {limit} bytes");
        return Err(Stop::new(ErrorCode::OutputTooLarge, message));
    }
    fits(listing, &result)?;
    Ok(Checked(result))
}

/// Whether an answer fits its output schema; asked again after cleaning changed it.
pub(super) fn fits(listing: &Listing, result: &ToolResult) -> Result<(), Stop> {
    let made = listing.made().map_err(|error| unusable(listing, error))?;
    let Some(output) = &made.output else {
        return Ok(());
    };
    let value = match result.shape {
        Shape::Data => Some(result.payload.value()),
        Shape::Native => result.payload.value().get("structuredContent"),
    };
    let problems = value.map_or_else(Vec::new, |value| schema::problems(output, value));
    if problems.is_empty() {
        return Ok(());
    }
    let tool = &listing.spec.name;
    let message = format!(
        "the answer of `{tool}` does not fit its own schema: {}",
        summary(&problems)
    );
    Err(Failure::new(ErrorCode::InvalidOutput, message)
        .suggest(ErrorCode::InvalidOutput.advice())
        .with("problems", listed(&problems))
        .into())
}

pub(super) fn as_object(value: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.as_object().unwrap_or(&EMPTY)
}

fn unusable(listing: &Listing, error: &schema::SchemaError) -> Stop {
    let message = format!(
        "`{}` has a schema that cannot be used: {error}",
        listing.spec.name
    );
    Stop::new(ErrorCode::Unsupported, message)
}

fn not_canonical(error: &CanonicalError) -> Stop {
    Stop::new(ErrorCode::InvalidArguments, error.to_string())
}

fn summary(problems: &[Problem]) -> String {
    let first = problems.first().map_or_else(String::new, |problem| {
        let place = &problem.at;
        let colon = if place.is_empty() { "" } else { ": " };
        format!("{place}{colon}{}", problem.message)
    });
    match problems.len() {
        0 | 1 => first,
        more => format!("{first} (and {} more)", more - 1),
    }
}

fn listed(problems: &[Problem]) -> Value {
    problems
        .iter()
        .map(|problem| json!({"at": problem.at, "message": problem.message}))
        .collect()
}

/// Reads the control arguments of a tool with a service command out of its own arguments.
fn lift_control(arguments: &Value, control: &mut Control) {
    let flag = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    };
    let text = |name: &str| {
        let found = arguments.get(name).and_then(Value::as_str);
        found.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    control.yes |= flag("yes");
    control.from_cache |= flag("from_cache");
    control.dry_run |= flag("dry_run");
    control.fixture = control.fixture.take().or_else(|| text("fixture"));
    control.approval = control.approval.take().or_else(|| text("approval"));
}
