//! Lines of bounded length from a reader that may send anything.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// One line, or why it is none.
pub(super) enum Line {
    /// Its text, without the line end.
    Text(String),
    /// Longer than this many bytes; it was skipped whole.
    TooLong(usize),
    /// Not UTF-8.
    NotUtf8,
}

/// Reads lines, never holding more than the limit.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 << 10, reader),
            limit,
        }
    }

    /// The next line; `None` at the end. Keeps what was read if it is dropped in between.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut too_long = false;
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(ended(line, too_long, self.limit));
            }
            let (part, whole) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (&available[..at], true),
                None => (available, false),
            };
            if line.len() + part.len() > self.limit {
                too_long = true;
                line = Vec::new();
            } else if !too_long {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(whole);
            self.reader.consume(used);
            if whole {
                return Ok(Some(finished(line, too_long, self.limit)));
            }
        }
    }
}

fn ended(line: Vec<u8>, too_long: bool, limit: usize) -> Option<Line> {
    (too_long || !line.is_empty()).then(|| finished(line, too_long, limit))
}

fn finished(mut line: Vec<u8>, too_long: bool, limit: usize) -> Line {
    if too_long {
        return Line::TooLong(limit);
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_or(Line::NotUtf8, Line::Text)
}
