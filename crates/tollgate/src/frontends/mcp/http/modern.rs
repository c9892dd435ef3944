//! Requests from 2026-07-28 on: each for itself, and gone when its stream is closed.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{HeaderValue, StatusCode, header, request::Parts};
use serde_json::json;
use tokio_util::sync::DropGuard;
use tollgate_core::Payload;
use tollgate_engine::Caller;

use super::{
    Web, body, headers,
    mailbox::{self, mailbox},
    post,
};
use crate::frontends::{
    auth::limits::Guard,
    mcp::{
        Exchange, Reply, again, call,
        era::{Client, MODERN, Said},
        meta::Meta,
        outlet::{AskFailed, Outlet},
        params::Member,
        rpc::{self, Asked, Id, RpcError, code},
        select::Selection,
    },
};

pub(super) async fn run(
    web: Arc<Web>,
    caller: Caller,
    asked: Asked,
    about: Result<About, RpcError>,
    left: Option<Duration>,
) -> Response {
    let about = match about {
        Ok(about) => about,
        Err(error) => {
            let status = StatusCode::BAD_REQUEST;
            let refused = post::refused(&web, &caller, status, Some(&asked.id), error);
            return Box::pin(refused).await;
        }
    };
    let (exchange, messages) = exchange(&web, caller, asked, about);
    let guard = match web
        .limits
        .enter(&exchange.caller.session.principal, Instant::now())
    {
        Ok(guard) => guard,
        Err(seconds) => return Box::pin(overloaded(&web, &exchange, seconds)).await,
    };
    // Whoever only listens holds no place that a call could have.
    let guard = if exchange.asked.method == "subscriptions/listen" {
        guard.listening()
    } else {
        Ok(guard)
    };
    match guard {
        Ok(guard) => answer(web, exchange, messages, Some(guard), left).await,
        Err(seconds) => Box::pin(overloaded(&web, &exchange, seconds)).await,
    }
}

/// What a request says beside what it asks.
pub(super) struct About {
    client: Client,
    said: Said,
    selection: Selection,
}

impl About {
    pub(super) fn of(
        web: &Web,
        parts: &Parts,
        asked: &Asked,
        meta: &Meta<'_>,
    ) -> Result<Self, RpcError> {
        headers::check_version(&parts.headers, meta.version().as_deref())?;
        let client = Client::of_request(meta)?;
        headers::check(&parts.headers, asked, &web.server.gateway.catalog())?;
        let said = Said::in_meta(meta)?;
        if let Some(words) = asked.params.get(Member::Meta)? {
            again::keep(words, &client, &said);
        }
        let selection = Selection::of_query(parts.uri.query().unwrap_or_default())?;
        Ok(Self {
            client,
            said,
            selection,
        })
    }

    /// The same of a request that says what is known; nothing of any other.
    pub(super) fn again(web: &Web, parts: &Parts, asked: &Asked) -> Option<Result<Self, RpcError>> {
        let words = asked.params.get(Member::Meta).ok()??;
        let known = again::known(words)?;
        let checked = || {
            headers::check_version(&parts.headers, Some(MODERN))?;
            headers::check(&parts.headers, asked, &web.server.gateway.catalog())?;
            Selection::of_query(parts.uri.query().unwrap_or_default())
        };
        Some(checked().map(|selection| Self {
            client: known.client.clone(),
            said: known.said.clone(),
            selection,
        }))
    }
}

/// Boxed, because it is handed on more than once.
fn exchange(
    web: &Web,
    mut caller: Caller,
    asked: Asked,
    about: About,
) -> (Box<Exchange>, mailbox::Receiver) {
    let About {
        client,
        said,
        selection,
    } = about;
    if let Some(session) = &said.session {
        caller.session.handle.clone_from(session);
    }
    let (sender, messages) = mailbox();
    let exchange = Box::new(Exchange {
        selection: selection.shared_over(&web.server.base),
        cancel: web.server.cut.child_token(),
        outlet: Arc::new(Channel(sender)),
        asked,
        client,
        caller,
        said,
    });
    (exchange, messages)
}

/// Messages that travel before the answer, on the same stream.
struct Channel(mailbox::Sender);

#[async_trait]
impl Outlet for Channel {
    fn offer(&self, message: String) {
        self.0.offer(message);
    }

    async fn send(&self, message: String) -> bool {
        self.0.send(message).await
    }

    async fn ask(&self, _: &str, _: &Payload) -> Result<Payload, AskFailed> {
        Err(AskFailed::Impossible)
    }
}

/// The status of an answer.
fn status(result: &Result<String, RpcError>) -> StatusCode {
    match result {
        Ok(_) => StatusCode::OK,
        Err(error) => match error.code {
            code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION => {
                StatusCode::BAD_REQUEST
            }
            code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            code::OVERLOADED => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::OK,
        },
    }
}

type Running = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// A request that is being answered; dropping it cancels it.
struct Open {
    web: Arc<Web>,
    id: Id,
    running: Option<Running>,
    reply: Option<Reply>,
    messages: mailbox::Receiver,
    /// When whoever asked is no longer let in.
    ends: Option<tokio::time::Instant>,
    _cancel: DropGuard,
    _guard: Option<Guard>,
}

/// Answers with one document, or with a stream if something is said before the answer.
async fn answer(
    web: Arc<Web>,
    exchange: Box<Exchange>,
    messages: mailbox::Receiver,
    guard: Option<Guard>,
    left: Option<Duration>,
) -> Response {
    let cancel = exchange.cancel.clone();
    let id = exchange.asked.id.clone();
    let mut running = counted(Arc::clone(&web), exchange);
    // What was said just before the answer travels before it.
    let (first, reply) = tokio::select! {
        biased;
        message = messages.recv() => (Some(message), None),
        reply = &mut running => (messages.try_recv(), Some(reply)),
    };
    let reply = match (&first, reply) {
        (None, Some(reply)) => {
            drop(guard);
            return whole(&web, &id, reply);
        }
        (_, reply) => reply,
    };
    let open = Open {
        _cancel: cancel.drop_guard(),
        _guard: guard,
        running: reply.is_none().then_some(running),
        reply,
        ends: left.map(|left| tokio::time::Instant::now() + left),
        messages,
        web,
        id,
    };
    body::events(stream::unfold(
        (open, first),
        |(mut open, first)| async move {
            let message = match first {
                Some(message) => Some(body::event(&message)),
                None => open.next().await,
            };
            message.map(|message| (Ok::<_, Infallible>(message), (open, None)))
        },
    ))
}

impl Open {
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(message) = self.messages.try_recv() {
                return Some(body::event(&message));
            }
            if let Some(reply) = self.reply.take() {
                let text = rpc::printed(&self.id, &reply.result);
                if let Some(arrived) = arrival(&self.web, reply) {
                    arrived();
                }
                return Some(body::event(&text));
            }
            let running = self.running.as_mut()?;
            tokio::select! {
                biased;
                message = self.messages.recv() => return Some(body::event(&message)),
                reply = running => {
                    self.running = None;
                    self.reply = Some(reply);
                }
                () = tokio::time::sleep(body::KEEP_ALIVE) => return Some(body::ALIVE.to_owned()),
                () = reached(self.ends) => return None,
            }
        }
    }
}

/// Resolves when a time has come; without one, never.
pub(super) async fn reached(ends: Option<tokio::time::Instant>) {
    match ends {
        Some(ends) => tokio::time::sleep_until(ends).await,
        None => std::future::pending().await,
    }
}

/// Runs a request and counts it.
fn counted(web: Arc<Web>, mut exchange: Box<Exchange>) -> Running {
    Box::pin(async move {
        let _running = web.metrics.running();
        let started = Instant::now();
        let reply = web.server.handle(&mut exchange).await;
        web.metrics
            .answered(&exchange.asked.method, &reply, started.elapsed());
        reply
    })
}

/// What is done once the answer is on its way.
pub(super) fn arrival(web: &Arc<Web>, reply: Reply) -> Option<Box<dyn FnOnce() + Send>> {
    let call = reply.undelivered?;
    let gateway = web.server.gateway.clone();
    Some(Box::new(move || {
        tokio::spawn(async move { drop(gateway.arrived(&call).await) });
    }))
}

fn whole(web: &Arc<Web>, id: &Id, reply: Reply) -> Response {
    let status = status(&reply.result);
    let text = rpc::printed(id, &reply.result);
    body::json(status, text, arrival(web, reply))
}

/// Too much at once, asked by no message that could be answered.
pub(super) fn too_many(web: &Web, seconds: u64) -> Response {
    web.metrics.overloaded();
    let mut response = StatusCode::TOO_MANY_REQUESTS.into_response();
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Too much at once: the answer says when to come back.
pub(super) async fn overloaded(web: &Arc<Web>, exchange: &Exchange, seconds: u64) -> Response {
    web.metrics.overloaded();
    let outcome = web
        .server
        .gateway
        .overloaded(&exchange.caller, seconds)
        .await;
    let id = &exchange.asked.id;
    let mut response = if exchange.asked.method == "tools/call" {
        let tool = exchange.params()["name"].as_str().unwrap_or_default();
        let reply = call::finished(&web.server, exchange, tool, outcome).await;
        whole(web, id, reply)
    } else {
        let error = RpcError::new(code::OVERLOADED, "too many requests at once")
            .with(json!({"retry_after_seconds": seconds}));
        whole(web, id, error.into())
    };
    if let Ok(value) = HeaderValue::from_str(&seconds.to_string()) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}
