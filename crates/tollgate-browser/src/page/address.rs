//! Addresses, as far as they have to be looked at before a browser does.

/// The longest address we take.
const LONGEST: usize = 8192;

/// Whether an address is one that a page may be loaded from, and why not.
///
/// A browser makes something of every text: it searches for words and opens its own pages. We
/// take only what says where it leads.
pub(crate) fn check(url: &str) -> Result<(), String> {
    if url.len() > LONGEST {
        return Err("the address is too long".to_owned());
    }
    if url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err("an address has no spaces, backslashes or control characters".to_owned());
    }
    if url == "about:blank" || file_path(url).is_some() || host(url).is_some() {
        return Ok(());
    }
    match url.split_once(':') {
        Some((scheme, _)) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
            let is_web = matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https");
            Err(if is_web {
                "the address has no host".to_owned()
            } else {
                format!("`{scheme}:` addresses are not opened; use http or https")
            })
        }
        Some(_) | None => Err("an address begins with http:// or https://".to_owned()),
    }
}

/// The host of an `http` or `https` address.
pub(crate) fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

/// The origin of an address as documents say it: in lower case, without the usual port.
pub fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let usual = match scheme.as_str() {
        "http" => ":80",
        "https" => ":443",
        "file" => return Some("file://".to_owned()),
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let place = authority.rsplit('@').next()?.to_ascii_lowercase();
    let place = place.strip_suffix(usual).unwrap_or(&place);
    (!place.is_empty()).then(|| format!("{scheme}://{place}"))
}

/// The path of a `file:` address, decoded.
pub(crate) fn file_path(url: &str) -> Option<String> {
    let scheme = url.get(..7)?;
    if !scheme.eq_ignore_ascii_case("file://") {
        return None;
    }
    let rest = url.get(7..)?.split(['?', '#']).next()?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut path = Vec::with_capacity(rest.len());
    let mut bytes = rest.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            path.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            path.push(byte);
        }
    }
    let path = String::from_utf8(path).ok()?;
    (!path.contains('\0')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_documents_call_it() {
        for (url, wanted) in [
            ("HTTP://Shop.Example:80/a?b", Some("http://shop.example")),
            ("https://a.example:443", Some("https://a.example")),
            ("https://a.example:80#x", Some("https://a.example:80")),
            ("http://ada@[::1]:3000/", Some("http://[::1]:3000")),
            ("file:///tmp/a", Some("file://")),
            ("about:blank", None),
            ("http://", None),
        ] {
            assert_eq!(origin(url).as_deref(), wanted, "{url}");
        }
    }

    #[test]
    fn the_host_is_what_a_browser_takes_it_for() {
        assert_eq!(
            host("HTTP://Shop.Example:81/a").as_deref(),
            Some("shop.example")
        );
        assert_eq!(
            host("https://a@b.example\\@c/").as_deref(),
            Some("b.example")
        );
        assert_eq!(host("http://[::1]:80/").as_deref(), Some("::1"));
        assert_eq!(host("file:///etc/passwd"), None);
        assert_eq!(host("http:///x"), None);
    }

    #[test]
    fn only_addresses_that_say_where_they_lead_are_opened() {
        for good in [
            "http://a.example/",
            "HTTPS://a.example:8443/x?y#z",
            "about:blank",
            "file:///a",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "lamp shop",
            "a.example",
            "javascript:alert(1)",
            "data:text/html,x",
            "chrome://crash",
            "view-source:http://a.example",
            "http://",
            "http:///x",
            "http://a\\b/",
            "blob:x",
            "file://host/x",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check(&format!("http://a/{}", "x".repeat(LONGEST))).is_err());
    }

    #[test]
    fn paths_of_files_are_decoded_once() {
        assert_eq!(file_path("file:///a%20b?x#y").as_deref(), Some("/a b"));
        assert_eq!(file_path("FILE://localhost/a").as_deref(), Some("/a"));
        assert_eq!(file_path("file://host/a"), None);
        assert_eq!(file_path("file:///a%00"), None);
        assert_eq!(file_path("file:///a%2"), None);
    }
}
