//! Finds the tool a caller probably meant when the name they gave does not exist.

use tollgate_text::edit_distance_within;

/// Longer names are compared by their beginning.
const MAX_NAME_CHARS: usize = 96;
/// How many names with common trigrams are compared letter by letter.
const MAX_COMPARED: usize = 24;
/// Names that share less than this of their trigrams are not what was meant.
const LEAST_LIKENESS: f32 = 0.3;

/// Positions in `names` of the names most like `name`, best first.
pub(super) fn nearest(names: &[Box<str>], name: &str, limit: usize) -> Vec<usize> {
    let wanted: String = plain(name).collect();
    let mut grams: Vec<u64> = trigrams(plain(name)).collect();
    grams.sort_unstable();
    let mut likely: Vec<(f32, usize)> = Vec::new();
    for (at, candidate) in names.iter().enumerate() {
        let (mut common, mut all) = (0, 0);
        for gram in trigrams(plain(candidate)) {
            all += 1;
            common += usize::from(grams.binary_search(&gram).is_ok());
        }
        let likeness = 2.0 * common as f32 / (grams.len() + all) as f32;
        if likeness >= LEAST_LIKENESS {
            likely.push((likeness, at));
        }
    }
    likely.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    likely.truncate(MAX_COMPARED.max(limit.min(MAX_COMPARED * 4)));
    for (likeness, at) in &mut likely {
        let candidate: String = names
            .get(*at)
            .map(|name| plain(name).collect())
            .unwrap_or_default();
        let longest = wanted.chars().count().max(candidate.chars().count()).max(1);
        let slips = edit_distance_within(&wanted, &candidate, longest / 2).unwrap_or(longest);
        *likeness += 1.0 - slips as f32 / longest as f32;
    }
    likely.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    likely.into_iter().take(limit).map(|(_, at)| at).collect()
}

/// Case and separators are what people get wrong most, so they do not count.
fn plain(name: &str) -> impl Iterator<Item = char> {
    let lower = |c: char| {
        let ascii = c.is_ascii().then_some(c.to_ascii_lowercase());
        ascii.or_else(|| c.to_lowercase().next()).unwrap_or(c)
    };
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .map(lower)
        .take(MAX_NAME_CHARS)
}

/// The trigrams of a name, with its two ends marked.
fn trigrams(name: impl Iterator<Item = char>) -> impl Iterator<Item = u64> {
    let mut before = (0_u64, 1_u64);
    name.chain(['\u{1}']).map(move |character| {
        let third = u64::from(u32::from(character));
        let gram = before.0 << 42 | before.1 << 21 | third;
        before = (before.1, third);
        gram
    })
}
