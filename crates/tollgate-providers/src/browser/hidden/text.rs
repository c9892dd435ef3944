//! A text without the secrets in it.
//!
//! Invariant: a secret is found as it is and as an address spells it, as far as its length lets it
//! be told from other words (see [`Reach`]).

use std::borrow::Cow;

use super::{HIDDEN, Place};
use crate::escape::unescaped;

/// What ends a part of an address, or of a text that quotes one.
const ENDS: &[char] = &[
    '?', '#', '&', ';', '=', '/', ' ', '\n', '"', '\'', '<', '>', '(', ')', ',',
];
/// Shorter texts are parts of too many others.
const SHORTEST: usize = 4;
/// The same of numbers.
const SHORTEST_NUMBER: usize = 6;
/// Shorter ones are words of too many texts.
const SHORTEST_WORD: usize = 3;
/// Texts of pages and scripts are cut at this length or later.
const SHORTEST_CUT: usize = 100;
/// What ids of elements begin with.
const PREFIXES: &[&str] = &[
    "any", "btn", "cell", "chk", "file", "input", "link", "menu", "opt", "radio", "secret",
    "select", "tab", "tree",
];

/// Where a secret is hidden: short ones are parts of what has nothing to do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Wherever it is.
    Anywhere,
    /// Where it stands alone, between signs that are no letters and no digits.
    Word,
    /// Where it is all that a field holds, a parameter says or a script gives.
    Value,
}

impl Reach {
    pub(super) fn of(secret: &str) -> Self {
        let is_number = secret.bytes().all(|byte| byte.is_ascii_digit());
        let shortest = if is_number { SHORTEST_NUMBER } else { SHORTEST };
        match secret.chars().count() {
            length if length >= shortest => Self::Anywhere,
            length if length >= SHORTEST_WORD => Self::Word,
            _ => Self::Value,
        }
    }
}

/// A text without these secrets, if it has one.
pub(in crate::browser) fn hidden(text: &str, secrets: &[String]) -> Option<String> {
    without_all(text, secrets, Place::default())
}

pub(super) fn without_all(text: &str, secrets: &[String], place: Place) -> Option<String> {
    let mut shown = Cow::Borrowed(text);
    for secret in secrets {
        if let Some(without) = without(&shown, secret, place) {
            shown = Cow::Owned(without);
        }
    }
    match shown {
        Cow::Owned(shown) => Some(shown),
        Cow::Borrowed(_) => None,
    }
}

fn without(text: &str, secret: &str, place: Place) -> Option<String> {
    let reach = Reach::of(secret);
    if place.is_ours && reach != Reach::Anywhere {
        return None;
    }
    if place.is_value && text == secret {
        return Some(HIDDEN.to_owned());
    }
    let (text, number) = match reach {
        Reach::Anywhere => (text, ""),
        Reach::Word | Reach::Value => text.split_at(named(text)),
    };
    let plain = match reach {
        Reach::Anywhere => text.contains(secret).then(|| text.replace(secret, HIDDEN)),
        Reach::Word => without_word(text, secret),
        Reach::Value => None,
    };
    let spelled = in_address(plain.as_deref().unwrap_or(text), secret, reach);
    let shown = spelled.or(plain);
    let whole = match reach {
        Reach::Anywhere => without_part(shown.as_deref().unwrap_or(text), secret),
        Reach::Word | Reach::Value => None,
    };
    Some(whole.or(shown)? + number)
}

/// A long text without the beginning of a secret at its end, and without the end of one at its
/// beginning: it may have been cut there, or go on from there.
fn without_part(text: &str, secret: &str) -> Option<String> {
    if text.len() < SHORTEST_CUT {
        return None;
    }
    let places: Vec<usize> = secret.char_indices().map(|(at, _)| at).skip(1).collect();
    let begins = |at: usize| secret[..at].chars().count() >= SHORTEST;
    let ends = |at: usize| secret[at..].chars().count() >= SHORTEST;
    let from = text.rfind(ENDS).map_or(0, |it| it + 1);
    let escape = text
        .rfind('%')
        .filter(|it| it + 3 > text.len() && *it >= from);
    let meant: Vec<String> = readings(&text[from..escape.unwrap_or(text.len())]).collect();
    let cut = |at: usize| {
        let part = &secret[..at];
        let plain = text.strip_suffix(part).map(str::len);
        plain.or_else(|| meant.iter().any(|it| it.ends_with(part)).then_some(from))
    };
    let begun = places.iter().rev().filter(|at| begins(**at));
    let last = begun.copied().find_map(cut);
    let rest = &text[..last.unwrap_or(text.len())];
    let first = places
        .iter()
        .filter(|at| ends(**at))
        .find_map(|&at| rest.strip_prefix(&secret[at..]));
    let shown = match (first, last) {
        (Some(rest), Some(_)) => [HIDDEN, rest, HIDDEN].concat(),
        (Some(rest), None) => [HIDDEN, rest].concat(),
        (None, Some(_)) => [rest, HIDDEN].concat(),
        (None, None) => return None,
    };
    Some(shown)
}

/// Where the number of a node begins in the id of an element; the end of any other text.
fn named(text: &str) -> usize {
    let is_named = || {
        let (stem, number) = text.rsplit_once('_')?;
        let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
        let is_id = PREFIXES.contains(&stem.split('_').next()?) && !stem.contains(' ');
        (is_number && is_id).then_some(stem.len())
    };
    is_named().unwrap_or(text.len())
}

/// The text without a secret where it stands alone, if it does anywhere.
fn without_word(text: &str, secret: &str) -> Option<String> {
    let (mut shown, mut copied) = (String::new(), 0);
    for (at, _) in text.match_indices(secret).filter(|it| is_word(text, *it)) {
        shown.push_str(&text[copied..at]);
        shown.push_str(HIDDEN);
        copied = at + secret.len();
    }
    (copied > 0).then(|| shown + &text[copied..])
}

fn is_word(text: &str, (at, word): (usize, &str)) -> bool {
    let is_sign = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let before = text[..at].chars().next_back();
    let after = text[at + word.len()..].chars().next();
    let goes_on_before = is_sign(word.chars().next()) && is_sign(before);
    let goes_on_after = is_sign(word.chars().next_back()) && is_sign(after);
    !goes_on_before && !goes_on_after
}

/// The text without the parts of addresses that spell a secret, if there are any.
fn in_address(text: &str, secret: &str, reach: Reach) -> Option<String> {
    let is_spelled = match reach {
        Reach::Anywhere | Reach::Word => text.contains(['%', '+']),
        Reach::Value => text.contains('='),
    };
    if !is_spelled {
        return None;
    }
    let (mut shown, mut before, mut found) = (String::new(), None, false);
    for part in text.split_inclusive(ENDS) {
        let meant = match reach {
            // It may be the last word of a sentence.
            Reach::Value => part.trim_end_matches(ENDS).trim_end_matches(['.', '!']),
            Reach::Anywhere | Reach::Word => part.trim_end_matches(ENDS),
        };
        let (part, end) = part.split_at(meant.len());
        let is_secret = readings(part).any(|meant| match reach {
            Reach::Anywhere => meant.contains(secret),
            Reach::Word => {
                let mut places = meant.match_indices(secret);
                places.any(|it| is_word(&meant, it))
            }
            Reach::Value => before == Some('=') && meant == secret,
        });
        found |= is_secret;
        shown.push_str(if is_secret { HIDDEN } else { part });
        shown.push_str(end);
        before = end.chars().next_back();
    }
    found.then_some(shown)
}

/// What a part of an address can mean.
pub(in crate::browser) fn readings(part: &str) -> impl Iterator<Item = String> {
    let filled_in = part.replace('+', " ");
    let meant = [unescaped(part), unescaped(&filled_in)];
    meant.into_iter().flatten().chain([part.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_that_was_cut_within_a_secret_shows_no_part_of_it() {
        let (secret, long) = ("opal sesame&7".to_owned(), "word ".repeat(30));
        let secrets = [secret];
        for (text, shown) in [
            (format!("{long}opal ses"), format!("{long}********")),
            (format!("{long}opal"), format!("{long}********")),
            (format!("{long}opa"), format!("{long}opa")),
            (format!("e&7 {long}"), format!("e&7 {long}")),
            (format!("esame&7 {long}"), format!("******** {long}")),
            (
                format!("esame&7 {long}opal s"),
                format!("******** {long}********"),
            ),
            (
                format!("http://x/{}?p=opal%20ses", "a".repeat(99)),
                format!("http://x/{}?p=********", "a".repeat(99)),
            ),
            (
                format!("http://x/{}?p=opal%2", "a".repeat(99)),
                format!("http://x/{}?p=********", "a".repeat(99)),
            ),
            (
                format!("http://x/{}?p=opal+se", "a".repeat(99)),
                format!("http://x/{}?p=********", "a".repeat(99)),
            ),
            ("so opal".to_owned(), "so opal".to_owned()),
        ] {
            let now = hidden(&text, &secrets);
            assert_eq!(now.as_deref().unwrap_or(&text), shown);
        }
    }

    #[test]
    fn a_short_secret_is_hidden_where_nothing_else_can_be_meant() {
        for (secret, text, shown) in [
            ("473", "473", "********"),
            ("473", "Your PIN is 473.", "Your PIN is ********."),
            ("473", "47311 and x473 and 1473", "47311 and x473 and 1473"),
            (
                "473",
                "http://x/473?p=473#473",
                "http://x/********?p=********#********",
            ),
            ("473", "http://x/?p=%34%373", "http://x/?p=********"),
            ("a-b", "x a-b, xa-b, a-bc", "x ********, xa-b, a-bc"),
            ("é1z", "Le code é1z", "Le code ********"),
            ("4711", "4711 4711", "******** ********"),
            ("47114", "room 47114", "room ********"),
            ("471147", "x471147x", "x********x"),
            (
                "12",
                "http://x/12?p=12&q=3#12",
                "http://x/12?p=********&q=3#12",
            ),
            (
                "12",
                "pin=12. At 12 there are 12=12",
                "pin=********. At 12 there are 12=********",
            ),
            ("a1", "?p=a1&q=a12", "?p=********&q=a12"),
            ("&", "?p=%26&q=1&r", "?p=********&q=1&r"),
            ("7", "7 of 7", "7 of 7"),
            // The number of a node is none that anybody typed.
            ("473", "btn_Pay_473_473", "btn_Pay_********_473"),
            ("473", "tab_473", "tab_473"),
            ("473", "note_473", "note_********"),
        ] {
            let secrets = [secret.to_owned()];
            let now = hidden(text, &secrets);
            assert_eq!(now.as_deref().unwrap_or(text), shown, "{secret}");
            assert_eq!(now.is_some(), text != shown, "{secret} {text}");
        }
    }
}
