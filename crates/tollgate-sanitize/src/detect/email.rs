//! E-mail addresses, found by their `@`.

use memchr::memchr_iter;

use super::{Finder, overlaps};

/// Endings that look like domains but name files.
const FILES: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "mjs", "json", "html", "tgz", "gz",
    "lock", "toml", "yaml",
];

const LONGEST_LOCAL: usize = 64;

impl Finder<'_, '_> {
    pub(super) fn emails(&mut self) {
        let label = &self.detector.personal.email;
        let mut free = 0;
        for at in memchr_iter(b'@', self.text.as_bytes()) {
            if let Some((start, end)) = address(self.text, at)
                && start >= free
                && !overlaps(&self.authorities, at, at + 1)
            {
                free = end;
                self.add(start, end, label);
            }
        }
    }
}

fn address(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let local = bytes[..at]
        .iter()
        .rev()
        .take(LONGEST_LOCAL)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"._%+-'".contains(byte))
        .count();
    let mut start = at - local;
    while start < at && !bytes[start].is_ascii_alphanumeric() && bytes[start] != b'_' {
        start += 1;
    }
    let domain = bytes[at + 1..]
        .iter()
        .take(255)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b".-".contains(byte))
        .count();
    let mut end = at + 1 + domain;
    while end > at + 1 && !bytes[end - 1].is_ascii_alphanumeric() {
        end -= 1;
    }
    let (user, host) = (&text[start..at], &text[at + 1..end]);
    let plausible = !user.is_empty() && !user.ends_with('.') && is_domain(host);
    // `git@host:path` is a remote, not a person.
    let remote = user == "git" && bytes.get(end) == Some(&b':');
    (plausible && !remote).then_some((start, end))
}

fn is_domain(host: &str) -> bool {
    let Some((rest, last)) = host.rsplit_once('.') else {
        return false;
    };
    let last_is_name = (2..=24).contains(&last.len())
        && (last.bytes().all(|byte| byte.is_ascii_alphabetic())
            || last.to_ascii_lowercase().starts_with("xn--"));
    last_is_name
        && !FILES.contains(&last.to_ascii_lowercase().as_str())
        && rest.bytes().any(|byte| byte.is_ascii_alphabetic())
        && rest.split('.').all(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::address;

    fn found(text: &str) -> Option<&str> {
        let at = text.find('@')?;
        address(text, at).map(|(start, end)| &text[start..end])
    }

    #[test]
    fn finds_addresses() {
        assert_eq!(
            found("write to ann.lee+x@mail.example.org."),
            Some("ann.lee+x@mail.example.org")
        );
        assert_eq!(
            found("请联系zhang@example.cn，谢谢"),
            Some("zhang@example.cn")
        );
        assert_eq!(found("<bob@example.com>"), Some("bob@example.com"));
    }

    #[test]
    fn leaves_other_uses_of_the_sign() {
        for text in [
            "@types/node",
            "lodash@4.17.21",
            "icon@2x.png",
            "git@example.com:a/b",
            "user@localhost",
            "a@b",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
