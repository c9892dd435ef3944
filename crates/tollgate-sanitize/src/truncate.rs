//! Cutting text to a byte limit without leaving a broken character behind.

/// Returns the longest prefix of at most `max_bytes` bytes that ends between characters, and not inside a joined
/// emoji or before a combining mark that belongs to the last one.
pub fn truncate_on_char_boundary(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut end = text.floor_char_boundary(max_bytes);
    // A cluster longer than this is not worth keeping whole.
    for _ in 0..8 {
        let next = text[end..].chars().next();
        let last = text[..end].chars().next_back();
        match (last, next) {
            (Some(last), Some(next)) if extends(next) || last == '\u{200d}' => {
                end -= last.len_utf8();
            }
            _ => return &text[..end],
        }
    }
    &text[..text.floor_char_boundary(max_bytes)]
}

fn extends(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{1f3fb}'..='\u{1f3ff}')
}

#[cfg(test)]
mod tests {
    use super::truncate_on_char_boundary as cut;

    #[test]
    fn short_text_is_whole() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn never_cuts_inside_a_character() {
        assert_eq!(cut("价格", 4), "价");
        assert_eq!(cut("价格", 2), "");
    }

    #[test]
    fn keeps_clusters_together() {
        assert_eq!(cut("ae\u{301}", 2), "a");
        let family = "x👨\u{200d}👩";
        assert_eq!(cut(family, family.len() - 1), "x");
    }
}
