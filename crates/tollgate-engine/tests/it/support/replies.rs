//! What the tools of the tests answer, and what they declare.

use std::{future::pending, sync::Arc};

use serde_json::Value;
use tokio::sync::Semaphore;
use tollgate_core::{
    Annotations, Answer, CallContext, Estimate, Payload, ToolCall, ToolResult, ToolSpec, Usage,
};
use tollgate_testkit::fakes::{Reply, spec};

pub(crate) fn spec_read(name: &str) -> ToolSpec {
    spec::read(name).unwrap()
}

pub(crate) fn spec_kept(name: &str) -> ToolSpec {
    spec::kept(name).unwrap()
}

pub(crate) fn spec_write(name: &str) -> ToolSpec {
    spec::write(name).unwrap()
}

/// The same of a tool that reads what strangers wrote.
pub(crate) fn spec_open(spec: ToolSpec) -> ToolSpec {
    ToolSpec {
        annotations: Annotations {
            open_world: true,
            ..spec.annotations
        },
        ..spec
    }
}

/// A tool that carries what it is given to others.
pub(crate) fn spec_sink(name: &str) -> ToolSpec {
    let spec = spec_write(name);
    ToolSpec {
        annotations: Annotations {
            sensitive_sink: true,
            ..spec.annotations
        },
        ..spec
    }
}

/// A read that costs exactly this much; `confirm` says whether the caller must agree.
pub(crate) fn spec_paid(name: &str, units: u64, confirm: bool) -> ToolSpec {
    let cost = Estimate {
        confirm,
        ..Estimate::exactly(units)
    };
    spec::paid(name, cost).unwrap()
}

/// A plain success with this data.
pub(crate) fn done(data: Value) -> ToolResult {
    ToolResult::ok(Payload::from(data))
}

/// Answers this every time.
pub(crate) fn result(result: ToolResult) -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync {
    move |_, _| {
        let result = result.clone();
        Box::pin(async move { Ok(Answer::Done(result)) })
    }
}

/// Answers this data and says what it consumed.
pub(crate) fn priced(
    data: Value,
    consumed: u64,
) -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync {
    result(ToolResult {
        usage: Usage {
            consumed: Some(consumed),
        },
        ..done(data)
    })
}

/// Takes one permit and then answers; without one it waits, but stops when asked to.
pub(crate) fn waits(
    turnstile: &Arc<Semaphore>,
    data: Value,
) -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync + use<> {
    let turnstile = Arc::clone(turnstile);
    move |_, cx| {
        let (turnstile, data) = (Arc::clone(&turnstile), data.clone());
        Box::pin(async move {
            tokio::select! {
                permit = turnstile.acquire() => permit.unwrap().forget(),
                () = cx.cancel.cancelled() => {}
            }
            Ok(Answer::Done(done(data)))
        })
    }
}

/// Takes one permit and then answers, whatever anyone asks of it meanwhile.
pub(crate) fn deaf(
    turnstile: &Arc<Semaphore>,
    data: Value,
) -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync + use<> {
    let turnstile = Arc::clone(turnstile);
    move |_, _| {
        let (turnstile, data) = (Arc::clone(&turnstile), data.clone());
        Box::pin(async move {
            turnstile.acquire().await.unwrap().forget();
            Ok(Answer::Done(done(data)))
        })
    }
}

/// Never answers, and never listens.
pub(crate) fn never() -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync {
    |_, _| Box::pin(pending())
}

/// Breaks while it runs.
pub(crate) fn panics() -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync {
    |_, _| Box::pin(async { panic!("a bug of the provider") })
}
