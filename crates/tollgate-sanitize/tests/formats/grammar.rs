//! The notation of the catalog: text with `{ALPHABET:LENGTH}` or `{ALPHABET:LOW-HIGH}` in it.
//!
//! `{one,two,three}` is a choice, `{words:N}` N English words joined by `_`, `{WORDS:N}` the same in capitals.

use super::Random;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

const WORDS: &[&str] = &[
    "account", "action", "active", "buffer", "button", "client", "column", "config", "content",
    "default", "device", "driver", "editor", "event", "field", "filter", "folder", "footer",
    "handler", "header", "image", "index", "layout", "list", "loader", "manager", "module",
    "number", "object", "option", "panel", "parser", "point", "policy", "process", "profile",
    "queue", "reader", "record", "region", "report", "result", "section", "series", "server",
    "source", "status", "stream", "string", "style", "table", "template", "thread", "title",
    "toolbar", "update", "value", "vector", "version", "window",
];

/// A value of a form, and the part of it that must not be left: its longest random piece.
pub(crate) struct Generated {
    pub(crate) text: String,
    pub(crate) secret: String,
}

/// One value of a form.
pub(crate) fn generate(form: &str, random: &mut Random) -> Generated {
    let mut text = String::new();
    let mut secret = String::new();
    let mut rest = form;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (piece, after) = after.split_once('}').expect("a piece is closed");
        let expanded = expand(piece, random);
        text.push_str(&expanded);
        if expanded.len() > secret.len() {
            secret = expanded;
        }
        rest = after;
    }
    text.push_str(rest);
    Generated { text, secret }
}

fn expand(piece: &str, random: &mut Random) -> String {
    if piece.contains(',') {
        let choices: Vec<&str> = piece.split(',').collect();
        return (*random.pick(&choices)).to_owned();
    }
    // Braces of the form's own.
    let Some((name, length)) = piece.split_once(':') else {
        return format!("{{{piece}}}");
    };
    let length = match length.split_once('-') {
        Some((low, high)) => random.between(number(low), number(high)),
        None => number(length),
    };
    if name.eq_ignore_ascii_case("words") {
        let words: Vec<&str> = (0..length).map(|_| *random.pick(WORDS)).collect();
        let joined = words.join("_");
        return if name == "WORDS" {
            joined.to_uppercase()
        } else {
            joined
        };
    }
    let letters: Vec<u8> = alphabet(name).into_bytes();
    (0..length)
        .map(|_| char::from(*random.pick(&letters)))
        .collect()
}

fn number(text: &str) -> usize {
    text.parse().expect("a length is a number")
}

/// The alphabets issuers use.
fn alphabet(name: &str) -> String {
    match name {
        "b62" => [UPPER, LOWER, DIGITS].concat(),
        "b64" => [UPPER, LOWER, DIGITS, "+/"].concat(),
        "b64u" => [UPPER, LOWER, DIGITS, "-_"].concat(),
        "b36" => [LOWER, DIGITS].concat(),
        "B36" => [UPPER, DIGITS].concat(),
        "b32" => [UPPER, "234567"].concat(),
        "hex" => [DIGITS, "abcdef"].concat(),
        "HEX" => [DIGITS, "ABCDEF"].concat(),
        "digit" => DIGITS.to_owned(),
        "lower" => LOWER.to_owned(),
        "upper" => UPPER.to_owned(),
        "alpha" => [UPPER, LOWER].concat(),
        "bech32" => "023456789ACDEFGHJKLMNPQRSTUVWXYZ".to_owned(),
        other => panic!("no alphabet is called {other}"),
    }
}
