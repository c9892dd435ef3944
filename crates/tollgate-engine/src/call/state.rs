//! What a provider may remember, and what it gets back unread.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tollgate_core::{
    CallId, ErrorCode, Principal, SessionKey, StoreError, Timestamp,
    canonical::{hex, hex_digest},
    store::{Batch, Change, Durability, ProviderState, Versioned},
};

use super::{Inner, Stop};
use crate::policy::Consent;

/// Where answers that were used are remembered until their question ends.
const ANSWERED: &str = "gate.answered";
/// How long a question to the client stays open.
const OPEN: Duration = Duration::from_secs(3600);
/// How much longer it is known that it was answered, whatever the clock does meanwhile.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Provider state of one provider and one principal.
pub(super) struct Scoped {
    inner: Arc<Inner>,
    namespace: String,
    principal: Principal,
}

impl Scoped {
    pub(super) fn new(inner: &Arc<Inner>, namespace: &str, principal: &Principal) -> Self {
        Self {
            inner: Arc::clone(inner),
            namespace: namespace.to_owned(),
            principal: principal.clone(),
        }
    }

    async fn commit(
        &self,
        change: Change,
        durability: Durability,
    ) -> Result<Option<u64>, StoreError> {
        let batch = Batch {
            changes: vec![change],
            durability,
            ..Batch::default()
        };
        Ok(self.inner.store.commit(batch).await?.version)
    }

    fn put(
        &self,
        key: &str,
        version: Option<u64>,
        value: Vec<u8>,
        until: Option<Timestamp>,
    ) -> Change {
        Change::PutState {
            namespace: self.namespace.clone(),
            principal: self.principal.clone(),
            key: key.to_owned(),
            version,
            value,
            until,
            at: self.inner.clock.now(),
        }
    }
}

#[async_trait]
impl ProviderState for Scoped {
    async fn get(&self, key: &str) -> Result<Option<Versioned>, StoreError> {
        let now = self.inner.clock.now();
        self.inner
            .store
            .state(&self.namespace, &self.principal, key, now)
            .await
    }

    async fn compare_and_put(
        &self,
        key: &str,
        version: Option<u64>,
        value: Vec<u8>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        let change = self.put(key, version, value, until);
        let written = self.commit(change, Durability::Process).await?;
        written.ok_or(StoreError::Conflict)
    }

    async fn compare_and_keep(
        &self,
        key: &str,
        version: Option<u64>,
        value: Vec<u8>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        let change = self.put(key, version, value, until);
        let written = self.commit(change, Durability::Disk).await?;
        written.ok_or(StoreError::Conflict)
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        let change = Change::DeleteState {
            namespace: self.namespace.clone(),
            principal: self.principal.clone(),
            key: key.to_owned(),
        };
        self.commit(change, Durability::Process).await.map(|_| ())
    }
}

/// A provider's state on its way through the client: bound, ending, and sealed.
#[derive(Serialize, Deserialize)]
struct Sealed {
    /// The call that asked; no two questions are the same.
    call: String,
    binding: String,
    expires: Timestamp,
    consent: u8,
    state: Vec<u8>,
    tag: Vec<u8>,
}

impl Sealed {
    fn message(&self) -> String {
        format!(
            "{}\n{}\n{}\n{}\n{}",
            self.call,
            self.binding,
            self.expires.0,
            self.consent,
            hex(&self.state)
        )
    }
}

/// What a question belongs to: this call in this session, arguments and all.
pub(super) fn binding(
    tool: &str,
    spec_digest: &str,
    fingerprint: &str,
    session: &SessionKey,
) -> String {
    let text = format!(
        "{tool}\n{spec_digest}\n{fingerprint}\n{}\n{}",
        session.principal, session.handle
    );
    hex_digest(text.as_bytes())
}

/// A question that was answered: what its call had, and what it is known by.
pub(super) struct Resumed {
    /// The call that asked.
    pub(super) call: CallId,
    /// The consent that call had.
    pub(super) consent: Consent,
    /// When the question ends.
    expires: Timestamp,
    /// Names what follows, so that one answer leads to one effect however often it is sent.
    pub(super) key: String,
}

/// Seals what a provider wants back, together with the consent its call had.
pub(super) fn seal(
    inner: &Inner,
    call: &CallId,
    state: Vec<u8>,
    binding: String,
    consent: Consent,
) -> Vec<u8> {
    let expires = inner.clock.now().plus(OPEN);
    let mut sealed = Sealed {
        call: call.as_str().to_owned(),
        binding,
        expires,
        consent: consent as u8,
        state,
        tag: Vec::new(),
    };
    let message = sealed.message();
    sealed.tag = inner.approval_key.authenticate(message.as_bytes()).to_vec();
    serde_json::to_vec(&sealed).unwrap_or_default()
}

/// Opens what [`seal`] made; a tampered, foreign or ended one is refused.
pub(super) fn unseal(inner: &Inner, bytes: &[u8], binding: &str) -> Result<Resumed, Stop> {
    let refused = || {
        Stop::new(
            ErrorCode::StateRejected,
            "this answer belongs to no open question",
        )
    };
    let sealed: Sealed = serde_json::from_slice(bytes).map_err(|_| refused())?;
    let message = sealed.message();
    let genuine = inner
        .approval_key
        .is_authentic(message.as_bytes(), &sealed.tag);
    let asked = sealed.expires.minus(OPEN);
    let open = inner.clock.now().is_within(asked, sealed.expires);
    if !genuine || !open || sealed.binding != binding {
        return Err(refused());
    }
    let consent = match sealed.consent {
        2 => Consent::Human,
        1 => Consent::Agent,
        _ => Consent::None,
    };
    Ok(Resumed {
        expires: sealed.expires,
        key: format!("resume:{}", hex(&sealed.tag)),
        call: CallId(sealed.call.into()),
        consent,
    })
}

/// What uses an answer up; refused as `Conflict` if it was used before. What an effect answers
/// is recorded with the effect instead, so that a caller who missed the ending can be shown it.
pub(super) fn using_up(inner: &Inner, session: &SessionKey, resumed: &Resumed) -> Change {
    Change::PutState {
        namespace: ANSWERED.to_owned(),
        principal: session.principal.clone(),
        key: resumed.key.clone(),
        version: None,
        value: Vec::new(),
        until: Some(resumed.expires.plus(REMEMBERED)),
        at: inner.clock.now(),
    }
}

/// An answer that was used before.
pub(super) fn used_up() -> Stop {
    Stop::new(ErrorCode::StateRejected, "this answer was used before")
}

/// The provider's own part of a state that has been checked before.
pub(super) fn opened(bytes: &[u8]) -> Vec<u8> {
    serde_json::from_slice::<Sealed>(bytes).map_or_else(|_| Vec::new(), |sealed| sealed.state)
}
