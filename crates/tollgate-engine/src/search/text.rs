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
    let mut cutter = Cutter {
        style,
        word: Vec::new(),
        ideographs: String::new(),
        lowered: String::new(),
    };
    for character in text.chars().take(MAX_FIELD_CHARS) {
        if is_ideograph(character) {
            cutter.flush_word(sink);
            cutter.ideographs.push(character);
        } else if character.is_alphanumeric() {
            cutter.flush_ideographs(sink);
            cutter.word.push(character);
        } else {
            cutter.flush_word(sink);
            cutter.flush_ideographs(sink);
            if ends_clause(character) {
                sink(Piece::Break);
            }
        }
    }
    cutter.flush_word(sink);
    cutter.flush_ideographs(sink);
}

struct Cutter {
    style: Style,
    word: Vec<char>,
    ideographs: String,
    lowered: String,
}

impl Cutter {
    fn flush_ideographs(&mut self, sink: &mut dyn FnMut(Piece<'_>)) {
        if !self.ideographs.is_empty() {
            sink(Piece::Ideographs(&self.ideographs));
            self.ideographs.clear();
        }
    }

    fn flush_word(&mut self, sink: &mut dyn FnMut(Piece<'_>)) {
        if self.word.is_empty() {
            return;
        }
        if self.word.len() <= MAX_WORD_CHARS {
            let taken_apart = self.style == Style::Identifier
                || self.word.first().is_some_and(|c| c.is_lowercase());
            if taken_apart {
                self.emit_parts(sink);
            }
            self.emit(0, self.word.len(), sink);
        }
        self.word.clear();
    }

    /// Emits the parts of a camelCase word; nothing where there is only one.
    fn emit_parts(&mut self, sink: &mut dyn FnMut(Piece<'_>)) {
        let mut start = 0;
        for at in 1..self.word.len() {
            if self.is_boundary(at) {
                self.emit(start, at, sink);
                start = at;
            }
        }
        if start > 0 {
            self.emit(start, self.word.len(), sink);
        }
    }

    /// Whether a part starts at `at`: `getUser` before `U`, `HTMLPage` before `P`.
    fn is_boundary(&self, at: usize) -> bool {
        let (Some(before), Some(here)) = (self.word.get(at - 1), self.word.get(at)) else {
            return false;
        };
        let next_is_lower = self.word.get(at + 1).is_some_and(|c| c.is_lowercase());
        here.is_uppercase() && (!before.is_uppercase() || next_is_lower)
    }

    fn emit(&mut self, start: usize, end: usize, sink: &mut dyn FnMut(Piece<'_>)) {
        self.lowered.clear();
        for character in self.word.get(start..end).unwrap_or_default() {
            self.lowered.extend(character.to_lowercase());
        }
        sink(Piece::Word(&self.lowered));
    }
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
pub(super) fn stem(word: &str) -> &str {
    if word.len() < 4 || word == "news" || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word;
    }
    let word = strip_ending(strip_plural(word));
    word.strip_suffix('e')
        .filter(|rest| rest.len() >= 3)
        .unwrap_or(word)
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
    // "query" and "queries" meet at "quer"; "movie" must not meet "move".
    let shortened = word
        .strip_suffix("ie")
        .filter(|rest| !rest.ends_with(['v', 'k']));
    shortened
        .or_else(|| word.strip_suffix('y'))
        .filter(|rest| rest.len() >= 3)
        .unwrap_or(word)
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
    "a", "able", "about", "after", "all", "also", "am", "an", "and", "another", "any",
    "anyone", "anything", "are", "as", "at", "be", "been", "before", "being", "both", "but",
    "by", "came", "can", "come", "could", "d", "did", "do", "does", "doing", "done", "each",
    "either", "else", "etc", "even", "ever", "every", "few", "for", "from", "give", "given",
    "gives", "go", "goes", "going", "gone", "had", "has", "have", "having", "he", "hello",
    "help", "her", "here", "hers", "hi", "him", "his", "how", "i", "if", "in", "into", "is",
    "it", "its", "just", "kindly", "know", "let", "lets", "like", "ll", "lot", "m", "many",
    "may", "maybe", "me", "might", "mine", "more", "most", "much", "must", "my", "need",
    "needs", "no", "not", "of", "off", "oh", "ok", "on", "one", "ones", "onto", "or", "other",
    "others", "our", "ours", "out", "over", "own", "perhaps", "please", "quite", "re",
    "really", "s", "shall", "she", "should", "so", "some", "somebody", "someone", "something",
    "such", "sure", "t", "tell", "than", "thank", "thanks", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "three", "through", "to", "too", "two",
    "under", "until", "up", "upon", "us", "use", "used", "uses", "using", "ve", "very", "via",
    "want", "wants", "was", "we", "well", "were", "what", "whatever", "when", "where",
    "whether", "which", "while", "who", "whom", "whose", "why", "will", "wish", "with",
    "within", "without", "would", "you", "your", "yours",
];
