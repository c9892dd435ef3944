//! Bounds on JSON before anything builds a tree of it.

use memchr::{memchr2, memchr2_iter};

/// The deepest nesting accepted anywhere, well below what recursion could not bear.
pub const MAX_DEPTH: usize = 96;

/// How far the end of a string is looked for byte by byte.
const NEAR: usize = 32;

/// Tells whether the arrays and objects of `json` nest no deeper than [`MAX_DEPTH`].
///
/// Looks at brackets outside strings only; whether it is JSON at all is for the parser to say.
pub fn within_depth(json: &[u8]) -> bool {
    // What opens fewer of them, wherever, cannot nest deeper; that is most of what there is.
    let mut opened = memchr2_iter(b'[', b'{', json);
    if opened.nth(MAX_DEPTH).is_none() {
        return true;
    }
    let mut depth = 0_usize;
    let mut index = 0;
    while let Some(byte) = json.get(index) {
        match byte {
            b'"' => index = end_of_string(json, index + 1),
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return false;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        index += 1;
    }
    true
}

/// The index of the closing quote of the string whose content starts at `from`.
fn end_of_string(json: &[u8], from: usize) -> usize {
    let mut index = from;
    // Most strings are short, and then to search for the end is more than to walk there.
    let near = from.saturating_add(NEAR);
    while let Some(byte) = json.get(index) {
        match byte {
            b'\\' => index += 2,
            b'"' => return index,
            _ if index < near => index += 1,
            _ => index += memchr2(b'"', b'\\', &json[index..]).unwrap_or(json.len() - index),
        }
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count() {
        let text = format!("\"{}\\\"{}\"", "[".repeat(500), "{".repeat(500));
        assert!(within_depth(text.as_bytes()));
        // Wherever the quotes and the escapes stand, near or far.
        for length in 0..100 {
            let text = format!(
                r#"{{"a":"{}\\\"{}","b":[1]}}"#,
                "x".repeat(length),
                "[".repeat(length)
            );
            assert!(within_depth(text.as_bytes()), "{length}");
            let open = format!(
                r#""{}\\" {}"#,
                "x".repeat(length),
                "[".repeat(MAX_DEPTH + 1)
            );
            assert!(!within_depth(open.as_bytes()), "{length}");
        }
    }

    #[test]
    fn deep_nesting_is_noticed() {
        assert!(within_depth("[".repeat(MAX_DEPTH).as_bytes()));
        assert!(!within_depth("[".repeat(MAX_DEPTH + 1).as_bytes()));
        assert!(!within_depth("{\"a\":".repeat(10_000).as_bytes()));
    }
}
