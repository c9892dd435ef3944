//! What a site wants read: its `robots.txt`, after RFC 9309.
//!
//! The file is a stranger's, so rules, their number and their length are bounded, and a rule is matched in one pass.

use std::time::Duration;

/// The most that is read of the file.
pub(crate) const MAX_BYTES: usize = 500 << 10;
const MAX_RULES: usize = 5000;
const MAX_PATTERN: usize = 2048;
const MAX_DELAY: Duration = Duration::from_secs(10);
/// The name that rules know us by.
const TOKEN: &str = "tollgate";

/// The rules that concern us.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Robots {
    rules: Vec<Rule>,
    /// The pause the site asks for.
    pub(crate) delay: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq)]
struct Rule {
    pattern: String,
    allows: bool,
}

impl Robots {
    /// Everything may be read.
    pub(crate) fn open() -> Self {
        Self::default()
    }

    /// Nothing may be read.
    pub(crate) fn closed() -> Self {
        Self {
            rules: vec![Rule {
                pattern: "/".to_owned(),
                allows: false,
            }],
            delay: None,
        }
    }

    /// Reads a file; what cannot be understood is skipped.
    pub(crate) fn parse(text: &str) -> Self {
        let (mut ours, mut anyones) = (Self::default(), Self::default());
        let (mut is_ours, mut is_anyones) = (false, false);
        let mut names_us = false;
        let mut in_names = false;
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            if key == "user-agent" {
                if !in_names {
                    (is_ours, is_anyones) = (false, false);
                }
                in_names = true;
                is_anyones |= value == "*";
                is_ours |= product(value).eq_ignore_ascii_case(TOKEN);
                names_us |= is_ours;
                continue;
            }
            let allows = match key.as_str() {
                "allow" => true,
                "disallow" => false,
                "crawl-delay" => {
                    in_names = false;
                    let seconds = value
                        .parse()
                        .ok()
                        .filter(|s: &f64| s.is_finite() && *s >= 0.0);
                    let delay = seconds.map(|seconds| {
                        Duration::from_secs_f64(seconds.min(MAX_DELAY.as_secs_f64()))
                    });
                    for (group, applies) in [(&mut ours, is_ours), (&mut anyones, is_anyones)] {
                        if applies {
                            group.delay = group.delay.max(delay);
                        }
                    }
                    continue;
                }
                _ => continue,
            };
            in_names = false;
            if value.is_empty() {
                continue;
            }
            for (group, applies) in [(&mut ours, is_ours), (&mut anyones, is_anyones)] {
                if applies && group.rules.len() < MAX_RULES && value.len() <= MAX_PATTERN {
                    let pattern = normal(value);
                    group.rules.push(Rule { pattern, allows });
                }
            }
        }
        if names_us { ours } else { anyones }
    }

    /// Whether a path, with its query, may be read: the longest rule decides, and a permission wins a tie.
    pub(crate) fn allows(&self, path: &str) -> bool {
        if path == "/robots.txt" {
            return true;
        }
        let path = normal(path);
        let fitting = self.rules.iter().filter(|rule| fits(&rule.pattern, &path));
        let decisive = fitting.max_by_key(|rule| (rule.pattern.len(), rule.allows));
        decisive.is_none_or(|rule| rule.allows)
    }
}

/// The name at the start of what a group is for.
fn product(value: &str) -> &str {
    let end = value.find(|c: char| !(c.is_ascii_alphabetic() || c == '-' || c == '_'));
    &value[..end.unwrap_or(value.len())]
}

/// One spelling for the same path: everything beyond ASCII is escaped, escapes are upper case, and what needs none has none.
fn normal(path: &str) -> String {
    let mut made = String::with_capacity(path.len());
    let bytes = path.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        at += 1;
        if byte == b'%'
            && let Some(escaped) = bytes.get(at..at + 2).and_then(escaped)
        {
            at += 2;
            if escaped.is_ascii_alphanumeric() || b"-._~".contains(&escaped) {
                made.push(char::from(escaped));
            } else {
                made.push_str(&format!("%{escaped:02X}"));
            }
        } else if byte.is_ascii() {
            made.push(char::from(byte));
        } else {
            made.push_str(&format!("%{byte:02X}"));
        }
    }
    made
}

fn escaped(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// Whether a pattern fits: `*` is anything, `$` at its end is the end.
fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, to_end) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return !to_end || rest.is_empty();
    };
    for part in between {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    if to_end {
        rest.ends_with(last)
    } else {
        rest.contains(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_group_goes_before_everyones() {
        let text = "User-agent: *\nDisallow: /\n\nUser-Agent: other\nUser-agent: Tollgate/1.0\n\
                    Disallow: /private # not this\nAllow: /private/open\nCrawl-delay: 2.5\n";
        let robots = Robots::parse(text);
        assert!(robots.allows("/"));
        assert!(!robots.allows("/private/x"));
        assert!(robots.allows("/private/open/x"));
        assert!(robots.allows("/robots.txt"));
        assert_eq!(robots.delay, Some(Duration::from_millis(2500)));
        let others = Robots::parse("User-agent: tollgateway\nDisallow: /\n");
        assert!(others.allows("/"));
    }

    #[test]
    fn patterns_fit_as_the_standard_says() {
        let robots = Robots::parse(
            "user-agent:*\ndisallow:/*.pdf$\ndisallow: /a*b*c\nallow: /page\ndisallow: /*.htm\ndisallow: /ü\ndisallow:\n",
        );
        for (path, allowed) in [
            ("/x.pdf", false),
            ("/x.pdf?y", true),
            ("/a1b2c3", false),
            ("/abc", false),
            ("/acb", true),
            ("/page", true),
            ("/page.htm", false),
            ("/%c3%bc", false),
            ("/u", true),
        ] {
            assert_eq!(robots.allows(path), allowed, "{path}");
        }
        let tie = Robots::parse("user-agent: *\ndisallow: /same\nallow: /same\n");
        assert!(tie.allows("/same"));
        assert!(!Robots::closed().allows("/x") && Robots::open().allows("/x"));
    }

    #[test]
    fn the_same_path_is_the_same_however_it_is_escaped() {
        let robots = Robots::parse(
            "user-agent: *\ndisallow: /%70rivate/%7euser\ndisallow: /a%2Fb\ndisallow: /%zz\ndisallow: /c%2a\n",
        );
        for (path, allowed) in [
            ("/private/~user", false),
            ("/%50rivate/~user", true),
            ("/p%72ivate/%7Euser", false),
            ("/a%2fb", false),
            ("/a/b", true),
            ("/%zz", false),
            ("/%ZZ", true),
            ("/c%2A", false),
            ("/cx", true),
        ] {
            assert_eq!(robots.allows(path), allowed, "{path}");
        }
    }

    #[test]
    fn a_hostile_file_costs_little_and_decides_nothing_it_may_not() {
        let mut text =
            "User-agent: *\nCrawl-delay: 1e300\nCrawl-delay: -1\nCrawl-delay: NaN\n".to_owned();
        for _ in 0..20_000 {
            text.push_str("Disallow: /");
            text.push_str(&"a*".repeat(200));
            text.push_str("c$\n");
        }
        text.push_str("\0\u{1}garbage without meaning\n:::\nDisallow\n");
        let robots = Robots::parse(&text);
        assert_eq!(robots.rules.len(), MAX_RULES);
        assert_eq!(robots.delay, Some(MAX_DELAY));
        assert!(robots.allows(&format!("/{}", "ab".repeat(1000))));
    }
}
