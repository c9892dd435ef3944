//! Checks of what is read of clients, on arbitrary bytes. A line `%%` stands between the requests of one connection.
//!
//! Invariant: a function returns for every input; it panics only where a property does not hold.

#![expect(
    clippy::expect_used,
    reason = "a property that does not hold is a crash, which a fuzzer reports"
)]

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Response, request::Parts};
use http_body_util::{BodyExt as _, Collected, Empty};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, ReadBuf, join, sink};
use tollgate_providers::fuzzing::split;

use super::{
    batch,
    http::{
        connection::{HEAD_BYTES, HEADERS},
        quick::usual,
    },
    params::Member,
    rpc::{self, Incoming as Message},
};

/// The largest body of these requests.
const BODY_BYTES: usize = 1 << 20;
/// How often a connection is looked after; everything it waits for is there.
const POLLS: usize = 64;

/// A request of the short way is read as hyper reads it, whatever was read on its connection before.
pub fn http_request(data: &[u8]) {
    let mut last = None;
    for request in split(data) {
        let read = Bytes::copy_from_slice(request);
        let fresh = usual(&read, BODY_BYTES, &mut None);
        let again = usual(&read, BODY_BYTES, &mut last);
        let shown = |it: &Option<(Parts, Bytes, Bytes)>| format!("{it:?}");
        assert_eq!(shown(&fresh), shown(&again), "after another request");
        let Some((parts, body, rest)) = fresh else {
            continue;
        };
        let whole = read.slice(..read.len() - rest.len());
        let (general, told) = general(whole).expect("hyper takes the request");
        assert_eq!(parts.method, general.method);
        assert_eq!(parts.uri, general.uri);
        assert_eq!(parts.version, general.version);
        assert_eq!(parts.headers, general.headers);
        assert_eq!(Some(body), told, "the body");
    }
}

/// The request that the general server reads of these bytes, and its body if it is whole.
fn general(bytes: Bytes) -> Option<(Parts, Option<Bytes>)> {
    let seen = Mutex::new(None);
    let service = service_fn(async |request: hyper::Request<Incoming>| {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.ok().map(Collected::to_bytes);
        if let Ok(mut seen) = seen.lock() {
            *seen = Some((parts, body));
        }
        Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(join(Client(bytes), sink())), service);
    let mut connection = pin!(connection);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..POLLS {
        let is_over = connection.as_mut().poll(&mut context).is_ready();
        if is_over || seen.lock().is_ok_and(|seen| seen.is_some()) {
            break;
        }
    }
    seen.lock().ok()?.take()
}

/// A client that sends something and then waits.
struct Client(Bytes);

impl AsyncRead for Client {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.0.is_empty() {
            return Poll::Pending;
        }
        let length = self.0.len().min(buffer.remaining());
        buffer.put_slice(&self.0.split_to(length));
        Poll::Ready(Ok(()))
    }
}

/// A message is what a JSON reader sees in it, on either side, and its id goes back as it came.
pub fn json_rpc(data: &[u8]) {
    tollgate_providers::fuzzing::json_rpc(data);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if batch::is_one(text) {
        for message in batch::split(text).into_iter().flatten() {
            check_printed(
                message
                    .err()
                    .map(|it| rpc::failure(it.id.as_ref(), &it.error)),
            );
        }
    }
    let message = match rpc::read(text) {
        Ok(message) => message,
        Err(refused) => {
            check_printed(Some(rpc::failure(refused.id.as_ref(), &refused.error)));
            return;
        }
    };
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    if value.is_null() {
        return;
    }
    assert_eq!(value["jsonrpc"], "2.0");
    match message {
        Message::Asked(asked) => {
            assert_eq!(value["method"], asked.method);
            let printed = rpc::printed(&asked.id, &Ok("{}".to_owned()));
            let id = asked.id.raw().get();
            assert!(printed.contains(&format!("\"id\":{id},")), "{printed}");
            check_printed(Some(printed));
            for (member, name) in MEMBERS {
                let Ok(found) = asked.params.get(member) else {
                    return;
                };
                let found = found.map(serde_json::from_str);
                let found: Option<Value> = found.transpose().expect("a member is JSON");
                assert_eq!(found.as_ref(), value["params"].get(name), "{name}");
            }
        }
        Message::Told(told) => assert_eq!(value["method"], told.method),
        Message::Answered(answered) => {
            let (name, payload) = match &answered.result {
                Ok(result) => ("result", result),
                Err(error) => ("error", error),
            };
            assert_eq!(&value[name], payload.value());
            assert_eq!(value["id"].to_string(), answered.id.key());
        }
    }
}

const MEMBERS: [(Member, &str); 8] = [
    (Member::Name, "name"),
    (Member::Arguments, "arguments"),
    (Member::Meta, "_meta"),
    (Member::Uri, "uri"),
    (Member::Task, "taskId"),
    (Member::Answers, "inputResponses"),
    (Member::State, "requestState"),
    (Member::Profile, "profile"),
];

fn check_printed(printed: Option<String>) {
    if let Some(printed) = printed {
        let value: Value = serde_json::from_str(&printed).expect("a response is JSON");
        assert_eq!(value["jsonrpc"], "2.0");
    }
}
