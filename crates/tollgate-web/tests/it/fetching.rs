//! Pages that are fetched as they should be.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use tollgate_web::{CacheUse, Content, Kind, Lookup, Resolver, USER_AGENT};

use crate::server::{Server, answer, html};

#[tokio::test]
async fn a_page_of_an_allowed_host_is_read() {
    let server = Server::start(|_| html("<title>Hi</title><p>Grüße")).await;
    let page = server
        .fetcher(|_| {})
        .fetch(&server.url("/a?b#c"))
        .await
        .unwrap();
    assert_eq!((page.status, page.content), (200, Content::Html));
    assert_eq!(page.text, "<title>Hi</title><p>Grüße");
    assert_eq!(page.final_url, server.url("/a?b"));
    assert_eq!(page.content_type.as_deref(), Some("text/html"));
    assert!(!page.truncated);
    let seen = server.seen();
    assert_eq!(seen[0].target, "/a?b");
    assert_eq!(seen[0].header("user-agent"), Some(USER_AGENT));
    assert!(USER_AGENT.starts_with("Tollgate/"));
    assert_eq!(seen[0].header("referer"), None);
    assert_eq!(seen[0].header("cookie"), None);
}

#[tokio::test]
async fn a_host_nobody_allowed_is_not_even_connected_to() {
    let server = Server::start(|_| html("secret")).await;
    let fetcher = server.fetcher(|settings| {
        settings.guard.allow_hosts.clear();
        settings.guard.ports = (1..=u16::MAX).collect();
    });
    let port = server.host.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"] {
        let error = fetcher.fetch(&format!("http://{host}:{port}/")).await;
        assert_eq!(error.unwrap_err().kind, Kind::AddressRefused, "{host}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn redirects_are_followed_and_checked_each_time() {
    let inside = Server::start(|_| html("secret")).await;
    let secret = inside.base.clone();
    let server = Server::start(move |request| {
        let to = match request.target.as_str() {
            "/1" => "/2".to_owned(),
            "/2" => "3?x=1#part".to_owned(),
            "/loop" => "/loop".to_owned(),
            "/inside" => secret.clone(),
            "/metadata" => "http://169.254.169.254/latest/".to_owned(),
            "/file" => "file:///etc/passwd".to_owned(),
            "/login" => "http://me:secret@127.0.0.1/".to_owned(),
            "/five" => "/four".to_owned(),
            "/four" => "/three".to_owned(),
            "/three" => "/two".to_owned(),
            "/two" => "/one".to_owned(),
            "/one" => "/zero".to_owned(),
            "/six" => "/five".to_owned(),
            _ => return html("end"),
        };
        answer(302, &format!("Location: {to}\r\n"), "")
    })
    .await;
    let fetcher = server.fetcher(|_| {});
    let page = fetcher.fetch(&server.url("/1")).await.unwrap();
    assert_eq!(
        (page.url, page.final_url),
        (server.url("/1"), server.url("/3?x=1"))
    );
    assert_eq!(page.text, "end");
    let page = fetcher.fetch(&server.url("/five")).await.unwrap();
    assert_eq!(page.final_url, server.url("/zero"), "five times is allowed");
    for (path, kind) in [
        ("/six", Kind::BadGateway),
        ("/login", Kind::InvalidInput),
        ("/loop", Kind::BadGateway),
        ("/inside", Kind::AddressRefused),
        ("/metadata", Kind::AddressRefused),
        ("/file", Kind::InvalidInput),
    ] {
        let error = fetcher.fetch(&server.url(path)).await.unwrap_err();
        assert_eq!(error.kind, kind, "{path}");
    }
    assert!(inside.seen().is_empty());
    let loops = server
        .seen()
        .iter()
        .filter(|one| one.target == "/loop")
        .count();
    assert_eq!(loops, 6, "the first request and five more");
}

#[tokio::test]
async fn answers_that_are_no_page_say_what_they_are() {
    let server = Server::start(|request| {
        let status = request.target[1..].parse().unwrap();
        answer(
            status,
            "Content-Type: text/html\r\nRetry-After: 7\r\n",
            "words",
        )
    })
    .await;
    for (status, expected) in [
        (401, Some(Kind::Auth)),
        (403, Some(Kind::Forbidden)),
        (404, None),
        (410, None),
        (500, Some(Kind::BadGateway)),
    ] {
        let fetched = server
            .fetcher(|_| {})
            .fetch(&server.url(&format!("/{status}")))
            .await;
        match (fetched, expected) {
            (Ok(page), None) => assert_eq!((page.status, page.text.as_str()), (status, "words")),
            (Err(error), Some(kind)) => assert_eq!(error.kind, kind, "{status}"),
            (other, _) => panic!("{status}: {other:?}"),
        }
    }
    let fetcher = server.fetcher(|_| {});
    for _ in 0..2 {
        let error = fetcher.fetch(&server.url("/429")).await.unwrap_err();
        assert_eq!(error.kind, Kind::TooManyRequests);
        assert!(error.retry_after.is_some());
    }
    let asked = server
        .seen()
        .iter()
        .filter(|one| one.target == "/429")
        .count();
    assert_eq!(asked, 1, "a host that wants to be left alone is left alone");
}

#[tokio::test]
async fn types_that_are_not_text_are_refused() {
    let server = Server::start(|request| match request.target.as_str() {
        "/none" => answer(200, "", "<!doctype html><p>x"),
        "/binary" => answer(200, "", [0_u8, 1, 2]),
        "/json" => answer(200, "Content-Type: application/json\r\n", "{}"),
        _ => answer(200, "Content-Type: application/pdf\r\n", "%PDF-1.7"),
    })
    .await;
    let fetcher = server.fetcher(|_| {});
    let content = |path| {
        let url = server.url(path);
        let fetcher = &fetcher;
        async move {
            fetcher
                .fetch(&url)
                .await
                .map(|page| page.content)
                .map_err(|error| error.kind)
        }
    };
    assert_eq!(content("/none").await, Ok(Content::Html));
    assert_eq!(content("/json").await, Ok(Content::Text));
    assert_eq!(content("/binary").await, Err(Kind::ContentType));
    assert_eq!(content("/pdf").await, Err(Kind::ContentType));
}

#[tokio::test]
async fn a_page_is_kept_and_asked_about_when_it_is_old() {
    let clock = Arc::new(AtomicU64::new(1_000_000_000));
    let version = Arc::new(Mutex::new("one"));
    let current = Arc::clone(&version);
    let server = Server::start(move |request| {
        let version = *current.lock().unwrap();
        let tag = format!("\"{version}\"");
        let headers =
            format!("ETag: {tag}\r\nCache-Control: max-age=60\r\nContent-Type: text/plain\r\n");
        if request.header("if-none-match") == Some(&tag) {
            return answer(304, &headers, "");
        }
        answer(200, &headers, version)
    })
    .await;
    let now = Arc::clone(&clock);
    let fetcher = server.fetcher(|settings| {
        settings.now = Arc::new(move || {
            SystemTime::UNIX_EPOCH + Duration::from_secs(now.load(Ordering::SeqCst))
        });
    });
    let url = server.url("/");
    let get = || async {
        let page = fetcher.fetch(&url).await.unwrap();
        (page.cache, page.text)
    };
    assert_eq!(get().await, (CacheUse::Missed, "one".to_owned()));
    assert_eq!(get().await, (CacheUse::Fresh, "one".to_owned()));
    clock.fetch_add(61, Ordering::SeqCst);
    assert_eq!(get().await, (CacheUse::Confirmed, "one".to_owned()));
    assert_eq!(get().await, (CacheUse::Fresh, "one".to_owned()));
    clock.fetch_add(61, Ordering::SeqCst);
    *version.lock().unwrap() = "two";
    assert_eq!(get().await, (CacheUse::Missed, "two".to_owned()));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_date_of_change_asks_as_well_as_a_tag() {
    const CHANGED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    let server = Server::start(|request| {
        let headers = format!(
            "Last-Modified: {CHANGED}\r\nCache-Control: no-cache\r\nContent-Type: text/plain\r\n"
        );
        if request.header("if-modified-since") == Some(CHANGED) {
            return answer(304, &headers, "");
        }
        answer(200, &headers, "words")
    })
    .await;
    let fetcher = server.fetcher(|_| {});
    for cache in [CacheUse::Missed, CacheUse::Confirmed, CacheUse::Confirmed] {
        let page = fetcher.fetch(&server.url("/")).await.unwrap();
        assert_eq!((page.cache, page.text.as_str()), (cache, "words"));
    }
    let asked: Vec<_> = server
        .seen()
        .iter()
        .map(|one| one.header("if-modified-since").map(str::to_owned))
        .collect();
    let changed = Some(CHANGED.to_owned());
    assert_eq!(asked, [None, changed.clone(), changed]);
}

#[tokio::test]
async fn rules_are_asked_for_again_after_a_day_and_after_a_failure_sooner() {
    for (status, seconds) in [(200, 24 * 60 * 60), (404, 24 * 60 * 60), (500, 5 * 60)] {
        let server = Server::start(move |request| match request.target.as_str() {
            "/robots.txt" => answer(status, "", "User-agent: *\nAllow: /\n"),
            _ => html("page"),
        })
        .await;
        let clock = Arc::new(AtomicU64::new(1_000_000_000));
        let now = Arc::clone(&clock);
        let fetcher = server.fetcher(|settings| {
            settings.robots = true;
            settings.now = Arc::new(move || {
                SystemTime::UNIX_EPOCH + Duration::from_secs(now.load(Ordering::SeqCst))
            });
        });
        let asked = async || {
            assert_eq!(fetcher.fetch(&server.url("/")).await.is_ok(), status < 500);
            let seen = server.seen();
            seen.iter()
                .filter(|one| one.target == "/robots.txt")
                .count()
        };
        assert_eq!((asked().await, asked().await), (1, 1), "{status}");
        clock.fetch_add(seconds - 1, Ordering::SeqCst);
        assert_eq!(asked().await, 1, "{status}");
        clock.fetch_add(1, Ordering::SeqCst);
        assert_eq!(asked().await, 2, "{status}");
    }
}

#[tokio::test]
async fn rules_are_asked_for_once_however_many_want_them() {
    let server = Server::start(|request| match request.target.as_str() {
        "/robots.txt" => answer(200, "", "User-agent: *\nDisallow: /closed\n"),
        _ => html("page"),
    })
    .await;
    let fetcher = Arc::new(server.fetcher(|settings| settings.robots = true));
    let mut all = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (fetcher, url) = (Arc::clone(&fetcher), server.url(&format!("/{number}")));
        all.spawn(async move { fetcher.fetch(&url).await.unwrap().status });
    }
    assert_eq!(all.join_all().await, [200; 20]);
    let rules: Vec<_> = server
        .seen()
        .into_iter()
        .filter(|one| one.target == "/robots.txt")
        .collect();
    assert_eq!(rules.len(), 1);
    let agent = rules[0].header("user-agent").unwrap();
    assert!(agent.starts_with("Tollgate/"), "{agent}");
}

/// Answers with this machine, whatever the name.
struct Here;

impl Resolver for Here {
    fn lookup(&self, _: String) -> Lookup {
        Box::pin(async { Ok(vec!["127.0.0.1".parse().unwrap()]) })
    }
}

#[tokio::test]
async fn a_look_alike_shows_what_it_is() {
    let server = Server::start(|_| html("page")).await;
    let port = server.host.rsplit(':').next().unwrap();
    let fetcher = server.fetcher(|settings| {
        settings.guard.allow_hosts = vec![format!("xn--pple-43d.com:{port}")];
        settings.guard.resolver = Arc::new(Here);
    });
    let url = format!("http://\u{430}pple.com:{port}/");
    let page = fetcher.fetch(&url).await.unwrap();
    assert_eq!(page.final_url, format!("http://xn--pple-43d.com:{port}/"));
    let host = server.seen()[0].header("host").unwrap().to_owned();
    assert_eq!(host, format!("xn--pple-43d.com:{port}"));
}

#[tokio::test]
async fn robots_txt_is_read_once_and_obeyed() {
    let server = Server::start(|request| match request.target.as_str() {
        "/robots.txt" => answer(200, "", "User-agent: *\nDisallow: /private\n"),
        "/away" => answer(302, "Location: /private/x\r\n", ""),
        _ => html("page"),
    })
    .await;
    let fetcher = server.fetcher(|settings| settings.robots = true);
    for path in ["/a", "/b"] {
        fetcher.fetch(&server.url(path)).await.unwrap();
    }
    for path in ["/private/x", "/away"] {
        let error = fetcher.fetch(&server.url(path)).await.unwrap_err();
        assert_eq!(error.kind, Kind::RobotsDisallowed, "{path}");
    }
    let targets: Vec<_> = server.seen().into_iter().map(|one| one.target).collect();
    assert_eq!(targets, ["/robots.txt", "/a", "/b", "/away"]);
    let bold = server.fetcher(|_| {});
    assert!(bold.fetch(&server.url("/private/x")).await.is_ok());
}

#[tokio::test]
async fn a_site_without_rules_is_open_and_one_that_fails_is_not() {
    for (status, is_open) in [(404, true), (403, true), (500, false), (503, false)] {
        let server = Server::start(move |request| match request.target.as_str() {
            "/robots.txt" => answer(status, "", "Disallow: /"),
            _ => html("page"),
        })
        .await;
        let fetcher = server.fetcher(|settings| settings.robots = true);
        let fetched = fetcher.fetch(&server.url("/")).await;
        assert_eq!(fetched.is_ok(), is_open, "{status}");
    }
}
