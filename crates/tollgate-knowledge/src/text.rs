//! Words: folding, splitting, stemming.
//!
//! Files are indexed by stems of Latin words and by pairs of Chinese characters, which
//! needs no dictionary; a question is split into real words, which does. So the
//! dictionary is loaded by the first Chinese question and never at start, and pairs
//! across the border of two words of the question do not count.

use std::sync::OnceLock;

use jieba_rs::Jieba;
use rust_stemmers::{Algorithm, Stemmer};

use crate::base::hash;

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
        // They have no case, and to look that up takes a while.
        match is_dense(c) {
            true => out.push(c),
            false => out.extend(folded_one(c)),
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
    plainly(text).collect()
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

    /// Whether a text is what was said; of signs alone it is only the same signs.
    pub(crate) fn is(&self, text: &str) -> bool {
        match self.plain.is_empty() {
            true => !self.words.is_empty() && text.trim() == self.words,
            false => plainly(text).eq(self.plain.chars()),
        }
    }
}

fn plainly(text: &str) -> impl Iterator<Item = char> {
    let folded = text.chars().flat_map(folded_one);
    folded.filter(|c| c.is_alphanumeric())
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
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let first = rest.chars().next()?;
        let dense = is_dense(first);
        let ends = |c: char| !c.is_alphanumeric() || is_dense(c) != dense;
        let length = rest.find(ends).unwrap_or(rest.len());
        let (run, after) = rest.split_at(length);
        rest = after;
        Some(if dense {
            Run::Dense(run)
        } else {
            Run::Word(run)
        })
    })
}

/// Stems English words.
pub(crate) struct Stems(Stemmer);

impl Stems {
    pub(crate) fn new() -> Self {
        Self(Stemmer::create(Algorithm::English))
    }

    /// The key of a word's stem.
    pub(crate) fn key(&self, word: &str) -> u64 {
        if word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return hash(&self.0.stem(word));
        }
        hash(word)
    }
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
        false => EMPTY_DENSE.contains(&word),
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

const EMPTY_DENSE: &[&str] = &[
    "的",
    "了",
    "吗",
    "呢",
    "吧",
    "啊",
    "我",
    "你",
    "您",
    "他",
    "她",
    "它",
    "我们",
    "你们",
    "是",
    "在",
    "有",
    "和",
    "与",
    "及",
    "或",
    "也",
    "都",
    "就",
    "不",
    "很",
    "把",
    "被",
    "这",
    "那",
    "这个",
    "那个",
    "想",
    "要",
    "请",
    "请问",
    "怎么",
    "怎样",
    "怎么办",
    "如何",
    "什么",
    "为什么",
    "哪",
    "哪个",
    "哪些",
    "哪里",
    "一下",
    "一个",
    "一些",
    "可以",
    "能",
    "会",
    "给",
    "对",
    "关于",
    "了解",
    "知道",
    "告诉",
    "问",
    "问题",
    "想要",
    "需要",
    "帮",
    "帮忙",
    "帮我",
    "你好",
    "您好",
    "谢谢",
    "现在",
    "应该",
    "该",
    "还是",
    "还",
    "上",
    "下",
    "里",
    "中",
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
        assert!(EMPTY_LATIN.is_sorted());
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
    fn stems_meet() {
        let stems = Stems::new();
        assert_eq!(stems.key("investing"), stems.key("invested"));
        assert_ne!(stems.key("cloud"), stems.key("clouds9"));
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
