//! Secrets that are written so that a plain search does not see them.

use tollgate_sanitize::{Sanitizer, Scope};

use super::{Random, catalog, generate};

/// Values for each format and form.
const EACH: usize = 4;

/// A way to write a value, if it can be written so.
type Hide = fn(&str, &mut Random) -> Option<String>;

/// The classes, and how much of each has to be found.
pub(crate) const CLASSES: &[(&str, Hide, f64)] = &[
    ("base64", |value, _| Some(base64(value)), 0.9),
    (
        "hexadecimal",
        |value, _| each(value, |byte| format!("{byte:02x}")),
        0.85,
    ),
    (
        "percent",
        |value, _| each(value, |byte| format!("%{byte:02X}")),
        0.9,
    ),
    (
        "entity",
        |value, _| each(value, |byte| format!("&#{byte};")),
        0.9,
    ),
    (
        "entity, hexadecimal",
        |value, _| each(value, |byte| format!("&#x{byte:x};")),
        0.9,
    ),
    (
        "backslash",
        |value, _| each(value, |byte| format!("\\x{byte:02x}")),
        0.9,
    ),
    (
        "octal",
        |value, _| each(value, |byte| format!("\\{byte:03o}")),
        0.9,
    ),
    ("spaced", |value, _| Some(spaced(value, " ")), 0.85),
    ("spaced by dashes", |value, _| Some(spaced(value, "-")), 0.7),
    ("split", |value, _| Some(split(value, "\" + \"")), 0.9),
    (
        "split by a dot",
        |value, _| Some(split(value, "\" . \"")),
        0.9,
    ),
    (
        "split over lines, plus",
        |value, _| Some(split(value, "\" +\n    \"")),
        0.9,
    ),
    (
        "split over lines, backslash",
        |value, _| Some(split(value, "\" \\\n    + \"")),
        0.9,
    ),
    (
        "split over lines, nothing",
        |value, _| Some(split(value, "\"\n    \"")),
        0.9,
    ),
    ("side by side", |value, _| Some(split(value, "\" \"")), 0.9),
    ("wrapped", |value, _| Some(split(value, "\\\n")), 0.6),
    ("full width", |value, _| wide(value, 0xfee0), 0.9),
    ("mathematical", |value, _| mathematical(value), 0.9),
    ("homoglyph", homoglyph, 0.9),
    (
        "zero width",
        |value, _| Some(spaced(value, "\u{200b}")),
        0.9,
    ),
];

/// How many values of a class were made, and how many were found.
pub(crate) fn tally(name: &str, hide: Hide) -> (u32, u32) {
    let (mut all, mut found) = (0, 0);
    for format in catalog::all() {
        // Multi-line values and values told by their neighbours have no such form.
        if format.form.contains(['\n', ' ', '\\', '"', '<', '\'']) || !format.form.is_ascii() {
            continue;
        }
        let mut random = Random::named(&format!("{name} {}", format.form));
        for _ in 0..EACH {
            let value = generate(format.form, &mut random).text;
            let Some(hidden) = hide(&value, &mut random) else {
                continue;
            };
            let text = format!("the value is {hidden} as printed");
            let cleaned = Sanitizer::shipped().text(&text, &Scope::trusted()).text;
            let third = |part: usize| hidden.floor_char_boundary(hidden.len() * part / 3);
            let middle = hidden[third(1)..third(2)].replace('\u{200b}', "");
            all += 1;
            found += u32::from(!cleaned.contains(&middle));
        }
    }
    (all, found)
}

fn each(value: &str, write: impl Fn(u8) -> String) -> Option<String> {
    Some(value.bytes().map(write).collect())
}

fn base64(value: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in value.as_bytes().chunks(3) {
        let bits = chunk
            .iter()
            .fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let six = (bits >> (18 - 6 * place) & 63) as usize;
            out.push(if place <= chunk.len() {
                char::from(ALPHABET[six])
            } else {
                '='
            });
        }
    }
    out
}

fn spaced(value: &str, between: &str) -> String {
    let letters: Vec<String> = value.chars().map(String::from).collect();
    letters.join(between)
}

fn split(value: &str, joint: &str) -> String {
    let middle = value.len() / 2;
    format!("\"{}{joint}{}\"", &value[..middle], &value[middle..])
}

/// Every character as the one at a distance.
fn wide(value: &str, distance: u32) -> Option<String> {
    value
        .bytes()
        .map(|byte| char::from_u32(u32::from(byte) + distance))
        .collect()
}

/// Letters and digits in bold.
fn mathematical(value: &str) -> Option<String> {
    let bold = |byte: u8| match byte {
        b'A'..=b'Z' => char::from_u32(0x1d400 + u32::from(byte - b'A')),
        b'a'..=b'z' => char::from_u32(0x1d41a + u32::from(byte - b'a')),
        b'0'..=b'9' => char::from_u32(0x1d7ce + u32::from(byte - b'0')),
        _ => Some(char::from(byte)),
    };
    value.bytes().map(bold).collect()
}

/// One letter in Cyrillic.
fn homoglyph(value: &str, random: &mut Random) -> Option<String> {
    const LATIN: &str = "aceopxyABCEHKMOPTX";
    const CYRILLIC: &str = "асеорхуАВСЕНКМОРТХ";
    let places: Vec<usize> = value
        .bytes()
        .enumerate()
        .filter(|(_, byte)| LATIN.contains(char::from(*byte)))
        .map(|(place, _)| place)
        .collect();
    if places.is_empty() {
        return None;
    }
    let place = *random.pick(&places);
    let at = LATIN.find(&value[place..=place])?;
    let letter = CYRILLIC.chars().nth(at)?;
    Some(format!(
        "{}{letter}{}",
        &value[..place],
        &value[place + 1..]
    ))
}

#[test]
fn most_hidden_forms_are_found() {
    let mut low = Vec::new();
    for (name, hide, wanted) in CLASSES {
        let (all, found) = tally(name, *hide);
        let recall = f64::from(found) / f64::from(all);
        if recall < *wanted {
            low.push(format!("{name}: {recall:.2} of {all}"));
        }
    }
    assert!(low.is_empty(), "{}", low.join("\n"));
}
