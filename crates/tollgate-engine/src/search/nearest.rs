//! Finds the tool a caller probably meant when the name they gave does not exist.

use super::vocabulary::distance;

/// Longer names are compared by their beginning.
const MAX_NAME_CHARS: usize = 96;
/// How many names with common trigrams are compared letter by letter.
const MAX_COMPARED: usize = 24;
/// Names that share less than this of their trigrams are not what was meant.
const LEAST_LIKENESS: f32 = 0.3;

/// Positions in `names` of the names most like `name`, best first.
pub(super) fn nearest(names: &[Box<str>], name: &str, limit: usize) -> Vec<usize> {
    let wanted = plain(name);
    let mut grams = Vec::new();
    trigrams(&wanted, &mut grams);
    let mut likely: Vec<(f32, usize)> = Vec::new();
    let mut buffer = Vec::new();
    for (at, candidate) in names.iter().enumerate() {
        trigrams(&plain(candidate), &mut buffer);
        let common = buffer
            .iter()
            .filter(|gram| grams.binary_search(gram).is_ok())
            .count();
        let likeness = 2.0 * common as f32 / (grams.len() + buffer.len()).max(1) as f32;
        if likeness >= LEAST_LIKENESS {
            likely.push((likeness, at));
        }
    }
    likely.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    likely.truncate(MAX_COMPARED.max(limit.min(MAX_COMPARED * 4)));
    for (likeness, at) in &mut likely {
        let candidate = names.get(*at).map(|name| plain(name)).unwrap_or_default();
        let longest = wanted.chars().count().max(candidate.chars().count()).max(1);
        let slips = distance(&wanted, &candidate, longest / 2).unwrap_or(longest);
        *likeness += 1.0 - slips as f32 / longest as f32;
    }
    likely.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    likely.into_iter().take(limit).map(|(_, at)| at).collect()
}

/// Case and separators are what people get wrong most, so they do not count.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(MAX_NAME_CHARS)
        .collect()
}

/// The sorted, distinct trigrams of a name, with its two ends marked.
fn trigrams(name: &str, into: &mut Vec<u64>) {
    into.clear();
    let (mut first, mut second) = (0_u64, 1_u64);
    for character in name.chars().chain(['\u{1}']) {
        let third = u64::from(u32::from(character));
        into.push(first << 42 | second << 21 | third);
        (first, second) = (second, third);
    }
    into.sort_unstable();
    into.dedup();
}
