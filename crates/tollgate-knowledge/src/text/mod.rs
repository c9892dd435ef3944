//! Words: folding, splitting, stemming.
//!
//! Files are indexed by stems of Latin words and by pairs of Chinese characters, which
//! needs no dictionary; a question is split into real words, which does. So the
//! dictionary is loaded by the first Chinese question and never at start, and pairs
//! across the border of two words of the question do not count.

mod stems;

use std::sync::OnceLock;

use jieba_rs::Jieba;

pub(crate) use stems::Stems;

static DICTIONARY: OnceLock<Jieba> = OnceLock::new();

/// Whether the dictionary of Chinese words has been loaded.
pub fn dictionary_is_loaded() -> bool {
    DICTIONARY.get().is_some()
}

/// Lower case, and full-width forms as plain ones.
pub(crate) fn fold(text: &str) -> String {
    let mut out = String::new();
    fold_into(&mut out, text);
    out
}

/// The same in the place of what was there.
pub(crate) fn fold_into(out: &mut String, text: &str) {
    out.clear();
    out.reserve(text.len());
    if text.is_ascii() {
        out.push_str(text);
        return out.make_ascii_lowercase();
    }
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else if is_dense(c) {
            // They have no case, and to look that up takes a while.
            out.push(c);
        } else {
            out.extend(folded_one(c));
        }
    }
}

fn folded_one(c: char) -> impl Iterator<Item = char> {
    let narrow = match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        _ => c,
    };
    narrow.to_lowercase()
}

/// A text without case, signs and spaces.
pub(crate) fn plain(text: &str) -> String {
    match text.is_ascii() {
        true => plain_ascii(text).map(char::from).collect(),
        false => plainly(text).collect(),
    }
}

/// What was said, to be compared without case, signs and spaces.
pub(crate) struct Said<'w> {
    words: &'w str,
    plain: String,
}

impl<'w> Said<'w> {
    pub(crate) fn new(words: &'w str) -> Self {
        Self {
            words: words.trim(),
            plain: plain(words),
        }
    }

    /// What was said without case, signs and spaces.
    pub(crate) fn plain(&self) -> &str {
        &self.plain
    }

    /// Whether a text is what was said; of signs alone it is only the same signs.
    pub(crate) fn is(&self, text: &str) -> bool {
        match self.plain.is_empty() {
            true => !self.words.is_empty() && text.trim() == self.words,
            false if text.is_ascii() => {
                text.len() >= self.plain.len() && plain_ascii(text).eq(self.plain.bytes())
            }
            false => plainly(text).eq(self.plain.chars()),
        }
    }
}

fn plainly(text: &str) -> impl Iterator<Item = char> {
    let folded = text.chars().flat_map(folded_one);
    folded.filter(|c| is_part(*c))
}

/// The same for a text that is all ASCII.
fn plain_ascii(text: &str) -> impl Iterator<Item = u8> {
    let parts = text.bytes().filter(u8::is_ascii_alphanumeric);
    parts.map(|byte| byte.to_ascii_lowercase())
}

/// Whether it is a letter or a digit; of the commonest Chinese characters that is known
/// without looking it up.
fn is_part(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}') || c.is_alphanumeric()
}

/// Scripts that are written without spaces.
pub(crate) fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{3ffff}')
}

/// A stretch of text in one way of writing.
pub(crate) enum Run<'a> {
    /// A word between spaces or signs.
    Word(&'a str),
    /// Characters without spaces between them.
    Dense(&'a str),
}

/// The stretches of a folded text.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = Run<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let passed = |byte: u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
        let start = rest.bytes().position(|byte| !passed(byte))?;
        rest = rest[start..].trim_start_matches(|c: char| !is_part(c));
        let dense = is_dense(rest.chars().next()?);
        let ends = |c: char| !is_part(c) || is_dense(c) != dense;
        let (run, after) = rest.split_at(length_to(rest, ends));
        rest = after;
        Some(if dense {
            Run::Dense(run)
        } else {
            Run::Word(run)
        })
    })
}

/// How far it is to the end of a stretch, of which ASCII letters and digits are passed quickly
/// if it begins with one.
fn length_to(rest: &str, ends: impl Fn(char) -> bool) -> usize {
    let plain = rest.bytes().position(|byte| !byte.is_ascii_alphanumeric());
    let Some(plain) = plain else {
        return rest.len();
    };
    let (_, after) = rest.split_at(plain);
    plain + after.find(ends).unwrap_or(after.len())
}

/// The key of neighbouring characters.
pub(crate) fn pair_key(first: char, second: Option<char>) -> u64 {
    let second = second.map_or(0, u64::from);
    // A pair cannot collide with a hashed word more often than two words do.
    (u64::from(first) << 32 | second).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995
}

/// The pairs of a dense word, or its only character.
pub(crate) fn pairs(word: &str) -> Vec<u64> {
    let characters: Vec<char> = word.chars().collect();
    match characters[..] {
        [] => Vec::new(),
        [only] => vec![pair_key(only, None)],
        _ => characters
            .windows(2)
            .map(|pair| pair_key(pair[0], Some(pair[1])))
            .collect(),
    }
}

/// The real words of a dense stretch, longer ones also in their parts.
pub(crate) fn segment(run: &str) -> Vec<&str> {
    if run.chars().nth(2).is_none() {
        return vec![run];
    }
    let dictionary = DICTIONARY.get_or_init(Jieba::new);
    let tokens = dictionary.cut_for_search(run, true);
    tokens.into_iter().map(|token| token.word).collect()
}

/// The real words of a dense stretch, one after the other.
pub(crate) fn words(run: &str) -> Vec<&str> {
    if run.chars().nth(2).is_none() {
        return vec![run];
    }
    let tokens = DICTIONARY.get_or_init(Jieba::new).cut(run, true);
    tokens.into_iter().map(|token| token.word).collect()
}

/// Whether a word stands in a text; a Latin one only as a whole.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    if word.is_empty() {
        return false;
    }
    let is_part = |c: char| c.is_alphanumeric() && !is_dense(c);
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let goes_on_before = before.ends_with(is_part) && word.starts_with(is_part);
        let goes_on_after = after.starts_with(is_part) && word.ends_with(is_part);
        !goes_on_before && !goes_on_after
    })
}

/// Whether a word says nothing about what is asked.
pub(crate) fn is_empty_word(word: &str) -> bool {
    match word.is_ascii() {
        true => EMPTY_LATIN.binary_search(&word).is_ok(),
        false => EMPTY_DENSE.binary_search(&word).is_ok(),
    }
}

/// In order, so that they are found quickly.
const EMPTY_LATIN: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "but", "by", "can", "could", "did", "do", "does", "every", "for", "from", "get",
    "give", "had", "has", "have", "hello", "help", "here", "hi", "how", "i", "if", "in", "into",
    "is", "it", "its", "just", "know", "let", "like", "me", "my", "need", "now", "of", "on", "or",
    "our", "please", "really", "s", "should", "so", "some", "t", "tell", "than", "thanks", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "to", "too", "up", "us",
    "very", "want", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will",
    "with", "would", "you", "your",
];

/// In order as well.
const EMPTY_DENSE: &[&str] = &[
    "一下",
    "一个",
    "一些",
    "上",
    "下",
    "不",
    "与",
    "中",
    "为什么",
    "也",
    "了",
    "了解",
    "什么",
    "他",
    "会",
    "你",
    "你们",
    "你好",
    "关于",
    "及",
    "可以",
    "吗",
    "吧",
    "告诉",
    "呢",
    "和",
    "哪",
    "哪个",
    "哪些",
    "哪里",
    "啊",
    "在",
    "她",
    "如何",
    "它",
    "对",
    "就",
    "帮",
    "帮忙",
    "帮我",
    "应该",
    "很",
    "怎么",
    "怎么办",
    "怎样",
    "您",
    "您好",
    "想",
    "想要",
    "我",
    "我们",
    "或",
    "把",
    "是",
    "有",
    "现在",
    "的",
    "知道",
    "给",
    "能",
    "被",
    "要",
    "该",
    "请",
    "请问",
    "谢谢",
    "还",
    "还是",
    "这",
    "这个",
    "那",
    "那个",
    "都",
    "里",
    "问",
    "问题",
    "需要",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_by_script() {
        let folded = fold("AI硬件（ＧＰＵ）, Wi-Fi 6");
        let found: Vec<String> = runs(&folded)
            .map(|run| match run {
                Run::Word(word) => format!("w:{word}"),
                Run::Dense(word) => format!("d:{word}"),
            })
            .collect();
        assert_eq!(found, ["w:ai", "d:硬件", "w:gpu", "w:wi", "w:fi", "w:6"]);
    }

    #[test]
    fn empty_words_are_found() {
        assert!(EMPTY_LATIN.is_sorted() && EMPTY_DENSE.is_sorted());
        for word in EMPTY_LATIN.iter().chain(EMPTY_DENSE) {
            assert!(is_empty_word(word), "{word}");
        }
        assert!(!is_empty_word("router") && !is_empty_word("路由器"));
    }

    #[test]
    fn words_are_compared_without_signs_and_signs_with_themselves() {
        for (said, text, wanted) in [
            ("wi-fi, 6!", "WiFi 6", true),
            ("ＷｉＦｉ　６", "wifi6", true),
            ("wifi", "wifi 6", false),
            ("👎", "👍", false),
            (" 👎", "👎 ", true),
            ("!!!", "?", false),
            ("?!", "a", false),
            ("", "", false),
        ] {
            assert_eq!(Said::new(said).is(text), wanted, "{said} / {text}");
        }
    }

    #[test]
    fn the_commonest_characters_are_letters() {
        for c in (0..=0x9fff).filter_map(char::from_u32) {
            assert_eq!(is_part(c), c.is_alphanumeric(), "{c}");
        }
    }

    /// Every text of a few pieces, by what is quick and by what is plain to see.
    #[test]
    fn the_quick_way_is_the_plain_way() {
        const PIECES: [&str; 12] = [
            "a", "Z", "9", " ", "-", "硬", "カ・", "Ａ", "é", "İ", "①", "\u{212a}",
        ];
        let mut texts = vec![String::new()];
        for _ in 0..3 {
            let longer = texts
                .iter()
                .flat_map(|text| PIECES.map(|one| format!("{text}{one}")));
            texts = longer.chain([String::new()]).collect();
        }
        let saids = ["az9", "aé", "硬", "-", "k", "a", "", "i\u{307}9"].map(Said::new);
        for text in &texts {
            let folded: String = text.chars().flat_map(folded_one).collect();
            assert_eq!(fold(text), folded, "{text}");
            let plain_text: String = folded.chars().filter(|c| c.is_alphanumeric()).collect();
            assert_eq!(plain(text), plain_text, "{text}");
            for said in saids.iter().filter(|said| !said.plain.is_empty()) {
                assert_eq!(said.is(text), said.plain == plain_text, "{text}");
            }
            assert_eq!(quick_runs(&folded), plain_runs(&folded), "{text}");
        }
    }

    fn quick_runs(folded: &str) -> Vec<(bool, String)> {
        let run = |run: Run<'_>| match run {
            Run::Word(word) => (false, word.to_owned()),
            Run::Dense(word) => (true, word.to_owned()),
        };
        runs(folded).map(run).collect()
    }

    fn plain_runs(folded: &str) -> Vec<(bool, String)> {
        let mut found: Vec<(bool, String)> = Vec::new();
        let mut goes_on = None;
        for c in folded.chars() {
            let kind = c.is_alphanumeric().then(|| is_dense(c));
            match (kind, found.last_mut()) {
                (Some(_), Some(last)) if kind == goes_on => last.1.push(c),
                (Some(dense), _) => found.push((dense, c.to_string())),
                (None, _) => {}
            }
            goes_on = kind;
        }
        found
    }

    #[test]
    fn chinese_questions_are_split_into_words() {
        let words = segment("人工智能硬件");
        assert!(
            words.contains(&"人工智能") && words.contains(&"硬件"),
            "{words:?}"
        );
    }
}
