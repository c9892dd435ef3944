//! Whether a value beside a telling name is the secret, or a placeholder, a variable, a type or some other code.

use super::is_placeholder;
use super::shape::Shape;
use super::telling::{Join, Telling};

/// Values that stand for a value.
const STAND_INS: &[&str] = &[
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "str",
    "bool",
    "number",
    "required",
    "optional",
    "redacted",
    "hidden",
    "masked",
    "empty",
    "not-set",
    "unset",
    "n/a",
    "tbd",
    "todo",
    "changed",
    "unknown",
    "default",
    "disabled",
    "enabled",
    "password",
    "secret",
    "token",
    "input",
    "text",
    "prompt",
    "env",
    "encrypted",
];

/// Beginnings of code that fetches a value from somewhere.
const FETCHES: &[&str] = &[
    "process.env",
    "os.environ",
    "os.getenv",
    "getenv",
    "env.",
    "env[",
    "env(",
    "import.meta",
    "config.",
    "secrets.",
    "vault:",
    "vault.",
    "ssm:",
    "arn:",
    "data:",
    "file:",
    "self.",
    "this.",
    "ref:",
    "op:",
    "keychain:",
    "var.",
    "local.",
];

/// Judges the value of a telling name.
pub(super) fn is_secret(value: &str, telling: Telling, join: Join) -> bool {
    if value.len() < 4 {
        return false;
    }
    let shape = Shape::of(value);
    let secret = match (telling, join) {
        (Telling::Password, Join::Quoted | Join::Field) => is_password(value, &shape),
        (Telling::Password, Join::Assigned) => {
            value.len() >= 6
                && (shape.digits > 0 || has_symbol(value))
                && (!shape.is_wordy() || is_composed(value, &shape))
                && !is_path(value)
        }
        (Telling::Secret, Join::Quoted | Join::Assigned | Join::Field) => {
            is_assigned_secret(value, &shape, 8)
        }
        (Telling::Key, Join::Quoted | Join::Assigned | Join::Field) => {
            is_assigned_secret(value, &shape, 10)
        }
        (Telling::BareKey, Join::Quoted | Join::Assigned | Join::Field) => {
            !shape.is_hex()
                && shape.digits > 0
                && !is_path(value)
                && value.len() >= 16
                && shape.is_random(16)
        }
        (Telling::BareKey, Join::Spaced | Join::Glued) => {
            !shape.is_hex() && shape.digits > 0 && !is_path(value) && shape.is_random(20)
        }
        (Telling::Weak, Join::Quoted | Join::Assigned | Join::Field) => {
            !is_path(value) && shape.is_random(15)
        }
        (_, Join::Spaced | Join::Glued) => !is_path(value) && is_lone_secret(value, &shape),
    };
    secret && !is_stand_in(value) && !is_date(value)
}

fn is_password(value: &str, shape: &Shape) -> bool {
    let spaces = value.bytes().filter(|byte| *byte == b' ').count();
    let is_label = || {
        let lower = value.to_lowercase();
        spaces > 3
            || lower.contains("passw")
            || lower.contains("enter")
            || shape.digits == 0 && spaces > 1
    };
    if spaces > 0 && is_label() {
        return false;
    }
    shape.letters + shape.digits > 0 && !value.starts_with("--") && !value.contains("://")
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
        return alnum >= 16
            && shape.others <= 2
            && (shape.reads_unlike_words(50) || shape.is_hex());
    }
    !shape.is_wordy() && alnum * 4 >= value.len() * 3
}

/// A value that merely follows the name: only what nothing else looks like.
fn is_lone_secret(value: &str, shape: &Shape) -> bool {
    if value.contains([' ', '#', '%', '?']) || !value.is_ascii() {
        return false;
    }
    match (shape.letters, shape.digits) {
        (0, digits) => digits >= 20 && shape.others == 0,
        (_, 0) => {
            value.len() >= 20
                && shape.others == 0
                && (shape.reads_unlike_words(48) || shape.is_hex())
        }
        _ => shape.is_random(14),
    }
}

/// `2031-05-27` and what may follow it.
fn is_date(value: &str) -> bool {
    let shape = b"dddd-dd-dd";
    let fits = |(&byte, &want): (&u8, &u8)| {
        if want == b'd' {
            byte.is_ascii_digit()
        } else {
            byte == want
        }
    };
    value.len() >= shape.len()
        && value.as_bytes().iter().zip(shape).all(fits)
        && value
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"-:.TZ+ ".contains(&byte))
}

/// Whether a token is one character for the most part, eight of them or more in a row.
fn is_row(value: &str) -> bool {
    let (mut last, mut run, mut longest) = (0, 0, (0, 0));
    for byte in value.bytes() {
        run = if byte == last { run + 1 } else { 1 };
        last = byte;
        longest = longest.max((run, byte));
    }
    let count = value.bytes().filter(|byte| *byte == longest.1).count();
    let all = value.bytes().filter(u8::is_ascii_alphanumeric).count();
    longest.0 >= 8 && count * 2 > all
}

/// Small letters, capitals, digits and a symbol, as rules for passwords ask for.
fn is_composed(value: &str, shape: &Shape) -> bool {
    let is_mixed = shape.capitals > 0 && shape.capitals < shape.letters;
    is_mixed && shape.digits > 0 && value.bytes().any(|byte| b"!@#$%^&*?".contains(&byte))
}

fn has_symbol(value: &str) -> bool {
    value.bytes().any(|byte| b"!@#$%^&*+=?~".contains(&byte))
}

fn is_path(value: &str) -> bool {
    let bytes = value.as_bytes();
    let mut slashes = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let rest = &bytes[at + 1..];
        let joins = match byte {
            b':' => rest.starts_with(b":") || rest.starts_with(b"//"),
            b'-' => rest.starts_with(b">"),
            _ => false,
        };
        if joins {
            return true;
        }
        slashes += usize::from(byte == b'/');
    }
    // Base64 begins with a slash as well.
    (matches!(bytes.first(), Some(b'/' | b'.' | b'~')) && !is_base64(value))
        || (slashes >= 2 && !value.ends_with('=') && Shape::of(value).is_wordy())
}

/// Long enough to be a key, and in no order that paths have.
fn is_base64(value: &str) -> bool {
    let shape = Shape::of(value);
    value.len() >= 32
        && shape.digits > 0
        && shape.is_token()
        && !value.bytes().any(|byte| matches!(byte, b'.' | b'-' | b'_'))
}

/// Whether a value only stands for one: a variable, a template, a mask, a replacement made earlier.
pub(super) fn is_stand_in(value: &str) -> bool {
    let bytes = value.as_bytes();
    let first = bytes.first().copied().unwrap_or_default();
    if matches!(first, b'<' | b'{')
        || is_placeholder(value)
        || bytes.iter().all(|&byte| byte == first || byte == b'*')
    {
        return true;
    }
    let variable = match first {
        b'$' => value.starts_with("${") || !bytes.iter().any(u8::is_ascii_digit),
        b'%' => value.ends_with('%'),
        _ => false,
    };
    variable
        || is_masked(value)
        || is_template(value)
        || is_stand_in_word(value)
        || says_example(value)
}

/// Words that say what a token is: none.
const EXAMPLES: &[&str] = &[
    "placeholder",
    "changeme",
    "replaceme",
    "yourtoken",
    "yourapikey",
    "yoursecret",
];
/// A longer value is no token, whatever it ends with.
const LONGEST_EXAMPLE: usize = 128;

/// Whether a token is the one that documentation shows in place of a secret: `ghp_xxxx…`, `AKIAIOSFODNN7EXAMPLE`.
///
/// Only one word counts, so that text around a secret does not make it one.
pub(super) fn is_example(value: &str) -> bool {
    let is_word = value.bytes().all(|byte| byte.is_ascii_graphic());
    value.len() <= LONGEST_EXAMPLE && is_word && (says_example(value) || is_row(value))
}

fn says_example(value: &str) -> bool {
    let bytes = value.as_bytes();
    let has = |word: &&str| {
        let first = word.as_bytes()[0];
        let mut windows = bytes.windows(word.len());
        windows.any(|part| part[0] | 0x20 == first && part.eq_ignore_ascii_case(word.as_bytes()))
    };
    value.len() <= LONGEST_EXAMPLE
        && (value.ends_with("EXAMPLE") || value.ends_with("EXAMPLEKEY") || EXAMPLES.iter().any(has))
}

/// Rows of stars, dots or crosses, and values that were cut short.
fn is_masked(value: &str) -> bool {
    let bytes = value.as_bytes();
    let (mut last, mut run) = (0, 0);
    for (at, &byte) in bytes.iter().enumerate() {
        run = if byte == last { run + 1 } else { 1 };
        last = byte;
        let masked = match byte {
            b'*' | b'.' => run == 3,
            b'x' => run == 4,
            b'[' => bytes[at..].starts_with(b"[REDACTED:"),
            _ => false,
        };
        if masked {
            return true;
        }
    }
    false
}

fn is_template(value: &str) -> bool {
    value.contains('{') && (value.contains("{{") || value.contains("${"))
}

fn is_stand_in_word(value: &str) -> bool {
    let bytes = value.as_bytes();
    let first = bytes.first().map_or(0, u8::to_ascii_lowercase);
    let begins = |start: &&str| {
        start.as_bytes().first() == Some(&first)
            && bytes
                .get(..start.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()))
    };
    STAND_INS
        .iter()
        .any(|word| word.len() == value.len() && begins(word))
        || FETCHES.iter().any(begins)
        || bytes.iter().all(|byte| byte.eq_ignore_ascii_case(&b'x'))
}
