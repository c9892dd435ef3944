//! One request to a server, from the arguments to the answer.
//!
//! A call that is silent for too long is given up; progress begins the wait anew, up to the
//! limit the gate sets for the whole of it. Whoever gives up says so to the server.

use std::{sync::Arc, time::Duration};

use memchr::memmem;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};
use tollgate_core::{
    Answer, CallContext, ErrorCode, Event, LogLevel, Payload, ProviderError, Shape, Status,
    ToolCall, ToolResult, offer,
};

use super::{
    Upstream, ask, cancelled, closed,
    known::Entry,
    life::Phase,
    link::{Exchange, LinkError, Next},
    peer::{Extras, Peer},
    rewrite,
    rpc::{self, Heard, RpcError},
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
}

/// A request under way.
pub(super) struct Running {
    pub(super) peer: Arc<Peer>,
    pub(super) id: u64,
    pub(super) exchange: Exchange,
    /// Given back when the request is over.
    pub(super) _turn: OwnedSemaphorePermit,
}

/// How far a request has come.
pub(super) enum Step {
    Answered(Payload),
    /// The server asks; the request stays open.
    Asked(Box<Running>, Question),
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
            offer::READ | offer::GET_PROMPT | offer::COMPLETE => self.look(&call, &cx).await,
            _ => self.tool(&call, &cx).await,
        }
    }

    async fn tool(
        self: &Arc<Self>,
        call: &ToolCall,
        cx: &CallContext,
    ) -> Result<Answer, ProviderError> {
        let turn = self.turn(cx).await?;
        let peer = self.ready(cx).await?;
        let entry = self.usable(call.tool.as_str())?;
        let job = Job {
            method: "tools/call",
            fields: format!(
                r#""name":{},"arguments":{}"#,
                rpc::quoted(&entry.own),
                call.arguments.raw()
            ),
            headers: mirrored(&entry, &call.arguments),
            timeout: entry.timeout,
            name: Some(entry.own.clone()),
        };
        match self.run(job, peer, turn, cx).await? {
            ask::Reached::Asks(request) => Ok(Answer::NeedsInput(request)),
            ask::Reached::Answer(payload) => Ok(Answer::Done(self.result(payload))),
        }
    }

    /// The tool as it is known now; it may be gone since it was listed.
    fn usable(&self, tool: &str) -> Result<Arc<Entry>, ProviderError> {
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

    fn result(&self, payload: Payload) -> ToolResult {
        let failed = is_error(&payload);
        let payload = rewrite::links(&self.names, payload);
        ToolResult {
            shape: if self.settings.envelope {
                Shape::Data
            } else {
                Shape::Native
            },
            status: if failed { Status::Error } else { Status::Ok },
            ..ToolResult::ok(payload)
        }
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
            ask::Resumed::Held(running) => *running,
            ask::Resumed::Afresh(more) => {
                let extras = Extras {
                    traceparent: Some(cx.trace.traceparent()),
                    asks: cx.asks,
                    progress: true,
                    headers: job.headers,
                };
                let fields = job.fields + &more;
                let sent = peer.request(job.method, job.name.as_deref(), &fields, extras);
                let sent = tokio::select! {
                    sent = sent => sent,
                    () = cx.cancel.cancelled() => return Err(cancelled()),
                    () = tokio::time::sleep(timeout) => return Err(self.too_slow(timeout)),
                };
                let (id, exchange) = sent.map_err(|error| self.broken(error))?;
                Running {
                    peer,
                    id,
                    exchange,
                    _turn: turn,
                }
            }
        };
        match self.follow(running, timeout, cx).await? {
            Step::Answered(payload) => ask::reached(&self.settings.name, payload),
            Step::Asked(running, question) => self.hold(*running, question),
        }
    }

    /// Listens until there is an answer or a question.
    async fn follow(
        &self,
        mut running: Running,
        timeout: Duration,
        cx: &CallContext,
    ) -> Result<Step, ProviderError> {
        let silence = tokio::time::sleep(timeout);
        tokio::pin!(silence);
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
                    return Err(self.too_slow(timeout));
                }
            };
            match next.map_err(|error| self.broken(error))? {
                Next::Answer(Ok(payload)) => return Ok(Step::Answered(payload)),
                Next::Answer(Err(error)) => return Err(self.refused(&error)),
                Next::Said(Heard::Told(method, params)) => {
                    if tell(&method, &params, cx) {
                        silence.as_mut().reset(Instant::now() + timeout);
                    }
                }
                Next::Said(Heard::Asked(id, method, params)) => {
                    if ask::can(&method, cx.asks) {
                        let question = Question { id, method, params };
                        return Ok(Step::Asked(Box::new(running), question));
                    }
                    running.peer.brush_off(&id, &method).await;
                }
                Next::Said(Heard::Answered(..)) => {}
            }
        }
    }

    fn too_slow(&self, timeout: Duration) -> ProviderError {
        let message = format!(
            "the server `{}` was silent for {} ms",
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
            LinkError::Unauthorized => ProviderError::new(ErrorCode::Unauthorized, message),
            LinkError::RateLimited(wait) => ProviderError {
                retry_after: Some(Duration::from_secs(wait.unwrap_or(1))),
                ..ProviderError::new(ErrorCode::RateLimited, message)
            },
            LinkError::Nonsense(_) => ProviderError::new(ErrorCode::Unavailable, message),
        }
    }

    /// What an error of the protocol means for a call.
    fn refused(&self, error: &RpcError) -> ProviderError {
        let code = match error.code {
            -32002 => ErrorCode::NotFound,
            RpcError::INVALID_PARAMS => ErrorCode::InputRejected,
            RpcError::METHOD_NOT_FOUND | RpcError::UNSUPPORTED_VERSION => ErrorCode::Unsupported,
            -32021 => ErrorCode::InputRequired,
            _ => ErrorCode::ToolFailed,
        };
        let said: String = error.message.chars().take(1000).collect();
        let name = &self.settings.name;
        let mut failed = ProviderError::new(code, format!("the server `{name}` says: {said}"));
        failed
            .details
            .insert("upstream_code".to_owned(), error.code.into());
        if let Some(data) = &error.data {
            failed
                .details
                .insert("upstream_data".to_owned(), data.clone());
        }
        failed
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

fn mirrored(entry: &Entry, arguments: &Payload) -> Vec<(String, String)> {
    if entry.mirrored.is_empty() {
        return Vec::new();
    }
    let given = arguments.value();
    let each = |(property, header): &(String, String)| match given.get(property)? {
        Value::Null => None,
        Value::String(text) => Some((header.clone(), text.clone())),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Some((header.clone(), other.to_string()))
        }
    };
    entry.mirrored.iter().filter_map(each).collect()
}

/// Whether a result says of itself that it is a failure; most need no second look.
fn is_error(payload: &Payload) -> bool {
    #[derive(Deserialize)]
    struct Says {
        #[serde(default, rename = "isError")]
        is_error: Value,
    }
    memmem::find(payload.raw().as_bytes(), b"\"isError\"").is_some()
        && serde_json::from_str::<Says>(payload.raw()).is_ok_and(|says| says.is_error == true)
}
