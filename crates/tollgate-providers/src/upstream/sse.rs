//! Server-sent events, as far as MCP uses them: the data of each, one after the other.

use std::collections::VecDeque;

use super::link::LinkError;

/// Puts events together from pieces.
pub(super) struct Events {
    limit: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    ready: VecDeque<Vec<u8>>,
    after_cr: bool,
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
        }
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
                    self.line();
                }
                None => {
                    self.line.extend_from_slice(piece);
                    piece = &[];
                }
            }
            if self.line.len() + self.data.len() > self.limit {
                return Err(LinkError::TooLarge(self.limit));
            }
        }
        Ok(())
    }

    /// The data of the next event.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    fn line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                self.ready.push_back(std::mem::take(&mut self.data));
            }
            return;
        }
        let Some(rest) = line.strip_prefix(b"data:") else {
            return;
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
}
