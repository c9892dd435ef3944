//! Which places of a call may be masked, and what stands for them.

use super::{Changes, Viewer};

/// Characters of a value that its name makes a secret; a longer one is shown.
const LONGEST_SECRET: usize = 4_096;

/// A piece of a text.
pub(super) enum Piece<'a> {
    /// Shown.
    Text(&'a str),
    /// Masked.
    Gap(String),
}

/// The text with gaps in the place of key material.
pub(super) fn keys<'a>(
    viewer: &Viewer<'_>,
    text: &'a str,
    changes: &mut Changes,
) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut shown = 0;
    for place in viewer.cleaner.key_material(text) {
        pieces.push(Piece::Text(&text[shown..place.range.start]));
        let gap = viewer.gap("REDACTED", place.rule, &text[place.range.clone()]);
        pieces.push(Piece::Gap(gap));
        changes.masked += 1;
        shown = place.range.end;
    }
    pieces.push(Piece::Text(&text[shown..]));
    pieces
}

/// Whether a text under a secret's name can be a secret: one line that nobody would run as code.
pub(super) fn can_be_secret(text: &str) -> bool {
    !text.is_empty()
        && text.chars().count() <= LONGEST_SECRET
        && !text.chars().any(char::is_control)
}

/// Members of a login that are secrets only there. None is a name that anything can have, such as `key` or `value`.
pub(super) fn is_secret_of_login(name: &str) -> bool {
    const NAMES: [&str; 6] = ["pin", "otp", "totp", "cvv", "cvc", "pwd"];
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Names of arguments that are run as code.
pub(super) fn is_code(name: &str) -> bool {
    const NAMES: [&str; 17] = [
        "args",
        "argv",
        "cmd",
        "code",
        "command",
        "commands",
        "expression",
        "function",
        "javascript",
        "js",
        "program",
        "python",
        "query",
        "script",
        "shell",
        "sql",
        "statement",
    ];
    let plain = name.to_ascii_lowercase();
    let last = plain.rsplit(['_', '-', '.']).next().unwrap_or(&plain);
    NAMES.contains(&last) || plain.ends_with("sourcecode") || plain.ends_with("source_code")
}
