//! Asking search engines, one after the other until one answers.
//!
//! Whatever an engine sends, an item has an address of the web, and each address comes once. A key is never sent anywhere but
//! to its own engine: answers that lead elsewhere are not followed.

mod brave;
mod ddg;
mod searxng;
mod serper;
mod stub;

use std::{collections::HashSet, sync::Mutex, sync::PoisonError, time::Duration};

use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};

use crate::{
    error::{Kind, WebError},
    extract,
    guard::Guard,
    wire::{Incoming, Limits, Outgoing, Wire},
};

/// The most results one question gives.
pub const MAX_RESULTS: usize = 10;
const MAX_QUERY: usize = 400;
const MAX_TITLE: usize = 300;
const MAX_SNIPPET: usize = 1000;
const MAX_ANSWER: usize = 4 << 20;
/// How long a question waits for its turn; if it would be longer, the next engine is asked.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// For how long an engine that has had too many questions rests: without a word of it, and at most.
const REST: Duration = Duration::from_secs(30);
const MAX_REST: Duration = Duration::from_secs(600);

/// The engines we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// Made up, offline, the same for the same question.
    Stub,
    /// A SearXNG of the user's own.
    Searxng,
    /// The page of DuckDuckGo without scripts.
    DdgHtml,
    /// Brave's interface for programs.
    Brave,
    /// Serper's interface to Google.
    Serper,
}

impl BackendKind {
    /// Every engine.
    pub const ALL: [Self; 5] = [
        Self::Stub,
        Self::Searxng,
        Self::DdgHtml,
        Self::Brave,
        Self::Serper,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stub => "stub",
            Self::Searxng => "searxng",
            Self::DdgHtml => "ddg_html",
            Self::Brave => "brave",
            Self::Serper => "serper",
        }
    }

    /// The engine of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Where it answers, if it is always the same place.
    pub const fn usual_address(self) -> Option<&'static str> {
        match self {
            Self::Stub | Self::Searxng => None,
            Self::DdgHtml => Some("https://html.duckduckgo.com/"),
            Self::Brave => Some("https://api.search.brave.com/"),
            Self::Serper => Some("https://google.serper.dev/"),
        }
    }
}

/// Reads a key when it is needed.
pub type KeySource = std::sync::Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// An engine as an operator has set it up.
#[derive(Clone)]
pub struct Backend {
    /// Which.
    pub kind: BackendKind,
    /// Where it answers, if not at its usual place. The operator's word: it may be a private address.
    pub base_url: Option<String>,
    /// Where its key comes from.
    pub key: Option<KeySource>,
    /// The least time between two questions.
    pub pause: Duration,
}

impl Backend {
    /// An engine at its usual place, without a key.
    pub fn new(kind: BackendKind) -> Self {
        let pause = match kind {
            BackendKind::Stub => 0,
            BackendKind::Searxng | BackendKind::Serper => 200,
            BackendKind::DdgHtml | BackendKind::Brave => 1100,
        };
        Self {
            kind,
            base_url: None,
            key: None,
            pause: Duration::from_millis(pause),
        }
    }
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// A few words of it.
    pub snippet: String,
    /// The engine.
    pub provider: &'static str,
    /// Its place, from 1.
    pub rank: usize,
}

/// An engine that did not answer.
#[derive(Debug)]
pub struct Attempt {
    /// Which.
    pub provider: &'static str,
    /// Why.
    pub error: WebError,
}

/// What was found.
#[derive(Debug)]
pub struct Found {
    /// The results, best first.
    pub items: Vec<Item>,
    /// The engines that were asked before and did not answer.
    pub failed: Vec<Attempt>,
}

/// What an engine says of a result, before it is checked.
#[derive(Debug, Default)]
struct Raw {
    title: String,
    url: String,
    snippet: String,
}

/// Asks engines.
pub struct Search {
    engines: Vec<Engine>,
    limits: Limits,
}

struct Engine {
    backend: Backend,
    base: Option<Url>,
    wire: Wire,
    next: Mutex<Option<Instant>>,
}

impl Search {
    /// Asks these engines, in this order.
    pub fn new(backends: Vec<Backend>, guard: &Guard, limits: Limits) -> Self {
        let engine = |backend: Backend| {
            let usual = backend.kind.usual_address();
            let base = backend.base_url.as_deref().or(usual);
            let base = base.and_then(|text| Url::parse(text).ok());
            let mut guard = guard.clone();
            if backend.base_url.is_some()
                && let Some(base) = &base
                && let (Some(host), Some(port)) = (base.host_str(), base.port_or_known_default())
            {
                guard.allow_hosts.push(format!("{host}:{port}"));
            }
            Engine {
                wire: Wire::new(guard, limits),
                base,
                next: Mutex::default(),
                backend,
            }
        };
        Self {
            engines: backends.into_iter().map(engine).collect(),
            limits,
        }
    }

    /// Asks one engine after the other until one answers.
    pub async fn search(&self, query: &str, most: usize) -> Result<Found, WebError> {
        let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
        if query.is_empty() || query.chars().count() > MAX_QUERY {
            let message = format!("a question has 1 to {MAX_QUERY} characters");
            return Err(WebError::invalid(message));
        }
        if !(1..=MAX_RESULTS).contains(&most) {
            let message = format!("between 1 and {MAX_RESULTS} results can be had");
            return Err(WebError::invalid(message));
        }
        let mut failed: Vec<Attempt> = Vec::new();
        // One time is for all of them, and a slow engine leaves those after it their share.
        let end = Instant::now() + self.limits.total;
        for (place, engine) in self.engines.iter().enumerate() {
            let provider = engine.backend.kind.name();
            let left = end.saturating_duration_since(Instant::now());
            let sharers = u32::try_from(self.engines.len() - place).unwrap_or(u32::MAX);
            let asked = timeout(left / sharers, engine.ask(&query, most)).await;
            let asked = asked.unwrap_or_else(|_| Err(WebError::timeout("the search")));
            match asked {
                Ok(raw) => {
                    let items = merged(raw, provider, most);
                    return Ok(Found { items, failed });
                }
                Err(error) => failed.push(Attempt { provider, error }),
            }
        }
        // The first engine is the one the operator prefers; its failure says most.
        match failed.into_iter().next() {
            Some(first) => Err(first.error),
            None => Err(WebError::invalid("no search engine is set up")),
        }
    }
}

impl Engine {
    async fn ask(&self, query: &str, most: usize) -> Result<Vec<Raw>, WebError> {
        let kind = self.backend.kind;
        if kind == BackendKind::Stub {
            return Ok(stub::answer(query, most));
        }
        let Some(base) = &self.base else {
            let message = format!("{} has no address it can be asked at", kind.name());
            return Err(WebError::invalid(message));
        };
        self.turn().await?;
        let outgoing = match kind {
            BackendKind::Stub => return Ok(Vec::new()),
            BackendKind::Searxng => searxng::question(base, query)?,
            BackendKind::DdgHtml => ddg::question(base, query)?,
            BackendKind::Brave => brave::question(base, query, most, &self.key()?)?,
            BackendKind::Serper => serper::question(base, query, most, &self.key()?)?,
        };
        let incoming = self.wire.send(outgoing).await?;
        let answered = match kind {
            BackendKind::Stub => Ok(Vec::new()),
            BackendKind::Searxng => searxng::answer(&incoming),
            BackendKind::DdgHtml => ddg::answer(&incoming),
            BackendKind::Brave => brave::answer(&incoming),
            BackendKind::Serper => serper::answer(&incoming),
        };
        if let Err(error) = &answered
            && error.kind == Kind::TooManyRequests
        {
            let rest = error.retry_after.unwrap_or(REST).min(MAX_REST);
            *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + rest);
        }
        answered
    }

    /// Waits until the engine may be asked again; too long a wait is a failure that says how long.
    async fn turn(&self) -> Result<(), WebError> {
        let start = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let start = next.map_or(now, |next| next.max(now));
            if start - now > MAX_WAIT {
                let name = self.backend.kind.name();
                let message = format!("{name} has been asked as often as it may be for now");
                let mut error = WebError::new(Kind::TooManyRequests, message);
                error.retry_after = Some(start - now);
                return Err(error);
            }
            *next = Some(start + self.backend.pause);
            start
        };
        sleep_until(start).await;
        Ok(())
    }

    fn key(&self) -> Result<HeaderValue, WebError> {
        let name = self.backend.kind.name();
        let key = self.backend.key.as_ref().and_then(|read| read());
        let Some(key) = key.filter(|key| !key.is_empty()) else {
            let message = format!("{name} needs a key, and none is set");
            return Err(WebError::new(Kind::Auth, message));
        };
        let mut value = HeaderValue::from_str(key.trim())
            .map_err(|_| WebError::new(Kind::Auth, format!("the key of {name} cannot be sent")))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// The results that can be used, each address once.
fn merged(raw: Vec<Raw>, provider: &'static str, most: usize) -> Vec<Item> {
    let mut seen = HashSet::new();
    let usable = raw.into_iter().filter_map(|raw| {
        let url = Url::parse(raw.url.trim()).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https") && url.username().is_empty();
        (is_web && seen.insert(same(&url))).then_some((url, raw))
    });
    let items = usable
        .take(most)
        .enumerate()
        .map(|(place, (url, raw))| Item {
            title: cut(&extract::plain(&raw.title), MAX_TITLE),
            url: url.to_string(),
            snippet: cut(&extract::plain(&raw.snippet), MAX_SNIPPET),
            provider,
            rank: place + 1,
        });
    items.collect()
}

/// What two addresses of the same page share.
fn same(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    let port = url.port().map(|port| format!(":{port}"));
    let port = port.unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    format!("{host}{port}{path}?{}", url.query().unwrap_or_default())
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// The answers that every engine gives alike.
fn refuse(name: &str, incoming: &Incoming) -> Result<(), WebError> {
    let status = incoming.status;
    let (kind, what) = match status {
        200..=299 => return Ok(()),
        401 => (Kind::Auth, "refuses our key"),
        403 => (Kind::Forbidden, "refuses to answer"),
        429 => (Kind::TooManyRequests, "has had too many questions"),
        400 | 422 => (Kind::InvalidInput, "does not understand the question"),
        _ => (Kind::BadGateway, "failed"),
    };
    let mut error = WebError::new(kind, format!("{name} {what} (status {status})"));
    error.retry_after = incoming.retry_after(None);
    Err(error)
}

fn json(name: &str, incoming: &Incoming) -> Result<Value, WebError> {
    let unreadable = || WebError::new(Kind::Parse, format!("the answer of {name} cannot be read"));
    if incoming.truncated {
        return Err(unreadable());
    }
    serde_json::from_slice(&incoming.body).map_err(|error| unreadable().because(error))
}

/// The results in a list of objects, by the names of their fields.
fn listed(name: &str, list: &Value, fields: [&str; 3]) -> Result<Vec<Raw>, WebError> {
    let Some(list) = list.as_array() else {
        let message = format!("the answer of {name} has no list of results");
        return Err(WebError::new(Kind::Parse, message));
    };
    let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
    let raw = list.iter().map(|one| Raw {
        title: text(one, fields[0]),
        url: text(one, fields[1]),
        snippet: text(one, fields[2]),
    });
    Ok(raw.collect())
}

fn place(base: &Url, path: &str, pairs: &[(&str, &str)]) -> Result<Url, WebError> {
    let mut base = base.clone();
    if !base.path().ends_with('/') {
        base.set_path(&format!("{}/", base.path()));
    }
    let mut url = base
        .join(path)
        .map_err(|error| WebError::invalid("the engine has no usable address").because(error))?;
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    Ok(url)
}

fn get(url: Url, headers: Vec<(HeaderName, HeaderValue)>) -> Outgoing {
    Outgoing {
        headers,
        ..Outgoing::get(url, MAX_ANSWER)
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;

    use super::*;

    fn raw(url: &str) -> Raw {
        Raw {
            title: "A <b>title</b> &amp; more".to_owned(),
            url: url.to_owned(),
            snippet: "some\n  words<script>x</script>".to_owned(),
        }
    }

    #[test]
    fn results_are_cleaned_and_each_address_comes_once() {
        let items = merged(
            vec![
                raw("javascript:alert(1)"),
                raw("https://www.example.com/a/"),
                raw("http://example.com/a#part"),
                raw("ftp://example.com/"),
                raw("https://me@example.com/"),
                raw("https://example.com/a?page=2"),
                raw("not an address"),
                raw("https://example.com:8443/a"),
                raw("https://\u{430}pple.com/"),
                raw("https://example.com/b"),
            ],
            "stub",
            4,
        );
        let urls: Vec<_> = items.iter().map(|item| item.url.as_str()).collect();
        assert_eq!(
            urls,
            [
                "https://www.example.com/a/",
                "https://example.com/a?page=2",
                "https://example.com:8443/a",
                // A look-alike shows what it is.
                "https://xn--pple-43d.com/",
            ]
        );
        assert_eq!(items[0].title, "A title & more");
        assert_eq!(items[0].snippet, "some words");
        assert_eq!((items[0].rank, items[1].rank), (1, 2));
    }

    #[tokio::test]
    async fn the_stub_is_offline_and_always_the_same() {
        let stub = vec![Backend::new(BackendKind::Stub)];
        let search = Search::new(stub, &Guard::default(), Limits::default());
        let first = search.search("green  tea", 3).await.unwrap();
        let again = search.search("green tea", 3).await.unwrap();
        assert_eq!(first.items, again.items);
        assert_eq!(first.items.len(), 3);
        assert!(
            first.items[0].title.contains("reen tea"),
            "{:?}",
            first.items
        );
        let other = search.search("quantum chromodynamics", 4).await.unwrap();
        assert_eq!(other.items.len(), 4, "there is always something to try");
        for (query, most) in [("", 3), (" ", 3), ("x", 0), ("x", 11)] {
            let error = search.search(query, most).await.unwrap_err();
            assert_eq!(error.kind, Kind::InvalidInput);
        }
    }

    #[tokio::test]
    async fn each_engine_is_asked_no_more_often_than_it_may() {
        let backend = |kind, pause| Backend {
            pause: Duration::from_secs(pause),
            ..Backend::new(kind)
        };
        let engines = vec![
            backend(BackendKind::Brave, 3),
            backend(BackendKind::Serper, 3600),
        ];
        let search = Search::new(engines, &Guard::default(), Limits::default());
        let (brave, serper) = (&search.engines[0], &search.engines[1]);
        brave.turn().await.unwrap();
        serper.turn().await.unwrap();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut second = std::pin::pin!(brave.turn());
        assert!(
            second.as_mut().poll(&mut context).is_pending(),
            "a short wait is waited"
        );
        let refused = serper.turn().await.unwrap_err();
        assert_eq!(refused.kind, Kind::TooManyRequests);
        assert!(
            refused.retry_after.unwrap() > MAX_WAIT,
            "a long one is said"
        );
        for kind in BackendKind::ALL {
            let is_free = Backend::new(kind).pause.is_zero();
            assert_eq!(is_free, kind == BackendKind::Stub);
        }
    }

    #[test]
    fn names_are_read_back() {
        for kind in BackendKind::ALL {
            assert_eq!(BackendKind::parse(kind.name()), Some(kind));
        }
        assert_eq!(BackendKind::parse("altavista"), None);
    }
}
