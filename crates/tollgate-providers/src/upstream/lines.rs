//! Lines of a stream, none longer than is allowed.

use std::io;

use tokio::{io::AsyncReadExt, net::unix::pipe};

/// How much is read at once.
const PIECE: usize = 64 << 10;
/// How much of an endless line is kept, to know whose it is.
const BEGINNING: usize = 256;
/// How often the limit a line may be over before the stream is given up.
const DROWNED: usize = 8;

/// One line, as far as it is wanted.
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// Longer than is allowed; its beginning.
    Endless(Vec<u8>),
    /// So long that it is not even worth waiting for its end.
    Drowned,
}

/// Reads lines.
pub(super) struct Lines {
    stream: pipe::Receiver,
    limit: usize,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// What was looked at already.
    seen: usize,
}

impl Lines {
    pub(super) fn new(stream: pipe::Receiver, limit: usize) -> Self {
        Self {
            stream,
            limit,
            buffer: Vec::new(),
            start: 0,
            seen: 0,
        }
    }

    /// The next line without its end; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let fresh = &self.buffer[self.seen..];
            if let Some(at) = memchr::memchr(b'\n', fresh) {
                let (start, end) = (self.start, self.seen + at);
                self.start = end + 1;
                self.seen = end + 1;
                return Ok(Some(Line::Whole(&self.buffer[start..end])));
            }
            self.seen = self.buffer.len();
            if self.seen - self.start > self.limit {
                return self.skip().await;
            }
            self.compact();
            if self.fill().await? == 0 {
                return Ok(None);
            }
        }
    }

    async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.reserve(PIECE);
        self.stream.read_buf(&mut self.buffer).await
    }

    /// Moves what is unread to the front, and gives memory back after a large line.
    fn compact(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.seen -= self.start;
            self.start = 0;
        }
        if self.buffer.capacity() > 4 * PIECE && self.buffer.len() < PIECE {
            self.buffer.shrink_to(2 * PIECE);
        }
    }

    /// Reads to the end of a line that is too long, keeping only its beginning.
    async fn skip(&mut self) -> io::Result<Option<Line<'_>>> {
        let beginning = self.buffer[self.start..].iter().take(BEGINNING);
        let beginning: Vec<u8> = beginning.copied().collect();
        let mut skipped = self.buffer.len() - self.start;
        loop {
            self.buffer.clear();
            (self.start, self.seen) = (0, 0);
            if self.fill().await? == 0 {
                return Ok(None);
            }
            if let Some(at) = memchr::memchr(b'\n', &self.buffer) {
                (self.start, self.seen) = (at + 1, at + 1);
                return Ok(Some(Line::Endless(beginning)));
            }
            skipped += self.buffer.len();
            if skipped > self.limit.saturating_mul(DROWNED) {
                return Ok(Some(Line::Drowned));
            }
        }
    }
}
