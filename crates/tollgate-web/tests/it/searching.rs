//! Search engines in the shapes they answer in.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tollgate_web::{Backend, BackendKind, Found, Guard, Kind, Limits, Search, WebError};

use crate::server::{Reply, Server, Then, answer};

const JSON: &str = "Content-Type: application/json\r\n";

fn backend(kind: BackendKind, server: &Server) -> Backend {
    Backend {
        base_url: Some(server.base.clone()),
        key: Some(Arc::new(|| Some("the-key".to_owned()))),
        pause: Duration::ZERO,
        ..Backend::new(kind)
    }
}

fn limits() -> Limits {
    Limits {
        first_byte: Duration::from_secs(60),
        total: Duration::from_secs(60),
        ..Limits::default()
    }
}

async fn ask(backends: Vec<Backend>) -> Result<Found, WebError> {
    Search::new(backends, &Guard::default(), limits())
        .search("rust & web", 5)
        .await
}

async fn one(
    kind: BackendKind,
    reply: impl Fn() -> Reply + Send + Sync + 'static,
) -> Result<Found, Kind> {
    let server = Server::start(move |_| reply()).await;
    ask(vec![backend(kind, &server)])
        .await
        .map_err(|error| error.kind)
}

#[tokio::test]
async fn searxng_answers() {
    let server = Server::start(|_| {
        let body = json!({
            "query": "rust & web",
            "number_of_results": 0,
            "results": [
                {"url": "https://a.test/1", "title": "One", "content": "First", "engine": "x", "engines": ["x", "y"],
                 "score": 4.0, "category": "general", "publishedDate": null, "parsed_url": ["https", "a.test", "/1"]},
                {"url": "https://a.test/1/", "title": "One again", "content": "", "engine": "y", "score": 1.0},
                {"url": "https://b.test/", "title": "Two", "engine": "y", "score": 1.0},
            ],
            "answers": [], "corrections": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": [["z", "timeout"]],
        });
        answer(200, JSON, body.to_string())
    })
    .await;
    let found = ask(vec![backend(BackendKind::Searxng, &server)])
        .await
        .unwrap();
    let urls: Vec<_> = found.items.iter().map(|item| item.url.as_str()).collect();
    assert_eq!(urls, ["https://a.test/1", "https://b.test/"]);
    assert_eq!(
        (found.items[0].provider, found.items[1].rank),
        ("searxng", 2)
    );
    assert_eq!(
        server.seen()[0].target,
        "/search?q=rust+%26+web&format=json"
    );
}

#[tokio::test]
async fn searxng_fails_in_its_ways() {
    let silent = |why: &'static str| {
        move || {
            let body = json!({"results": [], "unresponsive_engines": [["google", why]]});
            answer(200, JSON, body.to_string())
        }
    };
    let kind = BackendKind::Searxng;
    assert_eq!(
        one(kind, || answer(403, "", "")).await.err(),
        Some(Kind::Forbidden)
    );
    assert_eq!(
        one(kind, || answer(429, "", "")).await.err(),
        Some(Kind::TooManyRequests)
    );
    assert_eq!(
        one(kind, silent("Suspended: CAPTCHA")).await.err(),
        Some(Kind::CaptchaRequired)
    );
    assert_eq!(
        one(kind, silent("Suspended: too many requests"))
            .await
            .err(),
        Some(Kind::TooManyRequests)
    );
    assert_eq!(
        one(kind, silent("timeout")).await.err(),
        Some(Kind::Timeout)
    );
    assert_eq!(
        one(kind, silent("unexpected crash")).await.err(),
        Some(Kind::BadGateway)
    );
    assert_eq!(
        one(kind, || answer(200, JSON, "<html>")).await.err(),
        Some(Kind::Parse)
    );
    assert_eq!(
        one(kind, || answer(200, JSON, "{}")).await.err(),
        Some(Kind::Parse)
    );
    assert_eq!(
        one(kind, || answer(302, "Location: http://127.0.0.1/\r\n", ""))
            .await
            .err(),
        Some(Kind::BadGateway)
    );
    let silent = Server::start(|_| (Vec::new(), Then::Hang)).await;
    let hurried = Limits {
        first_byte: Duration::from_millis(100),
        ..limits()
    };
    let search = Search::new(vec![backend(kind, &silent)], &Guard::default(), hurried);
    let error = search.search("rust", 1).await.unwrap_err();
    assert_eq!(error.kind, Kind::Timeout);
    assert_eq!(
        one(kind, || (Vec::new(), Then::Close)).await.err(),
        Some(Kind::Network)
    );
    let none = one(kind, || {
        answer(200, JSON, r#"{"results": [], "unresponsive_engines": []}"#)
    })
    .await;
    assert!(none.unwrap().items.is_empty());
}

#[tokio::test]
async fn brave_answers_and_fails() {
    let server = Server::start(|_| {
        let body = json!({"type": "search", "query": {"original": "rust & web"}, "web": {"type": "search", "results": [
            {"title": "One", "url": "https://a.test/", "description": "The <strong>first</strong> &amp; best",
             "extra_snippets": [], "age": "2 days ago"},
        ]}});
        answer(200, JSON, body.to_string())
    })
    .await;
    let found = ask(vec![backend(BackendKind::Brave, &server)])
        .await
        .unwrap();
    assert_eq!(found.items[0].snippet, "The first & best");
    let seen = server.seen();
    assert_eq!(seen[0].target, "/res/v1/web/search?q=rust+%26+web&count=5");
    assert_eq!(seen[0].header("x-subscription-token"), Some("the-key"));

    let kind = BackendKind::Brave;
    let refusal = || {
        let body = json!({"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "status": 422}});
        answer(422, JSON, body.to_string())
    };
    assert_eq!(one(kind, refusal).await.err(), Some(Kind::Auth));
    assert_eq!(
        one(kind, || answer(401, JSON, "{}")).await.err(),
        Some(Kind::Auth)
    );
    assert_eq!(
        one(kind, || answer(429, JSON, "{}")).await.err(),
        Some(Kind::TooManyRequests)
    );
    assert_eq!(
        one(kind, || answer(502, "", "")).await.err(),
        Some(Kind::BadGateway)
    );
    assert_eq!(
        one(kind, || answer(200, JSON, r#"{"web": 1}"#)).await.err(),
        Some(Kind::Parse)
    );
    let none = one(kind, || answer(200, JSON, r#"{"type": "search"}"#)).await;
    assert!(none.unwrap().items.is_empty());
    let keyless = Backend {
        key: None,
        ..backend(kind, &server)
    };
    assert_eq!(ask(vec![keyless]).await.unwrap_err().kind, Kind::Auth);
    assert_eq!(server.seen().len(), 1, "without a key nobody is asked");
}

#[tokio::test]
async fn serper_answers_and_fails() {
    let server = Server::start(|_| {
        let body = json!({"searchParameters": {"q": "rust & web", "type": "search"}, "organic": [
            {"title": "One", "link": "https://a.test/", "snippet": "First", "position": 1},
            {"title": "Two", "link": "https://b.test/", "position": 2},
        ], "peopleAlsoAsk": []});
        answer(200, JSON, body.to_string())
    })
    .await;
    let found = ask(vec![backend(BackendKind::Serper, &server)])
        .await
        .unwrap();
    assert_eq!(found.items.len(), 2);
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str()),
        ("POST", "/search")
    );
    assert_eq!(seen.header("x-api-key"), Some("the-key"));
    assert_eq!(seen.body, r#"{"q":"rust & web","num":5}"#);

    let kind = BackendKind::Serper;
    let unauthorised = || answer(403, JSON, r#"{"message":"Unauthorized.","statusCode":403}"#);
    let broke = || {
        answer(
            400,
            JSON,
            r#"{"message":"Not enough credits","statusCode":400}"#,
        )
    };
    assert_eq!(one(kind, unauthorised).await.err(), Some(Kind::Auth));
    assert_eq!(one(kind, broke).await.err(), Some(Kind::Auth));
    assert_eq!(
        one(kind, || answer(400, JSON, "{}")).await.err(),
        Some(Kind::InvalidInput)
    );
    assert_eq!(
        one(kind, || answer(200, JSON, "{}")).await.err(),
        Some(Kind::Parse)
    );
    assert_eq!(
        one(kind, || answer(500, "", "")).await.err(),
        Some(Kind::BadGateway)
    );
}

fn ddg_page(results: &str) -> Reply {
    let page = format!(
        "<!DOCTYPE html><html><head><title>rust at DuckDuckGo</title></head><body class=\"body--html\">\
         <form id=\"search_form\"><select><option>All</option></select></form>\
         <div class=\"serp__results\"><div id=\"links\" class=\"results\">{results}</div></div></body></html>"
    );
    answer(200, "Content-Type: text/html; charset=UTF-8\r\n", page)
}

fn ddg_result(class: &str, href: &str, title: &str) -> String {
    format!(
        "<div class=\"result results_links results_links_deep {class}\"><div class=\"links_main links_deep result__body\">\
         <h2 class=\"result__title\"><a rel=\"nofollow\" class=\"result__a\" href=\"{href}\">{title}</a></h2>\
         <div class=\"result__extras\"><a class=\"result__url\" href=\"{href}\"> a.test </a></div>\
         <a class=\"result__snippet\" href=\"{href}\">Words about <b>{title}</b> &lt;3</a><div class=\"clear\"></div></div></div>"
    )
}

#[tokio::test]
async fn duckduckgo_answers() {
    let server = Server::start(|_| {
        ddg_page(
            &[
                ddg_result(
                    "result--ad",
                    "https://duckduckgo.com/y.js?ad_domain=shop.test&amp;u3=x",
                    "Buy",
                ),
                ddg_result(
                    "web-result",
                    "//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2Fx%3Fy%3D1&amp;rut=abc",
                    "One &amp; only",
                ),
                ddg_result("web-result", "https://b.test/", "Two"),
            ]
            .concat(),
        )
    })
    .await;
    let found = ask(vec![backend(BackendKind::DdgHtml, &server)])
        .await
        .unwrap();
    let urls: Vec<_> = found.items.iter().map(|item| item.url.as_str()).collect();
    assert_eq!(urls, ["https://a.test/x?y=1", "https://b.test/"]);
    assert_eq!(found.items[0].title, "One & only");
    assert_eq!(found.items[0].snippet, "Words about One & only <3");
    assert_eq!(server.seen()[0].target, "/html/?q=rust+%26+web");
}

#[tokio::test]
async fn duckduckgo_fails_in_its_ways() {
    let kind = BackendKind::DdgHtml;
    let modal = || {
        ddg_page(
            "<form id=\"challenge-form\"><div class=\"anomaly-modal__title\">Unfortunately, bots</div></form>",
        )
    };
    assert_eq!(one(kind, modal).await.err(), Some(Kind::CaptchaRequired));
    let spoken_of = || {
        let title = "What anomaly-modal and challenge-form mean";
        ddg_page(&ddg_result("web-result", "https://a.test/", title))
    };
    let found = one(kind, spoken_of).await.unwrap();
    assert_eq!(found.items.len(), 1, "a result may speak of the form");
    assert_eq!(
        one(kind, || answer(202, "", "<html>")).await.err(),
        Some(Kind::CaptchaRequired)
    );
    assert_eq!(
        one(kind, || answer(403, "", "")).await.err(),
        Some(Kind::Forbidden)
    );
    assert_eq!(
        one(kind, || ddg_page("<p>a new design")).await.err(),
        Some(Kind::Parse)
    );
    let none = one(kind, || {
        ddg_page("<div class=\"no-results\">No results.</div>")
    })
    .await;
    assert!(none.unwrap().items.is_empty());
}

#[tokio::test]
async fn the_next_engine_is_asked_when_one_fails() {
    let broken = Server::start(|_| answer(500, "", "")).await;
    let blocked = Server::start(|_| answer(202, "", "")).await;
    let backends = || {
        vec![
            backend(BackendKind::Searxng, &broken),
            backend(BackendKind::DdgHtml, &blocked),
        ]
    };
    let found = ask([backends(), vec![Backend::new(BackendKind::Stub)]].concat())
        .await
        .unwrap();
    assert_eq!(found.items[0].provider, "stub");
    let failed: Vec<_> = found
        .failed
        .iter()
        .map(|one| (one.provider, one.error.kind))
        .collect();
    assert_eq!(
        failed,
        [
            ("searxng", Kind::BadGateway),
            ("ddg_html", Kind::CaptchaRequired)
        ]
    );
    let error = ask(backends()).await.unwrap_err();
    assert_eq!(
        error.kind,
        Kind::BadGateway,
        "the preferred engine's failure is told"
    );
}

#[tokio::test]
async fn an_engine_without_an_address_says_so() {
    let error = ask(vec![Backend::new(BackendKind::Searxng)])
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::InvalidInput);
    assert!(error.to_string().contains("searxng"));
}

#[tokio::test]
async fn a_slow_engine_leaves_the_next_one_time_to_answer() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
    let slow = Server::start(|_| (head.as_bytes().to_vec(), Then::Drip)).await;
    let all = Duration::from_secs(4);
    let limits = Limits {
        total: all,
        idle: Duration::from_secs(60),
        ..limits()
    };
    let backends = vec![
        backend(BackendKind::Searxng, &slow),
        Backend::new(BackendKind::Stub),
    ];
    let search = Search::new(backends, &Guard::default(), limits);
    // The samples are read when they are first needed.
    drop(ask(vec![Backend::new(BackendKind::Stub)]).await.unwrap());
    let found = tokio::time::timeout(all, search.search("green tea", 2)).await;
    let found = found.expect("one time is for all engines").unwrap();
    assert_eq!(found.items[0].provider, "stub");
    assert_eq!(found.failed[0].error.kind, Kind::Timeout);
}

#[tokio::test]
async fn every_engine_that_has_had_too_many_questions_rests() {
    for kind in [
        BackendKind::DdgHtml,
        BackendKind::Serper,
        BackendKind::Brave,
    ] {
        let busy = Server::start(|_| answer(429, "Retry-After: 120\r\n", "{}")).await;
        let search = Search::new(vec![backend(kind, &busy)], &Guard::default(), limits());
        for _ in 0..2 {
            let error = search.search("green tea", 2).await.unwrap_err();
            assert_eq!(error.kind, Kind::TooManyRequests, "{}", kind.name());
            assert!(error.retry_after.unwrap() > Duration::from_secs(60));
        }
        assert_eq!(busy.seen().len(), 1, "{}", kind.name());
    }
}

#[tokio::test]
async fn serper_is_not_asked_without_a_key() {
    let server = Server::start(|_| answer(200, JSON, "{}")).await;
    for key in [None, Some(String::new())] {
        let keyless = Backend {
            key: Some(Arc::new(move || key.clone())),
            ..backend(BackendKind::Serper, &server)
        };
        let error = ask(vec![keyless]).await.unwrap_err();
        assert_eq!(error.kind, Kind::Auth);
        assert!(error.to_string().contains("serper"), "{error}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn an_engine_that_wants_rest_is_left_alone_and_the_next_one_answers() {
    let busy = Server::start(|_| answer(429, "Retry-After: 120\r\n", "")).await;
    let backends = vec![
        backend(BackendKind::Searxng, &busy),
        Backend::new(BackendKind::Stub),
    ];
    let search = Search::new(backends, &Guard::default(), limits());
    for _ in 0..3 {
        let found = search.search("green tea", 2).await.unwrap();
        assert_eq!(found.items[0].provider, "stub");
        let failed = &found.failed[0];
        assert_eq!(failed.error.kind, Kind::TooManyRequests);
        assert!(failed.error.retry_after.unwrap() > Duration::from_secs(60));
    }
    assert_eq!(busy.seen().len(), 1, "it was asked once and no more");
}
