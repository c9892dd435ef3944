//! Text as the words a search compares.
//!
//! Words of alphabets are lower case and without a plural ending. Scripts that write no spaces are taken in pairs of
//! characters, which needs no dictionary and finds every longer word by its parts.

/// Words that say nothing of what a question is about.
const EMPTY: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been",
    "before", "best", "but", "by", "can", "could", "did", "do", "does", "for", "from", "had",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "many", "may", "me", "more",
    "most", "much", "my", "no", "not", "of", "on", "one", "or", "our", "should", "so", "some",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to",
    "until", "use", "used", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "why", "will", "with", "would", "you", "your",
];
/// Characters that join words rather than being part of one.
const JOINING: &[char] = &[
    '的', '了', '是', '在', '和', '与', '或', '也', '都', '就', '而', '及', '着', '把', '被', '对',
    '吗', '呢', '么', '什', '怎', '哪', '多', '少', '为', '请', '问', '我', '你', '他', '们', '这',
    '那', '个', '以', '于', '有',
];

/// A word and the bytes it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) term: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Whether a character belongs to a script without spaces between words.
pub(crate) fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// The words of a text that tell what it is about, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut run: Option<(usize, bool)> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let kind = if is_dense(c) {
            Some(true)
        } else {
            c.is_alphanumeric().then_some(false)
        };
        if let Some((start, dense)) = run
            && kind != Some(dense)
        {
            let piece = &text[start..at];
            if dense {
                pairs(piece, start, &mut found);
            } else {
                found.extend(word(piece, start));
            }
            run = None;
        }
        if let (None, Some(dense)) = (run, kind) {
            run = Some((at, dense));
        }
    }
    found
}

/// The same without places.
pub(crate) fn terms(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.term).collect()
}

fn word(piece: &str, start: usize) -> Option<Word> {
    let lower = piece.to_lowercase();
    if EMPTY.contains(&lower.as_str()) {
        return None;
    }
    Some(Word {
        term: singular(lower),
        start,
        end: start + piece.len(),
    })
}

fn singular(word: String) -> String {
    let is_plain = word.len() > 3 && word.ends_with('s');
    if !is_plain || ["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        return word;
    }
    match word.strip_suffix("ies") {
        Some(stem) if stem.len() > 2 => format!("{stem}y"),
        Some(_) | None => word[..word.len() - 1].to_owned(),
    }
}

fn pairs(piece: &str, start: usize, found: &mut Vec<Word>) {
    let characters: Vec<(usize, char)> = piece.char_indices().collect();
    let end = |place: usize| {
        let next = characters.get(place + 1);
        next.map_or(piece.len(), |(at, _)| *at)
    };
    let is_joining = |c: char| JOINING.contains(&c);
    if let [(_, only)] = characters.as_slice() {
        if !is_joining(*only) {
            found.push(Word {
                term: only.to_string(),
                start,
                end: start + piece.len(),
            });
        }
        return;
    }
    for (place, pair) in characters.windows(2).enumerate() {
        let [(at, one), (_, other)] = pair else {
            continue;
        };
        if is_joining(*one) || is_joining(*other) {
            continue;
        }
        found.push(Word {
            term: [*one, *other].iter().collect(),
            start: start + at,
            end: start + end(place + 1),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_alphabets_lose_what_does_not_matter() {
        assert_eq!(
            terms("What temperatures are the kettles' bodies for Green-Tea, 80 °C?"),
            ["temperature", "kettle", "body", "green", "tea", "80", "c"]
        );
        assert_eq!(
            terms("glass bus basis yes"),
            ["glass", "bus", "basis", "yes"]
        );
    }

    #[test]
    fn chinese_is_read_in_pairs() {
        assert_eq!(terms("绿茶的水温是80℃"), ["绿茶", "水温", "80"]);
        assert_eq!(terms("冲泡绿茶"), ["冲泡", "泡绿", "绿茶"]);
        assert_eq!(terms("茶 KT-2水壶"), ["茶", "kt", "2", "水壶"]);
    }

    #[test]
    fn places_are_those_of_the_text() {
        for text in ["Two kettles, 水温很高 and more", "é水", ""] {
            for word in words(text) {
                let read = terms(&text[word.start..word.end]);
                assert!(read.contains(&word.term), "{word:?}");
            }
        }
    }
}
