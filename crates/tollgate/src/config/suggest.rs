//! The known word nearest to a misspelt one.

use tollgate_text::edit_distance;

/// The nearest of `known` to `word`, if any is near enough to be meant.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = plain(word);
    let allowed = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (edit_distance(&word, &plain(candidate)), candidate))
        .filter(|(slips, _)| *slips <= allowed)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Case and separators are what people get wrong most, so they do not count.
fn plain(word: &str) -> String {
    word.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_word_that_was_meant() {
        let known = ["message_bytes", "argument_bytes", "call_timeout_ms"];
        let meant = |word| nearest(word, known);
        assert_eq!(meant("mesage_bytes"), Some("message_bytes"));
        assert_eq!(meant("Message-Bytes"), Some("message_bytes"));
        assert_eq!(meant("call_timeout"), Some("call_timeout_ms"));
        assert_eq!(meant("colour"), None);
    }

    #[test]
    fn swapped_neighbors_are_one_slip() {
        assert_eq!(nearest("lgo", ["log", "dir"]), Some("log"));
    }
}
