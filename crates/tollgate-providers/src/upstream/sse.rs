//! Server-sent events, as far as MCP uses them: the data of each, one after the other, and
//! where a stream that breaks can be taken up again.

use std::{collections::VecDeque, time::Duration};

use super::{link::LinkError, rpc};

/// The longest name of an event that is kept.
const LONGEST_NAME: usize = 1024;

/// What stands before the data of a line.
const FIELD: &[u8] = b"data: ";

/// Puts events together from pieces.
pub(super) struct Events {
    limit: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    ready: VecDeque<Vec<u8>>,
    after_cr: bool,
    /// The name of the event that is being read, and of the last one that was read.
    name: Option<String>,
    last: Option<String>,
    retry: Option<Duration>,
}

impl Events {
    /// Events of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            ready: VecDeque::new(),
            after_cr: false,
            name: None,
            last: None,
            retry: None,
        }
    }

    /// The same stream on another connection.
    pub(super) fn anew(self) -> Self {
        Self {
            last: self.last,
            retry: self.retry,
            ready: self.ready,
            ..Self::new(self.limit)
        }
    }

    /// The name of the last event that had one: where to go on.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// How long to wait before going on, if the server says so.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes the next piece of the stream.
    pub(super) fn push(&mut self, mut piece: &[u8]) -> Result<(), LinkError> {
        while !piece.is_empty() {
            if std::mem::take(&mut self.after_cr) && piece[0] == b'\n' {
                piece = &piece[1..];
                continue;
            }
            match memchr::memchr2(b'\n', b'\r', piece) {
                Some(at) => {
                    self.line.extend_from_slice(&piece[..at]);
                    self.after_cr = piece[at] == b'\r';
                    piece = &piece[at + 1..];
                    self.check_limit()?;
                    self.line();
                }
                None => {
                    self.line.extend_from_slice(piece);
                    piece = &[];
                }
            }
            self.check_limit()?;
        }
        Ok(())
    }

    /// Looks at the line that is being read as well, in whatever pieces it comes.
    fn check_limit(&self) -> Result<(), LinkError> {
        let with_line = self.line.len() + self.data.len();
        if self.data.len() > self.limit || with_line > self.limit + FIELD.len() {
            return Err(LinkError::TooLarge(self.limit));
        }
        Ok(())
    }

    /// The data of the next event; of several messages in one event, the next message.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    fn line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            self.last = self.name.take().or_else(|| self.last.take());
            if std::mem::take(&mut self.has_data) {
                let data = std::mem::take(&mut self.data);
                let all = rpc::messages(&data);
                if rpc::is_list(&data) {
                    self.ready.extend(all.into_iter().map(<[u8]>::to_vec));
                } else {
                    self.ready.push_back(data);
                }
            }
            return;
        }
        let Some(rest) = line.strip_prefix(b"data:") else {
            return self.about(&line);
        };
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
            self.data.extend_from_slice(rest);
        } else if rest.len() + 6 == line.len() {
            // The usual event has one line, which need not be copied.
            self.data = line;
            self.data.drain(..6);
        } else {
            self.data.extend_from_slice(rest);
        }
    }

    /// Reads a line that says something about the stream itself.
    fn about(&mut self, line: &[u8]) {
        let Ok(line) = std::str::from_utf8(line) else {
            return;
        };
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" if value.len() <= LONGEST_NAME && !value.contains('\0') => {
                self.name = Some(value.to_owned());
            }
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let stream =
            b": hi\r\n\r\nevent: message\ndata: {\"a\":1}\n\ndata:x\r\rdata: y\ndata: z\n\n";
        for size in 1..stream.len() {
            let mut events = Events::new(100);
            for piece in stream.chunks(size) {
                events.push(piece).unwrap();
            }
            let found: Vec<_> = std::iter::from_fn(|| events.next()).collect();
            assert_eq!(found, [&b"{\"a\":1}"[..], b"x", b"y\nz"], "{size}");
        }
        let mut events = Events::new(10);
        assert!(events.push(&[b'x'; 20]).is_err());
    }

    #[test]
    fn pieces_do_not_decide_what_is_too_large() {
        for (stream, fits) in [
            (&b"data: 0123456789\n\n"[..], true),
            (b"data: 0123456789x\n\n", false),
            (b"data:0123456789x\n\n", false),
            (b"data: 01234\ndata: 6789\n\n", true),
            (b"data: 01234\ndata: 6789x\n\n", false),
            (b": a comment of many words\n\n", false),
        ] {
            for size in 1..=stream.len() {
                let mut events = Events::new(10);
                let read = stream.chunks(size).all(|piece| events.push(piece).is_ok());
                assert_eq!(read, fits, "{stream:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn where_to_go_on_is_known_once_an_event_is_whole() {
        let mut events = Events::new(100);
        assert_eq!((events.last(), events.retry()), (None, None));
        events.push(b"id: 7\nretry: 250\ndata: \n\nid:8\n").unwrap();
        assert_eq!(events.last(), Some("7"));
        assert_eq!(events.retry(), Some(Duration::from_millis(250)));
        events.push(b"data: x\n\nretry: soon\ndata: y\n\n").unwrap();
        assert_eq!(events.last(), Some("8"));
        assert_eq!(events.retry(), Some(Duration::from_millis(250)));
        events.push(b"id: 9\ndata: half").unwrap();
        let mut events = events.anew();
        assert_eq!(events.last(), Some("8"), "half an event is none");
        events.push(b"data: z\n\n").unwrap();
        let found: Vec<_> = std::iter::from_fn(|| events.next()).collect();
        assert_eq!(found, [&b""[..], b"x", b"y", b"z"]);
    }
}
