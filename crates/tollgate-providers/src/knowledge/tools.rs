//! `initiate_session` and `navigate_session`.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::{
    CallContext, Clock, ErrorCode, Event, LogLevel, Payload, ProviderError, Status, Tool,
    ToolResult, ToolSet, Warning,
    store::{StoreError, Versioned},
    toolset::Output,
};
use tollgate_knowledge::{Session, StepError, View};

use super::{offers::PAGE, shelf::Shelf, versions::Trouble};

pub(super) const INITIATE: &str = "initiate_session";
pub(super) const NAVIGATE: &str = "navigate_session";

/// What the two tools share.
pub(super) struct Shared {
    pub(super) shelf: Arc<Shelf>,
    pub(super) session_ttl: Duration,
    pub(super) clock: Arc<dyn Clock>,
}

pub(super) fn add(tools: ToolSet<Shared>) -> ToolSet<Shared> {
    let own = |mut tool: Tool| {
        tool.annotations.idempotent = false;
        tool.page = Some(PAGE);
        tool.sets(&["knowledge"])
    };
    let initiate = Tool::read(
        INITIATE,
        "Begin a guided session",
        "Begins a guided consultation that an expert has prepared. Call it with the user's question, \
         word for word, when a new topic begins. Show `response` to the user and offer `options` as a \
         numbered list; then call navigate_session with what the user chose. Stop when `is_complete` \
         is true. Add no facts of your own. Success: the state. Fails: the question is empty.",
    );
    let navigate = Tool::read(
        NAVIGATE,
        "Go on in a guided session",
        "Takes the next step. `selected_option_id` is the `id` of the option the user means; if none \
         fits, send `provide_more_info` with the user's words in `user_input`. `back`, `restart` and \
         `why` (the path so far) always work. Show `response` and `options` as before. An unknown \
         session: begin a new one. Another step came first: look at that answer. \
         Success: the state. Fails: unknown option, with those there are.",
    );
    tools
        .shaped(own(initiate), begin)
        .shaped(own(navigate), go_on)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InitiateArgs {
    /// The user's question, word for word.
    #[schemars(length(max = 8000))]
    user_query: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NavigateArgs {
    /// The `session_id` that `initiate_session` gave.
    #[schemars(length(min = 1, max = 100))]
    session_id: String,
    /// The `id` of the option the user chose, or `provide_more_info`.
    #[schemars(length(min = 1, max = 400))]
    selected_option_id: String,
    /// The user's own words, when no option fits or something was asked for.
    #[serde(default)]
    #[schemars(length(max = 8000))]
    user_input: Option<String>,
}

/// Where the session stands.
#[derive(Serialize, JsonSchema)]
struct SessionState {
    /// What to send with the next step.
    #[schemars(extend("x-identifier" = true, "x-volatile" = true))]
    session_id: String,
    /// What to tell the user.
    response: String,
    /// The name of this step.
    current_step: String,
    /// What the user can choose.
    options: Vec<Choice>,
    /// Whether the session has ended.
    is_complete: bool,
    /// The knowledge base that answers.
    knowledge_base: String,
    /// Its version.
    #[schemars(extend("x-identifier" = true))]
    version: String,
    /// What the user's words were taken for.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<&'static str>,
    /// What is wrong with the knowledge base at this step.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// The nodes so far, this one last.
    path: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Choice {
    /// What to send back.
    id: String,
    /// What to show.
    description: String,
}

impl SessionState {
    fn new(session_id: String, view: View) -> Self {
        let choice = |offer: tollgate_knowledge::Offer| Choice {
            id: offer.id,
            description: offer.description,
        };
        Self {
            session_id,
            response: view.response,
            current_step: view.current_step,
            options: view.options.into_iter().map(choice).collect(),
            is_complete: view.is_complete,
            knowledge_base: view.knowledge_base,
            version: view.version,
            matched: view.matched.map(tollgate_knowledge::Matched::as_str),
            warning: view.warning,
            path: view.path,
        }
    }

    /// The answer; one that met a fault of the base says so in its status, too.
    fn answer(self) -> Result<Output<Self>, ProviderError> {
        if self.warning.is_none() {
            return Ok(Output::Data(self));
        }
        let payload = Payload::from_serialize(&self).map_err(ProviderError::unavailable)?;
        let result = ToolResult {
            status: Status::Degraded,
            warnings: vec![Warning::BrokenLink],
            ..ToolResult::ok(payload)
        };
        Ok(Output::Result(Box::new(result)))
    }
}

async fn begin(
    shared: Arc<Shared>,
    args: InitiateArgs,
    cx: CallContext,
) -> Result<Output<SessionState>, ProviderError> {
    let library = shared.shelf.current(&cx).await?;
    let found = tokio::task::spawn_blocking(move || library.start(&args.user_query));
    let found = found.await.map_err(ProviderError::unavailable)?;
    let (session, view) = found.map_err(|error| refusal(&error))?;
    let id = fresh_id()?;
    shared.keep(&cx, &id, None, &session).await?;
    SessionState::new(id, view).answer()
}

async fn go_on(
    shared: Arc<Shared>,
    args: NavigateArgs,
    cx: CallContext,
) -> Result<Output<SessionState>, ProviderError> {
    let kept = cx.state.get(&key(&args.session_id)).await;
    let kept = kept.map_err(ProviderError::unavailable)?;
    let Versioned { value, version } = kept.ok_or_else(|| no_session(&args.session_id))?;
    let session: Session = serde_json::from_slice(&value).map_err(ProviderError::unavailable)?;
    let (library, trouble) = shared.shelf.for_session(&session, &cx).await?;
    let (option, input) = (args.selected_option_id, args.user_input);
    let step =
        tokio::task::spawn_blocking(move || library.step(&session, &option, input.as_deref()));
    let step = step.await.map_err(ProviderError::unavailable)?;
    let (session, view) = step.map_err(|error| match (&error, trouble) {
        (StepError::Gone(_), Some(Trouble::Passing(trouble))) => trouble,
        (StepError::Gone(_), Some(Trouble::Damaged(trouble))) => ProviderError {
            source: trouble.source,
            ..refusal(&error)
        },
        _ => refusal(&error),
    })?;
    shared
        .keep(&cx, &args.session_id, Some(version), &session)
        .await?;
    SessionState::new(args.session_id, view).answer()
}

impl Shared {
    async fn keep(
        &self,
        cx: &CallContext,
        id: &str,
        version: Option<u64>,
        session: &Session,
    ) -> Result<(), ProviderError> {
        // The version first: a session that is there has what it walks in.
        if let Some(complaint) = self.shelf.hold(session).await? {
            cx.events.emit(Event::Log {
                level: LogLevel::Warning,
                logger: Some("knowledge".to_owned()),
                data: complaint.into(),
            });
        }
        let value = serde_json::to_vec(session).map_err(ProviderError::unavailable)?;
        let until = self.clock.now().plus(self.session_ttl);
        let key = key(id);
        let put = cx.state.compare_and_put(&key, version, value, Some(until));
        match put.await {
            Ok(_) => Ok(()),
            Err(StoreError::Conflict) => Err(ProviderError {
                suggestion: Some(
                    "Nothing was changed by this call. Use the answer to the other step, or send `why` to see where the session is."
                        .to_owned(),
                ),
                ..ProviderError::rejected("another step of this session came first")
            }),
            Err(error) => Err(ProviderError::unavailable(error)),
        }
    }
}

fn key(id: &str) -> String {
    format!("session/{id}")
}

fn fresh_id() -> Result<String, ProviderError> {
    let mut bytes = [0_u8; 12];
    getrandom::fill(&mut bytes).map_err(|error| ProviderError::unavailable(error.to_string()))?;
    let mut id = String::from("ks-");
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    Ok(id)
}

fn no_session(id: &str) -> ProviderError {
    let shown: String = id.chars().take(40).collect();
    ProviderError {
        suggestion: Some("Begin a new session with `initiate_session`.".to_owned()),
        next_steps: vec![INITIATE.to_owned()],
        ..ProviderError::not_found(format!(
            "there is no session `{shown}` for you: it has ended by time, never was, or is someone else's"
        ))
    }
}

/// What the caller is told to do.
fn refusal(error: &StepError) -> ProviderError {
    let message = error.to_string();
    let (code, suggestion, next) = match error {
        StepError::EmptyQuery => (
            ErrorCode::InputRejected,
            "Send the user's question, word for word.",
            INITIATE,
        ),
        StepError::NoBase => (ErrorCode::Unavailable, "Tell the operator.", INITIATE),
        StepError::UnknownOption { .. } => (
            ErrorCode::InputRejected,
            "Send one of the listed ids, or `provide_more_info` with `user_input`.",
            NAVIGATE,
        ),
        StepError::NoInput => (
            ErrorCode::InputRejected,
            "Send the user's words in `user_input`.",
            NAVIGATE,
        ),
        StepError::Finished | StepError::Gone(_) => (
            ErrorCode::InputRejected,
            "Begin a new session with `initiate_session`.",
            INITIATE,
        ),
    };
    let mut refusal = ProviderError {
        suggestion: Some(suggestion.to_owned()),
        next_steps: vec![next.to_owned()],
        ..ProviderError::new(code, message)
    };
    if let StepError::UnknownOption { valid, .. } = error {
        refusal
            .details
            .insert("options".to_owned(), valid.clone().into());
    }
    refusal
}
