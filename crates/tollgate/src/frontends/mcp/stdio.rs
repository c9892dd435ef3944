//! MCP over standard input and output.
//!
//! Invariant: standard output carries whole messages only, one on each line, and every
//! request gets at most one answer; one that was taken back gets none.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::{
    io::AsyncWriteExt,
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tollgate_core::{CallId, ErrorCode, Payload, TrustLevel};
use tollgate_engine::{Caller, random_hex, session::Lifetime};

use super::{
    Exchange, Server, Transport, batch, caller,
    era::{Client, Era, Said},
    legacy::{Conversation, locked},
    meta::Meta,
    outlet::{AskFailed, Outlet},
    rpc::{self, Asked, Id, Incoming, RpcError, Told, Unreadable, code},
    select::Selection,
};
use crate::frontends::{
    cli::{Exit, Scene, Stop, principal},
    lines::{Line, Lines},
    signal,
};

/// Messages on their way out; progress beyond that is dropped.
const QUEUE: usize = 1024;
/// How long calls may take to end once the client has closed its side.
const GRACE: Duration = Duration::from_secs(2);

/// A message on its way out, and who wants to hear that it was written.
struct Outgoing {
    text: String,
    written: Option<oneshot::Sender<()>>,
}

impl From<String> for Outgoing {
    fn from(text: String) -> Self {
        Self {
            text,
            written: None,
        }
    }
}

/// Something that has to be answered.
enum Wanted {
    Answer(Box<Begun>),
    Refusal(Unreadable),
    /// A line that is too long to be read.
    TooLong(RpcError),
}

/// A request that was taken up.
struct Begun {
    asked: Asked,
    key: String,
    client: Result<Client, RpcError>,
    /// The answer, where it is known already.
    remembered: Option<Result<String, RpcError>>,
    cancel: CancellationToken,
}

/// An answer, and the call whose outcome it carries.
struct Answer {
    text: String,
    call: Option<CallId>,
}

/// What all requests of this connection share.
struct Connection {
    server: Server,
    caller: Caller,
    out: mpsc::Sender<Outgoing>,
    conversation: Mutex<Option<Arc<Conversation>>>,
    running: Mutex<HashMap<String, CancellationToken>>,
    gone: CancellationToken,
}

/// Serves one client until it closes its side.
pub(crate) async fn run(
    selection: Selection,
    installation: Option<String>,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    wired.attend();
    signal::reload_on_hangup(wired.reloading());
    for permit in wired.unlogged_permits() {
        scene.console.note(&permit.to_string());
    }
    wired.runs.work();
    let server = Server::new(
        wired.gateway.clone(),
        &scene.config,
        selection,
        Transport::Stdio,
    )
    .with_tasks(&wired.runs)
    .started_by(installation);
    if let Err(error) = server.check_selection() {
        wired.close().await;
        return Err(Stop::usage(super::shown(&error)));
    }
    let (out, written) = mpsc::channel(QUEUE);
    let gone = CancellationToken::new();
    let writer = tokio::spawn(write(written, gone.clone()));
    let connection = Arc::new(Connection {
        caller: own(scene)?,
        server,
        out,
        conversation: Mutex::default(),
        running: Mutex::default(),
        gone,
    });
    let limits = &scene.config.limits;
    let most = limits.concurrent_calls + limits.queued_calls;
    connection.serve(limits.message_bytes, most).await?;
    drop(connection);
    drop(writer.await);
    wired.close().await;
    Ok(Exit::Ok)
}

/// The process is the session, unless somebody names a stored one.
fn own(scene: &Scene<'_>) -> Result<Caller, Stop> {
    Ok(match &scene.named {
        Some(named) => Caller {
            lifetime: Lifetime::Stored,
            ..caller(principal(), named, TrustLevel::Local)
        },
        None => {
            let handle = format!("stdio-{}", random_hex(8)?);
            caller(principal(), &handle, TrustLevel::Local)
        }
    })
}

/// Writes messages in order, as many at once as there are.
async fn write(mut messages: mpsc::Receiver<Outgoing>, gone: CancellationToken) {
    let mut stdout = tokio::io::stdout();
    let mut batch = String::new();
    let mut waiting = Vec::new();
    while let Some(first) = messages.recv().await {
        batch.clear();
        let mut next = Some(first);
        while let Some(message) = next {
            batch.push_str(&message.text);
            batch.push('\n');
            waiting.extend(message.written);
            let room = batch.len() < 64 << 10;
            next = room.then(|| messages.try_recv().ok()).flatten();
        }
        let written = async {
            stdout.write_all(batch.as_bytes()).await?;
            stdout.flush().await
        };
        if written.await.is_err() {
            gone.cancel();
            return;
        }
        for waits in waiting.drain(..) {
            waits.send(()).ok();
        }
    }
}

impl Connection {
    async fn serve(self: &Arc<Self>, message_bytes: usize, most: usize) -> Result<(), Stop> {
        let mut lines = Lines::new(tokio::io::stdin(), message_bytes);
        let mut tasks = JoinSet::new();
        let mut changes = self.server.gateway.changes();
        let stopped = signal::stopped();
        tokio::pin!(stopped);
        loop {
            tokio::select! {
                line = lines.next(), if tasks.len() < most => match line? {
                    Some(line) => self.take(line, &mut tasks),
                    None => break,
                },
                changed = changes.recv() => {
                    if let Some(conversation) = self.conversation() {
                        for message in conversation.heard(changed) {
                            drop(self.out.try_send(message.into()));
                        }
                    }
                },
                () = self.gone.cancelled() => break,
                () = &mut stopped => break,
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            }
        }
        self.server.stop.cancel();
        let ended = async { while tasks.join_next().await.is_some() {} };
        let patience = if self.gone.is_cancelled() {
            Duration::ZERO
        } else {
            GRACE
        };
        if tokio::time::timeout(patience, ended).await.is_ok() {
            return Ok(());
        }
        locked(&self.running)
            .values()
            .for_each(CancellationToken::cancel);
        while tasks.join_next().await.is_some() {}
        Ok(())
    }

    fn conversation(&self) -> Option<Arc<Conversation>> {
        locked(&self.conversation).clone()
    }

    fn take(self: &Arc<Self>, line: Line, tasks: &mut JoinSet<()>) {
        let connection = Arc::clone(self);
        let text = match line {
            Line::Text(text) if text.trim().is_empty() => return,
            Line::Text(text) => text,
            Line::TooLong(limit) => {
                let message = format!("a message is longer than {limit} bytes");
                let error = RpcError::new(code::INVALID_REQUEST, message);
                tasks.spawn(connection.deliver(Wanted::TooLong(error)));
                return;
            }
            Line::NotUtf8 => {
                let error = RpcError::new(code::PARSE, "a message is not UTF-8");
                tasks.spawn(connection.deliver(Wanted::Refusal(Unreadable { id: None, error })));
                return;
            }
        };
        let messages = if batch::is_one(&text) && self.has_batches() {
            match batch::split(&text) {
                Ok(messages) => return self.take_batch(messages, tasks),
                Err(unreadable) => vec![Err(unreadable)],
            }
        } else {
            vec![rpc::read(&text)]
        };
        for wanted in self.heard(messages) {
            tasks.spawn(connection.clone().deliver(wanted));
        }
    }

    /// Whether the client agreed on the version that has batches.
    fn has_batches(&self) -> bool {
        self.conversation()
            .is_some_and(|conversation| conversation.client().version == batch::VERSION)
    }

    /// Takes messages in order; gives what has to be answered.
    fn heard(&self, messages: Vec<Result<Incoming, Unreadable>>) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        for message in messages {
            match message {
                Ok(Incoming::Asked(asked)) => wanted.push(self.begin(asked)),
                Ok(Incoming::Told(told)) => self.hear(&told),
                Ok(Incoming::Answered(answered)) => {
                    if let Some(conversation) = self.conversation() {
                        conversation.resolve(answered);
                    }
                }
                Err(unreadable) => wanted.push(Wanted::Refusal(unreadable)),
            }
        }
        wanted
    }

    /// Answers a batch with one message.
    fn take_batch(
        self: &Arc<Self>,
        messages: Vec<Result<Incoming, Unreadable>>,
        tasks: &mut JoinSet<()>,
    ) {
        let wanted = self.heard(messages);
        if wanted.is_empty() {
            return;
        }
        let connection = Arc::clone(self);
        tasks.spawn(async move {
            let each = wanted.into_iter().map(|one| connection.answer(one));
            let answers: Vec<Answer> = join_all(each).await.into_iter().flatten().collect();
            if answers.is_empty() {
                return;
            }
            let text = batch::joined(answers.iter().map(|answer| answer.text.as_str()));
            let calls = answers.into_iter().filter_map(|answer| answer.call);
            connection.send(text, calls.collect()).await;
        });
    }

    async fn deliver(self: Arc<Self>, wanted: Wanted) {
        if let Some(Answer { text, call }) = self.answer(wanted).await {
            self.send(text, call.into_iter().collect()).await;
        }
    }

    fn hear(&self, told: &Told) {
        if let Some(id) = told.cancelled()
            && let Some(running) = locked(&self.running).get(&id)
        {
            running.cancel();
        }
    }

    /// Takes a request up, so that it can be cancelled from now on.
    fn begin(&self, asked: Asked) -> Wanted {
        let cancel = CancellationToken::new();
        let key = asked.id.key();
        {
            let mut running = locked(&self.running);
            if running.contains_key(&key) {
                return Wanted::Refusal(Unreadable {
                    id: Some(asked.id),
                    error: RpcError::new(code::INVALID_REQUEST, "this id is in use"),
                });
            }
            running.insert(key.clone(), cancel.clone());
        }
        // What begins or changes a conversation is done before the next message is read.
        let client = self.client(&asked);
        let remembered = match (&client, self.conversation()) {
            (Ok(client), Some(conversation)) if client.era == Era::Legacy => {
                conversation.remember(&asked, &self.server.gateway, &self.caller)
            }
            _ => None,
        };
        Wanted::Answer(Box::new(Begun {
            asked,
            key,
            client,
            remembered,
            cancel,
        }))
    }

    /// Who makes this request, by what it says or by the handshake before it.
    fn client(&self, asked: &Asked) -> Result<Client, RpcError> {
        let meta = Meta::of(&asked.params)?.unwrap_or_default();
        if asked.method == "initialize" && meta.version.is_none() {
            let client = Client::of_handshake(asked.params.value());
            let mut conversation = locked(&self.conversation);
            if conversation.is_some() {
                let message = "this conversation has begun already";
                return Err(RpcError::new(code::INVALID_REQUEST, message));
            }
            *conversation = Some(Arc::new(Conversation::new(client.clone())));
            return Ok(client);
        }
        let modern = meta.version.is_some() || asked.method == "server/discover";
        match self.conversation() {
            Some(conversation) if !modern => Ok(conversation.client()),
            None if asked.method == "ping" && !modern => Ok(Client::unknown(super::era::LEGACY)),
            Some(_) | None => Client::of_request(&meta),
        }
    }

    /// The answer to what was taken up; none if it was taken back.
    async fn answer(self: &Arc<Self>, wanted: Wanted) -> Option<Answer> {
        let begun = match wanted {
            Wanted::Answer(begun) => begun,
            Wanted::Refusal(unreadable) => return Some(self.refused(unreadable).await),
            Wanted::TooLong(error) => {
                let refused = self.refused_as(ErrorCode::RequestTooLarge, None, &error);
                return Some(refused.await);
            }
        };
        let key = begun.key.clone();
        let answer = self.run(*begun).await;
        locked(&self.running).remove(&key);
        answer
    }

    async fn run(self: &Arc<Self>, begun: Begun) -> Option<Answer> {
        let Begun {
            asked,
            client,
            remembered,
            cancel,
            ..
        } = begun;
        let id = asked.id.clone();
        let said = Said::of(&asked.params);
        let (client, said) = match (client, said) {
            (Ok(client), Ok(said)) => (client, said),
            (Err(error), _) | (_, Err(error)) => {
                let id = Some(id);
                return Some(self.refused(Unreadable { id, error }).await);
            }
        };
        match remembered {
            None => {}
            Some(Err(error)) => {
                let id = Some(id);
                return Some(self.refused(Unreadable { id, error }).await);
            }
            Some(result) => {
                return Some(Answer {
                    text: rpc::printed(&id, &result),
                    call: None,
                });
            }
        }
        let mut caller = self.caller.clone();
        if let Some(session) = &said.session {
            caller.session.handle.clone_from(session);
        }
        let mut exchange = Exchange {
            selection: Arc::clone(&self.server.base),
            outlet: Arc::clone(self) as Arc<dyn Outlet>,
            cancel: cancel.clone(),
            asked,
            client,
            caller,
            said,
        };
        let reply = self.server.handle(&mut exchange).await;
        (!cancel.is_cancelled()).then(|| Answer {
            text: rpc::printed(&id, &reply.result),
            call: reply.undelivered,
        })
    }

    /// Sends a message, and says so for the calls whose answers it carries.
    async fn send(&self, text: String, calls: Vec<CallId>) {
        if calls.is_empty() {
            drop(self.out.send(text.into()).await);
            return;
        }
        let (written, arrived) = oneshot::channel();
        let message = Outgoing {
            text,
            written: Some(written),
        };
        drop(self.out.send(message).await);
        // Whoever reads nothing any more has not got the answer.
        if arrived.await.is_ok() {
            for call in &calls {
                drop(self.server.gateway.arrived(call).await);
            }
        }
    }

    /// Records what is no request; gives what is said to it.
    async fn refused(&self, unreadable: Unreadable) -> Answer {
        let Unreadable { id, error } = unreadable;
        self.refused_as(ErrorCode::MalformedRequest, id.as_ref(), &error)
            .await
    }

    async fn refused_as(&self, code: ErrorCode, id: Option<&Id>, error: &RpcError) -> Answer {
        let gateway = &self.server.gateway;
        gateway.refuse(&self.caller, code, &error.message).await;
        Answer {
            text: rpc::failure(id, error),
            call: None,
        }
    }
}

#[async_trait]
impl Outlet for Connection {
    fn offer(&self, message: String) {
        drop(self.out.try_send(message.into()));
    }

    async fn send(&self, message: String) -> bool {
        self.out.send(message.into()).await.is_ok() && !self.gone.is_cancelled()
    }

    async fn ask(&self, method: &str, params: &Payload) -> Result<Payload, AskFailed> {
        let conversation = self.conversation().ok_or(AskFailed::Impossible)?;
        let taken_back = |message: String| drop(self.out.try_send(message.into()));
        let (message, waiting) = conversation.question(method, params, &taken_back);
        if self.out.send(message.into()).await.is_err() {
            return Err(AskFailed::Silent);
        }
        tokio::select! {
            answer = waiting.answer() => answer,
            () = self.gone.cancelled() => Err(AskFailed::Silent),
        }
    }
}
