//! Texts inside addresses and lists: base64url, percent signs, cells between commas, headings.

use serde_json::{Map, Value};

use super::JSON;
use crate::{Error, service::World};

pub(super) const MANIFEST_HEAD: &str = "logical_path,title,status,updated_at,summary\n";

/// The rows of the list of evidence.
pub fn manifest_rows<W: World>(world: &W) -> Vec<Map<String, Value>> {
    let text = crate::service::manifest(world).unwrap_or_default();
    let mut lines = text.lines();
    let head: Vec<String> = lines.next().map(fields).unwrap_or_default();
    let rows = lines.filter(|line| !line.trim().is_empty()).map(|line| {
        let cells = fields(line).into_iter().map(Value::from);
        head.iter().cloned().zip(cells).collect()
    });
    rows.collect()
}

/// The cells of a line between commas, quoted or not.
pub(crate) fn fields(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                if let Some(cell) = cells.last_mut() {
                    cell.push('"');
                }
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => {
                if let Some(cell) = cells.last_mut() {
                    cell.push(other);
                }
            }
        }
    }
    cells
}

pub(super) fn heading(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("# "))?;
    Some(line.trim_start_matches("# ").trim().to_owned())
}

pub(super) fn slug_of(title: &str) -> String {
    let plain: String = title
        .to_lowercase()
        .chars()
        .map(|letter| {
            if letter.is_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    plain
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

pub(super) fn mime(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "json" => JSON,
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" => "text/html",
        "svg" => "image/svg+xml",
        _ => "text/plain",
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Text in base64url without padding.
pub fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for three in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..=three.len() {
            let index = (bits >> (18 - 6 * at)) & 63;
            encoded.push(char::from(ALPHABET[index as usize]));
        }
    }
    encoded
}

/// What base64url stands for, if it is some and text.
pub fn decode(encoded: &str) -> Option<String> {
    let encoded = encoded.trim_end_matches('=');
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in encoded.bytes() {
        let value = ALPHABET.iter().position(|one| *one == letter)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 255).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

/// A part of an address: as it is, with `b64:` before it, or with percent signs.
pub(super) fn plain(part: &str) -> String {
    if let Some(encoded) = part.strip_prefix("b64:") {
        return decode(encoded).unwrap_or_default();
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

pub(super) fn params_of(encoded: &str) -> Result<Map<String, Value>, Error> {
    let wrong = || Error::argument("the parameters must be a JSON object in base64url");
    let text = decode(encoded.strip_prefix("b64:").unwrap_or(encoded)).ok_or_else(wrong)?;
    serde_json::from_str(&text).map_err(|_| wrong())
}
