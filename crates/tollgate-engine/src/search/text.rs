//! Splits names, prose and questions into the terms the index stores: identifier parts, stemmed English words and
//! overlapping pairs of Chinese characters. Catalogue and query go through the same code, so a term can only fail to
//! match because the words differ, never because they were cut differently.

use std::borrow::Cow;

/// How much of one field is read, so that a hostile description cannot make the index grow without bound.
const MAX_FIELD_CHARS: usize = 8_000;
/// A longer run of letters is a token, a hash or an attack, not a word.
const MAX_WORD_CHARS: usize = 40;

/// One piece of a text, before stop words are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'text> {
    /// A lower-cased word of letters and digits, not yet stemmed.
    Word(&'text str),
    /// A run of Chinese, Japanese or Korean characters, not yet cut into pairs.
    Ideographs(&'text str),
    /// Punctuation that ends a clause.
    Break,
}

/// Where a text comes from, which decides how its compound words are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `getUserName` and `PullRequest` are read whole and in parts.
    Identifier,
    /// Only words that start in lower case are taken apart, so that `GitHub` is not about hubs.
    Prose,
}

/// Cuts `text` into pieces and hands them to `sink` in order.
pub(super) fn pieces(text: &str, style: Style, sink: &mut dyn FnMut(Piece<'_>)) {
    let mut rest = first_chars(text, MAX_FIELD_CHARS);
    let mut lowered = String::new();
    while let Some(first) = rest.chars().next() {
        let class = Class::of(first);
        let end = rest.find(|c| Class::of(c) != class).unwrap_or(rest.len());
        let (run, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        match class {
            Class::Letter => read_word(run, style, &mut lowered, sink),
            Class::Ideograph => sink(Piece::Ideographs(run)),
            Class::Other if run.contains(ends_clause) => sink(Piece::Break),
            Class::Other => {}
        }
        rest = after;
    }
}

/// The beginning of a text, at most `count` characters of it.
pub(super) fn first_chars(text: &str, count: usize) -> &str {
    let end = text
        .char_indices()
        .nth(count)
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// What a character may form a run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Ideograph,
    Other,
}

impl Class {
    fn of(character: char) -> Self {
        if character.is_ascii_alphanumeric() {
            Self::Letter
        } else if character.is_ascii() {
            Self::Other
        } else if is_ideograph(character) {
            Self::Ideograph
        } else if character.is_alphanumeric() {
            Self::Letter
        } else {
            Self::Other
        }
    }
}

/// Hands over a word, after its parts where it is to be taken apart.
fn read_word(word: &str, style: Style, lowered: &mut String, sink: &mut dyn FnMut(Piece<'_>)) {
    if word
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    {
        if word.len() <= MAX_WORD_CHARS {
            sink(Piece::Word(word));
        }
        return;
    }
    if word.chars().count() > MAX_WORD_CHARS {
        return;
    }
    let mut emit = |part: &str| {
        lowered.clear();
        lowered.extend(part.chars().flat_map(char::to_lowercase));
        sink(Piece::Word(lowered));
    };
    if style == Style::Identifier || word.starts_with(char::is_lowercase) {
        let mut start = 0;
        for at in boundaries(word) {
            emit(word.get(start..at).unwrap_or_default());
            start = at;
        }
        if start > 0 {
            emit(word.get(start..).unwrap_or_default());
        }
    }
    emit(word);
}

/// Where the parts of a camelCase word start: `getUser` before `U`, `HTMLPage` before `P`.
fn boundaries(word: &str) -> impl Iterator<Item = usize> {
    let nexts = word.chars().skip(2).map(Some).chain([None]);
    let heres = word.char_indices().skip(1);
    word.chars()
        .zip(heres)
        .zip(nexts)
        .filter_map(|((before, (at, here)), next)| {
            let starts_word = next.is_some_and(char::is_lowercase);
            (here.is_uppercase() && (!before.is_uppercase() || starts_word)).then_some(at)
        })
}

/// Calls `sink` with each pair of neighbouring characters, or with the one character there is.
pub(super) fn pairs<'text>(run: &'text str, mut sink: impl FnMut(&'text str)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
    if starts.len() < 2 {
        sink(run);
        return;
    }
    for (index, &start) in starts.iter().enumerate().take(starts.len() - 1) {
        let end = starts.get(index + 2).copied().unwrap_or(run.len());
        sink(run.get(start..end).unwrap_or_default());
    }
}

/// Whether a character belongs to a script written without spaces.
pub(super) fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

fn ends_clause(character: char) -> bool {
    matches!(
        character,
        ',' | ';' | '!' | '?' | '\n' | '，' | '。' | '；' | '！' | '？' | '、'
    )
}

/// Reduces an English word to a stem shared by its plain inflections; other words come back as they are.
///
/// Light on purpose: it need not yield a word, only the same stem on both sides, and it must not merge words that tools
/// tell apart.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 4 || word == "news" || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    let word = strip_ending(strip_plural(word));
    match word.strip_suffix('y') {
        // "query" meets "queries" at "queri", and "apply" does not meet "apple".
        Some(rest) if rest.len() >= 3 => Cow::Owned(format!("{rest}i")),
        Some(_) | None => Cow::Borrowed(
            word.strip_suffix('e')
                .filter(|rest| rest.len() >= 3)
                .unwrap_or(word),
        ),
    }
}

fn strip_plural(word: &str) -> &str {
    if ["ss", "us", "is"]
        .iter()
        .any(|ending| word.ends_with(ending))
    {
        return word;
    }
    if let Some(rest) = word.strip_suffix("es")
        && ["ss", "x", "ch", "sh", "zz"]
            .iter()
            .any(|ending| rest.ends_with(ending))
    {
        return rest;
    }
    word.strip_suffix('s')
        .filter(|rest| rest.len() >= 3)
        .unwrap_or(word)
}

fn strip_ending(word: &str) -> &str {
    // "create", "creation" and "creating" meet at "creat".
    for (ending, shortest) in [
        ("ation", 3),
        ("ating", 2),
        ("ator", 3),
        ("ated", 2),
        ("ate", 2),
    ] {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.len() >= shortest
        {
            return word.get(..rest.len() + 2).unwrap_or(word);
        }
    }
    for ending in ["ing", "ed"] {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.len() >= 3
            && has_vowel(rest)
        {
            return strip_ending(undouble(rest));
        }
    }
    for (ending, shortest) in [("ion", 5), ("er", 4), ("or", 5), ("ly", 4), ("ment", 5)] {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.len() >= shortest
        {
            return undouble(rest);
        }
    }
    word
}

fn has_vowel(word: &str) -> bool {
    word.bytes()
        .any(|b| matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'))
}

/// Turns `planning` minus `ing` into `plan`, but leaves `call` and `pass` alone.
fn undouble(word: &str) -> &str {
    let bytes = word.as_bytes();
    match bytes {
        [.., a, b] if a == b && !matches!(b, b'l' | b's' | b'z' | b'e' | b'o') => {
            word.get(..word.len() - 1).unwrap_or(word)
        }
        _ => word,
    }
}

/// Whether a word carries no meaning of its own in a request for a tool. Bare numbers are arguments, not wishes.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok() || word.bytes().all(|b| b.is_ascii_digit())
}

/// Function words, small numbers and politeness, sorted for binary search.
const STOP_WORDS: &[&str] = &[
    "a",
    "able",
    "about",
    "after",
    "all",
    "also",
    "am",
    "an",
    "and",
    "another",
    "any",
    "anyone",
    "anything",
    "are",
    "as",
    "at",
    "be",
    "been",
    "before",
    "being",
    "both",
    "but",
    "by",
    "came",
    "can",
    "come",
    "could",
    "d",
    "did",
    "do",
    "does",
    "doing",
    "done",
    "each",
    "either",
    "else",
    "etc",
    "even",
    "ever",
    "every",
    "few",
    "for",
    "from",
    "give",
    "given",
    "gives",
    "go",
    "goes",
    "going",
    "gone",
    "had",
    "has",
    "have",
    "having",
    "he",
    "hello",
    "help",
    "her",
    "here",
    "hers",
    "hi",
    "him",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "kindly",
    "know",
    "let",
    "lets",
    "like",
    "ll",
    "lot",
    "m",
    "many",
    "may",
    "maybe",
    "me",
    "might",
    "mine",
    "more",
    "most",
    "much",
    "must",
    "my",
    "need",
    "needs",
    "no",
    "not",
    "of",
    "off",
    "oh",
    "ok",
    "on",
    "one",
    "ones",
    "onto",
    "or",
    "other",
    "others",
    "our",
    "ours",
    "out",
    "over",
    "own",
    "perhaps",
    "please",
    "quite",
    "re",
    "really",
    "s",
    "shall",
    "she",
    "should",
    "so",
    "some",
    "somebody",
    "someone",
    "something",
    "such",
    "sure",
    "t",
    "tell",
    "than",
    "thank",
    "thanks",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "three",
    "through",
    "to",
    "too",
    "two",
    "under",
    "until",
    "up",
    "upon",
    "us",
    "use",
    "used",
    "uses",
    "using",
    "ve",
    "very",
    "via",
    "want",
    "wants",
    "was",
    "we",
    "well",
    "were",
    "what",
    "whatever",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "wish",
    "with",
    "within",
    "without",
    "would",
    "you",
    "your",
    "yours",
];
