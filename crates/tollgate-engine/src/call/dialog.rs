//! A human's answer given in a client's own dialog.
//!
//! The question travels through the client, so it is sealed: bound to principal, session,
//! tool, arguments and time. Deciding it in the store is what makes it single use. Whether
//! a client's dialog counts as a human at all is for the operator and the front end to say.

use std::sync::Arc;

use tollgate_core::{
    Payload, StoreError, Timestamp,
    canonical::{hex, hex_digest},
    store::{Approval, ApprovalState},
};

use super::{CALL_BY_NAME, Caller, Gateway, Request, placeholders, plan};
use crate::{
    catalog::{Catalog, Listing},
    desk::{Decided, can_be_granted_for_session},
    forwarded_meta,
};

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub enum DialogError {
    /// It was altered, used before, has ended, or belongs to another call or caller.
    #[error("this answer belongs to no open question")]
    NoQuestion,
    /// This question does not have that choice; it stays open.
    #[error("this question does not offer that choice")]
    NotOffered,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Gateway {
    /// Seals an open question for the client's dialog.
    pub async fn seal_question(
        &self,
        caller: &Caller,
        approval: &str,
    ) -> Result<Option<String>, StoreError> {
        let asked = self.store().approval(approval).await?;
        Ok(asked
            .filter(|asked| asked.session == caller.session)
            .map(|asked| self.sealed(&asked)))
    }

    /// Takes the answer of a dialog the operator trusts; an answer counts once.
    pub async fn answer_question(
        &self,
        caller: &Caller,
        request: &Request,
        sealed: &str,
        decided: &Decided,
        by: &str,
    ) -> Result<(), DialogError> {
        let id = sealed.split('.').next().unwrap_or_default();
        let asked = self.store().approval(id).await?;
        let asked = asked.ok_or(DialogError::NoQuestion)?;
        let genuine = constant_time_eq(self.sealed(&asked).as_bytes(), sealed.as_bytes());
        let digest = self.digest_of(caller, request);
        let same = asked.session == caller.session && digest == Some(asked.digest);
        if !genuine || !same {
            return Err(DialogError::NoQuestion);
        }
        if *decided == Decided::ToolForSession && !can_be_granted_for_session(&asked) {
            return Err(DialogError::NotOffered);
        }
        match self.decide(&asked, decided, by).await {
            Err(StoreError::ApprovalGone) => {
                // Approved elsewhere in the meantime: that is what this answer says too.
                if *decided != Decided::Denied && self.is_granted(id).await? {
                    return Ok(());
                }
                Err(DialogError::NoQuestion)
            }
            decided => Ok(decided?),
        }
    }

    /// Whether somebody has approved the call of a question elsewhere, and nothing used it yet.
    pub async fn is_granted(&self, approval: &str) -> Result<bool, StoreError> {
        let asked = self.store().approval(approval).await?;
        let now = self.clock().now();
        Ok(asked.is_some_and(|it| it.state == ApprovalState::Granted && it.in_time(now)))
    }

    fn sealed(&self, asked: &Approval) -> String {
        let Timestamp(expires) = asked.expires;
        let (key, session) = (&self.0.approval_key, &asked.session);
        let text = format!(
            "dialog\n{}\n{}\n{}\n{expires}\n{}",
            asked.id,
            session.principal,
            hex_digest(session.handle.as_bytes()),
            hex(&asked.digest),
        );
        format!("{}.{}", asked.id, hex(&key.authenticate(text.as_bytes())))
    }

    /// The digest of the call that a request makes, as an approval is bound to it.
    fn digest_of(&self, caller: &Caller, request: &Request) -> Option<[u8; 32]> {
        let catalog = self.catalog();
        let (listing, arguments) = meant(&catalog, request)?;
        let spec = &listing.spec;
        let key = &self.0.approval_key;
        let plan = plan::of(listing, &arguments, caller.trust).ok()?;
        let bound = plan::bound_to(listing, plan.as_ref());
        let allowed = listing.provider.forwards_meta();
        let fields = forwarded_meta::chosen(allowed, request.aside.as_deref()).ok()?;
        let session = self.0.sessions.in_use(&caller.session);
        let arguments = match session {
            Some(session) => placeholders::filled(listing, &session, arguments),
            None => arguments,
        };
        let governed = forwarded_meta::governed(&arguments, fields.as_deref()).ok()?;
        key.digest(&spec.name, &bound, &governed, &caller.session)
            .ok()
    }
}

/// The tool and the arguments that a request means, also where it calls a tool by name.
pub(super) fn meant<'a>(
    catalog: &'a Catalog,
    request: &Request,
) -> Option<(&'a Arc<Listing>, Payload)> {
    let listing = catalog.find(&request.tool)?;
    if listing.spec.name.as_str() != CALL_BY_NAME {
        return Some((listing, listing.respelled(request.arguments.clone())));
    }
    let outer = request.arguments.value();
    let listing = catalog.find(outer.get("name")?.as_str()?)?;
    let arguments = match outer.get("arguments") {
        Some(_) => inner_arguments(&request.arguments)?,
        None => Payload::empty_object(),
    };
    Some((listing, listing.respelled(arguments)))
}

/// The arguments inside a call by name, as they were spelled.
fn inner_arguments(outer: &Payload) -> Option<Payload> {
    #[derive(serde::Deserialize)]
    struct Wrapped {
        arguments: Payload,
    }
    let wrapped: Wrapped = serde_json::from_str(outer.raw()).ok()?;
    Some(wrapped.arguments)
}

fn constant_time_eq(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .fold(0, |difference, (a, b)| difference | (a ^ b))
            == 0
}
