//! `session.*`: the caller's own session, its ledger and its limit.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_core::{
    BudgetLedger, CallContext, ErrorCode, ProviderError, Tool, ToolSet,
    store::{Batch, Change, Durability},
};

use super::{Handle, engine, from_store};
use crate::{
    call::Inner,
    session::{LIMIT_IS_SET, Lifetime, Opening, SessionError, SessionState},
};

pub(super) fn add(tools: ToolSet<Handle>) -> ToolSet<Handle> {
    tools
        .tool(
            Tool::read(
                "session.info",
                "Show this session",
                "Shows your session: its handle, profile and ledger (what was estimated, consumed, blocked, what is left). \
                 Use it before expensive work. \
                 Success: all of it. Fails only where the state cannot be read.",
            )
            .sets(&["gate"]),
            info,
        )
        .tool(
            Tool::write(
                "session.set_limit",
                "Set this session's budget limit",
                "Sets how many units your session may consume in all, or lifts the limit with null. \
                 A human must approve: raising one's own budget is not a model's decision. \
                 Success: the new limit. Fails without approval: confirmation_required with the id to approve.",
            )
            .sets(&["gate"]),
            set_limit,
        )
        .tool(
            Tool::write(
                "session.forget",
                "Forget cached answers",
                "Forgets every cached answer of your session, so that the next calls run again and cost again. \
                 A human must approve. Use it only when the world has changed. \
                 Success: how many were forgotten. Fails without approval.",
            )
            .sets(&["gate"]),
            forget,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArgs {}

#[derive(Serialize, JsonSchema)]
struct Info {
    /// The session's handle.
    #[schemars(extend("x-identifier" = true))]
    session: String,
    #[schemars(extend("x-identifier" = true))]
    principal: String,
    profile: Option<String>,
    limit: Option<u64>,
    estimated: u64,
    consumed: u64,
    remaining: Option<u64>,
    cache_hits: u64,
    /// Calls that were not made for want of consent, the last ones.
    blocked_actions: Vec<Value>,
}

impl Info {
    fn of(session: &SessionState, limit: Option<u64>) -> Self {
        let ledger: BudgetLedger = session.ledger();
        Self {
            session: session.key().handle.clone(),
            principal: session.key().principal.as_str().to_owned(),
            profile: session.profile(),
            limit,
            estimated: ledger.session_estimated,
            consumed: ledger.session_consumed,
            remaining: ledger.remaining_limit,
            cache_hits: ledger.cache_hits,
            blocked_actions: ledger.blocked_actions,
        }
    }
}

pub(super) async fn own(
    inner: &Inner,
    cx: &CallContext,
) -> Result<Arc<SessionState>, ProviderError> {
    let opening = Opening {
        lifetime: Lifetime::Process,
        limit: inner.settings.session_limit,
        at: inner.clock.now(),
        budgets: inner.settings.budgets,
    };
    let opened = inner
        .sessions
        .open(inner.store.as_ref(), &cx.session, opening)
        .await;
    opened.map_err(|error| match error {
        SessionError::Full => {
            ProviderError::new(ErrorCode::Overloaded, "too many sessions are in use")
        }
        SessionError::Store(error) => from_store(error),
    })
}

async fn info(handle: Arc<Handle>, _: NoArgs, cx: CallContext) -> Result<Info, ProviderError> {
    let inner = engine(&handle)?;
    let session = own(&inner, &cx).await?;
    Ok(Info::of(&session, session.limit()))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LimitArgs {
    /// The new limit in units; null lifts it.
    #[schemars(required)]
    limit: Option<u64>,
}

async fn set_limit(
    handle: Arc<Handle>,
    args: LimitArgs,
    cx: CallContext,
) -> Result<Info, ProviderError> {
    let inner = engine(&handle)?;
    let session = own(&inner, &cx).await?;
    let mut changes: Vec<Change> = session.opening().into_iter().collect();
    let key = session.key();
    let mark = inner
        .store
        .state(LIMIT_IS_SET, &key.principal, &key.handle, inner.clock.now())
        .await
        .map_err(from_store)?;
    changes.push(Change::PutState {
        namespace: LIMIT_IS_SET.to_owned(),
        principal: key.principal.clone(),
        key: key.handle.clone(),
        version: mark.map(|mark| mark.version),
        value: b"human".to_vec(),
        until: None,
        at: inner.clock.now(),
    });
    changes.push(Change::Configure {
        session: session.key().clone(),
        limit: args.limit,
        profile: session.profile(),
    });
    commit(&inner, &session, changes).await?;
    Ok(Info::of(&session, args.limit))
}

async fn forget(handle: Arc<Handle>, _: NoArgs, cx: CallContext) -> Result<Info, ProviderError> {
    let inner = engine(&handle)?;
    let session = own(&inner, &cx).await?;
    session.forget();
    let mut changes: Vec<Change> = session.opening().into_iter().collect();
    changes.push(Change::Forget {
        session: session.key().clone(),
    });
    commit(&inner, &session, changes).await?;
    Ok(Info::of(&session, session.limit()))
}

async fn commit(
    inner: &Inner,
    session: &SessionState,
    changes: Vec<Change>,
) -> Result<(), ProviderError> {
    let batch = Batch {
        changes,
        durability: Durability::Disk,
        ..Batch::default()
    };
    let receipt = inner.store.commit(batch).await.map_err(from_store)?;
    session.learn(receipt.session);
    Ok(())
}
