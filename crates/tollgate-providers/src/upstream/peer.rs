//! A server that can be asked: which era it speaks, and what it offers.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tollgate_core::{AskKinds, Payload};

use super::{
    ask,
    link::{Exchange, Link, LinkError, Next, Outgoing},
    rpc::{self, Heard, RpcError},
    tasks,
    whose::Session,
};

pub(super) const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
const LEGACY_VERSIONS: [&str; 4] = [LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"];
const RESOURCES: &str = "resources/list";
const PROMPTS: &str = "prompts/list";
/// The most entries of one list that are read.
const MAX_ENTRIES: usize = 10_000;
/// The most bytes of one list that are read.
const MAX_BYTES: usize = 8 << 20;
/// Room for what a request says about itself, so that it is not moved while it grows.
const USUAL_META: usize = 384;
/// How long it may take to say that nobody waits for an answer any more, and how long of that
/// is waited for.
const FAREWELL: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(250);
/// How long a server that refused the older handshake may still answer in the modern way.
const YET: Duration = Duration::from_secs(5);
/// The most pages of one list that are read.
const MAX_PAGES: usize = 1_000;

/// A server that has said which era it speaks.
pub(super) struct Peer {
    pub(super) link: Arc<Link>,
    pub(super) modern: bool,
    pub(super) version: String,
    pub(super) capabilities: Value,
    /// How it wants to be used, in its own words.
    instructions: Option<String>,
    /// Ends whatever listens to it.
    pub(super) over: CancellationToken,
    next: AtomicU64,
}

/// What a request says beside its own parameters.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) traceparent: Option<String>,
    /// What the caller said to the server beside everything else.
    pub(super) aside: Option<Arc<str>>,
    pub(super) asks: AskKinds,
    pub(super) progress: bool,
    /// Whether an answer may be a task.
    pub(super) tasks: bool,
    pub(super) headers: Vec<(String, String)>,
    /// The session that a call belongs to.
    pub(super) whose: Option<Session>,
}

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum AskError {
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("{}", .0.message)]
    Refused(RpcError),
    #[error("it did not answer within {} ms", .0.as_millis())]
    Silent(Duration),
}

impl AskError {
    /// How long it wants to be left alone, if it says so.
    pub(super) fn wait(&self) -> Option<Duration> {
        match self {
            Self::Link(error) => error.wait(),
            Self::Refused(_) | Self::Silent(_) => None,
        }
    }
}

/// Everything a server lists.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) tools: Vec<Box<RawValue>>,
    pub(super) resources: Vec<Box<RawValue>>,
    pub(super) templates: Vec<Box<RawValue>>,
    pub(super) prompts: Vec<Box<RawValue>>,
    pub(super) completes: bool,
    pub(super) instructions: Option<String>,
    /// Lists beside that of its tools that could not be read, and why.
    pub(super) unread: Vec<(&'static str, AskError)>,
}

impl Listed {
    /// The place of what a method lists beside tools.
    fn beside(&mut self, method: &str) -> &mut Vec<Box<RawValue>> {
        match method {
            RESOURCES => &mut self.resources,
            PROMPTS => &mut self.prompts,
            _ => &mut self.templates,
        }
    }

    /// All of it but the tools.
    pub(super) fn others(&self) -> Self {
        Self {
            resources: self.resources.clone(),
            templates: self.templates.clone(),
            prompts: self.prompts.clone(),
            ..Self::default()
        }
    }

    /// Keeps what was listed before, where that could not be read again.
    pub(super) fn keep_unread(&mut self, before: &Self) {
        let unread: Vec<&str> = self.unread.iter().map(|(method, _)| *method).collect();
        for method in unread {
            let kept = match method {
                RESOURCES => &before.resources,
                PROMPTS => &before.prompts,
                _ => &before.templates,
            };
            self.beside(method).clone_from(kept);
        }
    }
}

impl Peer {
    /// Speaks the modern era.
    pub(super) fn modern(link: Arc<Link>, said: &Payload) -> Self {
        Self {
            link,
            modern: true,
            version: MODERN.to_owned(),
            capabilities: said.value()["capabilities"].clone(),
            instructions: instructions(said),
            over: CancellationToken::new(),
            next: AtomicU64::new(100),
        }
    }

    /// Sends a request; `fields` are its parameters without the braces.
    pub(super) async fn request(
        &self,
        method: &str,
        name: Option<&str>,
        fields: &str,
        extras: Extras,
    ) -> Result<(u64, Exchange), LinkError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let params = self.params(id, fields, &extras);
        let outgoing = Outgoing {
            id,
            method,
            name,
            params: &params,
            headers: extras.headers,
            whose: extras.whose,
        };
        Ok((id, self.link.request(outgoing).await?))
    }

    /// Whether its words come with the request that they are about.
    pub(super) fn says_what_it_means(&self) -> bool {
        self.modern && matches!(&*self.link, Link::Http(_))
    }

    fn params(&self, id: u64, fields: &str, extras: &Extras) -> String {
        let mut text = String::with_capacity(fields.len() + USUAL_META);
        text.push('{');
        text.push_str(fields);
        let bare = text.len();
        if !fields.is_empty() {
            text.push(',');
        }
        text.push_str(r#""_meta":{"#);
        let empty = text.len();
        if self.modern {
            modern_meta(&mut text, extras.asks, extras.tasks);
        }
        let mut add = |parts: &[&str]| {
            if text.len() > empty {
                text.push(',');
            }
            text.extend(parts.iter().copied());
        };
        if extras.progress {
            add(&[r#""progressToken":"#, &id.to_string()]);
            if self.modern {
                add(&[r#""io.modelcontextprotocol/logLevel":"info""#]);
            }
        }
        if let Some(traceparent) = &extras.traceparent {
            add(&[r#""traceparent":""#, traceparent, r#"""#]);
        }
        if let Some(aside) = &extras.aside {
            add(&[aside]);
        }
        if text.len() > empty {
            text.push_str("}}");
        } else {
            text.truncate(bare);
            text.push('}');
        }
        text
    }

    /// Asks something and waits for the answer, whatever else is said meanwhile.
    pub(super) async fn ask(
        &self,
        method: &str,
        fields: &str,
        patience: Duration,
    ) -> Result<Payload, AskError> {
        self.ask_about(method, None, fields, Extras::default(), patience)
            .await
    }

    /// The same about something that a header names.
    pub(super) async fn ask_about(
        &self,
        method: &str,
        name: Option<&str>,
        fields: &str,
        extras: Extras,
        patience: Duration,
    ) -> Result<Payload, AskError> {
        let asked = async {
            let (_, mut exchange) = self.request(method, name, fields, extras).await?;
            loop {
                match exchange.next().await? {
                    Next::Answer(Ok(result)) => return Ok(result),
                    Next::Answer(Err(error)) => return Err(AskError::Refused(error)),
                    Next::Said(Heard::Asked(id, method, params)) => {
                        self.brush_off(&id, &method, &params).await;
                    }
                    Next::Said(Heard::Told(..) | Heard::Answered(..)) => {}
                }
            }
        };
        let answer = timeout(patience, asked).await;
        answer.unwrap_or(Err(AskError::Silent(patience)))
    }

    /// Answers a question that belongs to no call, or that its client cannot be asked.
    pub(super) async fn brush_off(&self, id: &RawValue, method: &str, params: &Payload) {
        brush_off(&self.link, id, method, params).await;
    }

    /// Answers a question of a call whose client cannot be asked it. A client that has no roots
    /// has none to tell; outside of a call nobody knows whether there are any.
    pub(super) async fn decline(&self, id: &RawValue, method: &str, params: &Payload) {
        if method == "roots/list" {
            drop(self.link.send(rpc::answer(id, r#"{"roots":[]}"#)).await);
        } else {
            self.brush_off(id, method, params).await;
        }
    }

    /// Whether it still answers at all.
    pub(super) async fn is_awake(&self, patience: Duration) -> bool {
        let method = if self.modern {
            "server/discover"
        } else {
            "ping"
        };
        match self.ask(method, "", patience).await {
            Ok(_) | Err(AskError::Refused(_)) => true,
            Err(AskError::Link(LinkError::Lost(_) | LinkError::Busy) | AskError::Silent(_)) => {
                false
            }
            // Whatever it says, it says something.
            Err(AskError::Link(_)) => true,
        }
    }

    /// Everything it lists.
    pub(super) async fn list(&self, patience: Duration) -> Result<Listed, AskError> {
        let can = |what: &str| self.capabilities.get(what).is_some_and(Value::is_object);
        let mut listed = Listed {
            completes: can("completions"),
            instructions: self.instructions.clone(),
            ..Listed::default()
        };
        listed.tools = match self.pages("tools/list", patience).await {
            Err(AskError::Refused(error))
                if !can("tools") && error.code == RpcError::METHOD_NOT_FOUND =>
            {
                Vec::new()
            }
            other => other?,
        };
        // What is listed beside tools is worth having, but not worth failing for.
        for (what, method) in [
            ("resources", RESOURCES),
            ("resources", "resources/templates/list"),
            ("prompts", PROMPTS),
        ] {
            if !can(what) {
                continue;
            }
            let pages = self.pages(method, patience).await.unwrap_or_else(|error| {
                let is_none = matches!(&error, AskError::Refused(error)
                    if error.code == RpcError::METHOD_NOT_FOUND);
                // Some have resources and no templates, and do not know the question.
                if !is_none {
                    listed.unread.push((method, error));
                }
                Vec::new()
            });
            *listed.beside(method) = pages;
        }
        Ok(listed)
    }

    async fn pages(
        &self,
        method: &str,
        patience: Duration,
    ) -> Result<Vec<Box<RawValue>>, AskError> {
        #[derive(Deserialize)]
        struct Page {
            #[serde(
                default,
                alias = "tools",
                alias = "resources",
                alias = "resourceTemplates",
                alias = "prompts"
            )]
            entries: Vec<Box<RawValue>>,
            #[serde(default, rename = "nextCursor")]
            next: Option<String>,
        }
        let mut all = Vec::new();
        let mut bytes = 0;
        let mut fields = String::new();
        for _ in 0..MAX_PAGES {
            let answer = self.ask(method, &fields, patience).await?;
            let page: Page = serde_json::from_str(answer.raw()).map_err(|error| {
                LinkError::Nonsense(format!("its answer to `{method}` makes no sense: {error}"))
            })?;
            bytes += page
                .entries
                .iter()
                .map(|entry| entry.get().len())
                .sum::<usize>();
            if bytes > MAX_BYTES {
                let why = format!("its answers to `{method}` are longer than {MAX_BYTES} bytes");
                return Err(LinkError::Nonsense(why).into());
            }
            all.extend(page.entries);
            match page.next {
                Some(cursor) if all.len() < MAX_ENTRIES => {
                    fields = format!(r#""cursor":{}"#, rpc::quoted(&cursor));
                }
                Some(_) | None => break,
            }
        }
        all.truncate(MAX_ENTRIES);
        Ok(all)
    }

    /// Says that nobody waits for an answer any more.
    pub(super) async fn cancel(&self, id: u64, reason: &str) {
        if self.link.says_cancelled(self.modern) {
            let reason = rpc::quoted(reason);
            let params = format!(r#"{{"requestId":{id},"reason":{reason}}}"#);
            let message = rpc::notification("notifications/cancelled", &params);
            match &*self.link {
                Link::Stdio(stdio) => drop(stdio.send(message)),
                // A server that takes no note of it does not keep anybody waiting.
                Link::Http(_) => {
                    let link = Arc::clone(&self.link);
                    let said = async move { timeout(FAREWELL, link.send(message)).await };
                    drop(timeout(MOMENT, tokio::spawn(said)).await);
                }
            }
        }
    }
}

/// Answers a question that nobody here can be asked, whichever era the server speaks.
pub(super) async fn brush_off(link: &Link, id: &RawValue, method: &str, params: &Payload) {
    let message = match method {
        "ping" => rpc::answer(id, "{}"),
        _ if ask::is_page(method, params) => rpc::refusal(
            id,
            RpcError::INVALID_PARAMS,
            "nobody here can be sent to a page: the mode `url` was not declared",
        ),
        _ => rpc::refusal(
            id,
            RpcError::METHOD_NOT_FOUND,
            "this question belongs to no call, so there is nobody to ask",
        ),
    };
    // Whoever is gone needs no answer.
    drop(link.send(message).await);
}

/// What every modern request says about us.
fn modern_meta(text: &mut String, asks: AskKinds, tasks: bool) {
    text.push_str(concat!(
        r#""io.modelcontextprotocol/clientInfo":{"name":"tollgate","version":""#,
        env!("CARGO_PKG_VERSION"),
        r#""},"io.modelcontextprotocol/protocolVersion":""#
    ));
    text.push_str(MODERN);
    text.push_str(r#"","io.modelcontextprotocol/clientCapabilities":{"#);
    let empty = text.len();
    let mut can = |parts: &[&str]| {
        if text.len() > empty {
            text.push(',');
        }
        text.extend(parts.iter().copied());
    };
    if tasks {
        can(&[r#""extensions":{""#, tasks::EXTENSION, r#"":{}}"#]);
    }
    match (asks.elicitation, asks.elicitation_url) {
        (true, true) => can(&[r#""elicitation":{"form":{},"url":{}}"#]),
        (true, false) => can(&[r#""elicitation":{"form":{}}"#]),
        (false, true) => can(&[r#""elicitation":{"url":{}}"#]),
        (false, false) => {}
    }
    if asks.sampling {
        can(&[r#""sampling":{}"#]);
    }
    if asks.roots {
        can(&[r#""roots":{}"#]);
    }
    text.push('}');
}

/// Whether a server's answer to the modern probe makes it a modern server.
fn is_modern(said: &Payload) -> bool {
    let versions = said.value()["supportedVersions"].as_array();
    versions.is_some_and(|all| all.iter().any(|version| version == MODERN))
}

/// How a conversation began.
pub(super) enum Begun {
    Peer(Peer),
    /// It left when it was asked in the modern way; an older server may do so.
    Left(String),
}

/// Finds out which era a server speaks.
pub(super) async fn begin(
    link: Arc<Link>,
    era: super::Era,
    probe: Duration,
) -> Result<Begun, AskError> {
    if era == super::Era::Legacy {
        return initialize(&link).await.map(Begun::Peer);
    }
    settle(&link, MODERN, true);
    let mut about = r#"{"_meta":{"#.to_owned();
    modern_meta(&mut about, AskKinds::default(), false);
    about.push_str("}}");
    let discover = once(&link, 1, "server/discover", about);
    tokio::pin!(discover);
    let answer = match era {
        super::Era::Modern => Some(discover.as_mut().await),
        super::Era::Auto | super::Era::Legacy => timeout(probe, discover.as_mut()).await.ok(),
    };
    match answer {
        Some(Ok(said)) if is_modern(&said) => {
            Ok(Begun::Peer(Peer::modern(Arc::clone(&link), &said)))
        }
        Some(Err(AskError::Link(LinkError::Lost(why)))) => Ok(Begun::Left(why)),
        Some(Err(error)) if era == super::Era::Modern => Err(error),
        Some(Err(error @ AskError::Link(LinkError::Unauthorized | LinkError::Credentials(_)))) => {
            Err(error)
        }
        Some(Ok(_)) if era == super::Era::Modern => {
            let why = "it does not speak 2026-07-28".to_owned();
            Err(LinkError::Nonsense(why).into())
        }
        Some(Ok(_) | Err(_)) => initialize(&link).await.map(Begun::Peer),
        None => either(&link, discover, probe).await,
    }
}

/// A slow start and an older server look the same, so a server that was not heard in time is
/// asked in both ways. Whichever it agrees to first counts, the modern one if both are there;
/// who refuses one of them may yet agree to the other.
async fn either(
    link: &Arc<Link>,
    mut discover: Pin<&mut impl Future<Output = Result<Payload, AskError>>>,
    probe: Duration,
) -> Result<Begun, AskError> {
    let older = initialize(link);
    tokio::pin!(older);
    let (said, refused) = tokio::select! {
        biased;
        said = &mut discover => (said, None),
        begun = &mut older => match begun {
            Ok(peer) => return Ok(Begun::Peer(peer)),
            Err(refused) => match timeout(probe.max(YET), discover).await {
                Ok(said) => (said, Some(refused)),
                Err(_) => return Err(refused),
            },
        },
    };
    match (said, refused) {
        (Ok(said), _) if is_modern(&said) => {
            settle(link, MODERN, true);
            Ok(Begun::Peer(Peer::modern(Arc::clone(link), &said)))
        }
        // A child that is gone answers nothing else either.
        (Err(AskError::Link(LinkError::Lost(why))), _) if matches!(**link, Link::Stdio(_)) => {
            Ok(Begun::Left(why))
        }
        (Ok(_) | Err(_), Some(refused)) => Err(refused),
        (Ok(_) | Err(_), None) => older.await.map(Begun::Peer),
    }
}

fn settle(link: &Link, version: &str, modern: bool) {
    match link {
        Link::Http(http) => http.settle(version, modern),
        Link::Stdio(_) => {}
    }
}

async fn once(link: &Link, id: u64, method: &str, params: String) -> Result<Payload, AskError> {
    let outgoing = Outgoing {
        id,
        method,
        name: None,
        params: &params,
        headers: Vec::new(),
        whose: None,
    };
    let mut exchange = link.request(outgoing).await?;
    loop {
        match exchange.next().await? {
            Next::Answer(Ok(result)) => return Ok(result),
            Next::Answer(Err(error)) => return Err(AskError::Refused(error)),
            Next::Said(Heard::Asked(id, method, params)) => {
                brush_off(link, &id, &method, &params).await;
            }
            Next::Said(Heard::Told(..) | Heard::Answered(..)) => {}
        }
    }
}

fn instructions(said: &Payload) -> Option<String> {
    said.value()["instructions"].as_str().map(str::to_owned)
}

/// The handshake of older servers.
async fn initialize(link: &Arc<Link>) -> Result<Peer, AskError> {
    let version = env!("CARGO_PKG_VERSION");
    let params = format!(
        r#"{{"protocolVersion":"{LEGACY}","capabilities":{{"elicitation":{{"form":{{}},"url":{{}}}},"sampling":{{}},"roots":{{}}}},"clientInfo":{{"name":"tollgate","version":"{version}"}}}}"#
    );
    settle(link, LEGACY, false);
    let said = once(link, 2, "initialize", params).await?;
    let wanted = said.value()["protocolVersion"].as_str().unwrap_or_default();
    let Some(version) = LEGACY_VERSIONS.into_iter().find(|known| *known == wanted) else {
        let shown: String = wanted.chars().take(32).collect();
        let why = format!("it speaks version `{shown}`, which is unknown here");
        return Err(LinkError::Nonsense(why).into());
    };
    settle(link, version, false);
    link.send(rpc::notification("notifications/initialized", "{}"))
        .await?;
    Ok(Peer {
        link: Arc::clone(link),
        modern: false,
        version: version.to_owned(),
        capabilities: said.value()["capabilities"].clone(),
        instructions: instructions(&said),
        over: CancellationToken::new(),
        next: AtomicU64::new(100),
    })
}
