//! Private keys as arrays of lines: each line is a string of its own, and no rule for one string finds it.

use super::lexer::Frame;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Whether the elements of an array that are read belong to a private key.
#[derive(Debug, Default)]
pub(super) struct KeyLines {
    /// How deep the array lies whose elements are lines of a key.
    depth: Option<usize>,
}

impl KeyLines {
    /// Looks at the next string, decoded and visible; says whether it is a line of a private key.
    pub(super) fn is_line(&mut self, body: &str, stack: &[Frame]) -> bool {
        let in_array = matches!(stack.last(), Some(Frame::Array(_)));
        let inside = in_array && self.depth == Some(stack.len());
        if !inside {
            self.depth = None;
        }
        if in_array && body.contains(BEGIN) && body.contains("PRIVATE KEY") && !body.contains(END) {
            self.depth = Some(stack.len());
            return false;
        }
        if inside && body.contains(END) {
            self.depth = None;
            return false;
        }
        inside && is_base64(body)
    }

    /// Whether nothing is to be watched for.
    pub(super) fn is_idle(&self) -> bool {
        self.depth.is_none()
    }
}

/// A line of a key's body; line ends may be spelled out.
fn is_base64(body: &str) -> bool {
    let line = body.trim().trim_end_matches("\\n").trim_end_matches("\\r");
    line.len() >= 4
        && line
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}
