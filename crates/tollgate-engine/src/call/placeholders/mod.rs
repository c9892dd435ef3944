//! Values that were taken out of answers: named, kept sealed in the session, and put back into arguments.
//!
//! Invariant: no provider gets a placeholder as text. A value goes back unasked only into the object it was read from, or,
//! for a step of a run, to the host inside the address it came with, in the argument that the tool fetches; anywhere else a human decides about this very value.

mod echoes;
mod taking;

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value, json};
use tollgate_core::{ErrorCode, Failure, Payload, ToolSpec, canonical::Node};
use tollgate_sanitize::{
    may_look_like_placeholder,
    placeholder::{self, Part, Placeholder},
    with_strings,
};

pub(super) use echoes::Echoes;
pub(super) use taking::{Taking, remember};

use super::{Inner, Stop, admit::Resolved, consent, validate};
use crate::{
    catalog::Listing,
    policy::{Action, Consent, Decision, Verdict},
    record::Trail,
    session::{Lifetime, Object, Sealed, SessionState},
};
use taking::stored;

/// Providers whose tools are ours alone: they answer what was cleaned before, and hand nothing on but calls.
const OURS: [&str; 3] = ["builtin", "runs", "skills"];
/// The most bytes of values in arguments, where no limit of the gateway is at hand.
const MAX_FILLED: usize = 4 << 20;
/// How many placeholders a refusal and a question name.
const MOST_NAMED: usize = 32;
/// The rule that asks a human about a value.
const RULE: &str = "gate.placeholder";

/// Whether a tool answers nothing but what was cleaned before.
pub(super) fn answers_clean_text(listing: &Listing) -> bool {
    OURS.contains(&listing.provider.id()) || listing.spec.telling.keeps_placeholders
}

/// Scheme and host of an address that every client reads the same way.
fn origin_of(address: &str) -> Option<String> {
    let (scheme, _) = address.split_once("://")?;
    Some(format!("{scheme}://{}", consent::site_of_address(address)?))
}

/// The object that a call reads or writes.
pub(super) fn object_of(listing: &Listing, arguments: &Map<String, Value>) -> Option<Object> {
    let name = listing.spec.telling.object(arguments)?;
    Some(Object {
        provider: listing.provider.id().to_owned(),
        name,
    })
}

/// Arguments in which values stand in the place of placeholders.
pub(super) struct Restored {
    /// As the caller sent them; whatever is shown or written down is made of these.
    pub(super) sent: Payload,
    uses: Vec<Use>,
}

/// A value that goes into arguments.
struct Use {
    placeholder: String,
    sealed: Arc<Sealed>,
    /// The host that this string of the arguments is an address of.
    host: Option<String>,
    /// Whether the call fetches that address.
    is_fetched: bool,
    is_home: bool,
}

impl Restored {
    /// Whether a human decides about it.
    pub(super) fn asks(&self) -> bool {
        self.uses.iter().any(|it| !it.is_home)
    }

    /// The verdict, made stricter where a value would go where nobody sent it before.
    pub(super) fn stricter(&self, verdict: Verdict, given: Consent) -> Verdict {
        match verdict.decision {
            Decision::Allow | Decision::NeedsConsent(Consent::None | Consent::Agent)
                if self.asks() && given < Consent::Human =>
            {
                Verdict {
                    decision: Decision::NeedsConsent(Consent::Human),
                    rule: RULE.to_owned(),
                    ..verdict
                }
            }
            Decision::Allow | Decision::NeedsConsent(_) | Decision::Deny | Decision::Error => {
                verdict
            }
        }
    }

    /// What goes where, for the human who decides.
    pub(super) fn shown<'s>(&'s self, tool: &'s ToolSpec) -> Value {
        let mut seen = BTreeSet::new();
        let goes_to = |it: &'s Use| match &it.host {
            Some(host) if it.is_fetched => host.as_str(),
            Some(_) | None => tool.name.as_str(),
        };
        // What a human decides about comes first.
        let (asks, home): (Vec<&Use>, Vec<&Use>) = self.uses.iter().partition(|it| !it.is_home);
        let uses = asks.into_iter().chain(home);
        let uses = uses.filter(|it| seen.insert((&it.placeholder, goes_to(it))));
        let uses = uses.take(MOST_NAMED).map(|it| {
            let objects: Vec<&str> = it
                .sealed
                .objects
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            json!({
                "placeholder": it.placeholder,
                "length": it.sealed.value.chars().count(),
                "read_by": it.sealed.tool,
                "read_from": objects,
                "goes_to": goes_to(it),
                "asks": !it.is_home,
            })
        });
        uses.collect()
    }

    /// The ids of the values.
    fn ids(&self) -> impl Iterator<Item = &str> {
        let uses = self.uses.iter();
        uses.filter_map(|it| it.placeholder.split_once('#')?.1.strip_suffix(']'))
    }
}

/// Whether a placeholder stands at a place of arguments, or below it.
pub(super) fn stand_below(arguments: &Payload, pointer: &str) -> bool {
    fn look(value: &Value) -> bool {
        match value {
            Value::String(text) => placeholder::may_hold_placeholder(text),
            Value::Array(items) => items.iter().any(look),
            Value::Object(fields) => fields.values().any(look),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    arguments.value().pointer(pointer).is_some_and(look)
}

/// Puts values in the place of the placeholders in arguments.
pub(super) async fn restore(
    inner: &Inner,
    session: &SessionState,
    resolved: Resolved,
    trail: &Trail,
) -> Result<Resolved, Stop> {
    let Resolved {
        listing,
        mut request,
        ..
    } = resolved;
    let is_ours = answers_clean_text(&listing) && request.action == Action::Call;
    let sent = request.arguments.clone();
    if is_ours || !may_look_like_placeholder(sent.raw()) {
        let restored = None;
        return Ok(Resolved {
            listing,
            request,
            restored,
        });
    }
    if session.lifetime() == Lifetime::Stored {
        let values = stored(inner, session).await?;
        let (budgets, now) = (&inner.settings.budgets, inner.clock.now());
        inner.sessions.seal(budgets, session, (values, now))?;
    }
    let mut filling = Filling::of(session, inner.settings.argument_bytes);
    let fetched = &listing.spec.telling;
    let fetched = fetched.fetched(validate::as_object(sent.value()));
    filling.fetched = strings_at(&sent, &fetched);
    let filled = with_strings(sent.raw(), |text, is_name| filling.fill(text, is_name));
    let Filling {
        mut uses,
        unknown,
        left,
        ..
    } = filling;
    if left == 0 {
        let limit = inner.settings.argument_bytes;
        let message = format!("the arguments with their values are larger than {limit} bytes");
        return Err(Stop::new(ErrorCode::RequestTooLarge, message));
    }
    if !unknown.is_empty() || (!uses.is_empty() && request.action != Action::Call) {
        let known = uses.iter().map(|it| it.placeholder.clone());
        return Err(refused(
            &listing,
            unknown.into_iter().chain(known).collect(),
        ));
    }
    // What cannot be read is refused where arguments are checked.
    if let Ok(Cow::Owned(text)) = filled
        && let Ok(filled) = Payload::parse(text)
    {
        request.arguments = filled;
    }
    let object = object_of(&listing, validate::as_object(request.arguments.value()));
    let is_step = trail.step.is_some() && matches!(listing.provider.id(), "web" | "browser");
    for used in &mut uses {
        let is_back = object
            .as_ref()
            .is_some_and(|it| used.sealed.objects.contains(it));
        let host = used.host.as_ref();
        let is_known = host.is_some_and(|it| used.sealed.hosts.contains(it));
        let is_there = is_step && used.is_fetched && is_known;
        used.is_home = is_back || is_there;
    }
    let restored = (!uses.is_empty()).then(|| Arc::new(Restored { sent, uses }));
    Ok(Resolved {
        listing,
        request,
        restored,
    })
}

/// Arguments with values in the place of the placeholders that this session knows.
pub(super) fn filled(listing: &Listing, session: &SessionState, arguments: Payload) -> Payload {
    if answers_clean_text(listing) || !may_look_like_placeholder(arguments.raw()) {
        return arguments;
    }
    let mut filling = Filling::of(session, MAX_FILLED);
    match with_strings(arguments.raw(), |text, is_name| filling.fill(text, is_name)) {
        Ok(Cow::Owned(text)) => Payload::parse(text).unwrap_or(arguments),
        Ok(Cow::Borrowed(_)) | Err(_) => arguments,
    }
}

pub(super) fn refused(listing: &Listing, mut placeholders: Vec<String>) -> Stop {
    placeholders.truncate(MOST_NAMED);
    let tool = &listing.spec.name;
    let first = placeholders.first().map_or("", String::as_str);
    let message = format!(
        "the arguments of `{tool}` hold `{first}`, which stands for a value that is not known in this session"
    );
    let code = ErrorCode::PlaceholderInArgument;
    let failure = Failure::new(code, message).suggest(code.advice());
    failure.with("placeholders", placeholders).into()
}

/// A placeholder that stands in fields of an object, as it is written.
pub(super) fn first_in(fields: &str) -> Option<String> {
    let mut first = None;
    let object = format!("{{{fields}}}");
    let looked = with_strings(&object, |text, _| {
        let placeholder = placeholder::parts(text)
            .into_iter()
            .find_map(|part| match part {
                Part::Placeholder(found) => Some(spelled(found)),
                Part::Text(_) | Part::Escaped(_) => None,
            });
        first = first.take().or(placeholder);
        None
    });
    looked.ok().and(first)
}

fn spelled(Placeholder { rule, id }: Placeholder<'_>) -> String {
    match id {
        Some(id) => format!("[REDACTED:{rule}#{id}]"),
        None => format!("[REDACTED:{rule}]"),
    }
}

/// The strings of arguments that stand at one of these places, by their number in the order sent, names included.
fn strings_at(arguments: &Payload, pointers: &[String]) -> BTreeSet<usize> {
    fn walk(
        node: &Node<'_>,
        at: &str,
        pointers: &[String],
        (next, found): (&mut usize, &mut BTreeSet<usize>),
    ) {
        match node {
            Node::Null | Node::Bool(_) | Node::Number(_) => {}
            Node::String(_) => {
                if pointers.iter().any(|it| it == at) {
                    found.insert(*next);
                }
                *next += 1;
            }
            Node::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, &format!("{at}/{index}"), pointers, (next, found));
                }
            }
            Node::Object(fields) => {
                for (name, value) in fields {
                    *next += 1;
                    let name = name.replace('~', "~0").replace('/', "~1");
                    walk(value, &format!("{at}/{name}"), pointers, (next, found));
                }
            }
        }
    }
    let (mut next, mut found) = (0, BTreeSet::new());
    // What cannot be read is refused where arguments are checked.
    if !pointers.is_empty()
        && let Ok(node) = Node::of(arguments)
    {
        walk(&node, "", pointers, (&mut next, &mut found));
    }
    found
}

struct Filling<'s> {
    session: &'s SessionState,
    /// The strings that are addresses which the call fetches.
    fetched: BTreeSet<usize>,
    /// The number of the next string.
    next: usize,
    uses: Vec<Use>,
    unknown: BTreeSet<String>,
    /// How many more bytes values may take.
    left: usize,
}

impl<'s> Filling<'s> {
    fn of(session: &'s SessionState, left: usize) -> Self {
        Self {
            session,
            left,
            fetched: BTreeSet::new(),
            next: 0,
            uses: Vec::new(),
            unknown: BTreeSet::new(),
        }
    }

    /// The text with values in it; nothing if it stays as it is.
    fn fill(&mut self, text: &str, is_name: bool) -> Option<String> {
        let is_fetched = self.fetched.contains(&self.next);
        self.next += 1;
        if self.left == 0 || !placeholder::may_hold_placeholder(text) {
            return None;
        }
        let parts = placeholder::parts(text);
        if matches!(parts.as_slice(), [Part::Text(_)]) {
            return None;
        }
        let mut filled = String::new();
        let mut uses = Vec::new();
        for part in parts {
            match part {
                Part::Text(text) | Part::Escaped(text) => filled.push_str(text),
                Part::Placeholder(found) => {
                    let (shown, Placeholder { rule, id }) = (spelled(found), found);
                    // The name of an argument is checked and told before anybody agreed to anything.
                    let sealed = id
                        .filter(|_| !is_name)
                        .and_then(|id| self.session.unsealed(id));
                    match sealed.filter(|sealed| sealed.rule == rule) {
                        Some(sealed) => {
                            self.left = self.left.saturating_sub(sealed.value.len().max(1));
                            if self.left == 0 {
                                return None;
                            }
                            let from = filled.len();
                            filled.push_str(&sealed.value);
                            uses.push((shown, sealed, from));
                        }
                        None => {
                            self.unknown.insert(shown);
                        }
                    }
                }
            }
        }
        let site = origin_of(&filled);
        self.uses
            .extend(uses.into_iter().map(|(placeholder, sealed, from)| {
                // A value that is part of the host decides where it goes.
                let is_behind = |origin: &String| origin.len() <= from;
                Use {
                    placeholder,
                    sealed,
                    host: site.clone().filter(is_behind),
                    is_fetched,
                    is_home: false,
                }
            }));
        Some(filled)
    }
}
