//! Which hosts and origins are answered, so that no web page can reach a local server.

use std::{borrow::Cow, net::IpAddr, sync::OnceLock};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority};

use crate::config::Serve;

/// Which hosts and origins are answered.
pub(super) struct Hosts {
    hosts: Vec<String>,
    origins: Vec<String>,
    bound: IpAddr,
    /// The first host that was answered: most requests name that one.
    first: OnceLock<Box<str>>,
}

impl Hosts {
    pub(super) fn new(serve: &Serve, bound: IpAddr) -> Self {
        let lower = |all: &[String]| all.iter().map(|one| one.to_ascii_lowercase()).collect();
        Self {
            hosts: lower(&serve.allowed_hosts),
            origins: lower(&serve.allowed_origins),
            bound,
            first: OnceLock::new(),
        }
    }

    /// Says what is wrong with the host or the origin of a request.
    pub(super) fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), &'static str> {
        let named = uri.authority().map(Authority::as_str);
        let named = named.or_else(|| headers.get(header::HOST)?.to_str().ok());
        let Some(host) = named.map(lowered).filter(|host| self.answers(host)) else {
            return Err("this host is not served here");
        };
        if headers.get_all(header::HOST).iter().count() > 1 {
            return Err("a request has one host");
        }
        if headers.get_all(header::ORIGIN).iter().count() > 1 {
            return Err("a request has one origin");
        }
        match headers.get(header::ORIGIN) {
            None => Ok(()),
            Some(origin) => {
                let origin = origin.to_str().unwrap_or("null").to_ascii_lowercase();
                let own = origin.split_once("://").map(|(_, authority)| authority);
                let same = own == Some(&*host);
                if same || self.origins.contains(&origin) {
                    Ok(())
                } else {
                    Err("this origin is not served here")
                }
            }
        }
    }

    /// Whether a request names a host that only the operator's list makes ours: it came from
    /// elsewhere, whoever passed it on.
    pub(super) fn is_of_elsewhere(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        if self.hosts.is_empty() {
            return false;
        }
        let named = uri.authority().map(Authority::as_str);
        let named = named.or_else(|| headers.get(header::HOST)?.to_str().ok());
        named.map(lowered).is_none_or(|host| {
            let name = without_port(&host).trim_matches(['[', ']']).to_owned();
            let ip: Option<IpAddr> = name.parse().ok();
            name != "localhost" && !ip.is_some_and(|ip| ip.is_loopback())
        })
    }

    fn answers(&self, host: &str) -> bool {
        if self.first.get().is_some_and(|first| **first == *host) {
            return true;
        }
        let answers = self.is_ours(host);
        if answers {
            self.first.get_or_init(|| host.into());
        }
        answers
    }

    fn is_ours(&self, host: &str) -> bool {
        if self.hosts.iter().any(|known| known == host) {
            return true;
        }
        let name = without_port(host);
        if self.hosts.iter().any(|known| known == name) {
            return true;
        }
        let ip: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
        match (self.bound.is_loopback(), ip) {
            (true, Some(ip)) => ip.is_loopback(),
            (true, None) => name == "localhost",
            // A name could be anybody's; an address is what the client really reached.
            (false, ip) => ip.is_some(),
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') =>
        {
            name
        }
        Some(_) | None => host,
    }
}

/// A name in lower case, which nearly all are written in already.
fn lowered(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Answers a browser that asks first; its origin has been checked.
pub(super) fn preflight(asked: &HeaderMap, origin: Option<HeaderValue>) -> Response {
    let mut response = (StatusCode::NO_CONTENT, Body::empty()).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("POST, GET, DELETE"),
    );
    if let Ok(value) = HeaderValue::from_str(&allowed_headers(asked)) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, value);
    }
    shared(response, origin)
}

/// The headers a page may send: those of the protocol, and those that repeat parameters,
/// whose names only tools know.
fn allowed_headers(asked: &HeaderMap) -> String {
    const KNOWN: &str = "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name";
    let asked = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let asked = asked.and_then(|names| names.to_str().ok());
    let names = asked.unwrap_or_default().split(',').map(str::trim);
    let parameters = names.filter(|name| lowered(name).starts_with("mcp-param-"));
    let all: Vec<&str> = std::iter::once(KNOWN).chain(parameters).collect();
    all.join(", ")
}

/// Lets the page of an origin that was let in read the answer.
pub(super) fn shared(mut response: Response, origin: Option<HeaderValue>) -> Response {
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("mcp-session-id, www-authenticate"),
        );
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(bound: &str, allowed: &[&str], origins: &[&str]) -> Hosts {
        let own = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        Hosts {
            hosts: own(allowed),
            origins: own(origins),
            bound: bound.parse().unwrap(),
            first: OnceLock::new(),
        }
    }

    fn asks(hosts: &Hosts, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        hosts.check(&headers, &"/mcp".parse().unwrap()).is_ok()
    }

    #[test]
    fn no_web_page_reaches_a_local_server() {
        let local = hosts("127.0.0.1", &[], &["https://app.example"]);
        for good in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:7420",
            "[::1]:7420",
            "127.8.9.1",
        ] {
            assert!(asks(&local, good, None), "{good}");
        }
        for bad in [
            "evil.example",
            "evil.example:7420",
            "localhost.evil.example",
            "10.0.0.1",
            "",
        ] {
            assert!(!asks(&local, bad, None), "{bad}");
        }
        assert!(asks(
            &local,
            "localhost:7420",
            Some("http://localhost:7420")
        ));
        assert!(asks(&local, "localhost:7420", Some("https://app.example")));
        for bad in [
            "http://evil.example",
            "null",
            "http://localhost:9999",
            "http://localhost:7420.evil.example",
            "https://app.example.evil.example",
            "localhost:7420",
        ] {
            assert!(!asks(&local, "localhost:7420", Some(bad)), "{bad}");
        }
    }

    #[test]
    fn names_are_answered_elsewhere_only_if_the_operator_says_so() {
        let open = hosts("0.0.0.0", &["gate.example"], &[]);
        assert!(asks(&open, "gate.example", None));
        assert!(asks(&open, "gate.example:7420", None));
        assert!(asks(&open, "192.0.2.7:7420", None));
        assert!(!asks(&open, "evil.example:7420", None));
        assert!(!asks(&open, "localhost", None));
    }
}
