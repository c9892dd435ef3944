//! What the index knows of English: which words say nothing about tools, and which are forms of one word.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

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
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| STOP_WORDS.split_whitespace().collect());
    WORDS.contains(word) || word.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a word fits almost any request, so that the words around it matter more.
pub(super) fn is_light(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| LIGHT_WORDS.split_whitespace().collect());
    WORDS.contains(word)
}

/// Verbs and nouns that say little: what to do is told by what it is done to.
const LIGHT_WORDS: &str = "\
    access based called check choose complete contain content contents current data detail \
    details different existing fetch find first full get got identify include included \
    including info information last local look looks make made name named new obtain \
    path perform provide provided put related relevant result results retrieve return \
    second see select set show specific specified start take then thing things third \
    tool tools type way work \
";

/// Function words, small numbers and politeness, as words in a line so that they can be read.
const STOP_WORDS: &str = "\
    a able about after all also am an and another any anyone anything are as at be been before being \
    both but by came can come could d did do does doing done each either else etc even ever every few \
    for from give given gives go goes going gone had has have having he hello help her here hers hi him \
    his how i if in into is it its just kindly know let lets like ll lot m many may maybe me might mine \
    more most much must my need needs no not of off oh ok on one ones onto or other others our ours out \
    over own perhaps please quite re really s shall she should so some somebody someone something such \
    sure t tell than thank thanks that the their them then there these they this those three through to \
    too two under until up upon us use used uses using ve very via want wants was we well were what \
    whatever when where whether which while who whom whose why will wish with within without would you \
    your yours \
";
