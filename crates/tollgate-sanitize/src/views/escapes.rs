//! `%41`, `&#65;`, `&#x41;`, `\x41`, `\u0041`, `\u{41}` and `\101`.

use memchr::memchr3_iter;

use super::{Accepts, Mark, View, decoded};

pub(super) fn marks(text: &str, marks: &mut Vec<Mark>) {
    let bytes = text.as_bytes();
    let mut until = 0;
    for at in memchr3_iter(b'%', b'&', b'\\', bytes) {
        if at < until {
            continue;
        }
        if let Some((length, _)) = escape(&bytes[at..]) {
            until = at + length;
            marks.push(at..until);
        }
    }
}

pub(super) fn views(text: &str, views: &mut Vec<View>) {
    let mut found = Vec::new();
    marks(text, &mut found);
    let read = |escaped: &str, read: &mut String| {
        if let Some((_, byte)) = escape(escaped.as_bytes()) {
            read.push(char::from(byte));
        }
    };
    decoded(text, &found, Accepts::All, read, views);
}

/// How long the escape at the beginning is, and the printable character it stands for.
fn escape(rest: &[u8]) -> Option<(usize, u8)> {
    let (length, byte) = match rest {
        [b'%', high, low, ..]
        | [b'\\', b'x', high, low, ..]
        | [b'\\', b'u', b'0', b'0', high, low, ..] => {
            let length = match rest[1] {
                b'x' => 4,
                b'u' => 6,
                _ => 3,
            };
            (length, hex(*high)? << 4 | hex(*low)?)
        }
        [b'\\', b'u', b'{', high, low, b'}', ..] => (6, hex(*high)? << 4 | hex(*low)?),
        [
            b'\\',
            high @ b'0'..=b'1',
            middle @ b'0'..=b'7',
            low @ b'0'..=b'7',
            ..,
        ] => (4, (high & 7) << 6 | (middle & 7) << 3 | low & 7),
        [b'&', b'#', b'x' | b'X', rest @ ..] => entity(rest, 16, 3)?,
        [b'&', b'#', rest @ ..] => entity(rest, 10, 2)?,
        _ => return None,
    };
    (0x20..0x7f).contains(&byte).then_some((length, byte))
}

fn entity(rest: &[u8], radix: u32, before: usize) -> Option<(usize, u8)> {
    let digits = rest
        .iter()
        .take(7)
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let number = std::str::from_utf8(rest.get(..digits)?).ok()?;
    let value = u8::from_str_radix(number, radix).ok()?;
    (rest.get(digits) == Some(&b';')).then_some((before + digits + 1, value))
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}
