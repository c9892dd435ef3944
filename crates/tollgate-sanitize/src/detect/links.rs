//! Passwords in URLs and secret query parameters, replaced with `***` so that the URL stays readable.

use super::Finder;
use super::value::is_stand_in;
use crate::prefilter::Hit;

const LONGEST_AUTHORITY: usize = 1024;

impl Finder<'_, '_> {
    /// `scheme://user:password@host`: the password goes, the rest stays.
    pub(super) fn link(&mut self, hit: Hit) {
        let before = self.text.as_bytes().get(hit.start.wrapping_sub(1));
        if !before.is_some_and(u8::is_ascii_alphanumeric) {
            return;
        }
        if let Some((start, end)) = password_in_link(self.text, hit.end) {
            self.add(start, end, &self.detector.link_password);
        }
    }

    /// `?name=value` or `&name=value` with a name that is always secret; the hit ends after `=`.
    pub(super) fn parameter(&mut self, hit: Hit) {
        let bytes = self.text.as_bytes();
        let before = bytes.get(hit.start.wrapping_sub(1)).copied();
        if !matches!(before, Some(b'?' | b'&' | b';' | b'#')) || self.is_masked(hit.start) {
            return;
        }
        let end = hit.end + parameter_length(&bytes[hit.end..]);
        let name = &self.text[hit.start..hit.end - 1];
        let value = &self.text[hit.end..end];
        let vague = name.eq_ignore_ascii_case("key") || name.eq_ignore_ascii_case("auth");
        let vague = vague && !(value.len() >= 8 && value.bytes().any(|byte| byte.is_ascii_digit()));
        if value.len() >= 3 && !vague && !is_stand_in(value) && value != "***" {
            self.add(hit.end, end, &self.detector.parameter);
        }
    }
}

pub(crate) fn parameter_length(rest: &[u8]) -> usize {
    rest.iter()
        .position(|byte| byte.is_ascii_whitespace() || b"&#\"'<>`)]}\\|".contains(byte))
        .unwrap_or(rest.len())
}

fn password_in_link(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(from + LONGEST_AUTHORITY);
    let length = bytes[from..limit]
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || b"/?#\"'<>`\\(){}".contains(byte))
        .unwrap_or(limit - from);
    let authority = &bytes[from..from + length];
    let at = memchr::memrchr(b'@', authority)?;
    let colon = memchr::memchr(b':', &authority[..at])?;
    let (start, end) = (from + colon + 1, from + at);
    let password = &text[start..end];
    let real = !password.is_empty() && password != "***" && !is_stand_in(password) && !password.starts_with(['$', '%']);
    real.then_some((start, end))
}
