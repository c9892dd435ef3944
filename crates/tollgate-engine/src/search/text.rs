//! Splits names, prose and questions into the terms the index stores: identifier parts, stemmed English words and
//! overlapping pairs of Chinese characters. Catalogue and query go through the same code, so a term can only fail to
//! match because the words differ, never because they were cut differently.

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
    matches!(character,
        '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2fa1f}'
    )
}

fn ends_clause(character: char) -> bool {
    matches!(
        character,
        ',' | ';' | '!' | '?' | '\n' | '，' | '。' | '；' | '！' | '？' | '、'
    )
}
