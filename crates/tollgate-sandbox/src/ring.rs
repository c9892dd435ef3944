//! The last bytes somebody said, and no more of them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Keeps the end of a stream; what is older is dropped.
#[derive(Debug)]
pub struct Ring {
    limit: usize,
    kept: Mutex<Kept>,
    grown: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    total: u64,
    is_over: bool,
}

impl Ring {
    /// A ring of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Mutex::default(),
            grown: Notify::new(),
        }
    }

    /// Adds to the end.
    pub fn push(&self, bytes: &[u8]) {
        let mut kept = self.kept();
        kept.total = kept.total.saturating_add(bytes.len() as u64);
        let fresh = &bytes[bytes.len().saturating_sub(self.limit)..];
        let surplus = (kept.bytes.len() + fresh.len()).saturating_sub(self.limit);
        kept.bytes.drain(..surplus);
        kept.bytes.extend(fresh);
        drop(kept);
        self.grown.notify_waiters();
    }

    /// Says that nothing more will come.
    pub fn finish(&self) {
        self.kept().is_over = true;
        self.grown.notify_waiters();
    }

    /// Waits until more than `seen` bytes were said; `false` if that will never be.
    pub async fn grown(&self, seen: u64) -> bool {
        loop {
            let grown = self.grown.notified();
            tokio::pin!(grown);
            // Whoever waits must be known before the look, or a word in between is missed.
            grown.as_mut().enable();
            let (total, is_over) = {
                let kept = self.kept();
                (kept.total, kept.is_over)
            };
            if total > seen || is_over {
                return total > seen;
            }
            grown.await;
        }
    }

    /// What followed the first `seen` bytes, as far as it is kept.
    pub fn since(&self, seen: u64) -> Vec<u8> {
        let kept = self.kept();
        let fresh = usize::try_from(kept.total.saturating_sub(seen)).unwrap_or(usize::MAX);
        let known = kept.bytes.len().saturating_sub(fresh);
        kept.bytes.iter().skip(known).copied().collect()
    }

    /// The most that is kept, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// What is kept, as text; a line whose beginning is lost is left out, or the rest of a word
    /// where there is no other line.
    pub fn text(&self) -> String {
        let kept = self.kept();
        let bytes: Vec<u8> = kept.bytes.iter().copied().collect();
        let is_cut = kept.total > bytes.len() as u64;
        drop(kept);
        let start = if is_cut {
            let first = |ends: fn(&u8) -> bool| bytes.iter().position(ends);
            first(|byte| *byte == b'\n')
                .or_else(|| first(u8::is_ascii_whitespace))
                .map(|at| at + 1)
        } else {
            None
        };
        String::from_utf8_lossy(&bytes[start.unwrap_or(0)..]).into_owned()
    }

    /// How much was ever said, in bytes.
    pub fn total(&self) -> u64 {
        self.kept().total
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let ring = Ring::new(10);
        ring.push(b"one\n");
        assert_eq!(ring.text(), "one\n");
        ring.push(b"two\nthree\n");
        assert_eq!(ring.text(), "three\n");
        ring.push(&[b'x'; 100]);
        assert_eq!((ring.text().len(), ring.total()), (10, 114));
        ring.push(b"word and ");
        assert_eq!(ring.text(), "and ", "half a word tells nothing");
    }

    #[tokio::test]
    async fn whoever_follows_hears_what_is_new_and_when_it_is_over() {
        let ring = Ring::new(10);
        ring.push(b"one two");
        assert!(ring.grown(0).await);
        assert_eq!(
            (ring.since(0), ring.since(4)),
            (b"one two".to_vec(), b"two".to_vec())
        );
        assert_eq!(ring.since(7), b"");
        let (heard, ()) = tokio::join!(ring.grown(7), async { ring.push(b" three four") });
        assert!(heard);
        assert_eq!(ring.since(7), b"three four", "the end of it is kept");
        let (heard, ()) = tokio::join!(ring.grown(ring.total()), async { ring.finish() });
        assert!(!heard && ring.grown(0).await);
    }
}
