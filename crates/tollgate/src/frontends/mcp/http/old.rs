//! Requests up to 2025-11-25: a handshake, a session, and questions while a request is open.
//!
//! A request of this era is not cancelled when its connection breaks: its client may come
//! back and read on. Only `notifications/cancelled` and the end of the session cancel it.

use std::{
    convert::Infallible,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use async_trait::async_trait;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, request::Parts};
use tokio_util::sync::CancellationToken;
use tollgate_core::Payload;
use tollgate_engine::Caller;

use super::{Web, body, headers, modern, not_allowed, post, sessions::Session, stream::Log};
use crate::frontends::{
    auth::{Identity, limits::Guard},
    mcp::{
        Exchange, Reply,
        era::{Client, LEGACY, LEGACY_VERSIONS, Said},
        legacy::{Conversation, locked},
        outlet::{AskFailed, Outlet},
        rpc::{self, Answered, Asked, Id, RpcError, Told, code},
        select::Selection,
    },
};

const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// How long a client waits before it comes back, in milliseconds.
const RETRY_MS: u32 = 500;

/// `initialize`: begins a session.
pub(super) async fn begin(web: Arc<Web>, caller: Caller, parts: &Parts, asked: Asked) -> Response {
    let client = Client::of_handshake(asked.params.value());
    let id = asked.id.clone();
    let conversation = Conversation::new(client.clone());
    let mut exchange = match exchange(&web, caller.clone(), parts, asked, client) {
        Ok(exchange) => exchange,
        Err(error) => {
            return post::refused(&web, &caller, StatusCode::BAD_REQUEST, Some(&id), error).await;
        }
    };
    let _guard = match web.limits.enter(&caller.session.principal, Instant::now()) {
        Ok(guard) => guard,
        Err(seconds) => return modern::overloaded(&web, &exchange, seconds).await,
    };
    let reply = web.server.handle(&mut exchange).await;
    web.metrics
        .answered("initialize", &reply, std::time::Duration::ZERO);
    if let Err(error) = reply.result {
        return post::refused(&web, &caller, StatusCode::BAD_REQUEST, Some(&id), error).await;
    }
    let principal = caller.session.principal.clone();
    let Ok(session) = web.sessions.begin(principal, conversation) else {
        let error = RpcError::new(code::INTERNAL, "no session could be begun");
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        return post::refused(&web, &caller, status, Some(&id), error).await;
    };
    let mut response = body::json(StatusCode::OK, rpc::printed(&id, &reply.result), None);
    if let Ok(value) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION, value);
    }
    response
}

/// The session a request names: none, one of its sender, or one that is not there.
pub(super) async fn named(
    web: &Web,
    caller: &Caller,
    headers: &HeaderMap,
    id: Option<&Id>,
) -> Result<Option<Arc<Session>>, Response> {
    let Some(name) = headers::text(headers, SESSION) else {
        return Ok(None);
    };
    match web.sessions.find(name, &caller.session.principal) {
        Some(session) => Ok(Some(session)),
        None => Err(gone(web, caller, id).await),
    }
}

/// Answers whoever names a session that is not there, or is somebody else's.
async fn gone(web: &Web, caller: &Caller, id: Option<&Id>) -> Response {
    let message = "there is no such session: begin anew";
    let error = RpcError::new(code::INVALID_REQUEST, message);
    post::refused(web, caller, StatusCode::NOT_FOUND, id, error).await
}

/// A notification.
pub(super) async fn hear(web: &Web, caller: &Caller, headers: &HeaderMap, told: &Told) -> Response {
    match named(web, caller, headers, None).await {
        Ok(Some(session)) => session.hear(told),
        Ok(None) => {}
        Err(gone) => return gone,
    }
    post::accepted()
}

/// An answer to a question of ours.
pub(super) async fn answered(
    web: &Web,
    caller: &Caller,
    headers: &HeaderMap,
    answered: Answered,
) -> Response {
    match named(web, caller, headers, None).await {
        Ok(Some(session)) => {
            session.conversation.resolve(answered);
            post::accepted()
        }
        Ok(None) => {
            let error = RpcError::new(code::INVALID_REQUEST, "this answers nothing that was asked");
            post::refused(web, caller, StatusCode::BAD_REQUEST, None, error).await
        }
        Err(gone) => gone,
    }
}

pub(super) fn exchange(
    web: &Web,
    mut caller: Caller,
    parts: &Parts,
    asked: Asked,
    client: Client,
) -> Result<Exchange, RpcError> {
    let said = Said::of(&asked.params)?;
    let selection = Selection::of_query(parts.uri.query().unwrap_or_default())?;
    if let Some(session) = &said.session {
        caller.session.handle.clone_from(session);
    }
    Ok(Exchange {
        selection: selection.shared_over(&web.server.base),
        cancel: web.server.cut.child_token(),
        outlet: Arc::new(Mute),
        asked,
        client,
        caller,
        said,
    })
}

/// For requests without a session: there is no way back but the answer.
struct Mute;

#[async_trait]
impl Outlet for Mute {
    fn offer(&self, _: String) {}

    async fn send(&self, _: String) -> bool {
        false
    }

    async fn ask(&self, _: &str, _: &Payload) -> Result<Payload, AskFailed> {
        Err(AskFailed::Impossible)
    }
}

/// Any other request.
pub(super) async fn ask(web: Arc<Web>, mut caller: Caller, parts: Parts, asked: Asked) -> Response {
    let id = asked.id.clone();
    let session = match named(&web, &caller, &parts.headers, Some(&id)).await {
        Ok(session) => session,
        Err(gone) => return gone,
    };
    let client = match (&session, headers::text(&parts.headers, &headers::VERSION)) {
        (Some(session), _) => session.conversation.client(),
        (None, version) => Client::unknown(version.unwrap_or(LEGACY_VERSIONS[2])),
    };
    if let Some(session) = &session {
        caller.session.handle = format!("mcp-{}", session.id);
    }
    let exchange = match exchange(&web, caller.clone(), &parts, asked, client) {
        Ok(exchange) => exchange,
        Err(error) => return post::refused(&web, &caller, StatusCode::OK, Some(&id), error).await,
    };
    let guard = match web.limits.enter(&caller.session.principal, Instant::now()) {
        Ok(guard) => guard,
        Err(seconds) => return modern::overloaded(&web, &exchange, seconds).await,
    };
    match session {
        Some(session) => in_session(web, session, exchange, guard).await,
        None => {
            let reply = run(&web, exchange).await;
            whole(&web, &id, reply)
        }
    }
}

pub(super) async fn run(web: &Web, mut exchange: Exchange) -> Reply {
    let _running = web.metrics.running();
    let started = Instant::now();
    let reply = web.server.handle(&mut exchange).await;
    let method = &exchange.asked.method;
    web.metrics.answered(method, &reply, started.elapsed());
    reply
}

fn whole(web: &Arc<Web>, id: &Id, reply: Reply) -> Response {
    let text = rpc::printed(id, &reply.result);
    body::json(StatusCode::OK, text, modern::arrival(web, reply))
}

/// The way back to a client within one of its requests.
struct Within {
    session: Arc<Session>,
    log: Arc<Log>,
    cancel: CancellationToken,
}

#[async_trait]
impl Outlet for Within {
    fn offer(&self, message: String) {
        self.log.add(&message);
    }

    async fn send(&self, message: String) -> bool {
        self.log.add(&message);
        true
    }

    async fn ask(&self, method: &str, params: &Payload) -> Result<Payload, AskFailed> {
        let taken_back = |message: String| {
            self.log.add(&message);
        };
        let conversation = &self.session.conversation;
        let (message, waiting) = conversation.question(method, params, &taken_back);
        self.log.add(&message);
        tokio::select! {
            answer = waiting.answer() => answer,
            () = self.cancel.cancelled() => Err(AskFailed::Silent),
        }
    }
}

async fn in_session(
    web: Arc<Web>,
    session: Arc<Session>,
    mut exchange: Exchange,
    guard: Guard,
) -> Response {
    let id = exchange.asked.id.clone();
    let key = id.key();
    let (gateway, caller) = (&web.server.gateway, &exchange.caller);
    let refused = |error: RpcError| post::refused(&web, caller, StatusCode::OK, Some(&id), error);
    match session
        .conversation
        .remember(&exchange.asked, gateway, caller)
    {
        None => {}
        Some(Ok(done)) => return whole(&web, &id, Ok(done).into()),
        Some(Err(error)) => return refused(error).await,
    }
    if !session.begins(&key, &exchange.cancel) {
        let error = RpcError::new(code::INVALID_REQUEST, "this id is in use");
        return refused(error).await;
    }
    let (number, log) = session.log();
    exchange.outlet = Arc::new(Within {
        session: Arc::clone(&session),
        log: Arc::clone(&log),
        cancel: exchange.cancel.clone(),
    });
    let primed = exchange.client.version.as_str() >= LEGACY;
    let cancel = exchange.cancel.clone();
    let task = web.detached.spawn({
        let (web, session, log) = (Arc::clone(&web), Arc::clone(&session), Arc::clone(&log));
        let id = id.clone();
        async move {
            let reply = run(&web, exchange).await;
            locked(&session.running).remove(&key);
            drop(guard);
            if log.is_empty() {
                // Nothing was said before the answer; whoever waits takes it as it is.
                log.end();
                return Some(reply);
            }
            if cancel.is_cancelled() {
                log.end();
            } else {
                let text = rpc::printed(&id, &reply.result);
                log.finish(&text, modern::arrival(&web, reply));
            }
            None
        }
    });
    if log.next(0).await.is_none() {
        session.forget(number);
        return match task.await {
            Ok(Some(reply)) => whole(&web, &id, reply),
            Ok(None) | Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        };
    }
    read_on(log, number, 0, primed)
}

/// The events of a request from a place on.
fn read_on(log: Arc<Log>, number: u64, seen: usize, primed: bool) -> Response {
    let priming = primed.then(|| format!("id: {number}-{seen}\nretry: {RETRY_MS}\ndata: \n\n"));
    body::events(stream::unfold(
        (log, seen, priming),
        move |(log, seen, priming)| async move {
            if let Some(priming) = priming {
                return Some((Ok::<_, Infallible>(priming), (log, seen, None)));
            }
            let next = tokio::time::timeout(body::KEEP_ALIVE, log.next(seen)).await;
            match next {
                Ok(Some((at, message))) => {
                    let event = body::numbered(&format!("{number}-{}", at + 1), &message);
                    Some((Ok(event), (log, at + 1, None)))
                }
                Ok(None) => None,
                Err(_) => Some((Ok(body::ALIVE.to_owned()), (log, seen, None))),
            }
        },
    ))
}

/// `GET`: what concerns no request, or the rest of one that broke off.
pub(super) async fn listen(web: &Arc<Web>, identity: &Identity, headers: &HeaderMap) -> Response {
    let caller = post::caller_of(identity);
    let session = match named(web, &caller, headers, None).await {
        Ok(Some(session)) => session,
        Ok(None) => return not_allowed(),
        Err(gone) => return gone,
    };
    if let Some(last) = headers::text(headers, LAST_EVENT) {
        let place = last.split_once('-').and_then(|(number, seen)| {
            Some((number.parse::<u64>().ok()?, seen.parse::<usize>().ok()?))
        });
        let log = place.and_then(|(number, seen)| Some((session.again(number)?, number, seen)));
        if let Some((log, number, seen)) = log {
            return read_on(log, number, seen, false);
        }
    }
    let guard = match web.limits.listen(&session.principal, Instant::now()) {
        Ok(guard) => guard,
        Err(seconds) => return modern::too_many(web, seconds),
    };
    if session.listened.swap(true, Ordering::SeqCst) {
        return (StatusCode::CONFLICT, "somebody listens already\n").into_response();
    }
    let changes = web.server.gateway.changes();
    let left = post::left(web, identity);
    let listening = Listening {
        session: Arc::clone(&session),
        _guard: guard,
        ends: left.map(|left| tokio::time::Instant::now() + left),
    };
    let stop = web.server.stop.clone();
    let first = Some(body::ALIVE.to_owned());
    body::events(stream::unfold(
        (listening, changes, stop, first),
        |(listening, mut changes, stop, first)| async move {
            let event = match first {
                Some(first) => first,
                None => listening.next(&mut changes, &stop).await?,
            };
            Some((Ok::<_, Infallible>(event), (listening, changes, stop, None)))
        },
    ))
}

/// Somebody reads what concerns no request.
struct Listening {
    session: Arc<Session>,
    _guard: Guard,
    /// When whoever listens is no longer let in.
    ends: Option<tokio::time::Instant>,
}

impl Listening {
    async fn next(
        &self,
        changes: &mut tokio::sync::broadcast::Receiver<tollgate_engine::Changed>,
        stop: &CancellationToken,
    ) -> Option<String> {
        use tokio::sync::broadcast::error::RecvError;
        loop {
            tokio::select! {
                () = self.session.ended.cancelled() => return None,
                () = modern::reached(self.ends) => return None,
                () = stop.cancelled() => return None,
                () = tokio::time::sleep(body::KEEP_ALIVE) => return Some(body::ALIVE.to_owned()),
                changed = changes.recv() => match changed {
                    Err(RecvError::Closed) => return None,
                    heard => {
                        let all = self.session.conversation.heard(heard);
                        if !all.is_empty() {
                            return Some(all.iter().map(|one| body::event(one)).collect());
                        }
                    }
                },
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.session.listened.store(false, Ordering::SeqCst);
    }
}

/// `DELETE`: ends a session.
pub(super) async fn end(web: &Web, identity: &Identity, headers: &HeaderMap) -> Response {
    let caller = post::caller_of(identity);
    match named(web, &caller, headers, None).await {
        Ok(Some(session)) => {
            web.sessions.end(&session);
            StatusCode::NO_CONTENT.into_response()
        }
        Ok(None) => not_allowed(),
        Err(gone) => gone,
    }
}
