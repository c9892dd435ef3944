//! Records to write, with only what a case is about filled in.

use std::time::Duration;

use serde_json::json;
use tollgate_core::{
    CallId, Estimate, Principal, SessionKey, Timestamp,
    audit::{AuditEntry, Hash},
    store::{
        Approval, ApprovalLimits, ApprovalState, CacheKey, Change, Credential, CredentialKind,
        EffectQuery, Ending, Intent, ReviewItem, ReviewStatus, Session,
    },
};

/// The time in all cases, unless they say otherwise.
pub(super) const NOW: Timestamp = Timestamp(1_795_000_000_000);

pub(super) fn later(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

pub(super) fn key(handle: &str) -> SessionKey {
    SessionKey::new(Principal::user(1000), handle)
}

pub(super) fn open(handle: &str) -> Change {
    Change::OpenSession(Session::new(key(handle), NOW))
}

/// Opens a session that may consume so much.
pub(super) fn open_with_limit(handle: &str, limit: u64) -> Change {
    Change::OpenSession(Session {
        limit: Some(limit),
        ..Session::new(key(handle), NOW)
    })
}

pub(super) fn reserve(handle: &str, units: u64) -> Change {
    Change::Reserve {
        session: key(handle),
        estimate: Estimate::exactly(units),
    }
}

pub(super) fn call(id: &str) -> CallId {
    CallId(id.into())
}

pub(super) fn digest(byte: u8) -> Hash {
    [byte; 32]
}

pub(super) fn approval(id: &str, byte: u8) -> Approval {
    Approval {
        id: id.to_owned(),
        digest: digest(byte),
        tool: "mail.send".to_owned(),
        spec_digest: "spec".to_owned(),
        session: key("s"),
        preview: json!({"to": "someone", "zeta": 1, "alpha": [true, null]}),
        estimate: Estimate {
            estimated: 3,
            worst_case: 9,
            confirm: true,
        },
        created: NOW,
        expires: later(600),
        state: ApprovalState::Pending,
        decided_by: None,
        decided_at: None,
        consumed_by: None,
        consumed_at: None,
    }
}

/// Asks, where many may wait.
pub(super) fn asking(approval: Approval) -> Change {
    let limits = ApprovalLimits::default();
    Change::AskApproval { approval, limits }
}

pub(super) fn decide(id: &str, granted: bool, at: Timestamp) -> Change {
    Change::DecideApproval {
        id: id.to_owned(),
        granted,
        by: "a human".to_owned(),
        at,
    }
}

pub(super) fn consume(byte: u8, by: &str, at: Timestamp) -> Change {
    Change::ConsumeApproval {
        digest: digest(byte),
        call: call(by),
        at,
    }
}

/// An effect that is about to happen.
pub(super) fn intent(id: &str, byte: u8) -> Intent {
    Intent {
        call: call(id),
        owner: "someone".to_owned(),
        session: key("s"),
        tool: "mail.send".to_owned(),
        trace_id: "trace".to_owned(),
        reserved: 5,
        effect: true,
        digest: Some(digest(byte)),
        idempotency_key: None,
        at: NOW,
    }
}

pub(super) fn end(id: &str, answer: Option<&[u8]>) -> Change {
    Change::EndIntent(Ending {
        call: call(id),
        answer: answer.map(<[u8]>::to_vec),
        at: NOW,
    })
}

/// Looks for an effect by digest alone, however old.
pub(super) fn effect_query(byte: u8) -> EffectQuery {
    EffectQuery {
        session: key("s"),
        digest: digest(byte),
        idempotency_key: None,
        since: Timestamp(0),
    }
}

pub(super) fn cache_key(handle: &str, name: &str, binding: &str) -> CacheKey {
    CacheKey {
        session: key(handle),
        key: name.to_owned(),
        binding: binding.to_owned(),
    }
}

pub(super) fn review(id: &str) -> ReviewItem {
    ReviewItem {
        item_id: id.to_owned(),
        created_at: NOW,
        status: ReviewStatus::Open,
        request_id: "call".to_owned(),
        session_id: "s".to_owned(),
        principal: "user:1000".to_owned(),
        subject: "mail.send".to_owned(),
        reasons: vec!["uncertain".to_owned()],
        warning_codes: vec!["redacted".to_owned()],
        preview: "…".to_owned(),
        resolution: None,
        note: None,
        resolved_at: None,
        resolved_by: None,
    }
}

pub(super) fn credential(id: &str, byte: u8) -> Credential {
    Credential {
        id: id.to_owned(),
        digest: digest(byte),
        kind: CredentialKind::Bearer,
        label: Some("laptop".to_owned()),
        scopes: json!({"toolsets": ["gate"]}),
        created: NOW,
        expires: Some(later(60)),
        revoked: None,
    }
}

/// An entry with every column, told apart by `number`.
pub(super) fn entry(number: u64) -> AuditEntry {
    let body = json!({
        "at": NOW.0,
        "kind": "ending",
        "call_id": format!("call-{number}"),
        "trace_id": format!("trace-{}", number % 3),
        "principal": "user:1000",
        "session": format!("session-{}", number % 2),
        "tool": format!("tool.{}", number % 5),
        "status": "ok",
        "number": number,
    });
    AuditEntry::new(body.to_string())
}
