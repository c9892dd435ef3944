//! What a server has said about one request and nobody has read yet.
//!
//! Invariant: it is bounded in number and in bytes, for a request may wait for a human for
//! minutes. One question always has room, however long it is: who asks waits for an answer.

use std::collections::VecDeque;

use super::rpc::Heard;

/// Things that may wait.
const MOST: usize = 64;
/// Bytes of words that may wait, and of questions beyond the first.
const BYTES: usize = 1 << 20;

/// What waits, in its order.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    said: VecDeque<Heard>,
    told: usize,
    asked: usize,
}

impl Backlog {
    /// Keeps something, or gives back what there is no room for.
    pub(super) fn put(&mut self, heard: Heard) -> Result<(), Heard> {
        let bytes = heard.bytes();
        let is_first = matches!(heard, Heard::Asked(..)) && self.asked == 0;
        let held = *self.held(&heard);
        if self.said.len() >= MOST || (!is_first && held + bytes > BYTES) {
            return Err(heard);
        }
        *self.held(&heard) += bytes;
        self.said.push_back(heard);
        Ok(())
    }

    pub(super) fn take(&mut self) -> Option<Heard> {
        let heard = self.said.pop_front()?;
        *self.held(&heard) -= heard.bytes();
        Some(heard)
    }

    fn held(&mut self, like: &Heard) -> &mut usize {
        match like {
            Heard::Asked(..) => &mut self.asked,
            Heard::Told(..) | Heard::Answered(..) => &mut self.told,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, value::RawValue};
    use tollgate_core::Payload;

    use super::*;

    /// A word and a question of this length, any number of times.
    fn like(bytes: usize) -> (impl Fn() -> Heard, impl Fn() -> Heard) {
        let params = Payload::from(json!({"x": "x".repeat(bytes)}));
        let again = params.clone();
        let told = move || Heard::Told("notifications/progress".to_owned(), again.clone());
        let asked = move || {
            let id = RawValue::from_string("7".to_owned()).unwrap();
            Heard::Asked(id, "sampling/createMessage".to_owned(), params.clone())
        };
        (told, asked)
    }

    /// What is kept of many that are alike, in number and in bytes.
    fn kept(like: impl Fn() -> Heard) -> (usize, usize) {
        let mut backlog = Backlog::default();
        let tried = (0..300).map(|_| backlog.put(like()).is_ok());
        let kept = tried.filter(|is_kept| *is_kept).count();
        let bytes = backlog.said.iter().map(Heard::bytes).sum();
        (kept, bytes)
    }

    #[test]
    fn whatever_is_said_little_of_it_waits() {
        let (told, _) = like(10);
        assert_eq!(kept(told).0, MOST);
        let (told, asked) = like(100_000);
        for (number, bytes) in [kept(told), kept(asked)] {
            assert!(number == 10 && bytes <= BYTES, "{number}, {bytes}");
        }
        let (told, asked) = like(5_000_000);
        assert_eq!(kept(told), (0, 0));
        let (number, bytes) = kept(asked);
        assert!(number == 1 && bytes < 5_001_000, "{number}, {bytes}");
    }

    #[test]
    fn what_is_read_makes_room_and_a_question_finds_some_behind_words() {
        let mut backlog = Backlog::default();
        let (told, asked) = (like(1_000_000).0, like(5_000_000).1);
        assert!(backlog.put(told()).is_ok());
        assert!(backlog.put(told()).is_err());
        assert!(backlog.put(asked()).is_ok());
        assert!(backlog.put(asked()).is_err());
        assert!(matches!(backlog.take(), Some(Heard::Told(..))));
        assert!(backlog.put(told()).is_ok());
        assert!(matches!(backlog.take(), Some(Heard::Asked(..))));
        assert!(backlog.put(asked()).is_ok());
        assert_eq!(std::iter::from_fn(|| backlog.take()).count(), 2);
        assert_eq!((backlog.told, backlog.asked), (0, 0));
    }
}
