//! Answers kept for questions that are asked again.
//!
//! Invariants: a kept answer is returned only for an equal key, and a question
//! has a key only if everything its rules can look at is in it. The table never
//! grows: a newer answer takes the place of an older one in its slot.

use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tollgate_core::{Capability, Surface, TrustLevel};

use super::{Action, Consent, Question, entities::PreparedTool};

/// How many verdicts are kept at most.
pub(super) const VERDICTS: usize = 2_048;
/// How many answers to "could it ever be permitted" are kept at most.
pub(super) const LISTINGS: usize = 8_192;

/// Everything a memorable verdict can depend on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key<'a> {
    tool: u64,
    action: Action,
    capability: Capability,
    consent: Consent,
    trust: TrustLevel,
    surface: Surface,
    cost_confirm: bool,
    tainted: bool,
    principal: Cow<'a, str>,
    profile: Option<Cow<'a, str>>,
    skill: Option<Cow<'a, str>>,
    session: Option<Cow<'a, str>>,
}

impl<'a> Key<'a> {
    /// `None` where rules look at what differs from call to call.
    pub(super) fn of(question: &Question<'a>, tool: &PreparedTool) -> Option<Self> {
        (!tool.reach.mentions.is_of_one_call()).then(|| Self::for_listing(question, tool))
    }

    /// The key for rules that had everything cut out that differs from call to call.
    pub(super) fn for_listing(question: &Question<'a>, tool: &PreparedTool) -> Self {
        Self {
            tool: tool.number,
            action: question.action,
            capability: question.capability,
            consent: question.consent,
            trust: question.trust,
            surface: question.surface,
            cost_confirm: question.estimate.confirm,
            tainted: question.tainted,
            principal: Cow::Borrowed(question.principal.as_str()),
            profile: question.profile.map(Cow::Borrowed),
            skill: question.skill.map(Cow::Borrowed),
            session: tool
                .reach
                .mentions
                .session
                .then_some(Cow::Borrowed(question.session)),
        }
    }

    fn into_owned(self) -> Key<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Key {
            principal: Cow::Owned(self.principal.into_owned()),
            profile: self.profile.map(owned),
            skill: self.skill.map(owned),
            session: self.session.map(owned),
            ..self
        }
    }
}

type Slot<V> = Mutex<Option<Arc<(Key<'static>, V)>>>;

/// A table of answers, one for each slot, made when it is first needed.
pub(super) struct Memo<V> {
    hasher: RandomState,
    count: usize,
    slots: OnceLock<Box<[Slot<V>]>>,
}

impl<V: Clone> Memo<V> {
    pub(super) fn with_slots(count: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            count,
            slots: OnceLock::new(),
        }
    }

    pub(super) fn get(&self, key: &Key<'_>) -> Option<V> {
        let slot = self.slot(key)?.lock();
        let kept = Arc::clone(slot.unwrap_or_else(PoisonError::into_inner).as_ref()?);
        (kept.0 == *key).then(|| kept.1.clone())
    }

    pub(super) fn put(&self, key: Key<'_>, value: V) {
        if let Some(slot) = self.slot(&key) {
            let kept = Arc::new((key.into_owned(), value));
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        }
    }

    fn slot(&self, key: &Key<'_>) -> Option<&Slot<V>> {
        let slots = self.slots.get_or_init(|| {
            std::iter::repeat_with(Slot::default)
                .take(self.count)
                .collect()
        });
        let hash = self.hasher.hash_one(key);
        let index = hash.checked_rem(u64::try_from(slots.len()).ok()?)?;
        slots.get(usize::try_from(index).ok()?)
    }
}
