//! The usual request, answered without the general server.
//!
//! Most clients send a request in one piece: a head, and a body whose length it tells. To read
//! that and to answer it takes less than a server for every case does with it. Whatever is
//! not usual goes to that server, with what was read of it, and the connection stays there.
//! Invariant: nothing is taken for usual that the general server would read in another way.

use std::{
    cell::RefCell,
    future::poll_fn,
    io::{self, Write as _},
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    time::{Duration, SystemTime},
};

use axum::{body::Body, response::Response};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header, request::Parts};
use http_body::Body as _;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{PATH, Peer, Web, connection::HEADERS, mcp, post::Sent};

/// Room for what is read at once.
const ROOM: usize = 8 << 10;
/// How much of further requests is read while one is being answered.
const AHEAD: usize = 64 << 10;
/// Room for the head of an answer.
const USUAL_HEAD: usize = 256;
/// Headers that make a request unusual, whatever they say.
const UNUSUAL: [HeaderName; 5] = [
    header::TRANSFER_ENCODING,
    header::EXPECT,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
];

/// How the usual requests of a connection ended.
pub(super) enum Ended {
    /// There will be no more.
    Over,
    /// The next one is not usual; so much of it was read.
    Unusual(TcpStream, BytesMut),
}

/// Answers requests for as long as they are usual.
pub(super) async fn serve(web: &Arc<Web>, peer: &Peer, mut stream: TcpStream) -> Ended {
    let mut buffer = BytesMut::new();
    let mut last = None;
    // Whoever has not asked anything yet has the time of a head to begin.
    let mut patience = web.serve.header_timeout;
    loop {
        if buffer.is_empty() {
            buffer.reserve(ROOM);
            let next = timeout(patience, stream.read_buf(&mut buffer));
            let read = tokio::select! {
                biased;
                read = next => read,
                () = web.server.stop.cancelled() => return Ended::Over,
            };
            if !matches!(read, Ok(Ok(1..))) {
                return Ended::Over;
            }
        }
        let read = buffer.split().freeze();
        let Some((parts, body, rest)) = usual(&read, web.message_bytes, &mut last) else {
            return Ended::Unusual(stream, read.into());
        };
        buffer.extend_from_slice(&rest);
        // Once nobody holds any of it, its room is used again.
        drop((read, rest));
        patience = web.serve.idle_timeout;
        let _working = peer.place.work();
        if !answer(web, peer, (&mut stream, &mut buffer), (parts, body)).await {
            return Ended::Over;
        }
    }
}

/// A head that was read, around the length that it tells.
pub(in super::super) struct Head {
    before: Bytes,
    after: Bytes,
    parts: Parts,
}

impl Head {
    /// The head that begins here, if it differs from this one in its length at most; with that
    /// and where it ends.
    fn again(&self, read: &Bytes) -> Option<(Parts, usize, usize)> {
        let told = read.strip_prefix(&*self.before)?;
        let digits = told.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let told = told.get(..digits).filter(|told| !told.is_empty())?;
        let end = self.before.len() + digits;
        if !read.get(end..)?.starts_with(&self.after) {
            return None;
        }
        let value = HeaderValue::from_bytes(told).ok()?;
        let length = length(&value)?;
        let mut parts = self.parts.clone();
        parts.headers.insert(header::CONTENT_LENGTH, value);
        Some((parts, length, end + self.after.len()))
    }
}

/// The length that a header tells.
fn length(value: &HeaderValue) -> Option<usize> {
    let digits = value.to_str().ok()?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}

/// A request that is all there and as usual, and what follows it. Clients say most of it in the
/// same words each time, so the `last` head of a connection is not read again.
pub(in super::super) fn usual(
    read: &Bytes,
    most: usize,
    last: &mut Option<Head>,
) -> Option<(Parts, Bytes, Bytes)> {
    let again = last.as_ref().and_then(|last| last.again(read));
    let (parts, length, head) = match again {
        Some(again) => again,
        None => anew(read, last)?,
    };
    let length = Some(length).filter(|length| *length <= most)?;
    let end = head.checked_add(length).filter(|end| *end <= read.len())?;
    Some((parts, read.slice(head..end), read.slice(end..)))
}

/// Reads a head, and keeps it.
fn anew(read: &Bytes, last: &mut Option<Head>) -> Option<(Parts, usize, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = parsed.parse(read).ok()? else {
        return None;
    };
    let path = parsed.path?;
    let is_ours = path
        .strip_prefix(PATH)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('?'));
    if parsed.method != Some("POST") || parsed.version != Some(1) || !is_ours {
        return None;
    }
    // What is kept of a connection is a head, not the room for what is read.
    let own = Bytes::copy_from_slice(&read[..head]);
    let within = |part: &[u8]| {
        let from = part.as_ptr().addr().wrapping_sub(read.as_ptr().addr());
        from..from.saturating_add(part.len())
    };
    let mut told = 0..0;
    let (mut parts, ()) = http::Request::new(()).into_parts();
    parts.method = Method::POST;
    parts.uri = Uri::try_from(path).ok()?;
    parts.headers = HeaderMap::with_capacity(parsed.headers.len());
    for field in &*parsed.headers {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        let place = within(field.value);
        let value = HeaderValue::from_maybe_shared(own.slice(place.clone())).ok()?;
        if name == header::CONTENT_LENGTH {
            told = place;
        }
        parts.headers.append(name, value);
    }
    if UNUSUAL.iter().any(|name| parts.headers.contains_key(name)) {
        return None;
    }
    let stays = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"keep-alive");
    if !parts.headers.get_all(header::CONNECTION).iter().all(stays) {
        return None;
    }
    let mut lengths = parts.headers.get_all(header::CONTENT_LENGTH).iter();
    let (Some(length), None) = (lengths.next(), lengths.next()) else {
        return None;
    };
    let length = self::length(length)?;
    *last = Some(Head {
        before: own.slice(..told.start),
        after: own.slice(told.end..),
        parts: parts.clone(),
    });
    Some((parts, length, head))
}

/// Answers one request; says whether another one may follow.
async fn answer(
    web: &Arc<Web>,
    peer: &Peer,
    (stream, buffer): (&mut TcpStream, &mut BytesMut),
    (parts, body): (Parts, Bytes),
) -> bool {
    let mut answering = pin!(mcp(Arc::clone(web), peer.clone(), parts, Sent::Here(body)));
    let response = loop {
        tokio::select! {
            biased;
            response = &mut answering => break response,
            // A client that goes away takes its request back.
            read = stream.read_buf(buffer), if buffer.len() < AHEAD => match read {
                Ok(1..) => {}
                Ok(0) | Err(_) => return false,
            }
        }
    };
    let is_last = web.draining.load(Ordering::Relaxed)
        || response.headers().get(header::CONNECTION).is_some();
    let patience = web.serve.body_timeout;
    write(stream, buffer, response, (is_last, patience))
        .await
        .is_ok()
        && !is_last
}

async fn write(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    response: Response,
    (is_last, patience): (bool, Duration),
) -> io::Result<()> {
    let (parts, body) = response.into_parts();
    let length = body.size_hint().exact();
    let mut text =
        Vec::with_capacity(USUAL_HEAD + usize::try_from(length.unwrap_or(0)).unwrap_or(0));
    write!(text, "HTTP/1.1 {}\r\n", parts.status)?;
    for (name, value) in &parts.headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            text.extend_from_slice(part);
        }
    }
    if is_last && !parts.headers.contains_key(header::CONNECTION) {
        text.extend_from_slice(b"connection: close\r\n");
    }
    DATE.with_borrow_mut(|date| text.extend_from_slice(date.now().as_bytes()));
    match length {
        Some(length) => {
            write!(text, "content-length: {length}\r\n\r\n")?;
            whole(&mut text, body).await;
            send(stream, &text, patience).await
        }
        None => {
            text.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
            send(stream, &text, patience).await?;
            in_pieces(stream, buffer, body, patience).await
        }
    }
}

/// Adds a body that is there already.
async fn whole(text: &mut Vec<u8>, mut body: Body) {
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        if let Ok(data) = frame.into_data() {
            text.extend_from_slice(&data);
        }
    }
}

/// Sends a body as it comes; a client that goes away ends it.
async fn in_pieces(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    mut body: Body,
    patience: Duration,
) -> io::Result<()> {
    loop {
        let frame = tokio::select! {
            biased;
            frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)) => frame,
            read = stream.read_buf(buffer), if buffer.len() < AHEAD => match read? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                1.. => continue,
            },
        };
        let Some(frame) = frame else {
            return send(stream, b"0\r\n\r\n", patience).await;
        };
        // Without its end a client sees that the answer broke off.
        let frame = frame.map_err(io::Error::other)?;
        if let Ok(data) = frame.into_data()
            && !data.is_empty()
        {
            let mut chunk = Vec::with_capacity(data.len() + 16);
            write!(chunk, "{:x}\r\n", data.len())?;
            chunk.extend_from_slice(&data);
            chunk.extend_from_slice(b"\r\n");
            send(stream, &chunk, patience).await?;
        }
    }
}

/// Sends all of it, unless the client takes nothing for too long.
async fn send(stream: &mut TcpStream, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
    while !bytes.is_empty() {
        let sent = timeout(patience, stream.write(bytes)).await;
        let sent = sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        bytes = bytes.get(sent..).unwrap_or_default();
    }
    Ok(())
}

thread_local! {
    static DATE: RefCell<Date> = const { RefCell::new(Date { second: 0, text: String::new() }) };
}

/// The header that tells the time, printed once a second.
struct Date {
    second: u64,
    text: String,
}

impl Date {
    fn now(&mut self) -> &str {
        #[expect(
            clippy::disallowed_methods,
            reason = "a header of the transport, which nothing here depends on"
        )]
        let now = SystemTime::now();
        let since = now.duration_since(SystemTime::UNIX_EPOCH);
        let second = since.map_or(0, |since| since.as_secs());
        if second != self.second || self.text.is_empty() {
            self.second = second;
            self.text = format!("date: {}\r\n", httpdate::fmt_http_date(now));
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(text: &str) -> Option<(Parts, Bytes, Bytes)> {
        usual(&Bytes::copy_from_slice(text.as_bytes()), 1000, &mut None)
    }

    #[test]
    fn a_request_in_one_piece_is_usual() {
        let (parts, body, rest) = looked(
            "POST /mcp?toolsets=all HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nconnection: Keep-Alive\r\nX-A: b\r\nx-a: c\r\n\r\n{}POST",
        )
        .unwrap();
        assert_eq!(parts.uri.query(), Some("toolsets=all"));
        assert_eq!(parts.headers[header::HOST], "x");
        assert_eq!(parts.headers.get_all("x-a").iter().count(), 2);
        assert_eq!((&body[..], &rest[..]), (&b"{}"[..], &b"POST"[..]));
    }

    fn in_turn(texts: &[&str]) -> Vec<Option<(String, usize)>> {
        let mut last = None;
        let look = |text: &&str| {
            let read = Bytes::copy_from_slice(text.as_bytes());
            let (parts, body, rest) = usual(&read, 1000, &mut last)?;
            assert_eq!(
                parts.headers[header::CONTENT_LENGTH],
                body.len().to_string()
            );
            assert_eq!(rest, "");
            let mut said: Vec<String> = parts
                .headers
                .iter()
                .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
                .collect();
            said.sort();
            Some((format!("{} {}", parts.uri, said.join(" ")), body.len()))
        };
        texts.iter().map(look).collect()
    }

    #[test]
    fn a_head_that_comes_again_is_read_as_if_alone() {
        let texts = [
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\na: b\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\na: b\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 12\r\na: b\r\n\r\n{\"a\":123456}",
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\na: c\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: y\r\ncontent-length: 2\r\na: c\r\n\r\n{}",
            "POST /mcp?x HTTP/1.1\r\nhost: y\r\ncontent-length: 2\r\na: c\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: y\r\ncontent-length: 2\r\na: c\r\nb: d\r\n\r\n{}",
        ];
        let alone: Vec<_> = texts.iter().flat_map(|text| in_turn(&[*text])).collect();
        assert_eq!(in_turn(&texts), alone);
        assert!(alone.iter().all(Option::is_some), "{alone:?}");
        // What is not usual after a usual one is not usual.
        for text in [
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: \r\na: b\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 2, 2\r\na: b\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\na: b\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999999\r\na: b\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\na: b\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\na: b\r\n",
        ] {
            assert_eq!(in_turn(&[texts[0], text])[1], None, "{text}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for text in [
            "",
            "POST /mcp HTTP/1.1\r\nhost: x\r\n",
            "POST /mcp HTTP/1.1\r\ncontent-length: 3\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\ncontent-length: 1001\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\nhost: x\r\n\r\n",
            "POST /mcp HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\ncontent-length: +2\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\ncontent-length: 2, 2\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\ncontent-length: 2\r\nconnection: upgrade, keep-alive\r\n\r\n{}",
            "POST /mcp HTTP/1.0\r\ncontent-length: 2\r\n\r\n{}",
            "POST /mcpx HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}",
            "POST http://x/mcp HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}",
            "GET /mcp HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\ncontent-length : 2\r\n\r\n{}",
            "POST /mcp HTTP/1.1\r\ncontent-length: 2\r\nbad name: x\r\n\r\n{}",
        ] {
            assert!(looked(text).is_none(), "{text}");
        }
        let many = "a: b\r\n".repeat(HEADERS);
        assert!(
            looked(&format!(
                "POST /mcp HTTP/1.1\r\ncontent-length: 2\r\n{many}\r\n{{}}"
            ))
            .is_none()
        );
    }
}
