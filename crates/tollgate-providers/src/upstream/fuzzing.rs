//! Checks of what is read of other servers, on arbitrary bytes. Where pieces count, the first byte says how long they
//! are; a line `%%` stands between the responses of one connection.
//!
//! Invariant: a function returns for every input; it panics only where a property does not hold.

#![expect(
    clippy::expect_used,
    reason = "a property that does not hold is a crash, which a fuzzer reports"
)]

use std::{
    collections::VecDeque,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, Join, ReadBuf, Sink, join, sink};
use tollgate_core::Payload;

use super::{
    line::{Line, Unanswered},
    rpc::{self, Heard},
    sse::Events,
};

/// What stands between two responses.
const BETWEEN: &[u8] = b"\n%%\n";

/// A response is the same in any pieces, and whatever was read on its connection before.
pub fn http_response(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let size = usize::from(*first % 64) + 1;
    let responses = split(rest);
    let mut used = Line::over(connection());
    for response in responses {
        let mut fresh = Line::over(connection());
        let whole = exchanged(&mut fresh, response, usize::MAX);
        let pieces = exchanged(&mut Line::over(connection()), response, size);
        assert_eq!(whole, pieces, "in pieces of {size}");
        assert_eq!(whole, exchanged(&mut used, response, usize::MAX), "again");
        assert_eq!(fresh.is_read_out(), used.is_read_out(), "what is left");
        if !used.is_read_out() {
            used = Line::over(connection());
        }
    }
}

/// The messages of one connection.
pub fn split(data: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = data;
    while let Some(at) = rest.windows(BETWEEN.len()).position(|it| it == BETWEEN) {
        parts.push(&rest[..at]);
        rest = &rest[at + BETWEEN.len()..];
    }
    parts.push(rest);
    parts
}

/// A connection whose other end has its answer ready and drops what it is sent.
type Connection = Join<Server, Sink>;

fn connection() -> Connection {
    join(Server::default(), sink())
}

/// What the other end sends.
#[derive(Default)]
struct Server(VecDeque<Vec<u8>>);

impl AsyncRead for Server {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut piece) = self.0.pop_front() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// What was understood of one response: head, body, and what was wrong with it.
type Understood = (Option<String>, Vec<u8>, Option<String>);

fn exchanged(line: &mut Line<Connection>, response: &[u8], size: usize) -> Understood {
    let pieces = response.chunks(size).map(<[u8]>::to_vec);
    line.stream().reader_mut().0 = pieces.collect();
    let mut body = Vec::new();
    let head = match now(line.exchange(b"request")) {
        Ok(head) => {
            // Answers that differ in their length only share a head.
            let mut headers = (*head.headers).clone();
            headers.remove(http::header::CONTENT_LENGTH);
            format!("{} {headers:?}", head.status)
        }
        Err(Unanswered::Unsent(why) | Unanswered::Broken(why)) => return (None, body, Some(why)),
    };
    loop {
        match now(line.piece()) {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => return (Some(head), body, None),
            Err(why) => return (Some(head), body, Some(why)),
        }
    }
}

/// The result of a future that has nothing to wait for.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// Events are the same in any pieces, and none is larger than allowed.
pub fn sse(data: &[u8]) {
    let Some((first, stream)) = data.split_first() else {
        return;
    };
    let size = usize::from(*first % 64) + 1;
    for limit in [64, 1 << 20] {
        let (whole, pieces) = (
            events(stream, limit, usize::MAX),
            events(stream, limit, size),
        );
        assert_eq!(
            whole, pieces,
            "in pieces of {size}, of at most {limit} bytes"
        );
    }
}

fn events(stream: &[u8], limit: usize, size: usize) -> String {
    let mut events = Events::new(limit);
    let pushed = stream.chunks(size).all(|piece| events.push(piece).is_ok());
    let found: Vec<String> = std::iter::from_fn(|| events.next())
        .map(|event| {
            assert!(event.len() <= limit, "an event of {} bytes", event.len());
            String::from_utf8_lossy(&event).into_owned()
        })
        .collect();
    let (last, retry) = (events.last(), events.retry());
    format!("{pushed} {found:?} {last:?} {retry:?}")
}

/// A message is what a JSON reader sees in it, and the beginning of a response never names another request.
pub fn json_rpc(data: &[u8]) {
    for message in rpc::messages(data) {
        let Some(heard) = rpc::read(message) else {
            continue;
        };
        let value: Value = serde_json::from_slice(message).unwrap_or_default();
        match heard {
            Heard::Answered(number, _) => {
                for end in 0..message.len().min(256) {
                    let early = rpc::early_id(&message[..end]);
                    assert!(early.is_none_or(|it| it == number), "{early:?} is early");
                }
            }
            // A number that no tree holds is kept as it is spelled.
            Heard::Told(..) | Heard::Asked(..) if value.is_null() => {}
            Heard::Told(method, params) => check_said(&value, &method, &params),
            Heard::Asked(id, method, params) => {
                check_said(&value, &method, &params);
                let refusal = rpc::refusal(&id, -1, &method);
                for printed in [rpc::answer(&id, params.raw()), refusal] {
                    let printed: Value = serde_json::from_str(&printed).expect("JSON");
                    assert_eq!(printed["id"], value["id"], "the id goes back");
                }
            }
        }
    }
}

fn check_said(value: &Value, method: &str, params: &Payload) {
    assert_eq!(value["method"], method);
    let sent = value.get("params").filter(|it| !it.is_null());
    let sent = sent.cloned().unwrap_or_else(|| json!({}));
    assert_eq!(params.value(), &sent);
}
