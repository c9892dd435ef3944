//! Where connections may lead.
//!
//! An address is looked up once for each connection, every answer is checked, and the connection is made to what was checked:
//! the check is the resolver of the HTTP client. Addresses written as numbers never reach a resolver and are checked before.

use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

use crate::{
    address::is_public,
    error::{Kind, WebError},
};

/// The longest address we take.
const MAX_URL: usize = 8192;

/// Finds the addresses of a host.
pub trait Resolver: Send + Sync {
    /// All of them.
    fn lookup(&self, host: String) -> Lookup;
}

/// The addresses of a host, to come.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// The resolver of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn lookup(&self, host: String) -> Lookup {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// What an operator allows.
#[derive(Clone)]
pub struct Guard {
    /// Hosts that may be reached although their address is not public, as `host` (every port) or `host:port`.
    pub allow_hosts: Vec<String>,
    /// The only hosts that may be reached, if any are named; `*.example.com` is every host below it.
    pub only_hosts: Vec<String>,
    /// Hosts that may not be reached, spelled the same way.
    pub deny_hosts: Vec<String>,
    /// The ports that may be used elsewhere.
    pub ports: Vec<u16>,
    /// How hosts are looked up.
    pub resolver: Arc<dyn Resolver>,
    /// Authorities that vouch for encrypted servers, beside those the system knows, as PEM.
    pub authorities: Vec<u8>,
    #[cfg(test)]
    pub(crate) counts_as_public: Vec<IpAddr>,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            allow_hosts: Vec::new(),
            only_hosts: Vec::new(),
            deny_hosts: Vec::new(),
            ports: vec![80, 443],
            resolver: Arc::new(SystemResolver),
            authorities: Vec::new(),
            #[cfg(test)]
            counts_as_public: Vec::new(),
        }
    }
}

/// How far a checked address is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Public addresses only.
    Public,
    /// Wherever its name leads: the operator named it.
    Named,
}

impl Guard {
    /// Reads an address and checks all that can be checked without looking its host up.
    pub(crate) fn read(&self, text: &str) -> Result<Url, WebError> {
        if text.len() > MAX_URL {
            return Err(WebError::invalid("the address is too long"));
        }
        let url = Url::parse(text.trim())
            .map_err(|error| WebError::invalid("this is not an address").because(error))?;
        self.check(&url)?;
        Ok(url)
    }

    /// Whether a connection to this address may be tried, and how far it may lead.
    pub(crate) fn check(&self, url: &Url) -> Result<Reach, WebError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WebError::invalid("only http and https addresses are read"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebError::invalid(
                "an address with a user name or password is not used",
            ));
        }
        let Some(host) = url.host_str() else {
            return Err(WebError::invalid("the address has no host"));
        };
        self.listed(host)?;
        let port = url.port_or_known_default().unwrap_or_default();
        if self.names(host, port) {
            return Ok(Reach::Named);
        }
        if !self.ports.contains(&port) {
            return Err(refused(format!("port {port} is not used")));
        }
        let host = unbracketed(host);
        match host.parse::<IpAddr>() {
            Ok(address) if !self.is_public(address) => Err(not_public(host)),
            Ok(_) | Err(_) => Ok(Reach::Public),
        }
    }

    /// The addresses that a connection to a host may be made to, for whoever makes connections of his own: all of them
    /// checked, or none. Ports are not looked at.
    pub async fn admit(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, WebError> {
        self.listed(host)?;
        let plain = unbracketed(host);
        let is_named = self.names(plain, port);
        let found = match plain.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.resolver.lookup(plain.to_owned()).await;
                found.map_err(|error| unknown(plain).because(error))?
            }
        };
        if found.is_empty() {
            return Err(unknown(plain));
        }
        if !is_named && !found.iter().all(|address| self.is_public(*address)) {
            return Err(not_public(plain));
        }
        Ok(found
            .into_iter()
            .map(|it| SocketAddr::new(it, port))
            .collect())
    }

    /// Whether the operator's lists let a host be reached at all.
    fn listed(&self, host: &str) -> Result<(), WebError> {
        let is_listed = |list: &[String]| list.iter().any(|entry| matches(entry, host));
        if is_listed(&self.deny_hosts) {
            return Err(refused(format!("the operator denies {host}")));
        }
        if !self.only_hosts.is_empty() && !is_listed(&self.only_hosts) {
            let why = format!("{host} is not one of the hosts that the operator allows");
            return Err(refused(why));
        }
        Ok(())
    }

    fn names(&self, host: &str, port: u16) -> bool {
        let host = unbracketed(host.trim_end_matches('.'));
        self.allow_hosts.iter().any(|entry| {
            let entry = entry.trim().to_ascii_lowercase();
            let bracketed = entry.strip_prefix('[').and_then(|it| it.split_once(']'));
            let rest = match bracketed {
                Some((name, rest)) => (name == host).then_some(rest),
                None => entry.strip_prefix(host),
            };
            rest.is_some_and(|rest| rest.is_empty() || rest == format!(":{port}"))
        })
    }

    fn is_public(&self, address: IpAddr) -> bool {
        #[cfg(test)]
        if self.counts_as_public.contains(&address) {
            return true;
        }
        is_public(address)
    }

    /// The resolver of connections with this reach.
    pub(crate) fn resolver(self: &Arc<Self>, reach: Reach) -> Checked {
        Checked {
            guard: Arc::clone(self),
            reach,
        }
    }
}

/// An address with colons, which some write in brackets and some do not.
fn unbracketed(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// `shop.example` is that host, `*.example` is every host below it.
fn matches(entry: &str, host: &str) -> bool {
    let entry = entry.trim().to_ascii_lowercase();
    let host = unbracketed(host.trim_end_matches('.')).to_ascii_lowercase();
    let entry = unbracketed(&entry);
    match entry.strip_prefix("*.") {
        Some(domain) => host
            .strip_suffix(domain)
            .is_some_and(|it| it.ends_with('.')),
        None => entry == host,
    }
}

/// Looks hosts up and hands on only what was checked.
pub(crate) struct Checked {
    guard: Arc<Guard>,
    reach: Reach,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, reach) = (Arc::clone(&self.guard), self.reach);
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let found = guard.resolver.lookup(host.clone()).await?;
            if found.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            let is_fine = |address: &IpAddr| reach == Reach::Named || guard.is_public(*address);
            if !found.iter().all(is_fine) {
                return Err(not_public(&host).into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

fn unknown(host: &str) -> WebError {
    WebError::new(Kind::Network, format!("{host} has no address"))
}

fn not_public(host: &str) -> WebError {
    refused(format!("{host} is not on the public internet"))
}

fn refused(message: String) -> WebError {
    WebError::new(Kind::AddressRefused, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Result<Reach, Kind> {
        let guard = Guard {
            allow_hosts: vec!["Wiki.internal".into(), "127.0.0.1:8080".into()],
            ..Guard::default()
        };
        let url = guard.read(text).map_err(|error| error.kind)?;
        guard.check(&url).map_err(|error| error.kind)
    }

    #[test]
    fn numbers_in_every_spelling_are_checked() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "0x7f.1",
            "127.0.0.1.",
            "１２７.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::10.0.0.1]",
            "169.254.169.254",
            "0",
        ] {
            let found = kind(&format!("http://{host}/"));
            assert_eq!(found, Err(Kind::AddressRefused), "{host}");
        }
        assert_eq!(kind("http://1.1.1.1/"), Ok(Reach::Public));
    }

    #[tokio::test]
    async fn every_address_of_a_host_is_checked() {
        struct Two(Vec<IpAddr>);
        impl Resolver for Two {
            fn lookup(&self, _: String) -> Lookup {
                let all = self.0.clone();
                Box::pin(async move { Ok(all) })
            }
        }
        let addresses = |all: &[&str]| Two(all.iter().map(|it| it.parse().unwrap()).collect());
        let guard = |resolver: Two| Guard {
            allow_hosts: vec!["dev.test:3000".into()],
            resolver: Arc::new(resolver),
            ..Guard::default()
        };
        let public = guard(addresses(&["1.1.1.1", "2606:4700:4700::1111"]));
        assert_eq!(public.admit("a.test", 8443).await.unwrap().len(), 2);
        let mixed = guard(addresses(&["1.1.1.1", "127.0.0.1"]));
        assert_eq!(
            mixed.admit("a.test", 80).await.unwrap_err().kind,
            Kind::AddressRefused
        );
        assert_eq!(
            mixed.admit("dev.test", 80).await.unwrap_err().kind,
            Kind::AddressRefused
        );
        assert_eq!(mixed.admit("dev.test", 3000).await.unwrap().len(), 2);
        let bracketed = Guard {
            allow_hosts: vec!["[::1]:3000".into()],
            deny_hosts: vec!["[::2]".into()],
            ..guard(addresses(&[]))
        };
        for host in ["::1", "[::1]"] {
            assert!(bracketed.admit(host, 3000).await.is_ok(), "{host}");
            assert!(bracketed.admit(host, 3001).await.is_err(), "{host}");
        }
        assert!(bracketed.admit("::2", 3000).await.is_err());
        assert_eq!(
            mixed.admit("[::1]", 80).await.unwrap_err().kind,
            Kind::AddressRefused
        );
        assert_eq!(
            guard(addresses(&[]))
                .admit("a.test", 80)
                .await
                .unwrap_err()
                .kind,
            Kind::Network
        );
    }

    #[test]
    fn the_operators_lists_bind_every_address() {
        let guard = Guard {
            deny_hosts: vec!["*.bad.example".into(), "worse.example".into()],
            ..Guard::default()
        };
        let reads = |guard: &Guard, host: &str| guard.read(&format!("https://{host}/")).is_ok();
        for refused in ["a.bad.example", "A.Bad.Example.", "worse.example"] {
            assert!(!reads(&guard, refused), "{refused}");
        }
        assert!(reads(&guard, "bad.example") && reads(&guard, "notbad.example"));
        let only = Guard {
            only_hosts: vec!["good.example".into()],
            ..guard
        };
        assert!(reads(&only, "good.example") && !reads(&only, "other.example"));
    }

    #[test]
    fn only_plain_web_addresses_are_read() {
        for text in [
            "ftp://example.com/",
            "file:///etc/passwd",
            "gopher://example.com:70/1",
            "javascript:alert(1)",
            "http://user@example.com/",
            "http://user:pass@example.com/",
            "http://",
            "example.com",
            "",
        ] {
            assert_eq!(kind(text), Err(Kind::InvalidInput), "{text}");
        }
        let long = format!("http://example.com/{}", "a".repeat(MAX_URL));
        assert_eq!(kind(&long), Err(Kind::InvalidInput));
    }

    #[test]
    fn ports_are_limited_and_named_hosts_are_not() {
        assert_eq!(kind("http://example.com:22/"), Err(Kind::AddressRefused));
        assert_eq!(kind("https://example.com/"), Ok(Reach::Public));
        assert_eq!(kind("http://wiki.internal:9000/"), Ok(Reach::Named));
        assert_eq!(kind("http://wiki.internal./"), Ok(Reach::Named));
        assert_eq!(kind("http://127.0.0.1:8080/"), Ok(Reach::Named));
        assert_eq!(kind("http://127.0.0.1:80/"), Err(Kind::AddressRefused));
        assert_eq!(kind("http://127.0.0.1:8081/"), Err(Kind::AddressRefused));
        assert_eq!(kind("http://xwiki.internal/"), Ok(Reach::Public));
    }

    #[test]
    fn look_alike_hosts_show_what_they_are() {
        let url = Guard::default().read("https://аpple.com/").unwrap();
        assert_eq!(url.host_str(), Some("xn--pple-43d.com"));
    }
}
