//! Secrets that are written so that a plain search does not see them.

use tollgate_sanitize::{Sanitizer, Scope};

use super::{Random, catalog, generate};

/// Values for each format and form.
const EACH: usize = 4;

/// How much of what is hidden by `hide` is found.
fn recall(name: &str, hide: fn(&str) -> String) -> f64 {
    let (mut found, mut all) = (0_u32, 0_u32);
    for format in catalog::all() {
        // Multi-line values and values told by their neighbours have no such form.
        if format.form.contains(['\n', ' ', '\\', '"', '<']) {
            continue;
        }
        let mut random = Random::named(&format!("{name} {}", format.form));
        for _ in 0..EACH {
            let hidden = hide(&generate(format.form, &mut random).text);
            let text = format!("the value is {hidden} as printed");
            let cleaned = Sanitizer::shipped().text(&text, &Scope::trusted()).text;
            let middle = &hidden[hidden.len() / 3..hidden.len() * 2 / 3];
            all += 1;
            found += u32::from(!cleaned.contains(middle));
        }
    }
    f64::from(found) / f64::from(all)
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

fn percent(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn entity(value: &str) -> String {
    value.bytes().map(|byte| format!("&#{byte};")).collect()
}

fn spaced(value: &str) -> String {
    value
        .chars()
        .map(String::from)
        .collect::<Vec<_>>()
        .join(" ")
}

fn split(value: &str) -> String {
    let middle = value.len() / 2;
    format!("\"{}\" + \"{}\"", &value[..middle], &value[middle..])
}

#[test]
fn most_hidden_forms_are_found() {
    for (name, hide) in [
        ("base64", base64 as fn(&str) -> String),
        ("percent", percent),
        ("entity", entity),
        ("spaced", spaced),
        ("split", split),
    ] {
        let recall = recall(name, hide);
        assert!(recall >= 0.8, "{name}: {recall:.2}");
    }
}
