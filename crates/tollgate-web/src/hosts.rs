//! Entries of the lists of hosts that operators write.
//!
//! Invariant: an entry that passes here can match. One that never could would deny or allow
//! nothing and say nothing, so it is refused with what was meant.

use std::net::Ipv6Addr;

use reqwest::Url;

/// What an entry of a list may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `host` or `host:port`.
    Place,
    /// `host` or `*.host`.
    Domain,
}

impl Spelling {
    /// What is accepted, in words.
    pub fn accepted(self) -> &'static str {
        match self {
            Self::Place => "write `host` or `host:port`, such as `localhost:3000` or `[::1]:3000`",
            Self::Domain => "write `host`, an address, or `*.example.com` for every host below it",
        }
    }

    /// Says why an entry can never match, if it cannot.
    pub fn check(self, entry: &str) -> Result<(), String> {
        let entry = entry.trim();
        if entry.is_empty() {
            return Err("an empty entry names no host".to_owned());
        }
        if entry.contains("://") {
            return Err("a scheme is no part of a host".to_owned());
        }
        if entry.contains('/') {
            return Err("paths and ranges of addresses are not understood".to_owned());
        }
        let (host, port) = match entry.parse::<Ipv6Addr>() {
            Ok(_) => (entry, None),
            Err(_) => parted(entry),
        };
        match (port, self) {
            (Some(_), Self::Domain) => {
                return Err("a port is no part of a host, and every port is meant".to_owned());
            }
            (Some(port), Self::Place) if port.parse::<u16>().is_err() => {
                return Err(format!("`{port}` is no port"));
            }
            (Some(_) | None, _) => {}
        }
        let host = match self {
            Self::Place => host,
            Self::Domain => host.strip_prefix("*.").unwrap_or(host),
        };
        if host.contains('*') {
            return Err("`*` stands for nothing there".to_owned());
        }
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        match canonical(plain) {
            Some(known) if known == plain.to_ascii_lowercase() => Ok(()),
            Some(known) => Err(format!("browsers call it `{known}`")),
            None => Err("this is no name of a host and no address".to_owned()),
        }
    }
}

/// The host of an entry, and its port.
fn parted(entry: &str) -> (&str, Option<&str>) {
    let after = entry.rfind(']').unwrap_or_default();
    match entry[after..].rsplit_once(':') {
        Some((before, port)) => (&entry[..after + before.len()], Some(port)),
        None => (entry, None),
    }
}

/// How an address spells a host.
fn canonical(host: &str) -> Option<String> {
    let written = match host.parse::<Ipv6Addr>() {
        Ok(_) => format!("http://[{host}]/"),
        Err(_) => format!("http://{host}/"),
    };
    let url = Url::parse(&written).ok()?;
    let is_bare = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    let host = url.host_str().filter(|_| is_bare && url.path() == "/")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some(host.trim_end_matches('.').to_owned()).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_can_match_pass() {
        for entry in ["localhost", "LocalHost:3000", "127.0.0.1:80", "[::1]:3000"] {
            assert_eq!(Spelling::Place.check(entry), Ok(()), "{entry}");
        }
        for entry in ["::1", "[::1]", "shop_1.example", " a.example "] {
            assert_eq!(Spelling::Place.check(entry), Ok(()), "{entry}");
            assert_eq!(Spelling::Domain.check(entry), Ok(()), "{entry}");
        }
        for entry in ["*.bad.example", "10.0.0.1", "xn--bcher-kva.example"] {
            assert_eq!(Spelling::Domain.check(entry), Ok(()), "{entry}");
        }
    }

    #[test]
    fn entries_that_never_match_say_why() {
        for (entry, why) in [
            ("", "names no host"),
            ("https://bad.example", "scheme"),
            ("bad.example/ads", "paths"),
            ("10.0.0.0/8", "ranges"),
            ("bad.example:8080", "port is no part"),
            ("[::1]:80", "port is no part"),
            ("*", "stands for nothing"),
            ("a.*.example", "stands for nothing"),
            ("127.1", "`127.0.0.1`"),
            ("bad.example.", "`bad.example`"),
            ("0:0:0:0:0:0:0:1", "`::1`"),
            ("bücher.example", "`xn--bcher-kva.example`"),
            ("bad example", "no name"),
            ("ada@bad.example", "no name"),
        ] {
            let said = Spelling::Domain.check(entry).unwrap_err();
            assert!(said.contains(why), "{entry}: {said}");
        }
        for (entry, why) in [
            ("http://localhost:3000", "scheme"),
            ("localhost:http", "`http` is no port"),
            ("localhost:99999", "`99999` is no port"),
            ("*.internal", "stands for nothing"),
            ("192.168.0.0/16", "ranges"),
        ] {
            let said = Spelling::Place.check(entry).unwrap_err();
            assert!(said.contains(why), "{entry}: {said}");
        }
    }
}
