//! JSON lines: `{id, method, params}` in, four events per request out.
//!
//! Invariant: standard output carries whole lines only, and every request that
//! could be told apart from its neighbours gets exactly one `done`.

mod reply;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::{
    io::{AsyncWriteExt, Stdout},
    sync::{Mutex as AsyncMutex, Semaphore},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tollgate_core::{Control, ErrorCode, Payload, Surface};
use tollgate_engine::{Caller, Gateway, Request, random_hex};

use crate::frontends::{
    cli::{Exit, Jsonl, Scene, Stop, principal},
    lines::{Line, Lines},
    signal,
};

/// One request, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    id: Option<Box<RawValue>>,
    method: String,
    #[serde(default)]
    params: Option<Payload>,
    #[serde(default, rename = "_meta")]
    meta: Option<AskedMeta>,
}

/// What can be told of a line that is no request.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    id: Option<Box<RawValue>>,
}

/// What a request may say beside the tool's own arguments.
#[derive(Default, Deserialize)]
struct AskedMeta {
    #[serde(default, rename = "tollgate/call")]
    control: Control,
    traceparent: Option<String>,
}

/// Takes a running call back.
const CANCEL: &str = "$/cancel";

/// What all requests of this process share.
struct Server {
    gateway: Gateway,
    caller: Caller,
    output: AsyncMutex<Stdout>,
    running: Mutex<HashMap<String, CancellationToken>>,
    turns: Semaphore,
    gone: CancellationToken,
}

pub(crate) async fn run(args: &Jsonl, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    wired.watch_skills();
    wired.gateway.log_insufficient_permits();
    for permit in wired.unlogged_permits() {
        scene.console.note(&permit.to_string());
    }
    signal::reload_on_hangup(wired.reloading());
    wired.runs.work();
    let mut caller = Caller::local(principal(), &random_hex(8)?, Surface::Jsonl);
    caller.profile.clone_from(&scene.profile);
    let server = Arc::new(Server {
        gateway: wired.gateway.clone(),
        caller,
        output: AsyncMutex::new(tokio::io::stdout()),
        running: Mutex::default(),
        turns: Semaphore::new(usize::from(args.concurrent)),
        gone: CancellationToken::new(),
    });
    let mut lines = Lines::new(tokio::io::stdin(), scene.config.limits.message_bytes);
    let mut tasks = JoinSet::new();
    let waiting = usize::from(args.concurrent) + scene.config.limits.queued_calls;
    let stopped = signal::stopped();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            line = lines.next(), if tasks.len() < waiting => match line? {
                Some(line) => server.take(line, &mut tasks),
                None => break,
            },
            () = server.gone.cancelled() => break,
            () = &mut stopped => break,
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
        }
    }
    while tasks.join_next().await.is_some() {}
    drop(server);
    wired.close().await;
    Ok(Exit::Ok)
}

/// An id in one spelling, so that it is found however it was escaped.
fn spelled(id: &RawValue) -> String {
    serde_json::from_str::<Value>(id.get())
        .map_or_else(|_| id.get().to_owned(), |id| id.to_string())
}

/// Why a line is no request.
struct Refusal {
    id: Option<Box<RawValue>>,
    code: ErrorCode,
    message: String,
}

impl Refusal {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            id: None,
            code,
            message: message.into(),
        }
    }
}

/// Reads a request; a blank line is none.
fn read(line: Line) -> Result<Option<Asked>, Refusal> {
    let malformed = |message: &str| Refusal::new(ErrorCode::MalformedRequest, message);
    let text = match line {
        Line::Text(text) => text,
        Line::TooLong(limit) => {
            let message = format!("a line is longer than {limit} bytes");
            return Err(Refusal::new(ErrorCode::RequestTooLarge, message));
        }
        Line::NotUtf8 => return Err(malformed("a line is not UTF-8")),
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    if text.trim_start().starts_with('[') {
        return Err(malformed(
            "a line is not a request: it must be a JSON object",
        ));
    }
    if !tollgate_core::depth::within_depth(text.as_bytes()) {
        return Err(malformed("a line nests too deeply"));
    }
    serde_json::from_str(&text).map(Some).map_err(|error| {
        let named = serde_json::from_str::<Named>(&text).ok();
        Refusal {
            id: named.and_then(|named| named.id),
            ..malformed(&format!("a line is not a request: {error}"))
        }
    })
}

impl Server {
    fn take(self: &Arc<Self>, line: Line, tasks: &mut JoinSet<()>) {
        let server = Arc::clone(self);
        match read(line) {
            Ok(None) => {}
            Ok(Some(asked)) if asked.method == CANCEL => self.cancel(&asked),
            Ok(Some(asked)) => {
                let cancel = CancellationToken::new();
                if let Some(id) = &asked.id {
                    self.running().insert(spelled(id), cancel.clone());
                }
                tasks.spawn(async move { server.serve(asked, cancel).await });
            }
            Err(refusal) => {
                tasks.spawn(async move { server.refuse(&refusal).await });
            }
        }
    }

    fn cancel(&self, asked: &Asked) {
        let target = asked
            .params
            .as_ref()
            .and_then(|params| params.value().get("id"));
        if let Some(token) = target.and_then(|id| self.running().get(&id.to_string()).cloned()) {
            token.cancel();
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, asked: Asked, cancel: CancellationToken) {
        let Ok(_turn) = self.turns.acquire().await else {
            return;
        };
        let id = asked.id.as_deref();
        let arguments = asked.params.unwrap_or_else(Payload::empty_object);
        self.write(&reply::started(id, &asked.method)).await;
        self.write(&reply::estimated(
            id,
            &self.gateway,
            &asked.method,
            &arguments,
        ))
        .await;
        let meta = asked.meta.unwrap_or_default();
        let mut request = Request::new(asked.method, arguments);
        request.control = meta.control;
        request.traceparent = meta.traceparent;
        request.cancel = cancel;
        let outcome = self.gateway.call(&self.caller, request).await;
        if let Some(id) = id {
            self.running().remove(&spelled(id));
        }
        let mut answer = reply::response(id, &outcome);
        answer.push_str(&reply::done(id));
        if self.write(&answer).await {
            drop(self.gateway.delivered(&outcome).await);
        }
    }

    /// Answers and records a line that is no request, when it is its turn.
    async fn refuse(&self, refusal: &Refusal) {
        let Ok(_turn) = self.turns.acquire().await else {
            return;
        };
        let Refusal { id, code, message } = refusal;
        let outcome = self.gateway.refuse(&self.caller, *code, message).await;
        let mut answer = reply::response(id.as_deref(), &outcome);
        answer.push_str(&reply::done(id.as_deref()));
        self.write(&answer).await;
    }

    /// Writes whole lines; a reader that is gone ends the process in order.
    async fn write(&self, lines: &str) -> bool {
        let mut output = self.output.lock().await;
        let written = async {
            output.write_all(lines.as_bytes()).await?;
            output.flush().await
        };
        let arrived = written.await.is_ok();
        if !arrived {
            self.gone.cancel();
            self.running().values().for_each(CancellationToken::cancel);
        }
        arrived
    }
}
