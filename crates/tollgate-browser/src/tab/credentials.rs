//! Names and passwords in addresses. The browser knows no way of logging in by itself, so what an
//! address says is handed to its site with every request that the tab makes of it.
//!
//! Invariant: nobody but the origin of the address gets them.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::Tab;
use crate::{
    error::Error,
    page::address,
    protocol::{
        commands::{EnableFetch, RequestPattern, Sent},
        events::Request,
    },
};

const NAME: &str = "Authorization";

/// Whom a tab is known as at a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    origin: String,
    header: String,
}

impl Credentials {
    /// What an address says before its host.
    fn of(url: &str) -> Option<Self> {
        let origin = address::origin(url).filter(|it| it.starts_with("http"))?;
        let (_, rest) = url.split_once("://")?;
        let (said, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
        let (name, word) = said.split_once(':').unwrap_or((said, ""));
        let said = [decoded(name), decoded(word)].join(&b':');
        let header = format!("Basic {}", STANDARD.encode(said));
        (!origin.contains('*')).then_some(Self { origin, header })
    }

    /// The requests that they are for, with and without them in the address.
    fn patterns(&self) -> impl Iterator<Item = RequestPattern> {
        let spelled = self.origin.replacen("://", "://*@", 1);
        let spelled = [format!("{spelled}/*"), format!("{}/*", self.origin)];
        spelled.into_iter().map(|url_pattern| RequestPattern {
            url_pattern: url_pattern.into(),
            resource_type: None,
        })
    }

    /// The headers of a request with them, if it is for their origin and brings none of its own.
    pub(super) fn with(&self, request: &Request) -> Option<Vec<Sent>> {
        let is_own = |name: &String| name.eq_ignore_ascii_case(NAME);
        let is_there = address::origin(&request.url).as_ref() == Some(&self.origin);
        if !is_there || request.headers.keys().any(is_own) {
            return None;
        }
        let sent = request.headers.iter().map(|(name, value)| Sent {
            name: name.clone(),
            value: value.as_str().map_or(value.to_string(), str::to_owned),
        });
        let known_as = Sent {
            name: NAME.to_owned(),
            value: self.header.clone(),
        };
        Some(sent.chain([known_as]).collect())
    }
}

/// The bytes of a part of an address; what is no escape stays as it is.
fn decoded(part: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let escaped = digits.and_then(|it| u8::from_str_radix(it, 16).ok());
        let (byte, used) = match escaped.filter(|_| *first == b'%') {
            Some(byte) => (byte, 3),
            None => (*first, 1),
        };
        bytes.push(byte);
        rest = &rest[used..];
    }
    bytes
}

impl Tab {
    /// Takes what an address says of who goes there.
    pub(super) async fn introduce(&self, url: &str) -> Result<(), Error> {
        let Some(said) = Credentials::of(url) else {
            return Ok(());
        };
        let mut patterns = super::held_back(self.memory.is_kept);
        patterns.extend(said.patterns());
        self.lock().credentials = Some(said);
        self.ask(&EnableFetch { patterns }).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn what_an_address_says_is_for_its_origin_alone() {
        let said = Credentials::of("http://ada:lo%76e%40%zz@Shop.test:80/in").unwrap();
        assert_eq!(said.origin, "http://shop.test");
        assert_eq!(
            said.header,
            format!("Basic {}", STANDARD.encode("ada:love@%zz"))
        );
        let patterns: Vec<String> = said.patterns().map(|it| it.url_pattern.into()).collect();
        assert_eq!(patterns, ["http://*@shop.test/*", "http://shop.test/*"]);
        let with = |url: &str, headers: serde_json::Value| {
            let request = json!({"url": url, "method": "GET", "headers": headers});
            let sent = said.with(&from_value(request).unwrap());
            sent.map(|all| all.into_iter().map(|it| it.name).collect::<Vec<_>>())
        };
        let sent = with("http://ada@shop.test/in", json!({"Accept": "*/*"}));
        assert_eq!(sent.unwrap(), ["Accept", "Authorization"]);
        for url in [
            "https://shop.test/",
            "http://other.test/",
            "http://shop.test:81/",
        ] {
            assert_eq!(with(url, json!({})), None, "{url}");
        }
        assert_eq!(
            with("http://shop.test/", json!({"authorization": "x"})),
            None
        );
        for none in ["http://shop.test/a@b", "file://a@b/c", "about:blank"] {
            assert_eq!(Credentials::of(none), None, "{none}");
        }
    }
}
