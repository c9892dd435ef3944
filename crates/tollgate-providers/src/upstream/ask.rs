//! Questions of a server in the middle of a request.
//!
//! A modern server ends the request with its question and gets everything back with the
//! next one. An older server keeps the request open: it is held here until the same call
//! comes again with the answers, and forgotten after a while.
//!
//! Invariants: a request that is held takes no turn from others, and its number is never
//! another's, however often the server is started again.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        Arc, LazyLock, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::{CancellationToken, DropGuard};
use tollgate_core::{
    AskKinds, CallContext, ErrorCode, InputAsk, InputRequest, InputResponses, Payload,
    ProviderError,
};

use super::{
    Upstream,
    call::{Question, Running},
    link::Exchange,
    peer::Peer,
    rpc::{self, RpcError},
    tasks::{self, Task},
};

/// Requests of older servers that may wait for an answer.
const MOST_HELD: usize = 32;
/// How long each of them waits.
const HELD: Duration = Duration::from_secs(600);

/// Tells this process from those before it.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());

/// The number of the next request that is held.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A request of an older server that waits for an answer.
pub(super) struct Held {
    peer: Arc<Peer>,
    id: u64,
    exchange: Exchange,
    question: Box<RawValue>,
    /// The task that asks, if it is one.
    task: Option<Task>,
    /// Ends the wait for an answer.
    _wait: DropGuard,
}

impl Held {
    /// Says that nobody waits for it any more.
    async fn give_up(self, why: &str) {
        self.peer.cancel(self.id, why).await;
        if let Some(task) = &self.task {
            tasks::cancel(&self.peer, task).await;
        }
    }

    /// Goes on with it.
    pub(super) fn running(self, turn: OwnedSemaphorePermit) -> Running {
        Running {
            peer: self.peer,
            id: self.id,
            exchange: self.exchange,
            task: self.task,
            turn,
        }
    }
}

/// How far a request has come.
pub(super) enum Reached {
    Answer(Payload),
    Asks(InputRequest),
}

/// What to do with answers.
pub(super) enum Resumed {
    /// Go on with the request that is still open.
    Held(Box<Held>),
    /// Ask again with these fields added.
    Afresh(String),
    /// Go on with the task that asked.
    Task(String),
}

/// What comes back with the answers; the gate has sealed it.
#[derive(Serialize, Deserialize)]
struct State {
    server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// Pages that a human goes to before the call is made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    visits: Vec<String>,
}

impl State {
    fn of(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            request_state: None,
            held: None,
            task: None,
            visits: Vec::new(),
        }
    }

    fn asking(&self, asks: BTreeMap<String, InputAsk>) -> InputRequest {
        InputRequest {
            asks,
            state: serde_json::to_vec(self).unwrap_or_default(),
        }
    }
}

/// Whether a client can be asked this.
pub(super) fn can(method: &str, params: &Payload, asks: AskKinds) -> bool {
    kind(method, params.clone()).is_some_and(|ask| asks.can(&ask))
}

/// Whether it sends the human to a page.
pub(super) fn is_page(method: &str, params: &Payload) -> bool {
    kind(method, params.clone()).is_some_and(|ask| ask.is_page())
}

fn kind(method: &str, params: Payload) -> Option<InputAsk> {
    match method {
        "elicitation/create" => Some(InputAsk::Elicitation(params)),
        "sampling/createMessage" => Some(InputAsk::Sampling(params)),
        "roots/list" => Some(InputAsk::Roots(params)),
        _ => None,
    }
}

/// What a server would have asked, had the client said that it can be asked; the front end
/// tells the client what it lacks.
pub(super) fn lacking(server: &str, error: &RpcError, asks: AskKinds) -> Option<InputRequest> {
    if error.code != RpcError::MISSING_CAPABILITY {
        return None;
    }
    let wanted = error.data.as_ref()?.get("requiredCapabilities")?;
    let lacks = [
        ("elicitation", "elicitation/create", asks.elicitation),
        ("sampling", "sampling/createMessage", asks.sampling),
        ("roots", "roots/list", asks.roots),
    ];
    let mut lacks: BTreeMap<String, InputAsk> = lacks
        .into_iter()
        .filter(|(name, _, can)| !can && wanted.get(name).is_some())
        .filter_map(|(name, method, _)| {
            Some((name.to_owned(), kind(method, Payload::empty_object())?))
        })
        .collect();
    let wants_page = wanted["elicitation"].get("url").is_some();
    if wants_page && !asks.elicitation_url {
        let page = InputAsk::Elicitation(Payload::from(serde_json::json!({"mode": "url"})));
        lacks.insert("elicitation".to_owned(), page);
    }
    (!lacks.is_empty()).then(|| beyond(server, lacks))
}

/// The same of an older server, which asked what this client cannot be asked.
pub(super) fn unasked(server: &str, method: &str, params: Payload) -> Option<InputRequest> {
    let ask = kind(method, params)?;
    let asks = BTreeMap::from([("question".to_owned(), ask)]);
    Some(beyond(server, asks))
}

fn beyond(server: &str, asks: BTreeMap<String, InputAsk>) -> InputRequest {
    State::of(server).asking(asks)
}

/// Sends a human to these pages, by the names that they were given here.
pub(super) fn to_pages(server: &str, pages: Vec<(String, Payload)>) -> InputRequest {
    let names = pages.iter().map(|(name, _)| name.clone());
    let state = State {
        visits: names.collect(),
        ..State::of(server)
    };
    let asks = pages.into_iter();
    state.asking(
        asks.map(|(name, page)| (name, InputAsk::Elicitation(page)))
            .collect(),
    )
}

/// One question of a modern server.
#[derive(Deserialize)]
struct Asks {
    method: String,
    #[serde(default = "Payload::empty_object")]
    params: Payload,
}

fn asks(
    server: &str,
    requests: BTreeMap<String, Asks>,
) -> Result<BTreeMap<String, InputAsk>, ProviderError> {
    let unknown = || {
        let message = format!("the server `{server}` asks for something unknown here");
        ProviderError::new(ErrorCode::Unsupported, message)
    };
    let each = requests
        .into_iter()
        .map(|(id, ask)| Ok((id, kind(&ask.method, ask.params).ok_or_else(unknown)?)));
    each.collect()
}

/// The questions of a task.
pub(super) fn asked_by_task(
    server: &str,
    task: &str,
    said: &Payload,
) -> Result<Reached, ProviderError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Says {
        #[serde(default)]
        input_requests: BTreeMap<String, Asks>,
    }
    let says: Says = serde_json::from_str(said.raw()).map_err(|_| {
        let message = format!("the server `{server}` asks in a way that makes no sense");
        ProviderError::new(ErrorCode::Unavailable, message)
    })?;
    let state = State {
        task: Some(task.to_owned()),
        ..State::of(server)
    };
    let asks = asks(server, says.input_requests)?;
    Ok(Reached::Asks(state.asking(asks)))
}

/// Tells an answer from a question of a modern server.
pub(super) fn reached(server: &str, payload: Payload) -> Result<Reached, ProviderError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Says {
        #[serde(default)]
        result_type: Option<String>,
        #[serde(default)]
        input_requests: BTreeMap<String, Asks>,
        #[serde(default)]
        request_state: Option<String>,
    }
    if memmem::find(payload.raw().as_bytes(), b"\"input_required\"").is_none() {
        return Ok(Reached::Answer(payload));
    }
    let says: Says = match serde_json::from_str(payload.raw()) {
        Ok(says) => says,
        Err(_) => return Ok(Reached::Answer(payload)),
    };
    if says.result_type.as_deref() != Some("input_required") {
        return Ok(Reached::Answer(payload));
    }
    let asks = asks(server, says.input_requests)?;
    let state = State {
        request_state: says.request_state,
        ..State::of(server)
    };
    Ok(Reached::Asks(state.asking(asks)))
}

/// A question that nobody answered.
pub(super) fn nobody(server: &str) -> ProviderError {
    let message = format!("nobody answered what the server `{server}` asked");
    ProviderError::new(ErrorCode::InputRequired, message)
}

impl Upstream {
    /// Takes up what answers belong to.
    pub(super) async fn resume(&self, cx: &CallContext) -> Result<Resumed, ProviderError> {
        let Some(responses) = &cx.responses else {
            return Ok(Resumed::Afresh(String::new()));
        };
        let state: Option<State> = if responses.state.is_empty() {
            None
        } else {
            serde_json::from_slice(&responses.state).ok()
        };
        let Some(state) = state else {
            return Ok(Resumed::Afresh(fields(responses, None)));
        };
        if state.server != self.settings.name {
            let message = "these answers belong to another server";
            return Err(ProviderError::new(ErrorCode::StateRejected, message));
        }
        if let Some(task) = state.task {
            return Ok(Resumed::Task(task));
        }
        if !state.visits.is_empty() {
            Box::pin(self.visited(&state.visits, responses, cx)).await?;
            return Ok(Resumed::Afresh(String::new()));
        }
        if responses.given_up && state.held.is_none() {
            // Nothing is open there, and without an answer it is not called again.
            return Err(nobody(&self.settings.name));
        }
        match state.held {
            None => Ok(Resumed::Afresh(fields(
                responses,
                state.request_state.as_deref(),
            ))),
            Some((process, number)) => {
                let held = self.take(process, number)?;
                Box::pin(self.answer(held, responses)).await
            }
        }
    }

    fn take(&self, process: u64, number: u64) -> Result<Held, ProviderError> {
        let found = if process == *PROCESS {
            self.held().remove(&number)
        } else {
            None
        };
        found.ok_or_else(|| {
            let name = &self.settings.name;
            let message = format!(
                "the server `{name}` asked while its request was open, and the process that held it open is gone or waited too long"
            );
            ProviderError::new(ErrorCode::StateRejected, message)
        })
    }

    async fn answer(
        &self,
        held: Held,
        responses: &InputResponses,
    ) -> Result<Resumed, ProviderError> {
        let message = match responses.answers.values().next() {
            Some(answer) => rpc::answer(&held.question, &without_meta(answer)),
            None => rpc::refusal(&held.question, -32603, "nobody answered"),
        };
        let sent = held.peer.link.send(message).await;
        sent.map_err(|error| self.broken(error))?;
        held.exchange.is_held(false);
        Ok(Resumed::Held(Box::new(held)))
    }

    /// Keeps a request open while its question is on its way to the client.
    pub(super) async fn hold(
        self: &Arc<Self>,
        running: Running,
        question: Question,
    ) -> Result<Reached, ProviderError> {
        let name = &self.settings.name;
        let Running {
            peer,
            id,
            exchange,
            task,
            turn,
        } = running;
        let params = if is_page(&question.method, &question.params) {
            self.pages.renamed(name, question.params)
        } else {
            question.params
        };
        let Some(ask) = kind(&question.method, params) else {
            let message = format!("the server `{name}` asks for something unknown here");
            return Err(ProviderError::new(ErrorCode::Unsupported, message));
        };
        exchange.is_held(true);
        let waits = CancellationToken::new();
        let held = Held {
            peer,
            id,
            exchange,
            question: question.id,
            task,
            _wait: waits.clone().drop_guard(),
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if let Err(held) = self.keep(number, held) {
            let why = "too many questions are open";
            let refusal = rpc::refusal(&held.question, -32603, why);
            // Whoever is gone needs no answer.
            drop(held.peer.link.send(refusal).await);
            held.give_up(why).await;
            let message = format!("the server `{name}` has too many open questions");
            return Err(ProviderError {
                retry_after: Some(Duration::from_secs(1)),
                ..ProviderError::new(ErrorCode::Overloaded, message)
            });
        }
        // Others may have its turn from here on, where it is known to be open.
        drop(turn);
        let own = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(HELD) => own.forget(number).await,
                () = waits.cancelled() => {}
            }
        });
        let state = State {
            held: Some((*PROCESS, number)),
            ..State::of(name)
        };
        let asks = BTreeMap::from([("question".to_owned(), ask)]);
        Ok(Reached::Asks(state.asking(asks)))
    }

    /// Keeps a request if there is room for it.
    fn keep(&self, number: u64, held: Held) -> Result<(), Box<Held>> {
        let mut all = self.held();
        if all.len() >= MOST_HELD {
            return Err(Box::new(held));
        }
        all.insert(number, held);
        Ok(())
    }

    async fn forget(&self, number: u64) {
        let held = self.held().remove(&number);
        if let Some(held) = held {
            held.give_up("nobody answered").await;
        }
    }

    /// The connection is gone, and with it every request that was open on it.
    pub(super) fn forget_all(&self) {
        let gone = std::mem::take(&mut *self.held());
        drop(gone);
        self.pages.forget();
    }

    /// Whether it waits for an answer of a client; it may hear nothing else meanwhile.
    pub(super) fn is_asking(&self) -> bool {
        !self.held().is_empty()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer without what its client says beside it, at every depth: nobody sees or approves that.
fn without_meta(answer: &Payload) -> Cow<'_, str> {
    fn strip(value: &mut Value) -> bool {
        match value {
            Value::Object(fields) => {
                let had = fields.remove("_meta").is_some();
                fields
                    .values_mut()
                    .fold(had, |found, value| strip(value) | found)
            }
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |found, value| strip(value) | found),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    let raw = answer.raw();
    // A name can be spelled with escapes.
    if !raw.contains("_meta") && !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut value = answer.value().clone();
    match strip(&mut value) {
        true => Cow::Owned(value.to_string()),
        false => Cow::Borrowed(raw),
    }
}

/// The answers and the state as a modern server wants them back.
pub(super) fn fields(responses: &InputResponses, state: Option<&str>) -> String {
    let answers: Vec<String> = responses
        .answers
        .iter()
        .map(|(id, answer)| format!("{}:{}", rpc::quoted(id), without_meta(answer)))
        .collect();
    let mut fields = String::new();
    if !answers.is_empty() {
        fields = format!(r#","inputResponses":{{{}}}"#, answers.join(","));
    }
    if let Some(state) = state {
        fields.push_str(r#","requestState":"#);
        fields.push_str(&rpc::quoted(state));
    }
    fields
}
