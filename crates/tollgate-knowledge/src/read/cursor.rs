//! Lines and columns of growing offsets, each character looked at once.

use crate::problem::Place;

/// Knows the place of an offset; asking for ever later ones costs one pass in all.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    place: Place,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            place: Place { line: 1, column: 1 },
        }
    }

    /// The place of a byte that is not before the last one asked for.
    pub(super) fn to(&mut self, at: usize) -> Place {
        let passed = self.text.as_bytes().get(self.at..at).unwrap_or_default();
        let count = |bytes: &[u8], counts: fn(&&u8) -> bool| {
            u32::try_from(bytes.iter().filter(counts).count()).unwrap_or(u32::MAX)
        };
        let last = match passed.iter().rposition(|&byte| byte == b'\n') {
            None => passed,
            Some(end) => {
                let lines = count(&passed[..=end], |byte| **byte == b'\n');
                self.place.line = self.place.line.saturating_add(lines);
                self.place.column = 1;
                &passed[end + 1..]
            }
        };
        let characters = count(last, |byte| **byte & 0xc0 != 0x80);
        self.place.column = self.place.column.saturating_add(characters);
        self.at = self.at.max(at);
        self.place
    }
}
