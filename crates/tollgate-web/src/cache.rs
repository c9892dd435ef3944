//! Pages that were read before, and when they may be used again.
//!
//! Only what a shared cache may keep is kept: nothing here was fetched for one person, as no request carries a cookie or a key.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use reqwest::header::{
    AGE, CACHE_CONTROL, CONTENT_TYPE, ETAG, EXPIRES, HeaderName, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, LAST_MODIFIED, VARY,
};

use crate::wire::Incoming;

/// The longest a page without a word about it is taken for fresh.
const MOST_GUESSED: Duration = Duration::from_secs(24 * 60 * 60);

/// A place for pages; what is in it may vanish at any time.
pub trait Cache: Send + Sync {
    /// What is kept under an address.
    fn get(&self, url: &str) -> Option<Arc<Kept>>;
    /// Keeps a page under an address, in place of what was there.
    fn put(&self, url: &str, kept: Arc<Kept>);
}

/// A page that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The status it came with.
    pub status: u16,
    /// Its declared type.
    pub content_type: Option<String>,
    /// Its entity tag.
    pub etag: Option<String>,
    /// When it was last changed, as the server writes it.
    pub last_modified: Option<String>,
    /// The bytes, unpacked.
    pub body: Vec<u8>,
    /// Whether it was cut at the limit.
    pub truncated: bool,
    /// When it was read.
    pub fetched: SystemTime,
    /// Until when it can be used without asking.
    pub fresh_until: SystemTime,
}

impl Kept {
    /// The headers that ask whether it is still the same.
    pub(crate) fn validators(&self) -> Vec<(HeaderName, HeaderValue)> {
        let pairs = [
            (IF_NONE_MATCH, &self.etag),
            (IF_MODIFIED_SINCE, &self.last_modified),
        ];
        let header = |(name, text): (HeaderName, &Option<String>)| {
            let value = HeaderValue::from_str(text.as_deref()?).ok()?;
            Some((name, value))
        };
        pairs.into_iter().filter_map(header).collect()
    }

    /// What to keep of an answer.
    pub(crate) fn of(incoming: &Incoming, now: SystemTime) -> Self {
        let text = |name| incoming.header(name).map(str::to_owned);
        Self {
            status: incoming.status,
            content_type: text(CONTENT_TYPE),
            etag: text(ETAG),
            last_modified: text(LAST_MODIFIED),
            body: incoming.body.clone(),
            truncated: incoming.truncated,
            fetched: now,
            fresh_until: fresh_until(incoming, now),
        }
    }

    /// The same page, after the server has said that it is the same. What it does not say anew still holds.
    pub(crate) fn refreshed(&self, incoming: &Incoming, now: SystemTime) -> Self {
        let says = |name| incoming.headers.contains_key(name);
        let lasted = self.fresh_until.duration_since(self.fetched);
        let text = |name, old: &Option<String>| {
            let new = incoming.header(name).map(str::to_owned);
            new.or_else(|| old.clone())
        };
        Self {
            fetched: now,
            fresh_until: if says(CACHE_CONTROL) || says(EXPIRES) {
                fresh_until(incoming, now)
            } else {
                now + lasted.unwrap_or_default()
            },
            etag: text(ETAG, &self.etag),
            last_modified: text(LAST_MODIFIED, &self.last_modified),
            ..self.clone()
        }
    }
}

/// Whether an answer may be kept at all.
pub(crate) fn may_keep(incoming: &Incoming) -> bool {
    let is_varied = incoming.header(VARY).is_some_and(|vary| vary.trim() == "*");
    let directives = Directives::of(incoming);
    incoming.status == 200 && !is_varied && !directives.no_store && !directives.is_private
}

fn fresh_until(incoming: &Incoming, now: SystemTime) -> SystemTime {
    let directives = Directives::of(incoming);
    if directives.no_cache {
        return now;
    }
    let seconds = |name| incoming.header(name)?.trim().parse().ok();
    if let Some(most) = directives.max_age {
        let age = seconds(AGE).map_or(Duration::ZERO, Duration::from_secs);
        return now + most.saturating_sub(age);
    }
    if let Some(expires) = incoming.header(EXPIRES) {
        // A date that cannot be read is in the past.
        return httpdate::parse_http_date(expires).map_or(now, |at| at.max(now));
    }
    let modified = incoming.header(LAST_MODIFIED);
    let modified = modified.and_then(|text| httpdate::parse_http_date(text).ok());
    let since = modified.and_then(|at| now.duration_since(at).ok());
    // A tenth of its age, as caches do when nothing is said.
    now + since.map_or(Duration::ZERO, |age| (age / 10).min(MOST_GUESSED))
}

#[derive(Default)]
struct Directives {
    no_store: bool,
    no_cache: bool,
    is_private: bool,
    max_age: Option<Duration>,
}

impl Directives {
    fn of(incoming: &Incoming) -> Self {
        let mut found = Self::default();
        let mut shared = None;
        let lines = incoming.headers.get_all(CACHE_CONTROL).iter();
        let lines = lines.filter_map(|value| value.to_str().ok());
        for directive in lines.flat_map(|line| line.split(',')) {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            let seconds = || {
                let seconds: u64 = value.trim().trim_matches('"').parse().unwrap_or(0);
                Some(Duration::from_secs(seconds.min(31_536_000)))
            };
            match name.trim().to_ascii_lowercase().as_str() {
                "no-store" => found.no_store = true,
                "no-cache" => found.no_cache = true,
                "private" => found.is_private = true,
                "max-age" => found.max_age = seconds(),
                "s-maxage" => shared = seconds(),
                _ => {}
            }
        }
        found.max_age = shared.or(found.max_age);
        found
    }
}

/// Pages in memory, up to a number of bytes; the oldest go first.
pub struct MemoryCache {
    most: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    pages: HashMap<String, (u64, Arc<Kept>)>,
    bytes: usize,
    turn: u64,
}

impl MemoryCache {
    /// Room for this many bytes.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            held: Mutex::default(),
        }
    }
}

/// What a page takes beside its body.
const OVERHEAD: usize = 512;

impl Cache for MemoryCache {
    fn get(&self, url: &str) -> Option<Arc<Kept>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.turn += 1;
        let turn = held.turn;
        let (used, kept) = held.pages.get_mut(url)?;
        *used = turn;
        Some(Arc::clone(kept))
    }

    fn put(&self, url: &str, kept: Arc<Kept>) {
        let size = |url: &str, kept: &Kept| url.len() + kept.body.len() + OVERHEAD;
        let needed = size(url, &kept);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, old)) = held.pages.remove(url) {
            held.bytes -= size(url, &old);
        }
        if needed > self.most {
            return;
        }
        while held.bytes + needed > self.most {
            let oldest = held.pages.iter().min_by_key(|(_, (used, _))| *used);
            let Some(oldest) = oldest.map(|(url, _)| url.clone()) else {
                break;
            };
            if let Some((_, old)) = held.pages.remove(&oldest) {
                held.bytes -= size(&oldest, &old);
            }
        }
        held.turn += 1;
        let turn = held.turn;
        held.bytes += needed;
        held.pages.insert(url.to_owned(), (turn, kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn answer(headers: &[(&'static str, &str)]) -> Incoming {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        Incoming {
            status: 200,
            headers: headers.iter().map(pair).collect(),
            body: b"page".to_vec(),
            truncated: false,
        }
    }

    fn fresh_for(headers: &[(&'static str, &str)]) -> u64 {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let until = fresh_until(&answer(headers), now);
        until.duration_since(now).unwrap().as_secs()
    }

    #[test]
    fn freshness_follows_what_the_server_says() {
        assert_eq!(fresh_for(&[("cache-control", "max-age=60")]), 60);
        assert_eq!(
            fresh_for(&[("cache-control", "max-age=60"), ("age", "45")]),
            15
        );
        assert_eq!(
            fresh_for(&[("cache-control", "max-age=60, S-MaxAge=\"90\"")]),
            90
        );
        assert_eq!(fresh_for(&[("cache-control", "no-cache, max-age=60")]), 0);
        assert_eq!(fresh_for(&[("cache-control", "max-age=nonsense")]), 0);
        assert_eq!(
            fresh_for(&[("expires", "Sun, 06 Nov 1994 08:50:37 GMT")]),
            60
        );
        assert_eq!(fresh_for(&[("expires", "0")]), 0);
        assert_eq!(
            fresh_for(&[("last-modified", "Sun, 06 Nov 1994 08:48:37 GMT")]),
            6
        );
        assert_eq!(
            fresh_for(&[("last-modified", "Fri, 06 Nov 1970 08:48:37 GMT")]),
            DAY.as_secs()
        );
        assert_eq!(fresh_for(&[]), 0);
    }

    #[test]
    fn what_is_still_the_same_lasts_as_long_again() {
        let start = SystemTime::UNIX_EPOCH + DAY;
        let kept = Kept::of(
            &answer(&[("cache-control", "max-age=60"), ("etag", "\"1\"")]),
            start,
        );
        let later = start + DAY;
        let minute = later + Duration::from_secs(60);
        let silent = kept.refreshed(&answer(&[]), later);
        assert_eq!((silent.fetched, silent.fresh_until), (later, minute));
        assert_eq!(silent.etag.as_deref(), Some("\"1\""));
        let anew = kept.refreshed(&answer(&[("cache-control", "no-cache")]), later);
        assert_eq!(anew.fresh_until, later);
        let tagged = kept.refreshed(&answer(&[("etag", "\"2\"")]), later);
        assert_eq!(tagged.etag.as_deref(), Some("\"2\""));
    }

    #[test]
    fn what_is_not_for_sharing_is_not_kept() {
        assert!(may_keep(&answer(&[])));
        for (name, value) in [
            ("cache-control", "no-store"),
            ("cache-control", "Private"),
            ("vary", "*"),
        ] {
            assert!(!may_keep(&answer(&[(name, value)])), "{name}: {value}");
        }
    }

    #[test]
    fn the_memory_never_holds_more_than_it_may() {
        let cache = MemoryCache::new(2 * (OVERHEAD + 10));
        let kept = Arc::new(Kept::of(&answer(&[]), SystemTime::UNIX_EPOCH));
        cache.put("a", Arc::clone(&kept));
        cache.put("b", Arc::clone(&kept));
        assert!(cache.get("a").is_some());
        cache.put("c", Arc::clone(&kept));
        assert!(cache.get("b").is_none(), "the one least in use goes");
        assert!(cache.get("a").is_some() && cache.get("c").is_some());
        let large = Kept {
            body: vec![0; 4096],
            ..(*kept).clone()
        };
        cache.put("a", Arc::new(large));
        assert!(cache.get("a").is_none());
        assert!(cache.get("c").is_some());
    }
}
