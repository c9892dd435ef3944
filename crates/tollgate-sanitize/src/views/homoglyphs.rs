//! Letters of Cyrillic and Greek that look like Latin ones, within a word of ASCII: `ghр_…` with a Cyrillic `р`.

use memchr::memchr3_iter;

use super::{Accepts, Mark, View, decoded};

/// The most such letters that stand together; longer runs are words of their own language.
const MOST: usize = 3;

/// What each letter looks like.
const LOOKS: &[(char, char)] = &[
    ('а', 'a'),
    ('в', 'b'),
    ('ь', 'b'),
    ('с', 'c'),
    ('ԁ', 'd'),
    ('е', 'e'),
    ('һ', 'h'),
    ('і', 'i'),
    ('ј', 'j'),
    ('к', 'k'),
    ('ӏ', 'l'),
    ('м', 'm'),
    ('п', 'n'),
    ('о', 'o'),
    ('р', 'p'),
    ('ԛ', 'q'),
    ('г', 'r'),
    ('ѕ', 's'),
    ('т', 't'),
    ('ѵ', 'v'),
    ('ԝ', 'w'),
    ('х', 'x'),
    ('у', 'y'),
    ('А', 'A'),
    ('В', 'B'),
    ('С', 'C'),
    ('Е', 'E'),
    ('Ԍ', 'G'),
    ('Н', 'H'),
    ('І', 'I'),
    ('Ј', 'J'),
    ('К', 'K'),
    ('М', 'M'),
    ('О', 'O'),
    ('Р', 'P'),
    ('Ѕ', 'S'),
    ('Т', 'T'),
    ('Ѵ', 'V'),
    ('Ԝ', 'W'),
    ('Х', 'X'),
    ('У', 'Y'),
    ('З', '3'),
    ('α', 'a'),
    ('ε', 'e'),
    ('ι', 'i'),
    ('κ', 'k'),
    ('ν', 'v'),
    ('ο', 'o'),
    ('ρ', 'p'),
    ('τ', 't'),
    ('υ', 'u'),
    ('χ', 'x'),
    ('γ', 'y'),
    ('Α', 'A'),
    ('Β', 'B'),
    ('Ε', 'E'),
    ('Η', 'H'),
    ('Ι', 'I'),
    ('Κ', 'K'),
    ('Μ', 'M'),
    ('Ν', 'N'),
    ('Ο', 'O'),
    ('Ρ', 'P'),
    ('Τ', 'T'),
    ('Χ', 'X'),
    ('Υ', 'Y'),
    ('Ζ', 'Z'),
];

pub(super) fn marks(text: &str, marks: &mut Vec<Mark>) {
    // Greek and Cyrillic begin with these bytes, and no other character has them.
    for leads in [[0xd0, 0xd1, 0xd2], [0xd3, 0xd4, 0xce], [0xcf; 3]] {
        let mut until = 0;
        for at in memchr3_iter(leads[0], leads[1], leads[2], text.as_bytes()) {
            if at >= until {
                let run = run(text, at);
                until = run.end;
                if is_within_word(text.as_bytes(), &run) {
                    marks.push(run);
                }
            }
        }
    }
}

pub(super) fn views(text: &str, views: &mut Vec<View>) {
    let mut found = Vec::new();
    marks(text, &mut found);
    found.sort_unstable_by_key(|mark| (mark.start, mark.end));
    found.dedup_by(|next, last| next.start < last.end);
    let read = |word: &str, read: &mut String| {
        let look = |c: char| LOOKS.iter().find(|(letter, _)| *letter == c);
        read.extend(word.chars().filter_map(look).map(|(_, look)| *look));
    };
    decoded(text, &found, Accepts::Secrets, read, views);
}

/// The letters from `at` on that are not ASCII, two bytes each; all of them have to look like Latin ones.
fn run(text: &str, at: usize) -> Mark {
    let length = text.as_bytes()[at..]
        .iter()
        .take_while(|byte| **byte >= 0x80)
        .count();
    at..at + length
}

fn is_within_word(bytes: &[u8], run: &Mark) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let before = run.start.checked_sub(1).and_then(|at| bytes.get(at));
    let touches = before.is_some_and(is_part) || bytes.get(run.end).is_some_and(is_part);
    let is_short = run.len() <= MOST * 2 && before.is_none_or(u8::is_ascii);
    touches && is_short && looks_latin(&bytes[run.clone()])
}

fn looks_latin(bytes: &[u8]) -> bool {
    let letters = std::str::from_utf8(bytes).unwrap_or_default();
    let is_known = |c: char| LOOKS.iter().any(|(letter, _)| *letter == c);
    !letters.is_empty() && letters.chars().all(is_known)
}
