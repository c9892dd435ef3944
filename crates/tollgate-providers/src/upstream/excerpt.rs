//! The beginning of what a server says about itself: enough to know what is wrong, and never
//! more than somebody reads.
//!
//! Invariant: a text that is cut ends between two words. Half a secret is known again by nobody,
//! so no half of a word is passed on to whoever cleans it.

/// Characters of the reason why a server is down.
pub(super) const REASON: usize = 300;
/// Characters of one note about it.
pub(super) const NOTE: usize = 1_000;
/// Characters of what it says about a call.
pub(super) const ABOUT_CALL: usize = 1_000;
/// Characters of what it adds to that.
pub(super) const ADDED: usize = 8_000;

/// Marks where something is missing.
const CUT: &str = " …";

/// At most `most` characters of a text, a mark included if there were more.
pub(super) fn of(text: &str, most: usize) -> String {
    if text.char_indices().nth(most).is_none() {
        return text.to_owned();
    }
    let shown = most.saturating_sub(CUT.chars().count());
    let end = text.char_indices().nth(shown).map_or(0, |(at, _)| at);
    let whole = text[..end].rfind(ends_word).unwrap_or(0);
    [text[..whole].trim_end(), CUT].concat()
}

/// What no secret goes on behind; a line of JSON may have no spaces.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_cut_ends_between_two_words() {
        for (text, shown) in [
            ("short", "short"),
            ("exactly 20 letters ..", "exactly 20 …"),
            ("exactly 20 letters .", "exactly 20 letters ."),
            ("it refused opalsesame7 at once", "it refused …"),
            (r#"{"key":"opalsesame7","at":1}"#, r#"{"key": …"#),
            ("opalsesame7opalsesame7opalsesame7", " …"),
            (
                "工具 工具工具工具工具工具工具工具工具工具工具工具",
                "工具 …",
            ),
        ] {
            assert_eq!(of(text, 20), shown);
            assert!(shown.chars().count() <= 20);
        }
    }
}
