//! Where pages may lead: the guard of the web, with the lists that the operator has for the browser.

use std::sync::Arc;

use tollgate_browser::{Admission, Boundary};
use tollgate_core::TrustLevel;
use tollgate_web::Guard;

use super::Settings;

/// The boundary of callers with one trust level.
pub(super) struct Fence {
    guard: Arc<Guard>,
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
                only_hosts: settings.only_hosts.clone(),
                deny_hosts: settings.deny_hosts.clone(),
                ..Guard::default()
            }),
        }
    }
}

impl Boundary for Fence {
    fn admit(&self, host: String, port: u16) -> Admission {
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
    }
}
