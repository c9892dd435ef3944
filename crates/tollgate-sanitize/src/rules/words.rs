//! Sets of words and of bytes that are asked for very often.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use serde::Deserialize;

const LONGEST: usize = 32;

/// A set of lower-case words, asked without regard to case and without allocating.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
pub(crate) struct Words {
    members: HashSet<Box<[u8]>, BuildHasherDefault<Fnv>>,
    list: Vec<String>,
    /// For each length, the first and the last bytes that occur, by their low five bits: most words are turned away by
    /// these.
    first: [u32; LONGEST],
    last: [u32; LONGEST],
}

impl From<Vec<String>> for Words {
    fn from(members: Vec<String>) -> Self {
        let mut words = Words::default();
        words.insert(members);
        words
    }
}

impl Words {
    /// Whether the set has the word, in whatever case it is written.
    pub(crate) fn has(&self, word: &str) -> bool {
        let Some((first, last, at)) = place(word) else {
            return false;
        };
        let knows =
            |table: &[u32; LONGEST], bit: u32| table.get(at).is_some_and(|it| it & bit != 0);
        if !knows(&self.first, first) || !knows(&self.last, last) {
            return false;
        }
        let mut lower = [0; LONGEST];
        let Some(lower) = lower.get_mut(..word.len()) else {
            return false;
        };
        lower.copy_from_slice(word.as_bytes());
        lower.make_ascii_lowercase();
        self.members.contains(&*lower)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(String::as_str)
    }

    pub(crate) fn extend(&mut self, other: Words) {
        self.insert(other.list);
    }

    fn insert(&mut self, members: impl IntoIterator<Item = String>) {
        for word in members {
            if let Some((first, last, at)) = place(&word)
                && let Some(known_first) = self.first.get_mut(at)
                && let Some(known_last) = self.last.get_mut(at)
            {
                *known_first |= first;
                *known_last |= last;
            }
            if self.members.insert(word.as_bytes().into()) {
                self.list.push(word);
            }
        }
    }
}

/// The bits a word's first and last byte have among the words of its length, and where those are.
fn place(word: &str) -> Option<(u32, u32, usize)> {
    let bytes = word.as_bytes();
    let (first, last) = (bytes.first()?, bytes.last()?);
    Some((1 << (first & 31), 1 << (last & 31), word.len() - 1))
}

/// A short hash for short words; the words are ours, so nobody can make them collide.
#[derive(Debug)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A set of bytes.
#[derive(Debug)]
pub(crate) struct Bytes([bool; 256]);

impl Bytes {
    pub(crate) const fn of(members: &[u8]) -> Self {
        let mut table = [false; 256];
        let mut at = 0;
        while at < members.len() {
            table[members[at] as usize] = true;
            at += 1;
        }
        Bytes(table)
    }

    /// Adds ASCII letters and digits.
    pub(crate) const fn and_alphanumeric(self) -> Self {
        let mut table = self.0;
        let mut byte = 0_u8;
        while byte < 0x80 {
            if byte.is_ascii_alphanumeric() {
                table[byte as usize] = true;
            }
            byte += 1;
        }
        Bytes(table)
    }

    pub(crate) fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }
}
