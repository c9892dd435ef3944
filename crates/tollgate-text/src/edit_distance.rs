//! How many edits turn one word into another: a letter added, dropped, changed, or swapped with
//! its neighbor.

/// Longer words are compared by their beginnings, so that no word of a stranger is expensive.
const MAX_CHARS: usize = 96;

/// The number of edits between two words.
pub fn edit_distance(left: &str, right: &str) -> usize {
    strsim::osa_distance(beginning(left), beginning(right))
}

/// The number of edits between two words, where it is at most `limit`.
pub fn edit_distance_within(left: &str, right: &str, limit: usize) -> Option<usize> {
    let difference = left.chars().count().abs_diff(right.chars().count());
    if difference > limit {
        return None;
    }
    Some(edit_distance(left, right)).filter(|edits| *edits <= limit)
}

fn beginning(word: &str) -> &str {
    let end = word.char_indices().nth(MAX_CHARS).map(|(at, _)| at);
    end.map_or(word, |end| &word[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_with_a_swap_as_one() {
        for (left, right, edits) in [
            ("", "", 0),
            ("log", "log", 0),
            ("lgo", "log", 1),
            ("colour", "color", 1),
            ("kitten", "sitting", 3),
            ("咖啡", "咖", 1),
        ] {
            assert_eq!(edit_distance(left, right), edits, "{left} {right}");
            assert_eq!(edit_distance(right, left), edits, "{right} {left}");
        }
    }

    #[test]
    fn what_is_further_than_the_limit_has_no_distance() {
        assert_eq!(edit_distance_within("kitten", "sitting", 3), Some(3));
        assert_eq!(edit_distance_within("kitten", "sitting", 2), None);
        assert_eq!(edit_distance_within("a", "abcd", 2), None);
    }

    #[test]
    fn long_words_cost_no_more_than_their_beginnings() {
        let (long, other) = ("a".repeat(1 << 20), "b".repeat(1 << 20));
        assert_eq!(edit_distance(&long, &other), MAX_CHARS);
        let tail = format!("{}x", "a".repeat(MAX_CHARS));
        assert_eq!(edit_distance(&long, &tail), 0);
    }
}
