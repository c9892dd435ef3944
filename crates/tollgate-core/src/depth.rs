//! Bounds on JSON before anything builds a tree of it.

/// The deepest nesting accepted anywhere, well below what recursion could not bear.
pub const MAX_DEPTH: usize = 96;

/// Tells whether the arrays and objects of `json` nest no deeper than [`MAX_DEPTH`].
///
/// Looks at brackets outside strings only; whether it is JSON at all is for the parser to say.
pub fn within_depth(json: &[u8]) -> bool {
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
    while let Some(byte) = json.get(index) {
        match byte {
            b'\\' => index += 2,
            b'"' => return index,
            _ => index += 1,
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
    }

    #[test]
    fn deep_nesting_is_noticed() {
        assert!(within_depth("[".repeat(MAX_DEPTH).as_bytes()));
        assert!(!within_depth("[".repeat(MAX_DEPTH + 1).as_bytes()));
        assert!(!within_depth("{\"a\":".repeat(10_000).as_bytes()));
    }
}
