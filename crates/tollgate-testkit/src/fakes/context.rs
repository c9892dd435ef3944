//! A call's surroundings, for tests of providers without a gate.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tollgate_core::{
    Answer, CallContext, CallId, Control, NoEvents, Payload, Principal, Provider, ProviderError,
    SessionKey, Surface, Timestamp, ToolCall, ToolName, TraceContext, Transport, TrustLevel,
    store::{ProviderState, StoreError, Versioned},
};

/// The surroundings of a call by a local caller who listens to nothing.
pub fn context() -> CallContext {
    let principal = Principal::user(1000);
    CallContext {
        call: CallId("call-1".into()),
        session: SessionKey::new(principal.clone(), "default"),
        principal,
        surface: Surface::Cli,
        transport: Transport::Cli,
        trust: TrustLevel::Local,
        time_left: Duration::from_secs(30),
        cancel: CancellationToken::new(),
        events: Arc::new(NoEvents),
        state: Arc::new(MemoryState::default()),
        trace: TraceContext {
            trace_id: "0af7651916cd43dd8448eb211c80319c".to_owned(),
            parent: None,
            span_id: "b7ad6b7169203331".to_owned(),
            sampled: true,
        },
        control: Control::default(),
        aside: None,
        responses: None,
        scope: None,
        spelling: tollgate_core::Spelling::default(),
        results: tollgate_core::ResultView::ENVELOPE,
        asks: tollgate_core::AskKinds::default(),
        profile: None,
        standing: tollgate_core::Standing::default(),
        ledger: tollgate_core::BudgetLedger::default(),
        agreed: None,
    }
}

/// Calls a tool of a provider directly: the one way of tests around the gate.
pub async fn call_tool(
    provider: &dyn Provider,
    tool: &str,
    arguments: Value,
    cx: CallContext,
) -> Result<Answer, ProviderError> {
    let call = ToolCall {
        id: cx.call.clone(),
        tool: ToolName::new(tool).map_err(|error| ProviderError::rejected(error.to_string()))?,
        arguments: Payload::from(arguments),
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "tests of providers alone have no gate to go through"
    )]
    let answer = provider.call(call, cx);
    answer.await
}

/// Provider state that lives as long as the test.
#[derive(Debug, Default)]
pub struct MemoryState(Mutex<(u64, HashMap<String, Versioned>)>);

#[async_trait]
impl ProviderState for MemoryState {
    async fn get(&self, key: &str) -> Result<Option<Versioned>, StoreError> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(state.1.get(key).cloned())
    }

    async fn compare_and_put(
        &self,
        key: &str,
        version: Option<u64>,
        value: Vec<u8>,
        _: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.1.get(key).map(|known| known.version) != version {
            return Err(StoreError::Conflict);
        }
        state.0 += 1;
        let version = state.0;
        state.1.insert(key.to_owned(), Versioned { value, version });
        Ok(version)
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.remove(key);
        Ok(())
    }
}
