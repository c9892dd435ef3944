//! Servers that answer with a task: it is waited for here, so that every client can call
//! every tool.
//!
//! Invariant: whoever gives up says so to the server, and a task that asks keeps its place
//! while its question is on the way to the client.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep, sleep_until},
};
use tollgate_core::{CallContext, ErrorCode, Event, LogLevel, Payload, ProviderError};

use super::{
    Upstream,
    ask::{self, Reached},
    call::{Running, Step},
    cancelled,
    peer::{AskError, Extras, Peer},
    rpc::{self, RpcError},
    whose::Session,
};

/// The extension of modern servers.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// How long a server may take to say how a task is.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is asked.
const USUAL: Duration = Duration::from_millis(500);
const SOONEST: u64 = 20;
const LATEST: u64 = 10_000;

/// A task as a server tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) wait: Duration,
}

/// What is said about a task, in either era.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    #[serde(default)]
    task_id: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    status_message: Option<String>,
    #[serde(default, alias = "pollInterval")]
    poll_interval_ms: Option<u64>,
    #[serde(default)]
    result: Option<Payload>,
    #[serde(default)]
    error: Option<RpcError>,
}

/// The task that an answer to a call consists of, if it does.
pub(super) fn begun(payload: &Payload, modern: bool) -> Option<Task> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Modern {
        #[serde(default)]
        result_type: Option<String>,
        #[serde(flatten)]
        said: Said,
    }
    #[derive(Deserialize)]
    struct Legacy {
        task: Said,
    }
    let raw = payload.raw();
    // Most answers are none.
    memchr::memmem::find(raw.as_bytes(), b"\"taskId\"")?;
    let said = if modern {
        let all: Modern = serde_json::from_str(raw).ok()?;
        (all.result_type.as_deref() == Some("task")).then_some(all.said)?
    } else {
        serde_json::from_str::<Legacy>(raw).ok()?.task
    };
    Some(Task {
        wait: said.wait(),
        id: said.task_id?,
    })
}

/// Whether a server refuses a call because we did not say that we know tasks.
pub(super) fn are_wanted(error: &ProviderError) -> bool {
    let wanted = error.details.get("upstream_data");
    let wanted = wanted.and_then(|data| data.get("requiredCapabilities")?.get("extensions"));
    error
        .details
        .get("upstream_code")
        .is_some_and(|code| *code == RpcError::MISSING_CAPABILITY)
        && wanted.is_some_and(|all| all.get(EXTENSION).is_some())
}

impl Said {
    fn wait(&self) -> Duration {
        let millis = self.poll_interval_ms;
        millis.map_or(USUAL, |millis| {
            Duration::from_millis(millis.clamp(SOONEST, LATEST))
        })
    }
}

impl Upstream {
    /// Waits for the task that a call has become.
    pub(super) async fn follow_task(
        self: &Arc<Self>,
        peer: Arc<Peer>,
        turn: OwnedSemaphorePermit,
        task: Task,
        cx: &CallContext,
    ) -> Result<Reached, ProviderError> {
        if peer.modern {
            // The turn is given back when the task is over.
            let reached = self.follow_modern_task(&peer, task, cx).await;
            drop(turn);
            reached
        } else {
            self.follow_legacy_task(peer, turn, task, cx).await
        }
    }

    /// Answers what a task asked, and goes on waiting for it.
    pub(super) async fn resume_task(
        self: &Arc<Self>,
        id: String,
        peer: Arc<Peer>,
        turn: OwnedSemaphorePermit,
        cx: &CallContext,
    ) -> Result<Reached, ProviderError> {
        let answers = cx.responses.as_ref();
        if answers.is_some_and(|answers| answers.given_up) {
            cancel(&peer, &Task { id, wait: USUAL }).await;
            return Err(ask::nobody(&self.settings.name));
        }
        let answers = answers.map_or_else(String::new, |answers| ask::fields(answers, None));
        let fields = format!(r#""taskId":{}{answers}"#, rpc::quoted(&id));
        let task = Task { id, wait: USUAL };
        let told = about(&peer, "tasks/update", &task, &fields).await;
        told.map_err(|error| self.unheard(error))?;
        self.follow_task(peer, turn, task, cx).await
    }

    async fn follow_modern_task(
        &self,
        peer: &Peer,
        mut task: Task,
        cx: &CallContext,
    ) -> Result<Reached, ProviderError> {
        let whole = self.settings.max_timeout;
        let end = Instant::now() + whole;
        let fields = format!(r#""taskId":{}"#, rpc::quoted(&task.id));
        let mut last = None;
        loop {
            let asked = async {
                sleep(task.wait).await;
                about(peer, "tasks/get", &task, &fields).await
            };
            let failed = tokio::select! {
                said = asked => match said {
                    Ok(said) => Ok(said),
                    Err(error) => Err(self.unheard(error)),
                },
                () = cx.cancel.cancelled() => Err(cancelled()),
                () = sleep_until(end) => Err(self.too_slow(whole)),
            };
            let payload = match failed {
                Ok(payload) => payload,
                Err(error) => {
                    cancel(peer, &task).await;
                    return Err(error);
                }
            };
            let said: Said = serde_json::from_str(payload.raw()).map_err(|_| self.odd())?;
            task.wait = said.wait();
            match said.status.as_deref() {
                Some("working") => {
                    if last != said.status_message {
                        last.clone_from(&said.status_message);
                        tell(said.status_message, cx);
                    }
                }
                Some("input_required") => {
                    return ask::asked_by_task(&self.settings.name, &task.id, &payload);
                }
                Some("completed") => {
                    return said.result.map(Reached::Answer).ok_or_else(|| self.odd());
                }
                Some("failed") => {
                    return Err(said
                        .error
                        .map_or_else(|| self.odd(), |error| self.refused(&error)));
                }
                Some("cancelled") => return Err(self.cancelled_there()),
                Some(_) | None => return Err(self.odd()),
            }
        }
    }

    /// An older server's result is asked for, and it answers when there is one; its
    /// questions come on the way.
    async fn follow_legacy_task(
        self: &Arc<Self>,
        peer: Arc<Peer>,
        turn: OwnedSemaphorePermit,
        task: Task,
        cx: &CallContext,
    ) -> Result<Reached, ProviderError> {
        let fields = format!(r#""taskId":{}"#, rpc::quoted(&task.id));
        // Questions on the way belong to it.
        let extras = Extras {
            progress: true,
            whose: Some(Session::of(cx)),
            ..Extras::default()
        };
        let asked = peer
            .request("tasks/result", Some(&task.id), &fields, extras)
            .await;
        let (id, exchange) = asked.map_err(|error| self.broken(error))?;
        let waits = Running {
            peer,
            id,
            exchange,
            turn,
            task: Some(task),
        };
        self.wait_for_legacy_task(waits, cx).await
    }

    /// Waits for the result of an older server's task, which may ask on the way, also again.
    pub(super) async fn wait_for_legacy_task(
        self: &Arc<Self>,
        waits: Running,
        cx: &CallContext,
    ) -> Result<Reached, ProviderError> {
        let (peer, task) = (Arc::clone(&waits.peer), waits.task.clone());
        match self.follow(waits, self.settings.max_timeout, cx).await {
            Ok(Step::Answered(payload, _)) => Ok(Reached::Answer(payload)),
            Ok(Step::Asked(running, question)) => self.hold(*running, question).await,
            Ok(Step::Lacks(request)) => Ok(Reached::Asks(request)),
            Err(error) => {
                let is_given_up = matches!(error.code, ErrorCode::Cancelled | ErrorCode::TimedOut);
                if let Some(task) = task.filter(|_| is_given_up) {
                    cancel(&peer, &task).await;
                }
                Err(error)
            }
        }
    }

    fn odd(&self) -> ProviderError {
        let name = &self.settings.name;
        let message =
            format!("the server `{name}` says something about its task that makes no sense");
        ProviderError::new(ErrorCode::Unavailable, message)
    }

    fn cancelled_there(&self) -> ProviderError {
        let name = &self.settings.name;
        let message = format!("the server `{name}` cancelled it");
        ProviderError::new(ErrorCode::ToolFailed, message)
    }

    fn unheard(&self, error: AskError) -> ProviderError {
        match error {
            AskError::Link(error) => self.broken(error),
            AskError::Refused(error) => self.refused(&error),
            AskError::Silent(patience) => self.too_slow(patience),
        }
    }
}

/// Says something about a task.
async fn about(peer: &Peer, method: &str, task: &Task, fields: &str) -> Result<Payload, AskError> {
    let extras = Extras {
        tasks: true,
        ..Extras::default()
    };
    peer.ask_about(method, Some(&task.id), fields, extras, PATIENCE)
        .await
}

/// Says that nobody waits for a task any more; whoever is gone needs no word.
pub(super) async fn cancel(peer: &Peer, task: &Task) {
    let fields = format!(r#""taskId":{}"#, rpc::quoted(&task.id));
    drop(about(peer, "tasks/cancel", task, &fields).await);
}

fn tell(message: Option<String>, cx: &CallContext) {
    if let Some(message) = message {
        cx.events.emit(Event::Log {
            level: LogLevel::Info,
            logger: None,
            data: message.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(text: &str) -> Payload {
        Payload::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn tasks_are_told_from_answers() {
        let modern =
            payload(r#"{"resultType":"task","taskId":"t","status":"working","pollIntervalMs":1}"#);
        let expected = Task {
            id: "t".to_owned(),
            wait: Duration::from_millis(SOONEST),
        };
        assert_eq!(begun(&modern, true), Some(expected));
        assert_eq!(begun(&modern, false), None);
        let legacy = payload(r#"{"task":{"taskId":"t","status":"working","pollInterval":50}}"#);
        assert_eq!(
            begun(&legacy, false).unwrap().wait,
            Duration::from_millis(50)
        );
        let plain = payload(r#"{"content":[],"structuredContent":{"taskId":"t"}}"#);
        assert_eq!((begun(&plain, true), begun(&plain, false)), (None, None));
    }
}
