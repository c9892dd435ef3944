//! A message that was posted: read within bounds, and given to the era it speaks.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::Bytes,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tollgate_core::{ErrorCode, Transport};
use tollgate_engine::Caller;

use super::{Web, batch, body, headers, modern, old};
use crate::frontends::{
    auth::Identity,
    mcp::{
        caller,
        era::{LEGACY_VERSIONS, unsupported},
        meta::Meta,
        rpc::{self, Asked, Id, Incoming, RpcError, code},
    },
};

/// The body of a request.
pub(super) enum Sent {
    /// All of it, no longer than a message may be.
    Here(Bytes),
    /// It is still to be read.
    Coming(hyper::body::Incoming),
}

/// The session of whoever names none.
const DEFAULT_SESSION: &str = "http";

pub(super) async fn run(web: Arc<Web>, identity: Identity, parts: Parts, body: Sent) -> Response {
    let caller = caller_of(&identity);
    let left = left(&web, &identity);
    let text = match read(&web, &parts.headers, body).await {
        Ok(text) => text,
        Err((status, error)) => {
            return Box::pin(refused(&web, &caller, status, None, error)).await;
        }
    };
    if super::super::batch::is_one(&text) {
        match Box::pin(batch::session(&web, &caller, &parts)).await {
            Ok(Some(session)) => {
                return Box::pin(batch::run(web, caller, parts, session, &text)).await;
            }
            // For everybody else it is no message.
            Ok(None) => {}
            Err(gone) => return gone,
        }
    }
    let message = rpc::read(&text);
    // Answers belong to questions of ours: somebody waits for them, and others cost no more than a refusal.
    // What is called off makes room.
    if let Ok(Incoming::Told(told)) = &message
        && told.cancelled().is_none()
        && let Err(seconds) = pass(&web, &caller)
    {
        return modern::too_many(&web, seconds);
    }
    match message {
        Ok(Incoming::Asked(asked)) => ask(web, caller, parts, asked, left).await,
        // What is rare stands in a box: its room would be part of every request.
        Ok(Incoming::Told(told)) => Box::pin(old::hear(&web, &caller, &parts.headers, &told)).await,
        Ok(Incoming::Answered(answered)) => {
            Box::pin(old::answered(&web, &caller, &parts.headers, answered)).await
        }
        Err(unreadable) => {
            let status = StatusCode::BAD_REQUEST;
            let id = unreadable.id.as_ref();
            Box::pin(refused(&web, &caller, status, id, unreadable.error)).await
        }
    }
}

/// Lets a message pass that is not answered, or says after how many seconds to try again.
pub(super) fn pass(web: &Web, caller: &Caller) -> Result<(), u64> {
    web.limits.pass(&caller.session.principal, Instant::now())
}

/// Whoever makes the requests of this identity.
pub(super) fn caller_of(identity: &Identity) -> Caller {
    let mut caller = caller(identity.principal.clone(), DEFAULT_SESSION, identity.trust);
    caller.transport = Transport::Http;
    caller.scope = identity.toolsets.as_deref().map(Arc::from);
    caller.limit = identity.session_limit;
    caller
}

/// Reads a body that is JSON, within a size and a time.
async fn read(
    web: &Web,
    headers: &HeaderMap,
    body: Sent,
) -> Result<String, (StatusCode, RpcError)> {
    let refuse =
        |status, message: &str| Err((status, RpcError::new(code::INVALID_REQUEST, message)));
    let kind = headers::text(headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let message = "the content type must be application/json";
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    let coding = headers::text(headers, header::CONTENT_ENCODING.as_str());
    if coding.is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
        let message = "the body must not be compressed";
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    let bytes = match body {
        Sent::Here(bytes) => bytes,
        Sent::Coming(incoming) => {
            let limited = Limited::new(incoming, web.message_bytes);
            match tokio::time::timeout(web.serve.body_timeout, limited.collect()).await {
                Ok(Ok(collected)) => collected.to_bytes(),
                Ok(Err(error)) if error.is::<LengthLimitError>() => {
                    let message = format!("a message is longer than {} bytes", web.message_bytes);
                    return refuse(StatusCode::PAYLOAD_TOO_LARGE, &message);
                }
                Ok(Err(_)) => return refuse(StatusCode::BAD_REQUEST, "the body broke off"),
                Err(_) => return refuse(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
            }
        }
    };
    String::from_utf8(bytes.into()).map_err(|_| {
        let error = RpcError::new(code::PARSE, "the body is not UTF-8");
        (StatusCode::BAD_REQUEST, error)
    })
}

async fn ask(
    web: Arc<Web>,
    caller: Caller,
    parts: Parts,
    asked: Asked,
    left: Option<Duration>,
) -> Response {
    if let Some(about) = modern::About::again(&web, &parts, &asked) {
        return modern::run(web, caller, asked, about, left).await;
    }
    let meta = match Meta::of(&asked.params) {
        Ok(meta) => meta,
        Err(error) => {
            let id = Some(&asked.id);
            return refused(&web, &caller, StatusCode::BAD_REQUEST, id, error).await;
        }
    };
    let said = meta.as_ref().and_then(Meta::version);
    let said = said.as_deref();
    let version = headers::text(&parts.headers, &headers::VERSION);
    let legacy = version.is_some_and(|version| LEGACY_VERSIONS.contains(&version));
    let handshake = asked.method == "initialize" && said.is_none();
    if handshake && (legacy || version.is_none()) {
        return Box::pin(old::begin(web, caller, &parts, asked)).await;
    }
    let modern =
        said.is_some() || asked.method == "server/discover" || (version.is_some() && !legacy);
    if !modern {
        return Box::pin(old::ask(web, caller, parts, asked)).await;
    }
    if let Some(version) = version.filter(|_| said.is_none() && !legacy && meta.is_none()) {
        // Nothing but the header says which era this is; it must be one we know.
        if version != crate::frontends::mcp::era::MODERN {
            let id = asked.id.clone();
            let (status, error) = (StatusCode::BAD_REQUEST, unsupported(version));
            return Box::pin(refused(&web, &caller, status, Some(&id), error)).await;
        }
    }
    let meta = meta.unwrap_or_default();
    let about = modern::About::of(&web, &parts, &asked, &meta);
    modern::run(web, caller, asked, about, left).await
}

/// How long this identity is still good for; `None` is without end.
pub(super) fn left(web: &Web, identity: &Identity) -> Option<Duration> {
    let now = web.server.gateway.clock().now();
    let left = identity.expires?.0.saturating_sub(now.0);
    Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
}

/// Answers a message that is none, and writes it down.
pub(super) async fn refused(
    web: &Web,
    caller: &Caller,
    status: StatusCode,
    id: Option<&Id>,
    error: RpcError,
) -> Response {
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE => ErrorCode::RequestTooLarge,
        _ => ErrorCode::MalformedRequest,
    };
    recorded(web, caller, code, &error.message).await;
    let mut response = body::json(status, rpc::failure(id, &error), None);
    if status == StatusCode::PAYLOAD_TOO_LARGE || status == StatusCode::REQUEST_TIMEOUT {
        // What is left of the body is not read.
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

/// Writes a refusal down. Whoever sends too many of these is still answered, but fills no log.
pub(super) async fn recorded(web: &Web, caller: &Caller, code: ErrorCode, message: &str) {
    if pass(web, caller).is_ok() {
        web.server.gateway.refuse(caller, code, message).await;
    }
}

/// Taken, and there is nothing to say.
pub(super) fn accepted() -> Response {
    StatusCode::ACCEPTED.into_response()
}
