//! HTTP/1.1 to a server on this machine, as far as a client of the protocol needs it.
//!
//! A general client costs more than the rest of the call. Whoever waits for an answer moves the
//! connection, so a call wakes nobody but its caller; every wait can be given up and taken up
//! again. Invariants: heads are bounded; a connection is used again only if its last answer was
//! read to the end and nothing came after it.

use std::{io, ops::Range, sync::Arc};

use bytes::{Buf, Bytes, BytesMut};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

/// The most bytes of a head, or of what stands between the chunks of a body.
const HEAD_BYTES: usize = 64 << 10;
/// The most headers of an answer.
const HEADERS: usize = 100;
/// Room for what is read at once.
const ROOM: usize = 8 << 10;
/// The most room for a body whose length is known.
const MOST_ROOM: usize = 256 << 10;

/// One connection.
pub(super) struct Line<S = TcpStream> {
    stream: S,
    buffer: BytesMut,
    left: Left,
    is_kept: bool,
    last: Option<Known>,
}

/// The head of an answer that was read, around the length that it tells.
struct Known {
    text: Box<[u8]>,
    /// Where the length stands.
    told: Range<usize>,
    head: Head,
}

impl Known {
    /// The length and the end of the head that begins here, if it differs from this one in its
    /// length at most.
    fn again(&self, read: &[u8]) -> Option<(u64, usize)> {
        let told = read.strip_prefix(&self.text[..self.told.start])?;
        let digits = told.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (told, rest) = told.split_at_checked(digits)?;
        let after = &self.text[self.told.end..];
        let length = std::str::from_utf8(told).ok()?.parse().ok()?;
        let end = self.told.start + digits + after.len();
        rest.starts_with(after).then_some((length, end))
    }
}

/// What of an answer has not been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    /// So many bytes.
    Exactly(u64),
    /// So many bytes of a chunk, and the end of its line.
    Chunk(u64),
    /// The next chunk, from its size on.
    Chunks,
    /// Whatever follows the last chunk.
    Trailers,
    /// All that comes.
    UntilClosed,
}

/// The head of an answer; answers that say the same of themselves share it, whatever
/// their lengths.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: Arc<HeaderMap>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// Nothing of the request was sent.
    Unsent(String),
    /// It may have been received.
    Broken(String),
}

fn broken(why: impl Into<String>) -> Unanswered {
    Unanswered::Broken(why.into())
}

impl Line {
    pub(super) fn new(stream: TcpStream) -> Self {
        // Without it small messages wait for acknowledgements; but they arrive.
        drop(stream.set_nodelay(true));
        Self::over(stream)
    }

    /// Whether a request can be sent; it may have been closed while nobody looked.
    pub(super) fn is_open(&self) -> bool {
        let is_quiet = || {
            let looked = self.stream.try_read(&mut [0]);
            looked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        self.is_read_out() && is_quiet()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Line<S> {
    pub(super) fn over(stream: S) -> Self {
        Self {
            stream,
            buffer: BytesMut::new(),
            left: Left::Nothing,
            is_kept: true,
            last: None,
        }
    }

    pub(super) fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Whether the last answer was read to its end, and another one may follow.
    pub(super) fn is_read_out(&self) -> bool {
        self.is_kept && self.left == Left::Nothing && self.buffer.is_empty()
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn exchange(&mut self, request: &[u8]) -> Result<Head, Unanswered> {
        let begun = self.stream.write(request).await;
        let begun = begun.map_err(|error| Unanswered::Unsent(error.to_string()))?;
        let sent = match request.get(begun..) {
            Some(rest) if !rest.is_empty() => self.stream.write_all(rest).await,
            Some(_) | None => Ok(()),
        };
        // A server that refuses a request may answer before it has read all of it.
        self.is_kept &= sent.is_ok();
        loop {
            if let Some(head) = self.head()? {
                return Ok(head);
            }
            match (self.fill(ROOM).await, &sent) {
                (Ok(1..), _) => {}
                (Ok(0) | Err(_), Err(error)) => return Err(broken(error.to_string())),
                (Ok(0), Ok(())) => return Err(broken("it was closed without an answer")),
                (Err(error), Ok(())) => return Err(broken(error.to_string())),
            }
        }
    }

    /// The head of the answer, if all of it is there; heads that only announce one are passed over.
    fn head(&mut self) -> Result<Option<Head>, Unanswered> {
        if let Some(known) = &self.last
            && let Some((length, end)) = known.again(&self.buffer)
        {
            let head = known.head.clone();
            self.left = Left::Exactly(length);
            self.buffer.advance(end);
            return Ok(Some(head));
        }
        loop {
            let mut headers = [httparse::EMPTY_HEADER; HEADERS];
            let mut parsed = httparse::Response::new(&mut headers);
            let length = match parsed.parse(&self.buffer) {
                Ok(httparse::Status::Complete(length)) => length,
                Ok(httparse::Status::Partial) if self.buffer.len() <= HEAD_BYTES => {
                    return Ok(None);
                }
                Ok(httparse::Status::Partial) => return Err(broken("its head is too long")),
                Err(error) => return Err(broken(error.to_string())),
            };
            let status = parsed.code.and_then(|code| StatusCode::from_u16(code).ok());
            let status = status.ok_or_else(|| broken("its status makes no sense"))?;
            let is_first_version = parsed.version == Some(0);
            if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
                self.buffer.advance(length);
                continue;
            }
            let place = place_of_length(parsed.headers, &self.buffer);
            let headers = collected(parsed.headers)?;
            let is_wished = says(&headers, &CONNECTION, "keep-alive");
            let is_over = says(&headers, &CONNECTION, "close");
            self.is_kept &= !is_over && (!is_first_version || is_wished);
            self.left = left(status, &headers)?;
            self.is_kept &= self.left != Left::UntilClosed;
            let text = self.buffer.split_to(length);
            let headers = Arc::new(headers);
            let head = Head { status, headers };
            // One that changes what follows, or the connection, is read each time.
            let told = place.filter(|_| self.is_kept && matches!(self.left, Left::Exactly(_)));
            self.last = told.map(|told| Known {
                text: (*text).into(),
                told,
                head: head.clone(),
            });
            return Ok(Some(head));
        }
    }

    /// The next piece of the answer; none at its end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, String> {
        loop {
            match self.left {
                Left::Nothing => return Ok(None),
                Left::Exactly(0) => self.left = Left::Nothing,
                Left::Exactly(length) => {
                    let piece = self.take(length).await?;
                    self.left = Left::Exactly(length - piece.len() as u64);
                    return Ok(Some(piece));
                }
                Left::Chunk(0) => {
                    if !self.text().await?.is_empty() {
                        return Err("a chunk is longer than it says".to_owned());
                    }
                    self.left = Left::Chunks;
                }
                Left::Chunk(length) => {
                    let piece = self.take(length).await?;
                    self.left = Left::Chunk(length - piece.len() as u64);
                    return Ok(Some(piece));
                }
                Left::Chunks => {
                    let size = size_of_chunk(&self.text().await?)?;
                    self.left = if size == 0 {
                        Left::Trailers
                    } else {
                        Left::Chunk(size)
                    };
                }
                Left::Trailers => {
                    if self.text().await?.is_empty() {
                        self.left = Left::Nothing;
                    }
                }
                Left::UntilClosed => {
                    if self.buffer.is_empty() && self.filled(ROOM).await? == 0 {
                        self.left = Left::Nothing;
                    } else {
                        return Ok(Some(self.buffer.split().freeze()));
                    }
                }
            }
        }
    }

    /// At least one and at most `length` bytes of the body.
    async fn take(&mut self, length: u64) -> Result<Bytes, String> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if self.buffer.is_empty() && self.filled(length.clamp(ROOM, MOST_ROOM)).await? == 0 {
            return Err("it was closed within the answer".to_owned());
        }
        let length = length.min(self.buffer.len());
        Ok(self.buffer.split_to(length).freeze())
    }

    /// A line between the chunks of a body, without its end.
    async fn text(&mut self) -> Result<Bytes, String> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer) {
                let mut line = self.buffer.split_to(end + 1).freeze();
                line.truncate(end - usize::from(end > 0 && line[end - 1] == b'\r'));
                return Ok(line);
            }
            if self.buffer.len() > HEAD_BYTES {
                return Err("a line between its chunks is too long".to_owned());
            }
            if self.filled(ROOM).await? == 0 {
                return Err("it was closed within the answer".to_owned());
            }
        }
    }

    async fn filled(&mut self, room: usize) -> Result<usize, String> {
        self.fill(room).await.map_err(|error| error.to_string())
    }

    async fn fill(&mut self, room: usize) -> io::Result<usize> {
        self.buffer.reserve(room);
        self.stream.read_buf(&mut self.buffer).await
    }
}

/// Where the length stands in a head that tells one, once.
fn place_of_length(parsed: &[httparse::Header<'_>], head: &[u8]) -> Option<Range<usize>> {
    let tells = |header: &&httparse::Header<'_>| {
        let name = CONTENT_LENGTH.as_str();
        header.name.eq_ignore_ascii_case(name)
    };
    let mut telling = parsed.iter().filter(tells);
    let (Some(header), None) = (telling.next(), telling.next()) else {
        return None;
    };
    let from = header.value.as_ptr().addr();
    let from = from.checked_sub(head.as_ptr().addr())?;
    Some(from..from.checked_add(header.value.len())?)
}

fn collected(parsed: &[httparse::Header<'_>]) -> Result<HeaderMap, Unanswered> {
    let mut headers = HeaderMap::with_capacity(parsed.len());
    for header in parsed {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let value = HeaderValue::from_bytes(header.value);
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(broken("one of its headers makes no sense"));
        };
        headers.append(name, value);
    }
    Ok(headers)
}

/// Whether a header lists a word.
fn says(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    headers.get_all(name).iter().any(|value| {
        let words = value.as_bytes().split(|byte| *byte == b',');
        words
            .map(<[u8]>::trim_ascii)
            .any(|said| said.eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// How long the body is.
fn left(status: StatusCode, headers: &HeaderMap) -> Result<Left, Unanswered> {
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok(Left::Nothing);
    }
    if let Some(last) = headers.get_all(TRANSFER_ENCODING).iter().next_back() {
        let last = last.as_bytes().rsplit(|byte| *byte == b',').next();
        let last = last.unwrap_or_default().trim_ascii();
        return Ok(if last.eq_ignore_ascii_case(b"chunked") {
            Left::Chunks
        } else {
            Left::UntilClosed
        });
    }
    let mut said = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = said.next() else {
        return Ok(Left::UntilClosed);
    };
    if said.any(|other| other != first) {
        return Err(broken("it says two lengths"));
    }
    let digits = std::str::from_utf8(first.as_bytes()).ok();
    let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits
        .and_then(|text| text.parse().ok())
        .map(Left::Exactly)
        .ok_or_else(|| broken("its length makes no sense"))
}

/// The size of a chunk; what is said beside it means nothing here.
fn size_of_chunk(line: &[u8]) -> Result<u64, String> {
    let size = line.split(|byte| *byte == b';').next();
    let size = std::str::from_utf8(size.unwrap_or_default().trim_ascii()).ok();
    size.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|text| u64::from_str_radix(text, 16).ok())
        .ok_or_else(|| "the size of a chunk makes no sense".to_owned())
}

#[cfg(test)]
mod tests;
