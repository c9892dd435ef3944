//! A server at an address: one POST for each message, answered as JSON or as a stream.
//!
//! Addresses come from the operator's configuration, so they are not second-guessed; but no
//! redirect is followed, and nothing longer than is allowed is read.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use reqwest::{
    Method, StatusCode, Url,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
        WWW_AUTHENTICATE,
    },
};
use serde::Deserialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    chatter::Chatter,
    garbage::Garbage,
    link::{LinkError, Next, Outgoing},
    oauth::{Token, Tokens},
    older::{Calls, Older},
    pace::Waits,
    rpc::{self, Heard, RpcError},
    settings::{OAuth, SecretSource},
    sse::Events,
    wire::{Arrival, Letter, Wire, WireError},
};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// The longest time that a server is left alone because it asks for that.
const LONGEST_REST: Duration = Duration::from_secs(3600);
const BROKEN: &str = "the stream broke before the answer";
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long it takes until a stream that ended is opened again; longer and longer if it cannot be.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a server may take to say that it knows a session.
const KNOWN: Duration = Duration::from_secs(5);
/// How long a server may take to accept what wants no answer.
const TAKEN: Duration = Duration::from_secs(10);
/// The request by which an older server shows whether it knows our session.
const PING: &str = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
/// How much of an answer that is an error is read.
const ERROR_BYTES: usize = 64 << 10;

/// The connection to an address.
pub(super) struct Http {
    wire: Wire,
    said: Mutex<Said>,
    message_bytes: usize,
    chatter: Chatter,
    garbage: Arc<Garbage>,
    lost: watch::Sender<Option<String>>,
    tokens: Option<Box<Tokens>>,
    /// When it last said something.
    heard: Arc<Pulse>,
    /// Until when it wants to be left alone.
    rests: Mutex<Option<Instant>>,
    /// What is under way at an older server.
    pub(super) calls: Calls,
}

/// When something was last heard from somewhere.
pub(super) struct Pulse(Mutex<Instant>);

impl Pulse {
    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn silence(&self) -> Duration {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.elapsed()
    }
}

/// What requests have to repeat.
#[derive(Default)]
struct Said {
    version: Option<HeaderValue>,
    session: Option<HeaderValue>,
    modern: bool,
}

/// One request to an address; dropping it closes its stream.
pub(super) enum Exchange {
    /// All of the answer is there.
    Whole(Option<Result<tollgate_core::Payload, RpcError>>),
    /// It comes in pieces.
    Stream {
        id: u64,
        response: Box<Arrival>,
        events: Events,
        garbage: Arc<Garbage>,
        heard: Arc<Pulse>,
    },
    /// It is an older server's.
    Older(Box<Older>),
}

impl Http {
    pub(super) fn new(
        url: &str,
        headers: &[(String, SecretSource)],
        oauth: Option<&OAuth>,
        message_bytes: usize,
        chatter: Chatter,
        garbage: Arc<Garbage>,
    ) -> Result<Self, LinkError> {
        let odd = |what: &str| LinkError::Nonsense(what.to_owned());
        let url = Url::parse(url).map_err(|_| odd("its address cannot be read"))?;
        let mut all = HeaderMap::new();
        for (name, source) in headers {
            let name = HeaderName::try_from(name.as_str());
            let name = name.map_err(|_| odd("a header has no proper name"))?;
            let value = source().map_err(LinkError::Nonsense)?;
            let mut value = HeaderValue::try_from(value.reveal().as_str())
                .map_err(|_| odd("a header's secret cannot be sent"))?;
            value.set_sensitive(true);
            all.append(name, value);
        }
        Ok(Self {
            wire: Wire::new(&url, all).map_err(LinkError::Lost)?,
            tokens: oauth
                .map(|oauth| Tokens::new(oauth.clone(), &url).map(Box::new))
                .transpose()?,
            said: Mutex::default(),
            message_bytes,
            chatter,
            garbage,
            lost: watch::channel(None).0,
            heard: Arc::new(Pulse(Mutex::new(Instant::now()))),
            rests: Mutex::new(None),
            calls: Calls::default(),
        })
    }

    /// Settles the era; every later request says it.
    pub(super) fn settle(&self, version: &str, modern: bool) {
        let mut said = self.said();
        said.version = HeaderValue::try_from(version).ok();
        said.modern = modern;
        if modern {
            // Whoever speaks so has no sessions; one may have begun while that was not known.
            said.session = None;
        }
    }

    pub(super) async fn request(
        self: &Arc<Self>,
        outgoing: Outgoing<'_>,
    ) -> Result<Exchange, LinkError> {
        let body = rpc::request(outgoing.id, outgoing.method, outgoing.params);
        let mut letter = self.post(body);
        if !self.said().modern {
            let older = Older::begin(self, letter, &outgoing);
            return Ok(Exchange::Older(Box::new(older)));
        }
        address(&mut letter.headers, &outgoing).ok_or_else(|| {
            LinkError::Nonsense("a header with this name cannot be sent".to_owned())
        })?;
        self.exchange(letter, outgoing.id).await
    }

    /// Sends a request and waits for the beginning of its answer.
    pub(super) async fn exchange(&self, letter: Letter, id: u64) -> Result<Exchange, LinkError> {
        // Lists have a pace of their own.
        let is_call = rpc::is_call(&letter.body);
        if is_call {
            self.check_rest()?;
        }
        let response = self.allowed(letter).await?;
        self.remember_session(&response);
        if !response.status.is_success() {
            let refused = Box::pin(self.refused(response)).await;
            if let (true, Err(LinkError::RateLimited(wait))) = (is_call, &refused) {
                self.rest(*wait);
            }
            return refused;
        }
        if is_stream(&response) {
            return Ok(Exchange::Stream {
                id,
                response: Box::new(response),
                events: Events::new(self.message_bytes),
                garbage: Arc::clone(&self.garbage),
                heard: Arc::clone(&self.heard),
            });
        }
        let body = bounded(response, self.message_bytes).await?;
        let mut odd = "its answer is not the protocol";
        let mut answer = None;
        for message in rpc::messages(&body) {
            match self.garbage.read(message) {
                Some(Heard::Answered(own, result)) if own == id => answer = Some(result),
                Some(Heard::Answered(..)) => odd = "it answered something else than what was asked",
                // Only an older server says more than one thing at a time.
                Some(heard) => {
                    if let Some(heard) = self.calls.deliver(heard) {
                        self.chatter.tell(heard);
                    }
                }
                None => {}
            }
        }
        match answer {
            Some(answer) => Ok(Exchange::Whole(Some(answer))),
            None => Err(LinkError::Nonsense(odd.to_owned())),
        }
    }

    /// Takes up a stream that broke, behind the event of this name.
    pub(super) async fn resume(&self, id: u64, events: Events) -> Result<Exchange, LinkError> {
        let broken = || LinkError::Lost(BROKEN.to_owned());
        let last = events.last().and_then(|last| last.parse().ok());
        let mut letter = self.listening();
        letter.headers.insert(LAST_EVENT, last.ok_or_else(broken)?);
        let response = self.allowed(letter).await?;
        if !response.status.is_success() || !is_stream(&response) {
            return Err(broken());
        }
        Ok(Exchange::Stream {
            id,
            response: Box::new(response),
            events: events.anew(),
            garbage: Arc::clone(&self.garbage),
            heard: Arc::clone(&self.heard),
        })
    }

    pub(super) async fn send(&self, message: String) -> Result<(), LinkError> {
        let sent = async {
            let response = self.allowed(self.post(message)).await?;
            if response.status.is_success() {
                return Ok(());
            }
            self.refused(response).await.map(|_| ())
        };
        let taken = tokio::time::timeout(TAKEN, sent).await;
        taken.unwrap_or_else(|_| Err(LinkError::Lost("it does not take messages".to_owned())))
    }

    pub(super) async fn lost(&self) -> String {
        let mut lost = self.lost.subscribe();
        let why = lost.wait_for(Option::is_some).await;
        why.ok().and_then(|why| why.clone()).unwrap_or_default()
    }

    /// Hears what an older server says of its own accord, until the stream ends. `last` is the
    /// last of it that has a name, to go on behind it.
    async fn overhear(&self, last: &mut Option<String>, begun: &CancellationToken) -> Overheard {
        let mut letter = self.listening();
        if let Some(last) = last.as_ref().and_then(|last| last.parse().ok()) {
            letter.headers.insert(LAST_EVENT, last);
        }
        let Ok(mut response) = self.allowed(letter).await else {
            return Overheard::NotNow;
        };
        let status = response.status;
        let is_busy = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
        if is_busy || matches!(status.as_u16(), 408 | 429) {
            return Overheard::NotNow;
        }
        if !status.is_success() || !is_stream(&response) {
            return Overheard::Never;
        }
        // Something may have changed while nobody listened.
        if begun.is_cancelled() {
            self.chatter.lists_changed();
        }
        begun.cancel();
        let mut events = Events::new(self.message_bytes);
        while let Ok(Some(piece)) = response.chunk().await {
            self.heard.beat();
            if events.push(&piece).is_err() {
                break;
            }
            while let Some(event) = events.next() {
                let heard = self.garbage.read(&event);
                if let Some(heard) = heard.and_then(|heard| self.calls.deliver(heard)) {
                    self.chatter.tell_in_turn(heard).await;
                }
            }
        }
        *last = events.last().map(str::to_owned).or(last.take());
        Overheard::Ended
    }

    /// Tells an older server that its session is over.
    pub(super) async fn leave(&self) {
        if self.said().session.is_some() {
            let letter = self.letter(Method::DELETE, Bytes::new());
            // Whoever is gone has forgotten the session as well.
            drop(tokio::time::timeout(FAREWELL, self.allowed(letter)).await);
        }
    }

    fn post(&self, body: String) -> Letter {
        let mut letter = self.letter(Method::POST, body.into());
        let json = HeaderValue::from_static("application/json");
        letter.headers.insert(CONTENT_TYPE, json);
        let both = HeaderValue::from_static("application/json, text/event-stream");
        letter.headers.insert(ACCEPT, both);
        letter
    }

    /// The letter of whoever wants to hear what an older server says.
    fn listening(&self) -> Letter {
        let mut letter = self.letter(Method::GET, Bytes::new());
        let kind = HeaderValue::from_static("text/event-stream");
        letter.headers.insert(ACCEPT, kind);
        letter
    }

    /// A letter with what every one repeats.
    fn letter(&self, method: Method, body: Bytes) -> Letter {
        let mut headers = HeaderMap::with_capacity(16);
        let said = self.said();
        if let Some(version) = &said.version {
            headers.insert(VERSION, version.clone());
        }
        if let Some(session) = &said.session {
            headers.insert(SESSION, session.clone());
        }
        Letter {
            method,
            headers,
            body,
        }
    }

    /// Sends a letter with a token, where one is wanted; one that is refused is replaced
    /// once.
    async fn allowed(&self, mut letter: Letter) -> Result<Arrival, LinkError> {
        let Some(tokens) = &self.tokens else {
            return self.sent(letter).await;
        };
        let with = |letter: &mut Letter, token: &Token| {
            letter.headers.insert(AUTHORIZATION, token.header.clone());
        };
        let token = Box::pin(tokens.token()).await?;
        with(&mut letter, &token);
        let response = self.sent(letter.clone()).await?;
        if response.status != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let challenge = response.headers.get(WWW_AUTHENTICATE);
        let token = Box::pin(tokens.instead_of(&token, challenge)).await?;
        with(&mut letter, &token);
        self.sent(letter).await
    }

    async fn sent(&self, letter: Letter) -> Result<Arrival, LinkError> {
        let arrival = self.wire.send(letter).await.map_err(|error| {
            let why = error.to_string();
            match error {
                WireError::Unreachable | WireError::Certificate(_) => {
                    drop(self.lost.send_replace(Some(why.clone())));
                }
                WireError::Broken(_) => {}
            }
            LinkError::Lost(why)
        })?;
        self.heard.beat();
        Ok(arrival)
    }

    /// Sends nothing before the time that it asked for is over.
    fn check_rest(&self) -> Result<(), LinkError> {
        let rests = *self.rests.lock().unwrap_or_else(PoisonError::into_inner);
        let left = rests.and_then(|until| until.checked_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            Some(left) => Err(LinkError::RateLimited(Some(left.as_secs() + 1))),
            None => Ok(()),
        }
    }

    fn rest(&self, seconds: Option<u64>) {
        let seconds = seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_REST));
        let until = seconds.and_then(|seconds| Instant::now().checked_add(seconds));
        *self.rests.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// For how long it has said nothing.
    pub(super) fn silence(&self) -> Duration {
        self.heard.silence()
    }

    fn remember_session(&self, response: &Arrival) {
        let mut said = self.said();
        if !said.modern && said.session.is_none() {
            said.session = response.headers.get(&SESSION).cloned();
        }
    }

    /// Reads an answer that is an error of HTTP.
    async fn refused(&self, response: Arrival) -> Result<Exchange, LinkError> {
        #[derive(Deserialize)]
        struct Body {
            error: RpcError,
        }
        let status = response.status;
        let wait = response.headers.get(RETRY_AFTER);
        let wait = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
        let body = bounded(response, ERROR_BYTES).await.unwrap_or_default();
        if self.is_forgotten(status).await {
            let why = "its session is over".to_owned();
            self.lost.send_replace(Some(why.clone()));
            return Err(LinkError::Lost(why));
        }
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(LinkError::Unauthorized),
            StatusCode::TOO_MANY_REQUESTS => Err(LinkError::RateLimited(wait)),
            StatusCode::SERVICE_UNAVAILABLE => Err(LinkError::Away(wait)),
            other => match serde_json::from_slice(&body) {
                Ok(Body { error }) => Ok(Exchange::Whole(Some(Err(error)))),
                Err(_) => {
                    let why = format!("it answered with status {}", other.as_u16());
                    Err(LinkError::Nonsense(why))
                }
            },
        }
    }

    /// Whether this status means that a server does not know our session any more. Some say so
    /// as they say that a message is bad, so they are asked something that is not.
    async fn is_forgotten(&self, status: StatusCode) -> bool {
        if self.said().session.is_none() {
            return false;
        }
        if status != StatusCode::BAD_REQUEST {
            return status == StatusCode::NOT_FOUND;
        }
        let asked = self.allowed(self.post(PING.to_owned()));
        let known = tokio::time::timeout(KNOWN, asked).await;
        known.is_ok_and(|answer| {
            answer.is_ok_and(|answer| {
                matches!(
                    answer.status,
                    StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND
                )
            })
        })
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says in headers what a modern request is about; none if a name cannot be one.
fn address(headers: &mut HeaderMap, outgoing: &Outgoing<'_>) -> Option<()> {
    let value = |text: &str| HeaderValue::try_from(spelled(text)).ok();
    headers.insert(METHOD, HeaderValue::try_from(outgoing.method).ok()?);
    if let Some(name) = outgoing.name {
        headers.insert(NAME, value(name)?);
    }
    for (name, text) in &outgoing.headers {
        let name = HeaderName::try_from(format!("mcp-param-{name}")).ok()?;
        headers.insert(name, value(text)?);
    }
    Some(())
}

impl Exchange {
    /// Says whether it waits for an answer of ours.
    pub(super) fn is_held(&self, held: bool) {
        match self {
            Self::Older(older) => older.is_held(held),
            // Their questions come on their own streams.
            Self::Whole(_) | Self::Stream { .. } => {}
        }
    }

    pub(super) async fn next(&mut self) -> Result<Next, LinkError> {
        let broken = || LinkError::Lost(BROKEN.to_owned());
        match self {
            Self::Older(older) => Box::pin(older.next()).await,
            Self::Whole(answer) => answer.take().map(Next::Answer).ok_or_else(broken),
            Self::Stream {
                id,
                response,
                events,
                garbage,
                heard,
            } => loop {
                while let Some(event) = events.next() {
                    match garbage.read(&event) {
                        Some(Heard::Answered(own, result)) if own == *id => {
                            return Ok(Next::Answer(result));
                        }
                        Some(Heard::Answered(..)) | None => {}
                        Some(heard @ (Heard::Told(..) | Heard::Asked(..))) => {
                            return Ok(Next::Said(heard));
                        }
                    }
                }
                match response.chunk().await {
                    Ok(Some(piece)) => {
                        heard.beat();
                        events.push(&piece)?;
                    }
                    Ok(None) | Err(_) => return Err(broken()),
                }
            },
        }
    }
}

fn is_stream(response: &Arrival) -> bool {
    const STREAM: &[u8] = b"text/event-stream";
    let kind = response.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.as_bytes().get(..STREAM.len()));
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(STREAM))
}

async fn bounded(mut response: Arrival, limit: usize) -> Result<Vec<u8>, LinkError> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if body.len() + piece.len() > limit => {
                return Err(LinkError::TooLarge(limit));
            }
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => return Ok(body),
            Err(_) => {
                let why = "the connection broke within the answer".to_owned();
                return Err(LinkError::Lost(why));
            }
        }
    }
}

/// A text as a header can carry it; what it cannot is encoded.
fn spelled(text: &str) -> String {
    let plain = |c: char| c == ' ' || c.is_ascii_graphic();
    let trimmed = text.trim() == text;
    if trimmed && text.chars().all(plain) && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(text))
}

/// How listening to an older server ended.
enum Overheard {
    /// It has no such stream.
    Never,
    /// There was none this time.
    NotNow,
    /// The stream came to its end.
    Ended,
}

/// Hears an older server; a stream that ends is opened again. Says by `begun` that it is heard, or
/// not for now.
pub(super) async fn overhear(link: &super::link::Link, begun: &CancellationToken) {
    let _begun = begun.clone().drop_guard();
    let super::link::Link::Http(http) = link else {
        return;
    };
    let (mut last, mut waits) = (None, Waits::from(AGAIN));
    loop {
        match http.overhear(&mut last, begun).await {
            Overheard::Never => return,
            Overheard::NotNow => {}
            Overheard::Ended => waits.anew(),
        }
        begun.cancel();
        tokio::time::sleep(waits.next()).await;
    }
}
