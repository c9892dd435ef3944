//! A batch that was posted: every request runs by itself, and the answers travel together.

use std::{sync::Arc, time::Instant};

use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use http::{StatusCode, request::Parts};
use serde_json::json;
use tollgate_core::ErrorCode;
use tollgate_engine::Caller;

use super::{Web, body, modern, old, post, sessions::Session};
use crate::frontends::mcp::{
    Reply, batch,
    legacy::locked,
    rpc::{self, Asked, Incoming, RpcError, Unreadable, code},
};

/// The session that a batch belongs to, if its client may send one.
pub(super) async fn session(
    web: &Web,
    caller: &Caller,
    parts: &Parts,
) -> Result<Option<Arc<Session>>, Response> {
    let session = old::named(web, caller, &parts.headers, None).await?;
    Ok(session.filter(|session| session.conversation.client().version == batch::VERSION))
}

/// Answers a batch; as in the rest of this era, a broken connection cancels nothing.
pub(super) async fn run(
    web: Arc<Web>,
    mut caller: Caller,
    parts: Parts,
    session: Arc<Session>,
    text: &str,
) -> Response {
    let messages = match batch::split(text) {
        Ok(messages) => messages,
        Err(Unreadable { id, error }) => {
            let status = StatusCode::BAD_REQUEST;
            return post::refused(&web, &caller, status, id.as_ref(), error).await;
        }
    };
    let mut wanted = Vec::new();
    let mut too_many = None;
    let mut passes = || {
        let passed = post::pass(&web, &caller);
        too_many = passed.err().or(too_many);
        passed.is_ok()
    };
    for message in messages {
        match message {
            Ok(Incoming::Asked(asked)) => wanted.push(Ok(asked)),
            Ok(Incoming::Told(told)) if told.cancelled().is_some() || passes() => {
                session.hear(&told);
            }
            Ok(Incoming::Answered(answered)) => session.conversation.resolve(answered),
            Ok(Incoming::Told(_)) => {}
            Err(unreadable) => wanted.push(Err(unreadable)),
        }
    }
    if wanted.is_empty() {
        return match too_many {
            Some(seconds) => modern::too_many(&web, seconds),
            None => post::accepted(),
        };
    }
    caller.session.handle = format!("mcp-{}", session.id);
    let answered = web.detached.spawn({
        let web = Arc::clone(&web);
        async move {
            let each = wanted.into_iter().map(|one| async {
                match one {
                    Ok(asked) => answer(&web, &caller, &parts, &session, asked).await,
                    Err(unreadable) => refused(&web, &caller, unreadable).await,
                }
            });
            join_all(each).await
        }
    });
    let Ok(answers) = answered.await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let (texts, replies): (Vec<String>, Vec<Option<Reply>>) = answers.into_iter().unzip();
    let text = batch::joined(texts.iter().map(String::as_str));
    let replies = replies.into_iter().flatten();
    let arrivals: Vec<_> = replies
        .filter_map(|reply| modern::arrival(&web, reply))
        .collect();
    let arrived = move || arrivals.into_iter().for_each(|arrived| arrived());
    body::json(StatusCode::OK, text, Some(Box::new(arrived)))
}

async fn refused(web: &Web, caller: &Caller, unreadable: Unreadable) -> (String, Option<Reply>) {
    let Unreadable { id, error } = unreadable;
    post::recorded(web, caller, ErrorCode::MalformedRequest, &error.message).await;
    (rpc::failure(id.as_ref(), &error), None)
}

/// The answer to one request, and what is left to do when it has arrived.
async fn answer(
    web: &Arc<Web>,
    caller: &Caller,
    parts: &Parts,
    session: &Session,
    asked: Asked,
) -> (String, Option<Reply>) {
    let id = asked.id.clone();
    let key = id.key();
    let failed = |error: RpcError| (rpc::failure(Some(&id), &error), None);
    let refuse = |error| {
        refused(
            web,
            caller,
            Unreadable {
                id: Some(id.clone()),
                error,
            },
        )
    };
    let client = session.conversation.client();
    let exchange = match old::exchange(web, caller.clone(), parts, asked, client) {
        Ok(exchange) => exchange,
        Err(error) => return refuse(error).await,
    };
    let entered = web.limits.enter(&caller.session.principal, Instant::now());
    let _guard = match entered {
        Ok(guard) => guard,
        Err(seconds) => {
            web.metrics.overloaded();
            web.server.gateway.overloaded(caller, seconds).await;
            let error = RpcError::new(code::OVERLOADED, "too many requests at once");
            return failed(error.with(json!({"retry_after_seconds": seconds})));
        }
    };
    let gateway = &web.server.gateway;
    match session
        .conversation
        .remember(&exchange.asked, gateway, caller)
    {
        None => {}
        Some(Err(error)) => return refuse(error).await,
        Some(done) => return (rpc::printed(&id, &done), None),
    }
    if !session.begins(&key, &exchange.cancel) {
        return refuse(RpcError::new(code::INVALID_REQUEST, "this id is in use")).await;
    }
    let reply = old::run(web, exchange).await;
    locked(&session.running).remove(&key);
    (rpc::printed(&id, &reply.result), Some(reply))
}
