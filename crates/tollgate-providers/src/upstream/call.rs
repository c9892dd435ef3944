//! One request to a server, from the arguments to the answer.
//!
//! A call that is silent for too long is given up; progress begins the wait anew, up to the
//! limit the gate sets for the whole of it. Whoever gives up says so to the server.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::{Value, value::RawValue};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};
use tollgate_core::{
    Answer, CallContext, ErrorCode, Event, InputRequest, LogLevel, Payload, ProviderError, Shape,
    ToolCall, ToolResult, offer,
};

use super::{
    Upstream, ask, cancelled, closed, excerpt,
    known::Entry,
    life::Phase,
    link::{Exchange, LinkError, Next},
    mirror,
    outcome::{self, is_error},
    pages,
    patience::Patience,
    peer::{Extras, Peer},
    rewrite,
    rpc::{self, Heard, RpcError},
    tasks,
    whose::Session,
};

/// How long a read or a prompt may be silent.
const LOOK: Duration = Duration::from_secs(30);

/// What is asked of a server.
pub(super) struct Job {
    method: &'static str,
    /// What a header names beside the method.
    name: Option<String>,
    /// The parameters without the braces.
    fields: String,
    pub(super) timeout: Duration,
    headers: Vec<(String, String)>,
    /// Whether the answer may be a task.
    tasks: bool,
}

/// A request under way.
pub(super) struct Running {
    pub(super) peer: Arc<Peer>,
    pub(super) id: u64,
    pub(super) exchange: Exchange,
    /// Given back when the request is over.
    pub(super) turn: OwnedSemaphorePermit,
    /// The task of an older server whose result it waits for.
    pub(super) task: Option<tasks::Task>,
}

/// How far a request has come.
pub(super) enum Step {
    /// What is left of the request still holds its turn.
    Answered(Payload, Box<Running>),
    /// The server asks; the request stays open.
    Asked(Box<Running>, Question),
    /// The server wants something of the client before it goes on; the client may not be able
    /// to give it.
    Lacks(InputRequest),
}

/// What a server asks in the middle of a request.
pub(super) struct Question {
    pub(super) id: Box<RawValue>,
    pub(super) method: String,
    pub(super) params: Payload,
}

impl Upstream {
    /// Serves a call of the gate.
    pub(super) async fn serve(
        self: &Arc<Self>,
        call: ToolCall,
        cx: CallContext,
    ) -> Result<Answer, ProviderError> {
        if matches!(self.phase(), Phase::Closed) {
            return Err(closed(&self.settings.name));
        }
        match call.tool.as_str() {
            // Boxed, so that the usual call does not carry the room of the others.
            offer::READ | offer::GET_PROMPT | offer::COMPLETE => {
                Box::pin(self.look(&call, &cx)).await
            }
            _ => self.tool(&call, &cx).await,
        }
    }

    async fn tool(
        self: &Arc<Self>,
        call: &ToolCall,
        cx: &CallContext,
    ) -> Result<Answer, ProviderError> {
        loop {
            let turn = self.turn(cx).await?;
            let peer = self.ready(cx).await?;
            let entry = self.usable(call.tool.as_str())?;
            let job = self.tool_job(&entry, call, &peer);
            let (modern, tasks) = (peer.modern, job.tasks);
            return match self.run(job, peer, turn, cx).await {
                Ok(ask::Reached::Asks(request)) => Ok(Answer::NeedsInput(request)),
                Ok(ask::Reached::Answer(payload)) => self.result(payload).map(Answer::Done),
                Err(error) if modern && !tasks && tasks::are_wanted(&error) => {
                    entry.tasks.store(true, Ordering::Relaxed);
                    continue;
                }
                Err(error) => Err(error),
            };
        }
    }

    fn tool_job(&self, entry: &Entry, call: &ToolCall, peer: &Peer) -> Job {
        let tasks = entry.tasks.load(Ordering::Relaxed);
        let (named, with) = (r#""name":"#, r#","arguments":"#);
        let mut fields = [named, &rpc::quoted(&entry.own), with, call.arguments.raw()].concat();
        if tasks && !peer.modern {
            let lasts = self.settings.max_timeout.as_millis();
            fields.push_str(&format!(r#","task":{{"ttl":{lasts}}}"#));
        }
        Job {
            method: "tools/call",
            fields,
            headers: mirror::headers(&entry.mirrored, &call.arguments),
            timeout: entry.timeout,
            name: Some(entry.own.clone()),
            tasks,
        }
    }

    /// The tool as it is known now; it may be gone since it was listed.
    pub(super) fn usable(&self, tool: &str) -> Result<Arc<Entry>, ProviderError> {
        let find = || {
            self.known()
                .and_then(|known| known.tools.get(tool).cloned())
        };
        let mut entry = find();
        if entry
            .as_ref()
            .is_some_and(|entry| entry.quarantined.is_some())
        {
            self.learn_again();
            entry = find();
        }
        let entry = entry.ok_or_else(|| {
            let name = &self.settings.name;
            ProviderError::not_found(format!("the server `{name}` no longer offers `{tool}`"))
        })?;
        match &entry.quarantined {
            None => Ok(entry),
            Some(why) => Err(ProviderError {
                suggestion: Some("Tell the operator: a human has to look at it.".to_owned()),
                ..ProviderError::new(
                    ErrorCode::InactiveTool,
                    format!("`{tool}` is set aside; {why}"),
                )
            }),
        }
    }

    fn result(&self, payload: Payload) -> Result<ToolResult, ProviderError> {
        let reader = outcome::Reader {
            server: &self.settings.name,
            names: &self.names,
            format: self.settings.result_format,
            shape: if self.settings.envelope {
                Shape::Wrapped
            } else {
                Shape::Native
            },
        };
        reader.outcome(rewrite::links(&self.names, payload))
    }

    /// Reads a resource, takes a prompt or completes an argument.
    async fn look(
        self: &Arc<Self>,
        call: &ToolCall,
        cx: &CallContext,
    ) -> Result<Answer, ProviderError> {
        let job = self.look_job(call)?;
        let turn = self.turn(cx).await?;
        let peer = self.ready(cx).await?;
        match self.run(job, peer, turn, cx).await? {
            ask::Reached::Asks(request) => Ok(Answer::NeedsInput(request)),
            ask::Reached::Answer(payload) => {
                let payload = rewrite::links(&self.names, payload);
                Ok(Answer::Done(ToolResult::ok(payload)))
            }
        }
    }

    fn look_job(&self, call: &ToolCall) -> Result<Job, ProviderError> {
        let given = call.arguments.value();
        let text = |name: &str| given[name].as_str().unwrap_or_default();
        let lost = || ProviderError::not_found("the server does not offer this");
        let job = |method, name: Option<&str>, fields| Job {
            method,
            name: name.map(str::to_owned),
            fields,
            timeout: LOOK.min(self.settings.max_timeout),
            headers: Vec::new(),
            tasks: false,
        };
        Ok(match call.tool.as_str() {
            offer::READ => {
                let uri = self.names.own_uri(text("uri")).ok_or_else(lost)?;
                job(
                    "resources/read",
                    Some(uri),
                    format!(r#""uri":{}"#, rpc::quoted(uri)),
                )
            }
            offer::GET_PROMPT => {
                let name = self.names.own_prompt(text("name")).ok_or_else(lost)?;
                let arguments = &given["arguments"];
                let fields = format!(r#""name":{},"arguments":{arguments}"#, rpc::quoted(name));
                job("prompts/get", Some(name), fields)
            }
            _ => {
                let mut given = given.clone();
                let about = &mut given["ref"];
                for (field, own) in [
                    (
                        "uri",
                        about["uri"]
                            .as_str()
                            .and_then(|uri| self.names.own_uri(uri)),
                    ),
                    (
                        "name",
                        about["name"]
                            .as_str()
                            .and_then(|name| self.names.own_prompt(name)),
                    ),
                ]
                .map(|(field, own)| (field, own.map(str::to_owned)))
                {
                    if let Some(own) = own {
                        about[field] = Value::String(own);
                    }
                }
                let text = given.to_string();
                job(
                    "completion/complete",
                    None,
                    text[1..text.len() - 1].to_owned(),
                )
            }
        })
    }

    /// Sends a request, or takes up one that waited for answers, and follows it.
    async fn run(
        self: &Arc<Self>,
        job: Job,
        peer: Arc<Peer>,
        turn: OwnedSemaphorePermit,
        cx: &CallContext,
    ) -> Result<ask::Reached, ProviderError> {
        let timeout = job.timeout;
        let resumed = self.resume(cx).await?;
        let running = match resumed {
            ask::Resumed::Held(held) => held.running(turn),
            ask::Resumed::Task(id) => {
                return Box::pin(self.resume_task(id, peer, turn, cx)).await;
            }
            ask::Resumed::Afresh(more) => {
                let extras = Extras {
                    traceparent: Some(cx.trace.traceparent()),
                    aside: cx.aside.clone(),
                    asks: cx.asks,
                    progress: true,
                    tasks: job.tasks,
                    headers: job.headers,
                    whose: (!peer.says_what_it_means()).then(|| Session::of(cx)),
                };
                let fields = job.fields + &more;
                let sent = peer.request(job.method, job.name.as_deref(), &fields, extras);
                let sent = tokio::select! {
                    biased;
                    sent = sent => sent,
                    () = cx.cancel.cancelled() => return Err(cancelled()),
                    () = tokio::time::sleep(timeout) => {
                        self.suspicion.notify_one();
                        return Err(self.too_slow(timeout));
                    }
                };
                let (id, exchange) = sent.map_err(|error| self.broken(error))?;
                Running {
                    peer,
                    id,
                    exchange,
                    turn,
                    task: None,
                }
            }
        };
        if running.task.is_some() {
            return Box::pin(self.wait_for_legacy_task(running, cx)).await;
        }
        match self.follow(running, timeout, cx).await? {
            Step::Answered(payload, running) => match tasks::begun(&payload, running.peer.modern) {
                Some(task) => {
                    let Running { peer, turn, .. } = *running;
                    Box::pin(self.follow_task(peer, turn, task, cx)).await
                }
                None => ask::reached(&self.settings.name, payload),
            },
            Step::Asked(running, question) => Box::pin(self.hold(*running, question)).await,
            Step::Lacks(request) => Ok(ask::Reached::Asks(request)),
        }
    }

    /// Listens until there is an answer or a question.
    pub(super) async fn follow(
        &self,
        mut running: Running,
        timeout: Duration,
        cx: &CallContext,
    ) -> Result<Step, ProviderError> {
        let whole = self.settings.max_timeout;
        let mut patience = Patience::new(Instant::now(), timeout, whole);
        let silence = tokio::time::sleep_until(patience.end());
        tokio::pin!(silence);
        let mut unasked = None;
        loop {
            let next = tokio::select! {
                biased;
                next = running.exchange.next() => next,
                () = cx.cancel.cancelled() => {
                    running.peer.cancel(running.id, "nobody waits for it").await;
                    return Err(cancelled());
                }
                () = &mut silence => {
                    running.peer.cancel(running.id, "it took too long").await;
                    self.suspicion.notify_one();
                    let time = if patience.is_whole() { whole } else { timeout };
                    return Err(self.too_slow(time));
                }
            };
            match next.map_err(|error| self.broken(error))? {
                Next::Answer(Ok(payload)) => {
                    return Ok(match unasked.filter(|_| is_error(&payload)) {
                        Some(lacks) => Step::Lacks(lacks),
                        None => Step::Answered(payload, Box::new(running)),
                    });
                }
                Next::Answer(Err(error)) => {
                    let lacks = ask::lacking(&self.settings.name, &error, cx.asks);
                    let lacks = lacks.or_else(|| self.pages_first(&error)).or(unasked);
                    return lacks.map(Step::Lacks).ok_or_else(|| self.refused(&error));
                }
                Next::Said(Heard::Told(method, params)) if method == pages::DONE => {
                    self.page_done(&params);
                }
                Next::Said(Heard::Told(method, params)) => {
                    if tell(&method, &params, cx) {
                        patience.progress(Instant::now());
                        silence.as_mut().reset(patience.end());
                    }
                }
                Next::Said(Heard::Asked(id, method, params)) => {
                    if ask::can(&method, &params, cx.asks) {
                        let question = Question { id, method, params };
                        return Ok(Step::Asked(Box::new(running), question));
                    }
                    // Some do without; if this one fails then, that is why.
                    Box::pin(running.peer.decline(&id, &method, &params)).await;
                    let server = &self.settings.name;
                    unasked = unasked.or_else(|| ask::unasked(server, &method, params));
                }
                Next::Said(Heard::Answered(..)) => {}
            }
        }
    }

    pub(super) fn too_slow(&self, timeout: Duration) -> ProviderError {
        let message = format!(
            "the server `{}` did not answer within {} ms",
            self.settings.name,
            timeout.as_millis()
        );
        ProviderError {
            document_code: Some("Timeout".to_owned()),
            ..ProviderError::new(ErrorCode::TimedOut, message)
        }
    }

    /// What a broken connection means for a call.
    pub(super) fn broken(&self, error: LinkError) -> ProviderError {
        let name = &self.settings.name;
        let message = format!("the server `{name}`: {error}");
        match error {
            LinkError::Lost(_) if self.closed.is_cancelled() => closed(name),
            LinkError::Lost(_) => ProviderError {
                document_code: Some("ConnectionError".to_owned()),
                retry_after: Some(Duration::from_secs(1)),
                ..ProviderError::new(ErrorCode::ConnectionLost, message)
            },
            LinkError::Busy => ProviderError {
                retry_after: Some(Duration::from_secs(1)),
                ..ProviderError::new(ErrorCode::Overloaded, message)
            },
            LinkError::TooLarge(_) => ProviderError::new(ErrorCode::OutputTooLarge, message),
            LinkError::Unauthorized | LinkError::Credentials(_) => {
                ProviderError::new(ErrorCode::Unauthorized, message)
            }
            LinkError::RateLimited(wait) => ProviderError {
                retry_after: Some(Duration::from_secs(wait.unwrap_or(1))),
                ..ProviderError::new(ErrorCode::RateLimited, message)
            },
            LinkError::Away(wait) => ProviderError {
                retry_after: Some(Duration::from_secs(wait.unwrap_or(1))),
                ..ProviderError::new(ErrorCode::Unavailable, message)
            },
            LinkError::Nonsense(_) => ProviderError::new(ErrorCode::Unavailable, message),
        }
    }

    /// What an error of the protocol means for a call.
    pub(super) fn refused(&self, error: &RpcError) -> ProviderError {
        let code = match error.code {
            -32002 => ErrorCode::NotFound,
            RpcError::INVALID_PARAMS => ErrorCode::InputRejected,
            RpcError::METHOD_NOT_FOUND | RpcError::UNSUPPORTED_VERSION => ErrorCode::Unsupported,
            RpcError::MISSING_CAPABILITY => ErrorCode::InputRequired,
            _ => ErrorCode::ToolFailed,
        };
        let said = excerpt::of(&error.message, excerpt::ABOUT_CALL);
        let name = &self.settings.name;
        let mut failed = ProviderError::new(code, format!("the server `{name}` says: {said}"));
        failed
            .details
            .insert("upstream_code".to_owned(), error.code.into());
        if let Some(data) = &error.data {
            failed
                .details
                .insert("upstream_data".to_owned(), added(data));
        }
        failed
    }
}

/// What a server adds to an error; of more than anybody reads, the beginning as text.
fn added(data: &Value) -> Value {
    let text = data.to_string();
    let shown = excerpt::of(&text, excerpt::ADDED);
    if shown == text {
        data.clone()
    } else {
        Value::String(shown)
    }
}

/// Passes on what a server says about a running request; says whether that was progress.
fn tell(method: &str, params: &Payload, cx: &CallContext) -> bool {
    let said = params.value();
    match method {
        "notifications/progress" => {
            cx.events.emit(Event::Progress {
                done: said["progress"].as_f64().unwrap_or_default(),
                total: said["total"].as_f64(),
                message: said["message"].as_str().map(str::to_owned),
            });
            true
        }
        "notifications/message" => {
            cx.events.emit(Event::Log {
                level: level(said["level"].as_str().unwrap_or_default()),
                logger: said["logger"].as_str().map(str::to_owned),
                data: said["data"].clone(),
            });
            false
        }
        _ => false,
    }
}

fn level(name: &str) -> LogLevel {
    match name {
        "debug" => LogLevel::Debug,
        "notice" => LogLevel::Notice,
        "warning" => LogLevel::Warning,
        "error" => LogLevel::Error,
        "critical" => LogLevel::Critical,
        "alert" => LogLevel::Alert,
        "emergency" => LogLevel::Emergency,
        _ => LogLevel::Info,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_to_an_error_is_cut_to_what_somebody_reads() {
        let small = serde_json::json!({"field": "name", "wants": ["a", "b"]});
        assert_eq!(added(&small), small);
        let large = serde_json::json!({"all": vec!["word"; 1_000_000]});
        let Value::String(text) = added(&large) else {
            panic!("a text");
        };
        assert!(text.starts_with(r#"{"all":["word","word""#), "{text}");
        assert!(text.chars().count() <= excerpt::ADDED);
    }
}
