//! Lines of bounded length from a reader that may send anything.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// One line, or why it is none.
pub(crate) enum Line {
    /// Its text, without the line end.
    Text(String),
    /// Longer than this many bytes; it was skipped whole.
    TooLong(usize),
    /// Not UTF-8.
    NotUtf8,
}

/// Reads lines, never holding more than the limit.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    limit: usize,
    /// The part of the next line that has arrived.
    line: Vec<u8>,
    too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 << 10, reader),
            limit,
            line: Vec::new(),
            too_long: false,
        }
    }

    /// The next line; `None` at the end. Keeps what was read if it is dropped in between.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                let rest = self.too_long || !self.line.is_empty();
                return Ok(rest.then(|| self.finished()));
            }
            let (part, whole) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (&available[..at], true),
                None => (available, false),
            };
            if self.line.len() + part.len() > self.limit {
                self.too_long = true;
                self.line = Vec::new();
            } else if !self.too_long {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(whole);
            self.reader.consume(used);
            if whole {
                return Ok(Some(self.finished()));
            }
        }
    }

    /// Takes the line that is complete and starts the next one.
    fn finished(&mut self) -> Line {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.too_long) {
            return Line::TooLong(self.limit);
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        String::from_utf8(line).map_or(Line::NotUtf8, Line::Text)
    }
}
