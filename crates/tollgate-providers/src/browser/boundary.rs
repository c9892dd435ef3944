//! Where pages may lead: the lists of the operator, then every address of the host.

use std::sync::Arc;

use tollgate_browser::{Admission, Boundary};
use tollgate_core::TrustLevel;
use tollgate_web::Guard;

use super::Settings;

/// The boundary of callers with one trust level.
pub(super) struct Fence {
    guard: Arc<Guard>,
    only: Vec<String>,
    deny: Vec<String>,
}

impl Fence {
    /// Hosts that are not public are for local callers, if the operator named them.
    pub(super) fn new(settings: &Settings, trust: TrustLevel) -> Self {
        let allow_hosts = match trust {
            TrustLevel::Local => settings.allow_hosts.clone(),
            TrustLevel::Remote => Vec::new(),
        };
        Self {
            guard: Arc::new(Guard {
                allow_hosts,
                ..Guard::default()
            }),
            only: settings.only_hosts.clone(),
            deny: settings.deny_hosts.clone(),
        }
    }

    /// Why the operator's lists refuse a host, if they do.
    fn refusal(&self, host: &str) -> Option<String> {
        let is_listed = |list: &[String]| list.iter().any(|entry| matches(entry, host));
        if is_listed(&self.deny) {
            return Some(format!("the operator denies {host}"));
        }
        let is_out = !self.only.is_empty() && !is_listed(&self.only);
        is_out.then(|| format!("{host} is not one of the hosts that the operator allows"))
    }
}

/// `shop.example` is that host, `*.example` is every host below it.
fn matches(entry: &str, host: &str) -> bool {
    let entry = entry.trim().to_ascii_lowercase();
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match entry.strip_prefix("*.") {
        Some(domain) => host
            .strip_suffix(domain)
            .is_some_and(|it| it.ends_with('.')),
        None => entry == host,
    }
}

impl Boundary for Fence {
    fn admit(&self, host: String, port: u16) -> Admission {
        if let Some(why) = self.refusal(&host) {
            return Box::pin(async move { Err(why) });
        }
        let guard = Arc::clone(&self.guard);
        Box::pin(async move {
            let admitted = guard.admit(&host, port).await;
            admitted.map_err(|error| error.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_is_looked_up_for_every_connection() {
        use std::{
            net::{IpAddr, Ipv4Addr},
            sync::atomic::{AtomicBool, Ordering},
        };

        use tollgate_web::{Lookup, Resolver};

        /// Public at first, and inside of the network from then on.
        #[derive(Debug, Default)]
        struct Rebinding(AtomicBool);
        impl Resolver for Rebinding {
            fn lookup(&self, _: String) -> Lookup {
                let is_inside = self.0.swap(true, Ordering::SeqCst);
                let address = match is_inside {
                    true => Ipv4Addr::new(192, 168, 0, 1),
                    false => Ipv4Addr::new(93, 184, 215, 14),
                };
                Box::pin(async move { Ok(vec![IpAddr::V4(address)]) })
            }
        }
        let fence = Fence {
            guard: Arc::new(Guard {
                resolver: Arc::new(Rebinding::default()),
                ..Guard::default()
            }),
            only: Vec::new(),
            deny: Vec::new(),
        };
        let first = fence.admit("shop.example".to_owned(), 443).await.unwrap();
        assert_eq!(first[0].to_string(), "93.184.215.14:443");
        assert!(fence.admit("shop.example".to_owned(), 443).await.is_err());
    }

    #[tokio::test]
    async fn lists_and_trust_decide_before_any_address() {
        let settings = Settings {
            allow_hosts: vec!["127.0.0.1".into()],
            deny_hosts: vec!["*.bad.example".into()],
            ..Settings::default()
        };
        let local = Fence::new(&settings, TrustLevel::Local);
        let remote = Fence::new(&settings, TrustLevel::Remote);
        let reach = async |fence: &Fence, host: &str| fence.admit(host.to_owned(), 80).await;
        assert!(reach(&local, "127.0.0.1").await.is_ok());
        assert!(reach(&remote, "127.0.0.1").await.is_err());
        assert!(reach(&local, "127.0.0.2").await.is_err());
        assert_eq!(
            reach(&local, "A.Bad.Example.").await,
            Err("the operator denies A.Bad.Example.".into())
        );
        let strict = Fence::new(
            &Settings {
                only_hosts: vec!["8.8.8.8".into()],
                ..settings
            },
            TrustLevel::Local,
        );
        assert!(reach(&strict, "8.8.8.8").await.is_ok());
        assert!(reach(&strict, "1.1.1.1").await.is_err());
        assert!(!matches("*.bad.example", "bad.example") && !matches("*.d.example", "bad.example"));
    }
}
