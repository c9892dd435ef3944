//! Passwords in URLs and secret query parameters, replaced with `***` so that the URL stays readable.

use super::value::is_stand_in;
use super::{Finder, is_placeholder};
use crate::prefilter::Hit;
use crate::rules::Bytes;

static AFTER_PARAMETER: Bytes = Bytes::of(b" \t\r\n&#\"'<>`)]}\\|");
static AFTER_AUTHORITY: Bytes = Bytes::of(b" \t\r\n/?#\"'<>`\\(){}");

impl Finder<'_, '_> {
    /// `scheme://user:password@host`: the password goes, the rest stays.
    pub(super) fn link(&mut self, hit: Hit) {
        let before = self.text.as_bytes().get(hit.start.wrapping_sub(1));
        if !before.is_some_and(u8::is_ascii_alphanumeric) {
            return;
        }
        let authority = authority(self.text, hit.end);
        if memchr::memchr(b'@', authority.as_bytes()).is_none() {
            return;
        }
        self.authorities.push((hit.end, hit.end + authority.len()));
        if let Some((start, end)) = password_in(authority) {
            self.add(hit.end + start, hit.end + end, &self.detector.link_password);
        }
    }

    /// `?name=value` or `&name=value` with a name that is always secret; the hit ends after `=`.
    pub(super) fn parameter(&mut self, hit: Hit) {
        let bytes = self.text.as_bytes();
        let before = bytes.get(hit.start.wrapping_sub(1)).copied();
        let separated = match before {
            Some(b'?' | b'&' | b'#') => true,
            Some(b';') => self.text[..hit.start].ends_with("&amp;"),
            _ => false,
        };
        if !separated || self.is_masked(hit.start) {
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

fn parameter_length(rest: &[u8]) -> usize {
    rest.iter()
        .position(|&byte| AFTER_PARAMETER.has(byte))
        .unwrap_or(rest.len())
}

/// What stands between `://` and the path, however long; the next `://` ends it, so all of them together are linear.
fn authority(text: &str, from: usize) -> &str {
    let bytes = text.as_bytes();
    let length = bytes[from..]
        .iter()
        .position(|&byte| AFTER_AUTHORITY.has(byte))
        .unwrap_or(bytes.len() - from);
    &text[from..from + length]
}

fn password_in(authority: &str) -> Option<(usize, usize)> {
    let end = authority.rfind('@')?;
    let start = authority[..end].find(':')? + 1;
    let password = &authority[start..end];
    let real = !password.is_empty() && !is_variable(password);
    real.then_some((start, end))
}

/// A password named rather than given; any word may be a real one.
fn is_variable(password: &str) -> bool {
    password.starts_with(['$', '%', '<', '{', '[', '*']) || is_placeholder(password)
}
