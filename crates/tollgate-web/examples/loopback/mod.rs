//! A fetcher for a server on loopback that is in no hurry and keeps time still.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use tollgate_web::{Fetcher, Guard, Limits, MemoryCache, Politeness, Settings};

/// How many pages are read at once.
pub(crate) const AT_ONCE: usize = 10;

/// A fetcher that knows no page yet and may reach this host.
pub(crate) fn fetcher(host: &str, robots: bool) -> Fetcher {
    Fetcher::new(Settings {
        guard: Guard {
            allow_hosts: vec![host.to_owned()],
            ..Guard::default()
        },
        limits: Limits::default(),
        politeness: Politeness {
            at_once: AT_ONCE,
            pause: Duration::ZERO,
        },
        robots,
        cache: Arc::new(MemoryCache::new(32 << 20)),
        now: Arc::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)),
    })
}
