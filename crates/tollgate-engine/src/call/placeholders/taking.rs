//! What is taken out of an answer: named, and kept sealed in the session and in the store with a stored one.
//!
//! Invariant: an id tells nothing of its value, also not to whoever guesses it: it depends on the call.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use tollgate_core::{CallId, Sealer as _, SessionKey, StoreError};
use tollgate_sanitize::placeholder::{self, ID_LENGTH, Part, Placeholder, Seals as Keeps};

use super::{
    super::{Inner, Stop, session_store, taint},
    answers_clean_text, origin_of,
};
use crate::{
    catalog::Listing,
    policy::ApprovalKey,
    record::Trail,
    seal::Seals,
    session::{Lifetime, MAX_VALUES, Object, Sealed, SessionState},
};

/// Where a stored session keeps its values.
const NAMESPACE: &str = "gate.placeholders";
/// What its key is derived for.
const PURPOSE: &str = "placeholders 1";
/// Why values could not be kept.
const UNSEALED: &str = "a value could not be sealed";
/// The longest value that is kept.
const MAX_VALUE: usize = 64 << 10;
/// The most bytes of values that one answer, and one stored session, keeps.
const MAX_BYTES: usize = 512 << 10;

/// Names and keeps what is taken out of one answer.
pub(in super::super) struct Taking<'c> {
    key: &'c ApprovalKey,
    session: &'c SessionKey,
    call: &'c CallId,
    tool: &'c str,
    object: Option<Object>,
    is_escaped: bool,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    values: BTreeMap<String, Sealed>,
    bytes: usize,
}

impl fmt::Debug for Taking<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taking").finish_non_exhaustive()
    }
}

impl<'c> Taking<'c> {
    pub(in super::super) fn new(
        inner: &'c Inner,
        (session, trail): (&'c SessionState, &'c Trail),
        listing: &'c Listing,
        object: Option<Object>,
    ) -> Self {
        Self {
            key: &inner.approval_key,
            session: session.key(),
            call: &trail.call,
            tool: listing.spec.name.as_str(),
            object,
            is_escaped: !answers_clean_text(listing),
            taken: Mutex::default(),
        }
    }

    /// Whether what looks like a placeholder in the answer is none.
    pub(in super::super) fn escapes(&self) -> bool {
        self.is_escaped
    }

    fn id(&self, rule: &str, value: &str) -> String {
        let mut text = Vec::from(&b"placeholder"[..]);
        for part in [
            self.session.principal.as_str(),
            &self.session.handle,
            // Equal values of two answers have two ids, so that none can be found by guessing it.
            self.call.as_str(),
            rule,
            value,
        ] {
            text.extend((part.len() as u64).to_be_bytes());
            text.extend(part.as_bytes());
        }
        let digest = self.key.fingerprint(&text);
        let bits = digest
            .iter()
            .take(8)
            .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let letter = |at: usize| {
            let five = (bits >> (at * 5)) & 31;
            char::from(b"abcdefghijklmnopqrstuvwxyz234567"[usize::try_from(five).unwrap_or(0)])
        };
        (0..ID_LENGTH).map(letter).collect()
    }

    /// What stood there before earlier rounds of cleaning.
    fn original(&self, taken: &Taken, text: &str) -> Option<String> {
        let mut original = String::new();
        for part in placeholder::parts(text) {
            match part {
                Part::Text(text) => original.push_str(text),
                Part::Escaped(text) => {
                    original.push_str(text);
                    if !self.is_escaped {
                        original.push('\\');
                    }
                }
                Part::Placeholder(Placeholder { id, .. }) => {
                    original.push_str(&taken.values.get(id?)?.value);
                }
            }
        }
        Some(original)
    }
}

impl Keeps for Taking<'_> {
    fn seal(&self, rule: &str, text: &str, span: Range<usize>) -> Option<String> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let value = self.original(&taken, text.get(span.clone())?)?;
        if value.len() > MAX_VALUE || taken.bytes + value.len() > MAX_BYTES {
            return None;
        }
        let id = self.id(rule, &value);
        let host = host_around(text, span);
        if let Some(known) = taken.values.get_mut(&id) {
            known.hosts.extend(host);
            return Some(id);
        }
        if taken.values.len() >= MAX_VALUES {
            return None;
        }
        taken.bytes += value.len();
        let sealed = Sealed {
            rule: rule.to_owned(),
            value,
            tool: self.tool.to_owned(),
            objects: self.object.clone().into_iter().collect(),
            hosts: host.into_iter().collect(),
        };
        taken.values.insert(id.clone(), sealed);
        Some(id)
    }
}

/// The host of the address that a part of a text belongs to.
fn host_around(text: &str, span: Range<usize>) -> Option<String> {
    let is_edge = |c: char| c.is_whitespace() || c.is_control() || "\"'<>`(){}|".contains(c);
    let start = text[..span.start].rfind(is_edge).map_or(0, |at| {
        at + text[at..].chars().next().map_or(1, char::len_utf8)
    });
    let word = &text[start..span.end];
    let scheme = word.rfind("http://").max(word.rfind("https://"))?;
    // The value has to stand behind the host, not in it.
    let origin = origin_of(&word[scheme..])?;
    (start + scheme + origin.len() <= span.start).then_some(origin)
}

/// Keeps what was taken out of an answer in the session, and in the store with a stored one.
pub(in super::super) async fn remember(
    inner: &Inner,
    session: &SessionState,
    taking: Taking<'_>,
    trail: &Trail,
) -> Result<(), Stop> {
    let taken = taking
        .taken
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if taken.values.is_empty() {
        return Ok(());
    }
    let (budgets, now) = (&inner.settings.budgets, inner.clock.now());
    let ids: BTreeSet<String> = taken.values.keys().cloned().collect();
    let values = taken.values.into_iter().collect();
    let sealed = inner.sessions.seal(budgets, session, (values, now));
    sealed.map_err(|stop| taint::without_room(stop, trail))?;
    if session.lifetime() == Lifetime::Stored {
        keep(inner, session, &ids, trail).await?;
    }
    Ok(())
}

/// Keeps values in the store.
async fn keep(
    inner: &Inner,
    session: &SessionState,
    ids: &BTreeSet<String>,
    trail: &Trail,
) -> Result<(), StoreError> {
    let seals = Seals::new(&inner.approval_key, PURPOSE);
    let seals = seals.map_err(|_| StoreError::Corrupt(UNSEALED.to_owned()))?;
    let place = &session.key().handle;
    session_store::change(inner, session, NAMESPACE, trail, |before| {
        let mut all = opened(&seals, place, before);
        all.retain(|(id, _)| !ids.contains(id));
        all.extend(ids.iter().filter_map(|id| {
            let sealed = session.unsealed(id)?;
            Some((id.clone(), Sealed::clone(&sealed)))
        }));
        let mut bytes: usize = all.iter().map(|(_, sealed)| sealed.value.len()).sum();
        all.retain(|(_, sealed)| {
            let is_kept = bytes <= MAX_BYTES;
            bytes -= if is_kept { 0 } else { sealed.value.len() };
            is_kept
        });
        let plain = serde_json::to_vec(&all).unwrap_or_default();
        let sealed = seals.seal(place, &plain);
        sealed.map_err(|_| StoreError::Corrupt(UNSEALED.to_owned()))
    })
    .await
}

/// The values of a stored session, the oldest first.
pub(super) async fn stored(
    inner: &Inner,
    session: &SessionState,
) -> Result<Vec<(String, Sealed)>, StoreError> {
    let kept = session_store::read(inner, session, NAMESPACE).await?;
    let seals = Seals::new(&inner.approval_key, PURPOSE);
    let seals = seals.map_err(|_| StoreError::Corrupt(UNSEALED.to_owned()))?;
    let kept = kept.map(|(value, _)| value);
    Ok(opened(&seals, &session.key().handle, kept))
}

/// What was sealed with a key that is gone is unknown, as if it had never been read.
fn opened(seals: &Seals, place: &str, kept: Option<Vec<u8>>) -> Vec<(String, Sealed)> {
    let plain = kept.and_then(|kept| seals.open(place, &kept).ok());
    let values = plain.and_then(|plain| serde_json::from_slice(&plain).ok());
    values.unwrap_or_default()
}
