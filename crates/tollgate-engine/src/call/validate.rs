//! Whether arguments and answers are what the spec says, and not too much of it.
//!
//! Invariant: only [`input`] makes a [`Valid`] call and only [`output`] makes a
//! [`Checked`] answer.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tollgate_core::{
    Capability, Control, ErrorCode, Estimate, EventSink, Failure, FromCache, InputResponses,
    Payload, Plan, Reuse, Shape, Status, ToolName, ToolResult,
    canonical::{CanonicalError, Form, Node, hex},
};

use super::{
    HumanConsent, Inner, StepOf, Stop,
    admit::Resolved,
    aside::aside,
    cache::{self, KeyOfCall, Place},
    known::Known,
    placeholders::{self, Restored},
    plan,
    state::Resumed,
};
use crate::{
    catalog::Listing,
    forwarded_meta::{self, MetaError},
    policy::Action,
    record::{CleanArguments, Trail},
    schema::{self, PoolError, Problem},
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
    /// What is forwarded of the caller's `_meta`, as fields of an object.
    pub(super) aside: Option<Arc<str>>,
    /// The arguments with what is forwarded beside them.
    governed: Option<Payload>,
    /// The same as it was sent, where values were put into it.
    told: Option<Payload>,
    pub(super) responses: Option<InputResponses>,
    /// The question that `responses` answers, once it is known to be genuine.
    pub(super) resumes: Option<Resumed>,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) cancel: CancellationToken,
    /// The step of a run that it is.
    pub(super) step: Option<Arc<StepOf>>,
    /// What it is made of, once it was asked for.
    pub(super) plan: Option<Box<Plan>>,
    /// The values that were put into its arguments.
    pub(super) restored: Option<Arc<Restored>>,
}

impl Valid {
    /// All of the call as it may be shown once it is clean: with placeholders, not with the values they stand for.
    pub(super) fn told(&self) -> &Payload {
        self.told.as_ref().unwrap_or_else(|| self.governed())
    }

    /// All of the call that reaches its server: what approvals bind and rules judge.
    pub(super) fn governed(&self) -> &Payload {
        self.governed.as_ref().unwrap_or(&self.arguments)
    }

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
    /// The size of its data.
    pub(super) fn bytes(&self) -> usize {
        self.0.payload.raw().len()
    }

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
pub(super) async fn input(
    inner: &Inner,
    resolved: Resolved,
    trail: &mut Trail,
) -> Result<Box<Valid>, Stop> {
    let Resolved {
        listing,
        request,
        restored,
    } = resolved;
    if request.arguments.raw().len() > inner.settings.argument_bytes {
        let limit = inner.settings.argument_bytes;
        let message = format!("the arguments are larger than {limit} bytes");
        return Err(Stop::new(ErrorCode::RequestTooLarge, message));
    }
    check_key(request.control.idempotency_key.as_deref())?;
    let named = request.control.from_cache.entry();
    let aside = match named {
        None => forwarded(&listing, request.aside.as_deref())?,
        Some(_) => None,
    };
    let sent = restored.as_ref().map(|it| &it.sent);
    // What is known of arguments holds for calls that say nothing beside them.
    let found = match (named, &aside, sent) {
        (None, None, None) => inner.known.find(&listing, request.arguments.raw()),
        _ => None,
    };
    let (mut governed, mut told) = (None, sent.cloned());
    let known = match (found, &aside) {
        (Some(known), _) => known,
        (None, Some(fields)) => {
            let arguments = listing.respelled(request.arguments);
            let all = |arguments| forwarded_meta::governed(arguments, Some(fields));
            let known =
                Box::pin(work_out(inner, &listing, (arguments, sent, named), trail)).await?;
            let whole = all(&known.arguments).map_err(ambiguous)?;
            told = sent.map(all).transpose().map_err(ambiguous)?;
            let known = beside(inner, &listing, known, (&whole, told.as_ref()))?;
            governed = Some(whole);
            Arc::new(known)
        }
        (None, None) => {
            let arguments = listing.respelled(request.arguments);
            check_member(&listing, &arguments)?;
            let known = work_out(inner, &listing, (arguments, sent, named), trail);
            let known = Arc::new(Box::pin(known).await?);
            if named.is_none() && sent.is_none() {
                inner.known.meet(&known);
            }
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
        aside,
        governed,
        told,
        responses: request.responses,
        resumes: None,
        events: request.events,
        cancel: request.cancel,
        step: request.step,
        plan: None,
        restored,
        listing,
    }))
}

fn ambiguous(error: MetaError) -> Stop {
    Stop::new(ErrorCode::InvalidArguments, error.to_string())
}

/// Where entries of `_meta` are forwarded, no argument can pass for one of them.
fn check_member(listing: &Listing, arguments: &Payload) -> Result<(), Stop> {
    match listing.provider.forwards_meta() {
        [] => Ok(()),
        _ => forwarded_meta::check(arguments).map_err(ambiguous),
    }
}

/// What the server of a tool is forwarded of the caller's `_meta`.
fn forwarded(listing: &Listing, meta: Option<&str>) -> Result<Option<Arc<str>>, Stop> {
    let chosen = forwarded_meta::chosen(listing.provider.forwards_meta(), meta);
    let chosen = chosen.map_err(ambiguous)?;
    // Values are put into arguments only, and no placeholder is passed on as text.
    match chosen.as_deref().and_then(placeholders::first_in) {
        Some(placeholder) => Err(placeholders::refused(listing, vec![placeholder])),
        None => Ok(chosen),
    }
}

/// What is known of a call that says something beside its arguments: it is recorded with them,
/// and its answer is kept for nobody.
fn beside(
    inner: &Inner,
    listing: &Listing,
    mut known: Known,
    (governed, told): (&Payload, Option<&Payload>),
) -> Result<Known, Stop> {
    if governed.raw().len() > inner.settings.argument_bytes {
        let limit = inner.settings.argument_bytes;
        let message = format!("arguments and `_meta` are larger than {limit} bytes");
        return Err(Stop::new(ErrorCode::RequestTooLarge, message));
    }
    let node = Node::of(governed).map_err(|error| not_canonical(&error))?;
    let (text, redacted) = match told {
        None => shown(inner, listing, governed, Some(&node)),
        Some(told) => shown(inner, listing, told, Node::of(told).ok().as_ref()),
    };
    known.clean = Arc::new(CleanArguments {
        fingerprint: fingerprint(inner, governed, Some(&node)),
        text,
        redacted,
    });
    known.place = None;
    known.key.cacheable = false;
    Ok(known)
}

/// All that follows from tool and arguments alone; as far as it gets, it is in the trail.
async fn work_out(
    inner: &Inner,
    listing: &Arc<Listing>,
    (arguments, told, named): (Payload, Option<&Payload>, Option<&str>),
    trail: &mut Trail,
) -> Result<Known, Stop> {
    let (clean, mut key) = {
        let node = Node::of(&arguments);
        let (text, redacted) = match told {
            None => shown(inner, listing, &arguments, node.as_ref().ok()),
            Some(told) => {
                let node = Node::of(told).ok();
                (shown(inner, listing, told, node.as_ref()).0, true)
            }
        };
        let clean = Arc::new(CleanArguments {
            fingerprint: fingerprint(inner, &arguments, node.as_ref().ok()),
            text,
            redacted,
        });
        trail.arguments = Some(Arc::clone(&clean));
        match &node {
            Ok(node) => (clean, cache::key_of(&listing.spec, node)),
            Err(error) => return Err(not_canonical(error)),
        }
    };
    let spec = &listing.spec;
    let own = match &spec.service_command {
        Some(_) => cache::said(arguments.value()),
        None => FromCache::No,
    };
    let named = named.or(own.entry());
    if let Some(named) = named.filter(|named| cache::is_key_of(spec, named)) {
        key.text = named.into();
    }
    trail.cache_key = Some(Arc::clone(&key.text));
    if named.is_some() {
        return Ok(reading(listing, &arguments, clean, key));
    }
    if !arguments.is_exact() {
        let message = "the arguments hold a number or an escape that cannot be represented";
        return Err(Stop::new(ErrorCode::InvalidArguments, message));
    }
    match told {
        None => check_input(inner, listing, &arguments, |_| true).await?,
        // What a value looks like is nobody's to find out before it may go there.
        Some(told) => {
            let is_told = |at: &str| !placeholders::stand_below(told, at);
            check_input(inner, listing, told, is_told).await?;
        }
    }
    let fields = as_object(arguments.value());
    let effect = spec.has_effect_with(fields);
    let reuse = spec.telling.reuse(fields);
    let is_kept = key.cacheable && !effect && reuse != Reuse::Never && told.is_none();
    Ok(Known {
        on_request: reuse == Reuse::OnRequest,
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

/// A call that only reads an entry of the cache by its key: whatever else was sent, it changes nothing and costs nothing.
fn reading(
    listing: &Arc<Listing>,
    arguments: &Payload,
    clean: Arc<CleanArguments>,
    key: KeyOfCall,
) -> Known {
    Known {
        estimate: Estimate::default(),
        place: None,
        on_request: false,
        listing: Arc::downgrade(listing),
        arguments: arguments.clone(),
        clean,
        key,
        capability: Capability::L0,
        effect: false,
    }
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

/// Checks arguments into which values were put, once it is decided that they may go there.
pub(super) async fn with_values(inner: &Inner, valid: &Valid) -> Result<(), Stop> {
    if valid.restored.is_none() {
        return Ok(());
    }
    let checked = check_input(inner, &valid.listing, &valid.arguments, |_| true).await;
    checked.map_err(|stop| {
        if stop.failure.code != ErrorCode::InvalidArguments {
            return stop;
        }
        let tool = &valid.listing.spec.name;
        let message = format!(
            "the arguments of `{tool}` do not fit with the values in the place of placeholders"
        );
        Stop::new(ErrorCode::InvalidArguments, message)
    })
}

/// Checks arguments against the input schema; what takes long is done by the pool. Problems at
/// places that are not wanted do not count.
async fn check_input(
    inner: &Inner,
    listing: &Listing,
    arguments: &Payload,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), Stop> {
    let tool = &listing.spec.name;
    if !arguments.value().is_object() {
        let message = format!("the arguments of `{tool}` must be a JSON object");
        return Err(Stop::new(ErrorCode::InvalidArguments, message));
    }
    let made = listing.made().map_err(|error| unusable(listing, error))?;
    let mut problems = match made.input.quickly(arguments.value()) {
        Some(problems) => problems,
        None => {
            let (checker, arguments) = (Arc::clone(&made.input), arguments.clone());
            let job = move || checker.at_length(arguments.value());
            pooled(inner, job).await?.map_err(|error| {
                let message = format!("the arguments of `{tool}` are refused: {error}");
                Stop::new(ErrorCode::InvalidArguments, message)
            })?
        }
    };
    problems.retain(|problem| is_wanted(&problem.at));
    refused_if(tool, &problems)
}

/// Checks the arguments of `tools.call` itself, whose schema is ours.
pub(super) fn check_own_input(listing: &Listing, arguments: &Value) -> Result<(), Stop> {
    let made = listing.made().map_err(|error| unusable(listing, error))?;
    refused_if(&listing.spec.name, &made.input.at_once(arguments))
}

fn refused_if(tool: &ToolName, problems: &[Problem]) -> Result<(), Stop> {
    if problems.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the arguments of `{tool}` do not fit: {}",
        summary(problems)
    );
    Err(Failure::new(ErrorCode::InvalidArguments, message)
        .suggest(ErrorCode::InvalidArguments.advice())
        .with("problems", listed(problems))
        .into())
}

/// Has the pool do what would hold up others.
async fn pooled<T: Send + 'static>(
    inner: &Inner,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stop> {
    inner.checks.run(job).await.map_err(|error| match error {
        PoolError::Full => {
            let message = "too many values are being checked against expensive schemas";
            let mut stop = Stop::new(ErrorCode::Overloaded, message);
            stop.failure.retry_after_seconds = Some(2);
            stop
        }
        PoolError::Broken => Stop::new(ErrorCode::Internal, "the check of a value broke"),
    })
}

pub(super) async fn output(
    inner: &Inner,
    listing: &Listing,
    result: ToolResult,
) -> Result<Checked, Stop> {
    let limit = inner.settings.result_bytes;
    if result.payload.raw().len() > limit {
        let message = format!("the answer is larger than {limit} bytes");
        return Err(Stop::new(ErrorCode::OutputTooLarge, message));
    }
    fits(inner, listing, &result).await?;
    Ok(Checked(result))
}

/// What of an answer its output schema describes. The schema describes success; a failure
/// promises nothing.
fn described(shape: Shape, status: Status, payload: &Payload) -> Option<&Value> {
    match shape {
        Shape::Data => Some(payload.value()),
        // The schema of an upstream tool promises nothing about its failures.
        Shape::Native | Shape::Wrapped if status == Status::Error => None,
        Shape::Native | Shape::Wrapped => payload.value().get("structuredContent"),
    }
}

/// Whether an answer fits its output schema; asked again after cleaning changed it.
pub(super) async fn fits(
    inner: &Inner,
    listing: &Listing,
    result: &ToolResult,
) -> Result<(), Stop> {
    if result.failure.is_some() {
        return Ok(());
    }
    let made = listing.made().map_err(|error| unusable(listing, error))?;
    let Some(output) = &made.output else {
        return Ok(());
    };
    let tool = &listing.spec.name;
    let (shape, status, payload) = (result.shape, result.status, result.payload.clone());
    let quick = aside(payload.raw().len(), || {
        described(shape, status, &payload).map_or_else(|| Some(Vec::new()), |it| output.quickly(it))
    });
    let problems = match quick {
        Some(problems) => problems,
        None => {
            let checker = Arc::clone(output);
            let job = move || {
                described(shape, status, &payload)
                    .map_or(Ok(Vec::new()), |it| checker.at_length(it))
            };
            pooled(inner, job).await?.map_err(|error| {
                let message = format!("the answer of `{tool}` is withheld: {error}");
                Stop::new(ErrorCode::InvalidOutput, message)
            })?
        }
    };
    if problems.is_empty() {
        return Ok(());
    }
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
    let own = cache::said(arguments);
    if own.is_on() {
        control.from_cache = own;
    }
    control.dry_run |= flag("dry_run");
    control.fixture = control.fixture.take().or_else(|| text("fixture"));
    control.approval = control.approval.take().or_else(|| text("approval"));
}
