//! The known word nearest to a misspelt one.

/// The nearest of `known` to `word`, if any is near enough to be meant.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = plain(word);
    let allowed = (word.len() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(&word, &plain(candidate)), candidate))
        .filter(|(slips, _)| *slips <= allowed)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Case and separators are what people get wrong most, so they do not count.
fn plain(word: &str) -> Vec<char> {
    word.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(64)
        .collect()
}

/// How many letters must be added, dropped, changed or swapped with their neighbor.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, a) in from.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, b) in to.iter().enumerate() {
            let change = above[column] + usize::from(a != b);
            let mut best = change.min(above[column + 1] + 1).min(line[column] + 1);
            let swapped = row > 0 && column > 0 && from[row - 1] == *b && to[column - 1] == *a;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            line.push(best);
        }
        before = std::mem::replace(&mut above, line);
    }
    above.last().copied().unwrap_or(0)
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
