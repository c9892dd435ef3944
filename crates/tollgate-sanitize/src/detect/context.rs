//! Words around a place, by which a bare number becomes a phone or a card.

use std::collections::HashSet;

/// Whether one of the words stands in the last `reach` bytes of `before`.
pub(super) fn has_word_before(before: &str, reach: usize, words: &HashSet<String>) -> bool {
    let from = before.ceil_char_boundary(before.len().saturating_sub(reach));
    contains_word(&before[from..], words)
}

/// Whether one of the words is the next word in `after`.
pub(super) fn has_word_after(after: &str, reach: usize, words: &HashSet<String>) -> bool {
    let to = after.floor_char_boundary(after.len().min(reach));
    contains_word(&after[..to], words)
}

/// Whether a text, split at everything but letters and at humps, contains one of the words.
pub(super) fn contains_word(text: &str, words: &HashSet<String>) -> bool {
    let mut any = false;
    each_word(text, |word| any = any || words.contains(&word.to_lowercase()));
    any || (!text.is_ascii() && words.iter().any(|word| !word.is_ascii() && text.contains(word.as_str())))
}

/// Calls `visit` with each run of ASCII letters, cut where a lower-case letter meets an upper-case one.
pub(super) fn each_word(text: &str, mut visit: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut start = None;
    for (at, &byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphabetic() {
            if let Some(start) = start.take() {
                visit(&text[start..at]);
            }
            continue;
        }
        match start {
            Some(from) if byte.is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase() => {
                visit(&text[from..at]);
                start = Some(at);
            }
            Some(_) => {}
            None => start = Some(at),
        }
    }
    if let Some(start) = start {
        visit(&text[start..]);
    }
}

/// The last word of a field name, in lower case.
pub(super) fn last_word(name: &str) -> Option<String> {
    let mut last = None;
    each_word(name, |word| last = Some(word.to_ascii_lowercase()));
    last
}
