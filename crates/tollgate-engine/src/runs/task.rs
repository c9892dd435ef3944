//! Calls that go on as tasks: a task is a run of one call, kept and driven like any run.
//!
//! Invariants: a task is on disk before anyone hears of it; its call passes the door like any
//! other, in the name of whoever asked; its ending is kept whole, so that whoever asks later
//! gets what a caller who waited would have got.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tollgate_core::{
    CallId, Control, ErrorCode, InputAsk, InputResponses, Payload, Principal, ProviderError,
    Standing, StoreError, Timestamp,
    store::{Batch, Change, Durability, RunChange, RunRow},
};
use tollgate_runs::{Need, Record, Status, Waits};

use super::{
    Runs, Shared, WaitingFor,
    body::{Body, TaskBody},
    errors, seal, tools,
    view::read_steps,
    waiting,
};
use crate::{
    Caller, Outcome, Request, call::Inner, ids, policy::Consent, record, session::Lifetime,
};

/// The template that tasks are kept under, and its one step.
const TEMPLATE: &str = "task";
const STEP: &str = "call";
/// Where answers to the questions of tasks are kept.
const ANSWERS: &str = "gate.task_answers";

/// A call that goes on by itself.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its id, which is that of its run.
    pub id: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// How long it can be asked for, at least.
    pub kept_for: Duration,
    /// The tool, as it was called; none for the run of a template.
    pub tool: Option<String>,
    /// Where it stands.
    pub state: TaskState,
}

/// Where a task stands.
#[derive(Debug, Clone)]
pub enum TaskState {
    /// It is under way or waits for its turn.
    Working,
    /// Somebody has to answer something first.
    Waiting(Vec<TaskAsk>),
    /// Its call has ended like this.
    Done(Box<Outcome>),
    /// The run of a template is over; `get_task_run` tells what it came to.
    Over,
    /// Its call never came to an end of its own.
    Failed(String),
    /// Somebody called it off.
    Cancelled,
}

/// What a task waits for.
#[derive(Debug, Clone)]
pub enum TaskAsk {
    /// A human's consent.
    Human(Box<WaitingFor>),
    /// The caller's answer to a question of the tool.
    Caller {
        /// The question; no two of a task have the same id.
        id: String,
        /// What is asked.
        ask: InputAsk,
    },
}

/// What a task was given; it is kept sealed.
#[derive(Serialize, Deserialize)]
pub(super) struct Given {
    pub(super) arguments: Payload,
    pub(super) control: Control,
    pub(super) responses: Option<InputResponses>,
}

/// Questions of a tool as they are kept with the step that asks them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Questions {
    /// By ids of our own: the tool's id, and what it asks.
    asks: BTreeMap<String, (String, InputAsk)>,
    /// What the tool wants back.
    state: Vec<u8>,
}

impl Questions {
    pub(super) fn new(request: tollgate_core::InputRequest, call: &str) -> Self {
        let asks = request.asks.into_iter().enumerate();
        Self {
            asks: asks
                .map(|(at, (id, ask))| (format!("{call}-{at}"), (id, ask)))
                .collect(),
            state: request.state,
        }
    }

    pub(super) fn of(record: &Record) -> Option<Self> {
        match &record.waits.as_ref()?.need {
            Need::Input(questions) => serde_json::from_value(questions.clone()).ok(),
            Need::Approval(_) => None,
        }
    }

    /// The answers as the tool wants them, once none is missing.
    pub(super) fn answered(&self, answers: &BTreeMap<String, Payload>) -> Option<InputResponses> {
        let mut responses = InputResponses {
            answers: BTreeMap::new(),
            state: self.state.clone(),
            given_up: false,
        };
        for (key, (id, _)) in &self.asks {
            responses
                .answers
                .insert(id.clone(), answers.get(key)?.clone());
        }
        Some(responses)
    }
}

impl Runs {
    /// Makes a task of a call; it is on disk when this answers, and has not begun.
    pub async fn open_task(
        &self,
        caller: &Caller,
        request: &Request,
    ) -> Result<Task, ProviderError> {
        let shared = &self.0;
        let inner = shared.engine()?;
        let row = shared.task_row(&inner, caller, request)?;
        shared.has_room(&inner).await?;
        let note = record::note(
            "run",
            row.created,
            json!({
                "principal": row.session.principal.as_str(),
                "session": row.session.handle,
                "run": row.id,
                "status": row.status,
                "template": TEMPLATE,
                "tool": inner.cleaner.line(&request.tool),
            }),
        );
        let batch = Batch {
            changes: vec![Change::Run(RunChange::Open(Box::new(row.clone())))],
            audit: vec![note],
            durability: Durability::Disk,
        };
        let kept = inner.store.commit(batch).await;
        kept.map_err(errors::from_store)?;
        shared.begin(&inner);
        Ok(shared.task_of(&row, Some(request.tool.clone()), TaskState::Working))
    }

    /// The run that a call of this process has started and that is not over.
    pub async fn task_of_call(&self, caller: &Caller, call: &CallId) -> Option<Task> {
        let id = self.0.started_by(call.as_str())?;
        let task = self.task(caller, &id).await.ok()??;
        match task.state {
            TaskState::Working | TaskState::Waiting(_) => Some(task),
            TaskState::Done(_) | TaskState::Over | TaskState::Failed(_) | TaskState::Cancelled => {
                None
            }
        }
    }

    /// A task or a run of this caller.
    pub async fn task(&self, caller: &Caller, id: &str) -> Result<Option<Task>, StoreError> {
        let shared = &self.0;
        let Ok(inner) = shared.engine() else {
            return Ok(None);
        };
        shared.begin(&inner);
        let Some(row) = own(&inner, caller, id).await? else {
            return Ok(None);
        };
        let body = Body::read(&row.record)
            .ok_or_else(|| StoreError::Corrupt("a run cannot be read".to_owned()))?;
        let tool = body.task.as_ref().map(|task| task.tool.clone());
        let state = shared.task_state(&inner, &row, &body).await?;
        Ok(Some(shared.task_of(&row, tool, state)))
    }

    /// Takes answers to questions of a task; what was not asked is left out.
    pub async fn answer_task(
        &self,
        caller: &Caller,
        id: &str,
        given: BTreeMap<String, Payload>,
    ) -> Result<(), StoreError> {
        let Ok(inner) = self.0.engine() else {
            return Ok(());
        };
        let Some(row) = own(&inner, caller, id).await?.filter(|row| !row.is_over) else {
            return Ok(());
        };
        let mut wanted = Vec::new();
        for (_, record) in read_steps(&inner, id).await? {
            let questions = Questions::of(&record);
            wanted.extend(questions.into_iter().flat_map(|it| it.asks.into_keys()));
        }
        let given: BTreeMap<_, _> = given
            .into_iter()
            .filter(|(key, _)| wanted.contains(key))
            .collect();
        if given.is_empty() {
            return Ok(());
        }
        loop {
            let (mut all, version) = answers(&inner, &row.session.principal, id).await?;
            all.extend(given.clone());
            match put_answers(&inner, &row, &all, version).await {
                Err(StoreError::Conflict) => {}
                put => return put,
            }
        }
    }

    /// Asks a task to stop; one that is over stays as it is.
    pub async fn cancel_task(&self, caller: &Caller, id: &str) -> Result<bool, StoreError> {
        let Ok(inner) = self.0.engine() else {
            return Ok(false);
        };
        let Some(row) = own(&inner, caller, id).await? else {
            return Ok(false);
        };
        if !row.is_over {
            tools::call_off(&self.0, &inner, id).await?;
            self.0.begin(&inner);
        }
        Ok(true)
    }
}

impl Shared {
    fn task_row(
        &self,
        inner: &Inner,
        caller: &Caller,
        request: &Request,
    ) -> Result<RunRow, ProviderError> {
        let internal = |message: &str| ProviderError::new(ErrorCode::Internal, message);
        let now = inner.clock.now();
        let id = ids::random_hex(12).map_err(|_| internal("no id could be made"))?;
        let id = format!("run_{id}");
        let source = json!({
            "id": TEMPLATE, "version": "1.0.0", "name": "One call",
            "steps": [{"id": STEP, "tool": request.tool, "fail_when": "data.isError"}],
            "result": {},
        })
        .to_string();
        let template = tollgate_runs::parse(TEMPLATE, &source)
            .map_err(|_| ProviderError::rejected("this call cannot go on by itself"))?;
        let given = Given {
            arguments: request.arguments.clone(),
            control: request.control.clone(),
            responses: request.responses.clone(),
        };
        let plain = serde_json::to_vec(&given).map_err(|_| internal("it cannot be written"))?;
        let sealed = seal::seal(inner, &id, &plain)
            .ok_or_else(|| internal("what it was given could not be sealed"))?;
        let consent = if request.control.yes {
            Consent::Agent
        } else {
            Consent::None
        };
        let body = Body {
            source: Some(source),
            version: template.version,
            digest: template.digest,
            timeout_ms: u64::try_from(self.settings.timeout.as_millis()).unwrap_or(u64::MAX),
            conversation: caller.session.handle.clone(),
            surface: caller.surface,
            trust: caller.trust,
            scope: caller.scope.clone(),
            standing: Standing {
                consent: u8::from(consent >= Consent::Agent),
                profile: caller.profile.clone(),
                skill: caller.skill.clone(),
                is_stored: caller.lifetime == Lifetime::Stored,
            },
            traceparent: request.traceparent.clone().unwrap_or_default(),
            total: 1,
            task: Some(TaskBody {
                tool: request.tool.clone(),
                asks: caller.asks,
            }),
            ..Body::unreadable()
        };
        Ok(body.queued(id, caller.session.clone(), TEMPLATE, now, sealed))
    }

    fn task_of(&self, row: &RunRow, tool: Option<String>, state: TaskState) -> Task {
        Task {
            id: row.id.clone(),
            created: row.created,
            updated: row.updated,
            kept_for: self.settings.artifact_ttl,
            tool,
            state,
        }
    }

    async fn task_state(
        &self,
        inner: &Inner,
        row: &RunRow,
        body: &Body,
    ) -> Result<TaskState, StoreError> {
        let records = read_steps(inner, &row.id).await?;
        if !row.is_over {
            let asks = asks(inner, row, &records).await?;
            return Ok(if asks.is_empty() {
                TaskState::Working
            } else {
                TaskState::Waiting(asks)
            });
        }
        if row.status == Status::Canceled.as_str() {
            return Ok(TaskState::Cancelled);
        }
        if body.task.is_none() {
            return Ok(TaskState::Over);
        }
        let kept = match records.first() {
            Some((_, record)) => self.kept_answer(record).await?,
            None => None,
        };
        Ok(match kept.and_then(|kept| Outcome::recalled(&kept)) {
            Some(outcome) => TaskState::Done(Box::new(outcome)),
            None => TaskState::Failed(body.error.as_ref().map_or_else(
                || "what it answered is no longer kept".to_owned(),
                |error| error.error.clone(),
            )),
        })
    }

    /// What the call answered, wherever it is kept.
    async fn kept_answer(&self, record: &Record) -> Result<Option<String>, StoreError> {
        let data: Option<Value> = match &record.spilled {
            Some(artifact) => {
                let bytes = self.blobs.part(artifact, 0, u64::MAX).await?;
                bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok())
            }
            None => record.data.as_deref().cloned(),
        };
        Ok(data.and_then(|data| data["answer"].as_str().map(str::to_owned)))
    }
}

/// What the steps of a run wait for and nobody has answered yet.
async fn asks(
    inner: &Inner,
    row: &RunRow,
    records: &[(String, Record)],
) -> Result<Vec<TaskAsk>, StoreError> {
    let mut asks = Vec::new();
    for (name, record) in records {
        let shown = waiting::shown(inner, name, record).await?;
        asks.extend(shown.map(|shown| TaskAsk::Human(Box::new(shown))));
        if let Some(questions) = Questions::of(record) {
            let (known, _) = answers(inner, &row.session.principal, &row.id).await?;
            let open = questions.asks.into_iter();
            asks.extend(
                open.filter(|(id, _)| !known.contains_key(id))
                    .map(|(id, (_, ask))| TaskAsk::Caller { id, ask }),
            );
        }
    }
    Ok(asks)
}

async fn own(inner: &Inner, caller: &Caller, id: &str) -> Result<Option<RunRow>, StoreError> {
    let row = inner.store.run(id).await?;
    Ok(row.filter(|row| row.session.principal == caller.session.principal))
}

/// The answers given so far, and their version.
pub(super) async fn answers(
    inner: &Inner,
    principal: &Principal,
    id: &str,
) -> Result<(BTreeMap<String, Payload>, Option<u64>), StoreError> {
    let now = inner.clock.now();
    let kept = inner.store.state(ANSWERS, principal, id, now).await?;
    let Some(kept) = kept else {
        return Ok((BTreeMap::new(), None));
    };
    let plain = seal::open(inner, id, &kept.value);
    let answers = plain.and_then(|plain| serde_json::from_slice(&plain).ok());
    Ok((answers.unwrap_or_default(), Some(kept.version)))
}

async fn put_answers(
    inner: &Inner,
    row: &RunRow,
    answers: &BTreeMap<String, Payload>,
    version: Option<u64>,
) -> Result<(), StoreError> {
    let plain = serde_json::to_vec(answers).unwrap_or_default();
    let sealed = seal::seal(inner, &row.id, &plain)
        .ok_or_else(|| StoreError::Failed("an answer could not be sealed".into()))?;
    let now = inner.clock.now();
    let batch = Batch {
        changes: vec![Change::PutState {
            namespace: ANSWERS.to_owned(),
            principal: row.session.principal.clone(),
            key: row.id.clone(),
            version,
            value: sealed,
            until: Some(now.plus(waiting::OPEN)),
            at: now,
        }],
        durability: Durability::Disk,
        ..Batch::default()
    };
    inner.store.commit(batch).await.map(|_| ())
}

/// A question of a tool as the machine keeps it.
pub(super) fn waits(request: tollgate_core::InputRequest, call: &str, since: i64) -> Waits {
    let questions = Questions::new(request, call);
    Waits {
        need: Need::Input(json!(questions)),
        since,
    }
}
