//! Whether a value beside a telling name is the secret, or a placeholder, a variable, a type or some other code.

use super::is_placeholder;
use super::shape::Shape;
use super::telling::{Join, Telling};

/// Values that stand for a value.
const STAND_INS: &[&str] = &[
    "null", "none", "nil", "true", "false", "undefined", "string", "str", "bool", "number", "required", "optional",
    "redacted", "hidden", "masked", "empty", "not-set", "unset", "n/a", "tbd", "todo", "changed", "unknown", "default",
    "disabled", "enabled", "password", "secret", "token", "input", "text", "prompt", "env", "encrypted",
];

/// Beginnings of code that fetches a value from somewhere.
const FETCHES: &[&str] = &[
    "process.env", "os.environ", "os.getenv", "getenv", "env.", "env[", "env(", "import.meta", "config.", "secrets.",
    "vault:", "vault.", "ssm:", "arn:", "data:", "file:", "self.", "this.", "ref:", "op:", "keychain:", "var.", "local.",
];

/// Judges the value of a telling name.
pub(super) fn is_secret(value: &str, telling: Telling, join: Join) -> bool {
    if value.len() < 4 || is_stand_in(value) {
        return false;
    }
    let shape = Shape::of(value);
    match (telling, join) {
        (Telling::Password, Join::Quoted) => is_password(value, &shape),
        (Telling::Password, Join::Assigned) => {
            value.len() >= 6 && (shape.digits > 0 || has_symbol(value)) && !shape.is_wordy() && !is_path(value)
        }
        (Telling::Password | Telling::Secret, Join::Field) if telling == Telling::Password => is_password(value, &shape),
        (Telling::Secret, Join::Quoted | Join::Assigned | Join::Field) => is_assigned_secret(value, &shape, 8),
        (Telling::Key, Join::Quoted | Join::Assigned | Join::Field) => is_assigned_secret(value, &shape, 10),
        (Telling::BareKey, Join::Quoted | Join::Assigned | Join::Field) => {
            !shape.is_hex() && shape.digits > 0 && !is_path(value) && value.len() >= 16 && shape.is_random(16)
        }
        (Telling::BareKey, Join::Spaced | Join::Glued) => {
            !shape.is_hex() && shape.digits > 0 && !is_path(value) && shape.is_random(20)
        }
        (Telling::Weak, Join::Quoted | Join::Assigned | Join::Field) => !is_path(value) && shape.is_random(20),
        (_, Join::Spaced | Join::Glued | Join::Field) => !is_path(value) && is_lone_secret(value, &shape),
    }
}

fn is_password(value: &str, shape: &Shape) -> bool {
    let lower = value.to_lowercase();
    let spaces = value.bytes().filter(|byte| *byte == b' ').count();
    let label = spaces > 0 && (spaces > 3 || lower.contains("passw") || lower.contains("enter") || shape.digits == 0 && spaces > 1);
    !label && !value.contains("://") && shape.letters + shape.digits > 0 && !value.starts_with("--")
}

/// A value after `=` or `:`: short ones count if they mix letters and digits, long ones if they are no words.
fn is_assigned_secret(value: &str, shape: &Shape, shortest: usize) -> bool {
    let alnum = shape.letters + shape.digits;
    if value.len() < shortest || is_path(value) || value.contains(' ') || !value.is_ascii() {
        return false;
    }
    if shape.letters == 0 {
        return shape.digits >= 15 && shape.others == 0;
    }
    if shape.digits == 0 {
        return alnum >= 16 && shape.others <= 2 && shape.reads_unlike_words(50);
    }
    !shape.is_wordy() && alnum * 4 >= value.len() * 3
}

/// A value that merely follows the name: only what nothing else looks like.
fn is_lone_secret(value: &str, shape: &Shape) -> bool {
    if value.contains(' ') || !value.is_ascii() {
        return false;
    }
    match (shape.letters, shape.digits) {
        (0, digits) => digits >= 20 && shape.others == 0,
        (_, 0) => value.len() >= 20 && shape.others == 0 && shape.reads_unlike_words(48),
        _ => shape.is_random(14),
    }
}

fn has_symbol(value: &str) -> bool {
    value.bytes().any(|byte| b"!@#$%^&*+=?~".contains(&byte))
}

fn is_path(value: &str) -> bool {
    value.contains("://")
        || value.starts_with(['/', '.', '~'])
        || value.contains("::")
        || value.contains("->")
        || (value.matches('/').count() >= 2 && !value.ends_with('=') && Shape::of(value).is_wordy())
}

/// Whether a value only stands for one: a variable, a template, a mask, a replacement made earlier.
pub(super) fn is_stand_in(value: &str) -> bool {
    let first = value.as_bytes().first().copied().unwrap_or_default();
    let lower = value.to_ascii_lowercase();
    is_placeholder(value)
        || value.contains("[REDACTED:")
        || matches!(first, b'<' | b'{')
        || (first == b'$' && !value.contains(|c: char| c.is_ascii_digit()))
        || (first == b'%' && value.ends_with('%'))
        || value.starts_with("${")
        || value.contains("{{")
        || value.contains("${")
        || value.bytes().all(|byte| byte == first || byte == b'*')
        || lower.trim_matches('x').is_empty()
        || value.contains("***")
        || value.contains("...")
        || value.contains("xxxx")
        || STAND_INS.contains(&lower.as_str())
        || FETCHES.iter().any(|fetch| lower.starts_with(fetch))
}
