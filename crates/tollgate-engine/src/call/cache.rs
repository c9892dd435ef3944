//! The keys of kept answers, and the three ways to touch them.
//!
//! Invariant: a peek only says that an answer is there; only a permitted call may
//! open it, and only clean answers of tools without side effects are put there.

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize as _;
use serde_json::Value;
use tollgate_core::{
    Caching, ErrorCode, Failure, FromCache, Payload, StoreError, Timestamp, ToolSpec, Transport,
    canonical::{CanonicalError, Form, Node, hex_digest},
    store::CacheKey,
};

use super::{Inner, Stop, admit::Permitted, validate::Valid};
use crate::{
    catalog::Listing,
    record::{CacheUse, Trail},
    session::{Kept, Lasts, Lifetime, Recalled, SessionState, fingerprint_of},
};

/// Names whose values are secrets, for the commands of the origin.
const ORIGIN_SECRETS: &[&str] = &["key", "token", "authorization", "password", "secret"];
/// Words that make a name tell of a secret anywhere else.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "credential",
    "credentials",
    "authorization",
    "cookie",
];

/// Digits of the digest in a key.
const DIGITS: usize = 24;
/// The most keys that a miss names.
const LISTED: usize = 20;

/// The key of a call, and whether its answer may be kept at all.
#[derive(Clone)]
pub(super) struct KeyOfCall {
    pub(super) text: Arc<str>,
    pub(super) cacheable: bool,
}

/// Where the answer to a call is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) key: Arc<str>,
    pub(super) binding: Arc<str>,
}

/// What a peek found.
pub(super) struct Peeked {
    pub(super) place: Option<Place>,
    /// Whether the call may be answered from there.
    pub(super) reads: bool,
    pub(super) answered: bool,
}

/// How an answer is to be kept.
#[derive(Clone)]
pub(super) struct Keeping {
    pub(super) place: Place,
    pub(super) until: Option<Timestamp>,
    from: Timestamp,
}

/// The key a service command with these parameters has, as the origin makes it.
pub fn cache_key_of(command: &str, params: &Payload) -> Result<String, CanonicalError> {
    let mut node = Node::of(params)?;
    strip_control(&mut node);
    redact(&mut node, &|name| is_origin_secret(name));
    Ok(spell(command, &node))
}

pub(super) fn key_of(spec: &ToolSpec, arguments: &Node<'_>) -> KeyOfCall {
    let mut node = arguments.clone();
    match &spec.service_command {
        Some(command) => {
            strip_control(&mut node);
            redact(&mut node, &|name| is_origin_secret(name));
            KeyOfCall {
                text: spell(command, &node).into(),
                cacheable: may_keep(spec),
            }
        }
        None => {
            let secrets = redact(&mut node, &|name| is_secret(name));
            KeyOfCall {
                text: spell(spec.name.as_str(), &node).into(),
                cacheable: !secrets && may_keep(spec),
            }
        }
    }
}

fn may_keep(spec: &ToolSpec) -> bool {
    spec.caching != Caching::Never && !spec.has_side_effects()
}

fn spell(name: &str, node: &Node<'_>) -> String {
    let digest = hex_digest(node.print(Form::CacheKey).as_bytes());
    [name, ":", &digest[..DIGITS]].concat()
}

/// What the keys of a tool begin with.
fn key_prefix(spec: &ToolSpec) -> String {
    let name = spec.service_command.as_deref();
    [name.unwrap_or(spec.name.as_str()), ":"].concat()
}

/// Whether this could be the key of one of the tool's answers.
pub(super) fn is_key_of(spec: &ToolSpec, key: &str) -> bool {
    let digest = key.strip_prefix(&key_prefix(spec)).unwrap_or_default();
    digest.len() == DIGITS && digest.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// What the arguments of a service command say about the cache.
pub(super) fn said(arguments: &Value) -> FromCache {
    let said = arguments.get("from_cache");
    let said = said.and_then(|said| FromCache::deserialize(said).ok());
    said.unwrap_or_default()
}

/// The arguments with secrets replaced: values of secret-like names, and what the input schema
/// marks. `None` if there are none.
pub(super) fn without_secrets(arguments: &Node<'_>, schema: &Value) -> Option<String> {
    let mut node = arguments.clone();
    mask(&mut node, schema).then(|| node.print(Form::Jcs))
}

fn mask(node: &mut Node<'_>, schema: &Value) -> bool {
    match node {
        Node::Object(fields) => {
            let marked: Vec<bool> = fields
                .iter()
                .map(|(name, _)| is_marked(&schema["properties"][name.as_ref()], fields))
                .collect();
            let mut any = false;
            for ((name, value), is_marked) in fields.iter_mut().zip(marked) {
                let is_value = !matches!(value, Node::Null | Node::Bool(_));
                if (is_secret(name) || is_marked) && is_value {
                    *value = Node::String(Cow::Borrowed("[REDACTED:argument]"));
                    any = true;
                } else {
                    any |= mask(value, &schema["properties"][name.as_ref()]);
                }
            }
            any
        }
        Node::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| mask(item, &schema["items"]) | any),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => false,
    }
}

/// Whether a schema says that a value is a secret beside these others: `x-secret-if` names
/// properties, and how their values begin then.
pub(crate) fn is_marked(schema: &Value, beside: &[(Cow<'_, str>, Node<'_>)]) -> bool {
    let Some(Value::Object(conditions)) = schema.get("x-secret-if") else {
        return false;
    };
    conditions.iter().any(|(property, beginning)| {
        let beginning = beginning.as_str().unwrap_or_default();
        let begins =
            |value: &Node<'_>| matches!(value, Node::String(text) if text.starts_with(beginning));
        let mut others = beside.iter();
        others.any(|(name, value)| name == property && begins(value))
    })
}

/// Drops the control arguments of a service command, at every depth.
fn strip_control(node: &mut Node<'_>) {
    match node {
        Node::Object(fields) => {
            fields.retain(|(name, _)| !matches!(name.as_ref(), "from_cache" | "yes"));
            fields
                .iter_mut()
                .for_each(|(_, value)| strip_control(value));
        }
        Node::Array(items) => items.iter_mut().for_each(strip_control),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => {}
    }
}

/// Replaces secret values, at every depth; tells of any.
fn redact(node: &mut Node<'_>, secret: &dyn Fn(&str) -> bool) -> bool {
    match node {
        Node::Object(fields) => {
            let mut any = false;
            for (name, value) in fields {
                if secret(name) {
                    *value = Node::String(Cow::Borrowed("[REDACTED]"));
                    any = true;
                } else {
                    any |= redact(value, secret);
                }
            }
            any
        }
        Node::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| redact(item, secret) | any),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => false,
    }
}

fn is_origin_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ORIGIN_SECRETS.iter().any(|part| name.contains(part))
}

pub(crate) fn is_secret(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut previous_lower = false;
    for c in name.chars() {
        let starts = !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && previous_lower);
        if starts {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
        previous_lower = c.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
        .iter()
        .any(|word| SECRET_WORDS.contains(&word.as_str()))
        || words.windows(2).any(|pair| {
            pair[1] == "key" && matches!(pair[0].as_str(), "api" | "private" | "access")
        })
}

/// Says whether an answer is there, without reading it.
pub(super) async fn peek(
    inner: &Inner,
    session: &SessionState,
    valid: &Valid,
    trail: &mut Trail,
) -> Result<Peeked, Stop> {
    if let Some(key) = valid.control.from_cache.entry() {
        trail.cache = CacheUse::Miss;
        let place = entry(inner, session, &valid.listing, key).await?;
        return Ok(Peeked {
            answered: place.is_some(),
            reads: true,
            place,
        });
    }
    // What a tool makes of the answer to its question is for whoever gave that answer.
    let place = valid.known.place().filter(|_| valid.responses.is_none());
    let reads = !valid.known.on_request || valid.control.from_cache.is_on();
    let Some(place) = place.filter(|_| reads).cloned() else {
        return Ok(Peeked {
            place: place.cloned(),
            reads: false,
            answered: false,
        });
    };
    trail.cache = CacheUse::Miss;
    let now = inner.clock.now();
    let answered = session.peek(&place.key, &place.binding, now)
        || (session.lifetime() == Lifetime::Stored
            && inner.store.peek(&stored_key(session, &place), now).await?);
    Ok(Peeked {
        place: Some(place),
        reads: true,
        answered,
    })
}

/// The entry of a session with exactly this key, if it is an answer of this tool as it is now.
async fn entry(
    inner: &Inner,
    session: &SessionState,
    listing: &Listing,
    key: &str,
) -> Result<Option<Place>, StoreError> {
    if !is_key_of(&listing.spec, key) {
        return Ok(None);
    }
    let entries = entries(inner, session, listing, key).await?;
    Ok(entries.into_iter().find(|place| place.key.as_ref() == key))
}

/// The entries of a session whose keys begin like this, as far as they are answers of this tool as it is now.
async fn entries(
    inner: &Inner,
    session: &SessionState,
    listing: &Listing,
    prefix: &str,
) -> Result<Vec<Place>, StoreError> {
    let now = inner.clock.now();
    let mut found = session.entries(prefix, now);
    if session.lifetime() == Lifetime::Stored {
        let limit = u32::try_from(LISTED).unwrap_or(u32::MAX);
        let stored = inner.store.entries(session.key(), prefix, limit, now);
        found.extend(stored.await?.into_iter().map(|it| (it.key, it.binding)));
    }
    found.sort();
    found.dedup();
    // Whatever the arguments were.
    let bound = binding(inner, listing, "");
    let places = found
        .into_iter()
        .filter(|(_, binding)| binding.starts_with(bound.as_ref()))
        .map(|(key, binding)| Place {
            key: key.into(),
            binding: binding.into(),
        });
    Ok(places.collect())
}

/// What an entry is bound to beyond its key: spec, sanitiser and, where the key is ours
/// and not the origin's, the arguments to the last digit.
pub(super) fn binding(inner: &Inner, listing: &Listing, fingerprint: &str) -> Arc<str> {
    let own = listing.spec.service_command.is_none();
    let arguments = if own { fingerprint } else { "" };
    let version = inner.cleaner.version();
    format!("{}:{version}:{arguments}", listing.digest()).into()
}

/// Opens the kept answer of a permitted call.
pub(super) async fn open(
    inner: &Inner,
    session: &SessionState,
    permitted: &Permitted,
    trail: &Trail,
) -> Result<Option<Recalled>, StoreError> {
    let Some(place) = permitted.place().filter(|_| permitted.reads()) else {
        return Ok(None);
    };
    let now = trail.at.max(inner.clock.now());
    if let Some(recalled) = session.recall(&place.key, &place.binding, now) {
        return Ok(Some(recalled));
    }
    if session.lifetime() == Lifetime::Process {
        return Ok(None);
    }
    let stored = inner.store.recall(&stored_key(session, place), now).await?;
    Ok(stored
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .map(|kept| Recalled {
            kept: Arc::new(kept),
            source: None,
        }))
}

/// A cached answer as it is given to this call: what it says of the call it was an answer to is
/// replaced, nothing else.
pub(super) fn restated(listing: &Listing, recalled: Recalled, transport: Transport) -> Recalled {
    let kept = &recalled.kept;
    let Some(payload) = listing.spec.telling.restated(&kept.payload, transport) else {
        return recalled;
    };
    Recalled {
        kept: Arc::new(Kept {
            fingerprint: fingerprint_of(payload.raw()),
            payload,
            ..Kept::clone(kept)
        }),
        source: None,
    }
}

/// Only the cache was asked, and it has no answer.
pub(super) async fn missed(
    inner: &Inner,
    session: &SessionState,
    valid: &Valid,
) -> Result<Stop, StoreError> {
    let Some(_) = valid.control.from_cache.entry() else {
        let message = "the session has no answer to this call";
        return Ok(Stop::new(ErrorCode::CacheMiss, message));
    };
    let listing = &valid.listing;
    let prefix = key_prefix(&listing.spec);
    let known = entries(inner, session, listing, &prefix).await?;
    let known = known.iter().map(|place| place.key.as_ref());
    let known: Vec<&str> = known.take(LISTED).collect();
    let message = format!(
        "the session has no answer of `{}` with this key",
        listing.spec.name
    );
    Ok(Failure::new(ErrorCode::CacheMiss, message)
        .suggest("Use one of the keys in `details.available_cache_keys`, or repeat the call without `from_cache`.")
        .with("available_cache_keys", known)
        .into())
}

/// How the answer of this call is to be kept, if it is.
pub(super) fn keeping(permitted: &Permitted, now: Timestamp) -> Option<Keeping> {
    let (place, caching) = permitted.keeps()?;
    let until = match caching {
        Caching::Never => return None,
        Caching::Session => None,
        Caching::For(duration) => Some(now.plus(duration)),
    };
    Some(Keeping {
        place,
        until,
        from: now,
    })
}

impl Keeping {
    /// The same for an answer that says itself when it stops being true; nothing if it has already.
    pub(super) fn for_answer(self, holds_until: Option<Timestamp>, now: Timestamp) -> Option<Self> {
        let until = [self.until, holds_until].into_iter().flatten().min();
        let is_over = until.is_some_and(|until| until <= now);
        (!is_over).then_some(Self { until, ..self })
    }
}

/// Where an answer is kept: under the key of the arguments as sent, and under that of what references among them came to.
pub(super) fn places(place: &Place, kept: &Kept) -> Vec<Place> {
    let tool = |key: &str| key.split_once(':').map(|(tool, _)| tool.to_owned());
    let resolved = kept.service.as_ref();
    let resolved = resolved.and_then(|service| service.cache_key.as_deref());
    let resolved =
        resolved.filter(|key| *key != place.key.as_ref() && tool(key) == tool(&place.key));
    let resolved = resolved.map(|key| Place {
        key: key.into(),
        binding: Arc::clone(&place.binding),
    });
    [Some(place.clone()), resolved]
        .into_iter()
        .flatten()
        .collect()
}

/// Puts a clean answer where the rest of this process finds it.
pub(super) fn remember(session: &SessionState, keeping: Option<&Keeping>, kept: &Arc<Kept>) {
    let Some(keeping) = keeping.filter(|_| kept.is_success()) else {
        return;
    };
    let from = keeping.from;
    let lasts = keeping.until.map(|until| Lasts { from, until });
    for place in places(&keeping.place, kept) {
        session.remember(&place.key, &place.binding, lasts, Arc::clone(kept));
    }
}

pub(super) fn stored_key(session: &SessionState, place: &Place) -> CacheKey {
    CacheKey {
        session: session.key().clone(),
        key: place.key.as_ref().to_owned(),
        binding: place.binding.as_ref().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(command: &str, params: &str) -> String {
        let params = Payload::parse(params.to_owned()).unwrap();
        cache_key_of(command, &params).unwrap()
    }

    #[test]
    fn keys_are_the_origins() {
        let params =
            r#"{"limit":5,"fixture":"bestsellers_home.json","domain":"US","category":"1055398"}"#;
        assert_eq!(
            key("categories.products", params),
            "categories.products:6f25fe463674001668f4a5df"
        );
    }

    /// Each part of the rule: what is sent, and the text whose digest is the key.
    const RULE: &[(&str, &str, &str)] = &[
        ("nothing", "{}", "{}"),
        (
            "keys are sorted, at every depth",
            r#"{"b":1,"a":{"z":1,"_":2,"A":3},"aa":0}"#,
            r#"{"a":{"A":3,"_":2,"z":1},"aa":0,"b":1}"#,
        ),
        (
            "no space stays between tokens, all of it within a text",
            "{ \"a\" :\t[ 1 ,\n 2 ] , \"b\" : \" c  d \" }",
            r#"{"a":[1,2],"b":" c  d "}"#,
        ),
        (
            "what is not ASCII is kept, however it was written",
            r#"{"term":"Teekessel für \u8336 🍵","\u00fc":1}"#,
            r#"{"term":"Teekessel für 茶 🍵","ü":1}"#,
        ),
        (
            "arrays keep their order and what stands in them twice",
            r#"{"asins":["B0B","B0A","B0B"],"rows":[[2,1],[1,2]]}"#,
            r#"{"asins":["B0B","B0A","B0B"],"rows":[[2,1],[1,2]]}"#,
        ),
        (
            "consent and reuse are no part of it, wherever they stand",
            r#"{"yes":true,"from_cache":false,"selection":{"from_cache":true,"page":0,"yes":1}}"#,
            r#"{"selection":{"page":0}}"#,
        ),
        (
            "the other control arguments are",
            r#"{"fixture":"a.json","dry_run":true,"approval":"ap-1"}"#,
            r#"{"approval":"ap-1","dry_run":true,"fixture":"a.json"}"#,
        ),
        (
            "nothing is filled in, and null and false are something",
            r#"{"domain":null,"full":false,"note":"","list":[],"more":{}}"#,
            r#"{"domain":null,"full":false,"list":[],"more":{},"note":""}"#,
        ),
        (
            "what a name of the origin's list holds is not told, whatever it is",
            r#"{"max_tokens":5,"api_key":{"a":1},"Password":null,"x":[{"client_secret":["a"],"Authorization":"b"}],"monkey":1}"#,
            r#"{"Password":"[REDACTED]","api_key":"[REDACTED]","max_tokens":"[REDACTED]","monkey":"[REDACTED]","x":[{"Authorization":"[REDACTED]","client_secret":"[REDACTED]"}]}"#,
        ),
        (
            "numbers are spelled as the origin spells them",
            r#"{"a":1.0,"b":1e2,"c":0.10,"d":12345678901234567890123}"#,
            r#"{"a":1.0,"b":100.0,"c":0.1,"d":12345678901234567890123}"#,
        ),
    ];

    #[test]
    fn every_part_of_the_rule_holds() {
        for (part, params, text) in RULE {
            let digest = hex_digest(text.as_bytes());
            let wanted = format!("finder.query:{}", &digest[..24]);
            assert_eq!(key("finder.query", params), wanted, "{part}");
        }
    }

    #[test]
    fn a_schema_marks_what_is_a_secret_beside_something() {
        let field = json!({"properties": {"value": {"x-secret-if": {"id": "secret_"}}}});
        let schema = json!({"properties": {"fields": {"items": field}}});
        let shown = |text: &str| {
            let payload = Payload::parse(text.to_owned()).unwrap();
            without_secrets(&Node::of(&payload).unwrap(), &schema)
        };
        let fields = r#"{"fields":[{"id":"secret_a","value":"x"},{"id":"input_b","value":"y"}]}"#;
        let masked = r#"{"fields":[{"id":"secret_a","value":"[REDACTED:argument]"},{"id":"input_b","value":"y"}]}"#;
        assert_eq!(shown(fields).as_deref(), Some(masked));
        assert_eq!(shown(r#"{"fields":[{"id":"input_b","value":"y"}]}"#), None);
        assert_eq!(shown(r#"{"value":"y","id":"secret_a"}"#), None);
    }

    #[test]
    fn words_tell_secrets_not_letters() {
        for name in [
            "password",
            "apiKey",
            "api_key",
            "access-token",
            "clientSecret",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["key", "tokens_left", "monkey", "keyboard", "author"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
