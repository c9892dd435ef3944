//! The last bytes somebody said, and no more of them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Keeps the end of a stream; what is older is dropped.
#[derive(Debug)]
pub struct Ring {
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    total: u64,
}

impl Ring {
    /// A ring of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Mutex::default(),
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
    }

    /// What is kept, as text; a line whose beginning is lost is left out.
    pub fn text(&self) -> String {
        let kept = self.kept();
        let bytes: Vec<u8> = kept.bytes.iter().copied().collect();
        let is_cut = kept.total > bytes.len() as u64;
        drop(kept);
        let start = if is_cut {
            bytes
                .iter()
                .position(|byte| *byte == b'\n')
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
    }
}
