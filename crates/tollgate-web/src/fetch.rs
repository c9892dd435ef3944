//! Fetching a page: every address on the way is checked, asked for politely, and only if its site wants it read.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use reqwest::{
    Url,
    header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use tokio::time::timeout;

use crate::{
    Now,
    cache::{Cache, Kept, may_keep},
    charset,
    content::{self, Content},
    error::{Kind, WebError},
    guard::Guard,
    polite::{Manners, Politeness},
    robots::{self, Robots},
    wire::{self, Incoming, Limits, Outgoing, Wants, Wire},
};

/// How long a site's rules are remembered, and how long that they could not be read.
const RULES_LAST: Duration = Duration::from_secs(24 * 60 * 60);
const FAILURES_LAST: Duration = Duration::from_secs(5 * 60);
const MAX_SITES: usize = 4096;
/// For how long a site that answers 429 without a time is left alone.
const REST: Duration = Duration::from_secs(30);

/// What a fetcher needs.
#[derive(Clone)]
pub struct Settings {
    /// Where connections may lead.
    pub guard: Guard,
    /// How much a fetch may take.
    pub limits: Limits,
    /// How gently hosts are asked.
    pub politeness: Politeness,
    /// Whether `robots.txt` is obeyed.
    pub robots: bool,
    /// Where pages are kept.
    pub cache: Arc<dyn Cache>,
    /// The time.
    pub now: Now,
}

/// Whether the network was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheUse {
    /// It came over the network.
    Missed,
    /// It was fresh.
    Fresh,
    /// The server said that it is still the same.
    Confirmed,
}

/// A page.
#[derive(Debug, Clone)]
pub struct Page {
    /// The address that was asked for.
    pub url: String,
    /// The address that answered.
    pub final_url: String,
    /// How it answered.
    pub status: u16,
    /// The declared type.
    pub content_type: Option<String>,
    /// What it is.
    pub content: Content,
    /// Its text, as it came: HTML if it is a page.
    pub text: String,
    /// The encoding it was in.
    pub charset: &'static str,
    /// Whether the body was cut at the limit.
    pub truncated: bool,
    /// Whether the network was asked.
    pub cache: CacheUse,
    /// When it was read.
    pub fetched: SystemTime,
}

/// Fetches pages.
pub struct Fetcher {
    wire: Wire,
    manners: Manners,
    cache: Arc<dyn Cache>,
    now: Now,
    obeys: bool,
    sites: Mutex<HashMap<String, Site>>,
    asking: Mutex<HashMap<String, Arc<Asking>>>,
}

#[derive(Clone)]
struct Site {
    rules: Arc<Robots>,
    until: SystemTime,
}

/// Rules that are being asked for: one asks, and those who wait for it get what it got.
type Asking = tokio::sync::Mutex<Option<Result<Arc<Robots>, Refusal>>>;

/// A failure that can be told more than once.
#[derive(Clone)]
struct Refusal {
    kind: Kind,
    message: String,
    retry_after: Option<Duration>,
}

impl Refusal {
    fn of(error: &WebError) -> Self {
        Self {
            kind: error.kind,
            message: error.message.clone(),
            retry_after: error.retry_after,
        }
    }

    fn told(&self) -> WebError {
        let mut error = WebError::new(self.kind, self.message.clone());
        error.retry_after = self.retry_after;
        error
    }
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    Page,
    /// A page, also one that comes with an error.
    Any,
    Rules,
}

impl Fetcher {
    /// A fetcher; nothing is opened yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            wire: Wire::new(settings.guard, settings.limits),
            manners: Manners::new(settings.politeness),
            cache: settings.cache,
            now: settings.now,
            obeys: settings.robots,
            sites: Mutex::default(),
            asking: Mutex::default(),
        }
    }

    /// Fetches a page.
    pub async fn fetch(&self, address: &str) -> Result<Page, WebError> {
        self.fetch_as(address, Aim::Page).await
    }

    /// Fetches a page as a browser would: what a server says along with an error is one too.
    pub async fn fetch_any(&self, address: &str) -> Result<Page, WebError> {
        self.fetch_as(address, Aim::Any).await
    }

    async fn fetch_as(&self, address: &str, aim: Aim) -> Result<Page, WebError> {
        let url = self.wire.guard().read(address)?;
        let walk = self.walk(url, aim);
        let (last, kept, cache) = timeout(self.wire.limits().total, walk)
            .await
            .map_err(|_| WebError::timeout("the page"))??;
        page(address, &last, &kept, cache)
    }

    /// Asks for an address and follows where it leads.
    async fn walk(&self, first: Url, aim: Aim) -> Result<(Url, Arc<Kept>, CacheUse), WebError> {
        let mut url = first;
        url.set_fragment(None);
        for _ in 0..=self.wire.limits().redirects {
            // A page that was read before is no reason to forget what its site wants.
            self.wire.guard().check(&url)?;
            let host = url.host_str().unwrap_or_default().to_owned();
            let delay = match aim {
                Aim::Page | Aim::Any => self.permission(&url).await?,
                Aim::Rules => None,
            };
            let now = (self.now)();
            let known = match aim {
                Aim::Page | Aim::Any => self.cache.get(url.as_str()),
                Aim::Rules => None,
            };
            if let Some(kept) = known.as_ref().filter(|kept| kept.fresh_until > now) {
                return Ok((url, Arc::clone(kept), CacheUse::Fresh));
            }
            let turn = self.manners.turn(&host, delay).await?;
            let incoming = self.wire.send(self.request(&url, aim, &known)).await?;
            drop(turn);
            let now = (self.now)();
            if let Some(known) = known.filter(|_| incoming.status == 304) {
                let kept = Arc::new(known.refreshed(&incoming, now));
                self.cache.put(url.as_str(), Arc::clone(&kept));
                return Ok((url, kept, CacheUse::Confirmed));
            }
            if let Some(next) = wire::next(&url, &incoming)? {
                url = next;
                url.set_fragment(None);
                continue;
            }
            match aim {
                Aim::Page => self.refuse(&host, &incoming)?,
                // A host that wants to rest is left alone all the same.
                Aim::Any => drop(self.refuse(&host, &incoming)),
                Aim::Rules => {}
            }
            let kept = Arc::new(Kept::of(&incoming, now));
            if aim != Aim::Rules && may_keep(&incoming) {
                self.cache.put(url.as_str(), Arc::clone(&kept));
            }
            return Ok((url, kept, CacheUse::Missed));
        }
        let most = self.wire.limits().redirects;
        let message = format!("the server sent us on more than {most} times");
        Err(WebError::new(Kind::BadGateway, message))
    }

    fn request(&self, url: &Url, aim: Aim, known: &Option<Arc<Kept>>) -> Outgoing {
        let bytes = match aim {
            Aim::Page | Aim::Any => self.wire.limits().bytes,
            Aim::Rules => robots::MAX_BYTES,
        };
        let mut outgoing = Outgoing::get(url.clone(), bytes);
        let accept =
            "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.8,*/*;q=0.1";
        outgoing.headers = vec![
            (ACCEPT, HeaderValue::from_static(accept)),
            (ACCEPT_LANGUAGE, HeaderValue::from_static("en,*;q=0.5")),
        ];
        if let Some(known) = known {
            outgoing.headers.extend(known.validators());
        }
        outgoing.wants = (aim != Aim::Rules).then_some(wanted as Wants);
        outgoing
    }

    /// The answers that are no page.
    fn refuse(&self, host: &str, incoming: &Incoming) -> Result<(), WebError> {
        let (kind, message) = match incoming.status {
            401 | 407 => (Kind::Auth, "the page wants a login"),
            403 => (Kind::Forbidden, "the server does not let us read this"),
            429 => (
                Kind::TooManyRequests,
                "the server has had too many requests",
            ),
            500.. => (Kind::BadGateway, "the server failed"),
            _ => return Ok(()),
        };
        let mut error = WebError::new(kind, format!("{message} (status {})", incoming.status));
        error.retry_after = incoming.retry_after(Some((self.now)()));
        let must_rest = incoming.status == 429 || incoming.status == 503;
        if must_rest && (incoming.status == 429 || error.retry_after.is_some()) {
            self.manners.rest(host, error.retry_after.unwrap_or(REST));
        }
        Err(error)
    }

    /// Whether the site wants this read, and the pause it asks for.
    async fn permission(&self, url: &Url) -> Result<Option<Duration>, WebError> {
        if !self.obeys {
            return Ok(None);
        }
        let rules = self.rules(url).await?;
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        if rules.allows(&path) {
            return Ok(rules.delay);
        }
        let host = url.host_str().unwrap_or_default();
        let message = format!("robots.txt of {host} does not want this read");
        Err(WebError::new(Kind::RobotsDisallowed, message))
    }

    async fn rules(&self, url: &Url) -> Result<Arc<Robots>, WebError> {
        let mut place = url.clone();
        place.set_path("/robots.txt");
        place.set_query(None);
        place.set_fragment(None);
        let key = place.to_string();
        if let Some(rules) = self.known_rules(&key) {
            return Ok(rules);
        }
        let asking = {
            let mut all = lock(&self.asking);
            if all.len() >= MAX_SITES {
                all.retain(|_, one| Arc::strong_count(one) > 1);
            }
            Arc::clone(all.entry(key.clone()).or_default())
        };
        // One that is given up leaves nothing here, and the next one asks in its place.
        let mut outcome = asking.lock().await;
        if let Some(outcome) = &*outcome {
            return outcome.clone().map_err(|refusal| refusal.told());
        }
        let read = self.read_rules(place).await;
        *outcome = Some(match &read {
            Ok(site) => {
                let mut sites = lock(&self.sites);
                if sites.len() >= MAX_SITES {
                    sites.clear();
                }
                sites.insert(key.clone(), site.clone());
                Ok(Arc::clone(&site.rules))
            }
            Err(error) => Err(Refusal::of(error)),
        });
        lock(&self.asking).remove(&key);
        read.map(|site| site.rules)
    }

    fn known_rules(&self, key: &str) -> Option<Arc<Robots>> {
        let now = (self.now)();
        let sites = lock(&self.sites);
        let site = sites.get(key).filter(|site| site.until > now)?;
        Some(Arc::clone(&site.rules))
    }

    async fn read_rules(&self, place: Url) -> Result<Site, WebError> {
        let now = (self.now)();
        let (rules, last) = match Box::pin(self.walk(place, Aim::Rules)).await {
            Ok((_, kept, _)) => match kept.status {
                200..=299 => {
                    let text = String::from_utf8_lossy(&kept.body);
                    (Robots::parse(&text), RULES_LAST)
                }
                // A site without rules has none; one that fails does not want visitors now.
                400..=499 if kept.status != 429 => (Robots::open(), RULES_LAST),
                _ => (Robots::closed(), FAILURES_LAST),
            },
            // Rules that lead nowhere, or cannot be unpacked, are no rules; a host out of reach is the caller's to hear of.
            Err(error) if matches!(error.kind, Kind::BadGateway | Kind::Parse) => {
                (Robots::open(), FAILURES_LAST)
            }
            Err(error) => return Err(error),
        };
        Ok(Site {
            rules: Arc::new(rules),
            until: now + last,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A page of a type we do not read is refused before its body comes.
fn wanted(status: u16, headers: &HeaderMap) -> Result<(), WebError> {
    if !(200..300).contains(&status) {
        return Ok(());
    }
    let declared = headers.get(CONTENT_TYPE);
    content::of_header(declared.and_then(|value| value.to_str().ok())).map(drop)
}

fn page(address: &str, last: &Url, kept: &Kept, cache: CacheUse) -> Result<Page, WebError> {
    let declared = kept.content_type.as_deref();
    let content = match content::of_header(declared)? {
        Some(content) => content,
        None => content::of_bytes(&kept.body)?,
    };
    let (text, charset) = charset::decode(&kept.body, declared);
    Ok(Page {
        url: address.to_owned(),
        final_url: last.to_string(),
        status: kept.status,
        content_type: declared.map(content::essence),
        content,
        text,
        charset,
        truncated: kept.truncated,
        cache,
        fetched: kept.fetched,
    })
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::cache::MemoryCache;

    const HOST: &str = "https://docs.offline.example";

    fn fetcher(pause: Duration, robots: bool) -> Fetcher {
        Fetcher::new(Settings {
            guard: Guard::default(),
            limits: Limits {
                total: Duration::from_secs(600),
                ..Limits::default()
            },
            politeness: Politeness { at_once: 4, pause },
            robots,
            cache: Arc::new(MemoryCache::new(0)),
            now: Arc::new(|| SystemTime::UNIX_EPOCH),
        })
    }

    /// How long three pages of the same host take.
    async fn three(fetcher: &Fetcher) -> Duration {
        let start = Instant::now();
        for _ in 0..3 {
            let page = fetcher.fetch(&format!("{HOST}/water-temperature")).await;
            assert_eq!(page.unwrap().status, 200);
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_is_asked_with_the_pause_that_is_set() {
        let pause = Duration::from_secs(7);
        assert_eq!(three(&fetcher(pause, false)).await, 2 * pause);
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_is_asked_with_the_pause_it_asks_for() {
        let fetcher = fetcher(Duration::from_secs(1), true);
        let rules = "User-agent: *\nCrawl-delay: 9\n";
        let site = Site {
            rules: Arc::new(Robots::parse(rules)),
            until: SystemTime::UNIX_EPOCH + RULES_LAST,
        };
        lock(&fetcher.sites).insert(format!("{HOST}/robots.txt"), site);
        assert_eq!(three(&fetcher).await, Duration::from_secs(18));
    }
}
