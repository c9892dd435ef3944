//! Verdicts kept for questions that are asked again.
//!
//! Invariants: a kept verdict is returned only for an equal key, and a question
//! has a key only if everything its rules can look at is in it. The table never
//! grows: a newer verdict takes the place of an older one in its slot.

use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, PoisonError},
};

use tollgate_core::{Capability, Surface, TrustLevel};

use super::{Action, Consent, Question, Verdict, entities::PreparedTool};

/// How many verdicts are kept at most; a power of two.
const SLOTS: usize = 2_048;

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
        if tool.mentions.is_of_one_call() {
            return None;
        }
        Some(Self {
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
                .mentions
                .session
                .then_some(Cow::Borrowed(question.session)),
        })
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

type Slot = Mutex<Option<Arc<(Key<'static>, Verdict)>>>;

/// A table of verdicts, one for each slot.
pub(super) struct Memo {
    hasher: RandomState,
    slots: Box<[Slot]>,
}

impl Default for Memo {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            slots: std::iter::repeat_with(Slot::default).take(SLOTS).collect(),
        }
    }
}

impl Memo {
    pub(super) fn get(&self, key: &Key<'_>) -> Option<Verdict> {
        let kept = Arc::clone(
            self.slot(key)?
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .as_ref()?,
        );
        (kept.0 == *key).then(|| kept.1.clone())
    }

    pub(super) fn put(&self, key: Key<'_>, verdict: &Verdict) {
        if let Some(slot) = self.slot(&key) {
            let kept = Arc::new((key.into_owned(), verdict.clone()));
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        }
    }

    fn slot(&self, key: &Key<'_>) -> Option<&Slot> {
        let hash = self.hasher.hash_one(key);
        let index = hash % u64::try_from(self.slots.len()).ok()?;
        self.slots.get(usize::try_from(index).ok()?)
    }
}
