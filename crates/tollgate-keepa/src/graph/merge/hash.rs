//! A hash for many short texts: each process has its own, so nobody can prepare texts that collide.

use std::hash::{BuildHasher, Hasher, RandomState};

/// An odd number without a pattern: the fraction of the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes hashers that agree with each other and with no other process.
#[derive(Clone)]
pub(super) struct Seeded {
    start: u64,
    factor: u64,
}

impl Default for Seeded {
    fn default() -> Self {
        let random = RandomState::new();
        Self {
            start: random.hash_one(0_u8),
            factor: random.hash_one(1_u8) | 1,
        }
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding {
            state: self.start,
            factor: self.factor,
        }
    }
}

/// Folds eight bytes at a time into what it has.
pub(super) struct Folding {
    state: u64,
    factor: u64,
}

impl Folding {
    fn add(&mut self, word: u64) {
        self.state = folded(self.state ^ word, self.factor);
    }
}

impl Hasher for Folding {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let last = rest.iter().fold(0, |word, one| word << 8 | u64::from(*one));
        self.add(last ^ (bytes.len() as u64).wrapping_mul(SPREAD));
    }

    /// What ends a text, whose length is counted already.
    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        folded(self.state, SPREAD)
    }
}

/// Both halves of a product, so that every bit tells on all others.
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn like_texts_spread_over_all_of_a_table() {
        let seeded = Seeded::default();
        let texts = (0..20_000).map(|at| format!("product:B0{at:08}"));
        let hashes: Vec<u64> = texts.map(|text| seeded.hash_one(text.as_str())).collect();
        let distinct: HashSet<&u64> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len());
        // A table looks at the lowest bits for the place and at the highest for a first comparison.
        for part in [|hash: u64| hash & 1023, |hash: u64| hash >> 54] {
            let mut counts = [0; 1024];
            hashes
                .iter()
                .for_each(|hash| counts[part(*hash) as usize] += 1);
            assert!(counts.iter().all(|count| *count < 60), "{counts:?}");
        }
    }

    #[test]
    fn length_and_order_tell() {
        let seeded = Seeded::default();
        let texts = [
            "",
            "\0",
            "\0\0",
            "a",
            "a\0",
            "ab",
            "ba",
            "12345678",
            "12345678\0",
            "87654321",
        ];
        let hashes: HashSet<u64> = texts.iter().map(|text| seeded.hash_one(text)).collect();
        assert_eq!(hashes.len(), texts.len());
        assert_ne!(seeded.hash_one("a"), Seeded::default().hash_one("a"));
    }
}
