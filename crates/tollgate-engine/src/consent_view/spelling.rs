//! Text in which nothing moves, hides or goes on for pages.
//!
//! Invariant: what is printed between quotes is a JSON string that reads as the text itself, apart
//! from repeats, which are counted. A text that looks like a gap is spelled so that it is none.

use std::fmt::Write as _;

/// The words that begin a gap.
const GAPS: [&str; 3] = ["[REDACTED", "[REPEATED", "[LEFT OUT"];
/// How often a character may follow itself before it is counted instead.
const REPEATS: usize = 64;

/// Spells text as the inside of a JSON string; gives how many characters had to be spelled out.
pub(super) fn string(text: &str, out: &mut String) -> usize {
    spell(text, false, out)
}

/// The same for text whose lines are kept.
pub(super) fn lines(text: &str, out: &mut String) -> usize {
    spell(text, true, out)
}

fn spell(text: &str, lines: bool, out: &mut String) -> usize {
    let mut spelled = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let run = repeats(rest, c);
        if run > REPEATS {
            let _ = write!(out, "[REPEATED:U+{:04X} {run} times]", u32::from(c));
            if lines && c == '\n' {
                out.push('\n');
            }
            spelled += 1;
            rest = &rest[run * c.len_utf8()..];
            continue;
        }
        spelled += match c {
            '\n' | '\t' if lines => {
                out.push(c);
                0
            }
            '[' if GAPS.iter().any(|gap| rest.starts_with(gap)) => escape(c, out),
            '"' | '\\' if !lines => {
                out.push('\\');
                out.push(c);
                0
            }
            '\n' => short("\\n", out),
            '\r' => short("\\r", out),
            '\t' => short("\\t", out),
            _ if is_odd(c) => escape(c, out),
            _ => {
                out.push(c);
                0
            }
        };
        rest = &rest[c.len_utf8()..];
    }
    spelled
}

/// How often a character stands at the beginning.
fn repeats(text: &str, c: char) -> usize {
    text.chars().take_while(|next| *next == c).count()
}

fn short(escape: &str, out: &mut String) -> usize {
    out.push_str(escape);
    0
}

fn escape(c: char, out: &mut String) -> usize {
    let mut units = [0; 2];
    for unit in c.encode_utf16(&mut units) {
        let _ = write!(out, "\\u{unit:04x}");
    }
    1
}

/// Whether a character is not seen as what it is: it controls, moves, joins or is blank.
fn is_odd(c: char) -> bool {
    c.is_control()
        || c != ' ' && c.is_whitespace()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{e000}'..='\u{f8ff}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{10ffff}'
        )
}
