//! Words around a place, by which a bare number becomes a phone or a card.

use crate::rules::Words;

/// Whether one of the words stands in the last `reach` bytes of `before`.
pub(super) fn has_word_before(before: &str, reach: usize, words: &Words) -> bool {
    let from = before.ceil_char_boundary(before.len().saturating_sub(reach));
    contains_word(&before[from..], words)
}

/// Whether one of the words is the next word in `after`.
pub(super) fn has_word_after(after: &str, reach: usize, words: &Words) -> bool {
    let to = after.floor_char_boundary(after.len().min(reach));
    contains_word(&after[..to], words)
}

/// Whether a text, split at everything but letters and at humps, contains one of the words.
pub(super) fn contains_word(text: &str, words: &Words) -> bool {
    let mut any = false;
    each_word(text, |word| any = any || words.has(word));
    any || (!text.is_ascii()
        && words
            .iter()
            .any(|word| !word.is_ascii() && text.contains(word)))
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

/// Whether a field name ends in one of the words: by its last word, or by the last two as one,
/// as `gtinList` and `gtin_list` do in `gtinlist`.
pub(super) fn ends_in_word(name: &str, words: &Words) -> bool {
    let Some(last) = last_word(name) else {
        return false;
    };
    let before = || last_word(name.rsplit_once(last)?.0);
    words.has(last) || before().is_some_and(|before| words.has(&[before, last].concat()))
}

/// The last word of a field name.
pub(super) fn last_word(name: &str) -> Option<&str> {
    let bytes = name.as_bytes();
    let end = bytes.iter().rposition(u8::is_ascii_alphabetic)? + 1;
    let mut start = end - 1;
    while start > 0 && bytes[start - 1].is_ascii_alphabetic() {
        if bytes[start].is_ascii_uppercase() && bytes[start - 1].is_ascii_lowercase() {
            break;
        }
        start -= 1;
    }
    Some(&name[start..end])
}
