//! URLs as they may be written to a log.

use std::borrow::Cow;

use crate::rules::Words;

/// Replaces user information and the values of secret parameters, whatever they look like.
pub(crate) fn mask<'a>(url: &'a str, secret: &Words) -> Cow<'a, str> {
    let mut spans = Vec::new();
    if let Some(scheme) = url.find("://") {
        let from = scheme + 3;
        let authority = &url[from..from
            + url[from..]
                .find(['/', '?', '#'])
                .unwrap_or(url.len() - from)];
        if let Some(at) = authority.rfind('@')
            && at > 0
        {
            spans.push((from, from + at));
        }
    }
    let mut at = url.find(['?', '#']).map_or(url.len(), |at| at + 1);
    while at < url.len() {
        let end = at
            + url[at..]
                .find(['&', '#', ';', '?'])
                .unwrap_or(url.len() - at);
        if let Some(equals) = url[at..end].find('=') {
            let value = at + equals + 1;
            if value < end && is_secret_name(&url[at..at + equals], secret) {
                spans.push((value, end));
            }
        }
        at = end + 1;
    }
    spans.retain(|&(start, end)| &url[start..end] != "***");
    if spans.is_empty() {
        return Cow::Borrowed(url);
    }
    spans.sort_unstable();
    let mut out = String::with_capacity(url.len());
    let mut copied = 0;
    for (start, end) in spans {
        // What is no URL may have a link inside a parameter; one mask covers both.
        if start < copied {
            copied = copied.max(end);
            continue;
        }
        out.push_str(&url[copied..start]);
        out.push_str("***");
        copied = end;
    }
    out.push_str(&url[copied..]);
    Cow::Owned(out)
}

fn is_secret_name(name: &str, secret: &Words) -> bool {
    let name = name
        .to_ascii_lowercase()
        .replace("%2d", "-")
        .replace("%5f", "_");
    secret.has(&name)
        || [
            "token",
            "secret",
            "passw",
            "signature",
            "credential",
            "apikey",
            "api_key",
        ]
        .iter()
        .any(|word| name.contains(word))
        || name.starts_with("x-bce-")
}
