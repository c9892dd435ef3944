//! Stems of English words, and those that were made before.
//!
//! The words of a conversation come again and again: in its options, in the titles they lead
//! to, and in what the user says. The memory for them is small, the same for all threads, and
//! only ever saves work: whoever finds it busy, or his word not in it, stems by himself.

use std::sync::Mutex;

use rust_stemmers::{Algorithm, Stemmer};

use crate::base::hash;

/// How many parts of the memory can be busy at once.
const SHELVES: usize = 64;
/// How many words there are in each part.
const PLACES: usize = 64;
/// The most letters of a word that is remembered.
const MOST_LETTERS: usize = 23;

static KNOWN: [Mutex<Shelf>; SHELVES] = [const { Mutex::new([Known::NONE; PLACES]) }; SHELVES];

type Shelf = [Known; PLACES];

/// A word, and the key of its stem.
#[derive(Clone, Copy)]
struct Known {
    length: u8,
    letters: [u8; MOST_LETTERS],
    key: u64,
}

impl Known {
    const NONE: Self = Self {
        length: 0,
        letters: [0; MOST_LETTERS],
        key: 0,
    };

    fn is(&self, word: &str) -> bool {
        let letters = self.letters.get(..usize::from(self.length));
        letters == Some(word.as_bytes())
    }

    fn new(word: &str, key: u64) -> Self {
        let mut known = Self { key, ..Self::NONE };
        if let Some(letters) = known.letters.get_mut(..word.len()) {
            letters.copy_from_slice(word.as_bytes());
            known.length = letters.len() as u8;
        }
        known
    }
}

/// Stems English words.
pub(crate) struct Stems(Stemmer);

impl Stems {
    pub(crate) fn new() -> Self {
        Self(Stemmer::create(Algorithm::English))
    }

    /// The key of a word's stem.
    pub(crate) fn key(&self, word: &str) -> u64 {
        let own = hash(word);
        if word.len() <= 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return own;
        }
        if word.len() > MOST_LETTERS {
            return self.made(word);
        }
        let shelf = &KNOWN[own as usize % SHELVES];
        let Ok(mut shelf) = shelf.try_lock() else {
            return self.made(word);
        };
        let place = &mut shelf[own as usize / SHELVES % PLACES];
        if !place.is(word) {
            *place = Known::new(word, self.made(word));
        }
        place.key
    }

    fn made(&self, word: &str) -> u64 {
        hash(&self.0.stem(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_meet() {
        let stems = Stems::new();
        assert_eq!(stems.key("investing"), stems.key("invested"));
        assert_ne!(stems.key("cloud"), stems.key("clouds9"));
    }

    /// More words than are remembered, from several threads at once and more than once.
    #[test]
    fn a_remembered_stem_is_the_one_that_would_be_made() {
        let endings = [
            "", "s", "ing", "ed", "ation", "ly", "ies", "fulness", "ously",
        ];
        let words = |from: u32| {
            (0..3000_u32).flat_map(move |number| {
                let letter =
                    |at: u32| char::from(b'a' + ((number + from) / 26_u32.pow(at) % 26) as u8);
                let word: String = (0..4).map(|at| letter(at % 3)).collect();
                let long = "undistinguishable"
                    .get(..(number % 18) as usize)
                    .unwrap_or("");
                endings.map(|ending| format!("{long}{word}{ending}"))
            })
        };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let stems = Stems::new();
                    for _ in 0..2 {
                        for word in words(thread * 500) {
                            assert_eq!(stems.key(&word), stems.made(&word), "{word}");
                        }
                    }
                });
            }
        });
    }
}
