//! The human's side of the gate: approvals, reviews, tokens.
//!
//! Invariant: whoever calls these has shown to be a human at a terminal or the
//! bearer of an approver token; front ends establish that, tools never reach here.
//! Everything done here is written down and on disk before it counts.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tollgate_core::{
    CallId, StoreError, Timestamp,
    audit::Hash,
    store::{
        Approval, Batch, Change, Credential, CredentialKind, Durability, Grant, GrantScope,
        ReviewItem,
    },
};

use crate::{
    call::{Gateway, SESSION_GRANT},
    ids, record,
};

/// What a human makes of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// This call may happen, once.
    Once,
    /// Every call of this tool may happen in this session.
    ToolForSession,
    /// Every call of this tool to this site may happen in this session.
    SiteForSession(String),
    /// No.
    Denied,
}

impl Decided {
    const fn as_str(&self) -> &'static str {
        match self {
            Self::Once => "granted",
            Self::ToolForSession => "granted_tool_for_session",
            Self::SiteForSession(_) => "granted_site_for_session",
            Self::Denied => "denied",
        }
    }
}

/// What a new token is for.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Approving, calling over HTTP, or letting a client's dialogs count.
    pub kind: CredentialKind,
    /// What the operator calls it.
    pub label: Option<String>,
    /// What it may do.
    pub scopes: Value,
    /// When it ends.
    pub expires: Option<Timestamp>,
}

/// Whether a grant for the session would cover the call of this question; a human is offered
/// one only then.
pub fn can_be_granted_for_session(approval: &Approval) -> bool {
    approval.preview.get(SESSION_GRANT) == Some(&Value::Bool(true))
}

impl Gateway {
    /// Decides an open question.
    pub async fn decide(
        &self,
        approval: &Approval,
        decided: &Decided,
        by: &str,
    ) -> Result<(), StoreError> {
        let at = self.clock().now();
        let mut changes = vec![Change::DecideApproval {
            id: approval.id.clone(),
            granted: *decided != Decided::Denied,
            by: by.to_owned(),
            at,
        }];
        let scope = match decided {
            Decided::Once | Decided::Denied => None,
            Decided::ToolForSession => Some(GrantScope::Tool {
                tool: approval.tool.clone(),
                spec_digest: approval.spec_digest.clone(),
            }),
            Decided::SiteForSession(site) => Some(GrantScope::Site {
                tool: approval.tool.clone(),
                spec_digest: approval.spec_digest.clone(),
                site: site.clone(),
            }),
        };
        if scope.is_some() {
            // The grant takes the question's place; nothing is left over when it is taken back.
            changes.push(Change::ConsumeApproval {
                digest: approval.digest,
                call: CallId("for-session".into()),
                at,
            });
        }
        changes.extend(scope.map(|scope| {
            Change::Grant(Grant {
                session: approval.session.clone(),
                scope,
                by: by.to_owned(),
                at,
                expires: at.plus(self.settings().grant_ttl),
            })
        }));
        let facts = json!({
            "approval_id": approval.id, "tool": approval.tool, "status": decided.as_str(),
            "principal": approval.session.principal.as_str(),
            "session": approval.session.handle, "by": by, "shown": approval.preview,
        });
        self.write("approval", at, facts, changes).await
    }

    /// Takes a grant back. Narrowing needs nobody's consent.
    pub async fn revoke_grant(&self, grant: &Grant) -> Result<(), StoreError> {
        let at = self.clock().now();
        let facts = json!({
            "status": "revoked", "scope": grant.scope,
            "principal": grant.session.principal.as_str(), "session": grant.session.handle,
        });
        let change = Change::Revoke {
            session: grant.session.clone(),
            scope: grant.scope.clone(),
        };
        self.write("grant", at, facts, vec![change]).await
    }

    /// Resolves a review item.
    pub async fn resolve_review(
        &self,
        item: &ReviewItem,
        resolution: &str,
        note: Option<&str>,
        by: &str,
    ) -> Result<(), StoreError> {
        let at = self.clock().now();
        let note = note.map(|note| self.cleaner().line(note));
        let facts = json!({
            "review_id": item.item_id, "call_id": item.request_id, "tool": item.subject,
            "principal": item.principal, "session": item.session_id,
            "status": resolution, "note": note, "by": by,
        });
        let change = Change::ResolveReview {
            id: item.item_id.clone(),
            resolution: resolution.to_owned(),
            note,
            by: by.to_owned(),
            at,
        };
        self.write("review", at, facts, vec![change]).await
    }

    /// Makes a token; it is shown once, and only its digest is kept.
    pub async fn create_token(&self, new: NewToken) -> Result<(Credential, String), StoreError> {
        let at = self.clock().now();
        let prefix = match new.kind {
            CredentialKind::Approver => "tga",
            CredentialKind::Bearer => "tgb",
            CredentialKind::Dialog => "tgd",
        };
        let token = format!("{prefix}_{}", ids::random_hex(24).map_err(no_chance)?);
        let credential = Credential {
            id: ids::random_id("tk").map_err(no_chance)?,
            digest: token_digest(&token),
            kind: new.kind,
            label: new.label.map(|label| self.cleaner().line(&label)),
            scopes: new.scopes,
            created: at,
            expires: new.expires,
            revoked: None,
        };
        let facts = json!({
            "token_id": credential.id, "status": "created",
            "token_kind": credential.kind.as_str(), "label": credential.label,
            "scopes": credential.scopes, "expires": credential.expires,
        });
        let change = Change::AddCredential(credential.clone());
        self.write("token", at, facts, vec![change]).await?;
        Ok((credential, token))
    }

    /// Ends a token.
    pub async fn revoke_token(&self, id: &str) -> Result<(), StoreError> {
        let at = self.clock().now();
        let facts = json!({"token_id": id, "status": "revoked"});
        let change = Change::RevokeCredential {
            id: id.to_owned(),
            at,
        };
        self.write("token", at, facts, vec![change]).await
    }

    /// The live credential of a token, if it is of this kind.
    pub async fn credential(
        &self,
        token: &str,
        kind: CredentialKind,
    ) -> Result<Option<Credential>, StoreError> {
        let now = self.clock().now();
        let found = self.store().credential(&token_digest(token)).await?;
        Ok(found.filter(|credential| credential.kind == kind && credential.is_live(now)))
    }

    /// Writes down that a skill was turned on or off.
    pub async fn note_skill(&self, name: &str, on: bool, by: &str) -> Result<(), StoreError> {
        let at = self.clock().now();
        let status = if on { "enabled" } else { "disabled" };
        let facts = json!({"skill": name, "status": status, "by": by});
        self.write("skill", at, facts, Vec::new()).await
    }

    async fn write(
        &self,
        kind: &'static str,
        at: Timestamp,
        facts: Value,
        changes: Vec<Change>,
    ) -> Result<(), StoreError> {
        let batch = Batch {
            changes,
            audit: vec![record::note(kind, at, facts)],
            durability: Durability::Disk,
        };
        self.store().commit(batch).await.map(|_| ())
    }
}

/// Without random bytes there are no secrets to hand out.
fn no_chance(error: std::io::Error) -> StoreError {
    StoreError::Failed(Box::new(error))
}

/// What is kept of a token.
fn token_digest(token: &str) -> Hash {
    Sha256::digest(token.trim().as_bytes()).into()
}
