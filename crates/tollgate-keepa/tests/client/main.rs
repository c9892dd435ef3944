//! The client against a server on loopback that behaves as Keepa does: it counts tokens, packs answers, fails and breaks.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod server;
mod wire;

use std::time::Duration;

use serde_json::json;
use tollgate_keepa::{
    ApiKey, Command, Kind, Params,
    client::{Answer, Body, Client, Failed},
    request::{Request, build},
};

use crate::{
    server::{Reply, Server},
    wire::{SilentOnce, TestWire},
};

const KEY: &str = "key0of0ours";
const MINUTE: Duration = Duration::from_secs(60);

fn request(command: Command, params: serde_json::Value) -> Request {
    build(command, &Params::of(&params)).unwrap()
}

fn product() -> Request {
    request(Command::ProductsGet, json!({"asin": "B0FIXTURE1"}))
}

async fn ask(
    server: &Server,
    request: &Request,
    time: Duration,
) -> (Result<Answer, Failed>, Duration) {
    let wire = TestWire::default();
    let clock = wire.clock();
    let client = Client::new(wire, server.base(), ApiKey::new(KEY));
    let answer = client.call(request, time).await;
    (answer, clock.paused())
}

fn text(answer: Answer) -> String {
    match answer.body {
        Body::Json(text) => text,
        Body::Picture { .. } => panic!("a picture"),
    }
}

#[tokio::test]
async fn a_packed_answer_is_read_with_its_tokens() {
    let body = r#"{"tokensLeft":7,"tokensConsumed":1,"refillIn":10,"refillRate":5,"products":[]}"#;
    let server = Server::start(vec![Reply::json(200, body).packed()]).await;
    let (answer, paused) = ask(&server, &product(), MINUTE).await;
    let answer = answer.unwrap();
    assert_eq!(answer.bucket.unwrap().tokens_left, Some(7));
    assert_eq!(text(answer), body);
    assert_eq!(paused, Duration::ZERO);
    let lines = server.lines();
    assert_eq!(
        lines,
        [format!(
            "GET /product?key={KEY}&asin=B0FIXTURE1&domain=1 HTTP/1.1"
        )]
    );
}

#[tokio::test]
async fn an_empty_bucket_is_waited_for_once() {
    let empty =
        r#"{"tokensLeft":-3,"refillIn":4000,"refillRate":5,"error":{"type":"notEnoughToken"}}"#;
    let fine = r#"{"tokensLeft":2,"refillRate":5}"#;
    let server = Server::start(vec![Reply::json(429, empty), Reply::json(200, fine)]).await;
    let (answer, paused) = ask(&server, &product(), MINUTE).await;
    assert_eq!(answer.unwrap().waited, Some(Duration::from_millis(4100)));
    assert_eq!(paused, Duration::from_millis(4100));

    let server = Server::start(vec![Reply::json(429, empty), Reply::json(429, empty)]).await;
    let (answer, _) = ask(&server, &product(), MINUTE).await;
    let failed = answer.unwrap_err();
    assert_eq!(failed.error.kind, Kind::NotEnoughToken);
    assert_eq!(failed.error.details["retry_after_seconds"], 4);
    assert_eq!(failed.bucket.unwrap().tokens_left, Some(-3));
    assert_eq!(server.lines().len(), 2);
}

#[tokio::test]
async fn no_wait_outlasts_the_deadline() {
    let empty = r#"{"tokensLeft":-3,"refillIn":4000,"refillRate":5}"#;
    let server = Server::start(vec![Reply::json(429, empty)]).await;
    let (answer, paused) = ask(&server, &product(), Duration::from_secs(3)).await;
    assert_eq!(answer.unwrap_err().error.kind, Kind::NotEnoughToken);
    assert_eq!((paused, server.lines().len()), (Duration::ZERO, 1));
}

#[tokio::test]
async fn reads_are_tried_twice_and_writes_once() {
    let fine = Reply::json(200, "{}");
    for broken in [
        Reply::json(500, "oops"),
        Reply::cut_off(),
        Reply::json(503, "{}").packed(),
    ] {
        let server = Server::start(vec![broken.clone(), fine.clone()]).await;
        let (answer, paused) = ask(&server, &product(), MINUTE).await;
        assert!(answer.is_ok(), "{broken:?}");
        assert_eq!((paused, server.lines().len()), (Duration::from_secs(2), 2));

        let server = Server::start(vec![broken.clone(), broken.clone(), fine.clone()]).await;
        assert!(ask(&server, &product(), MINUTE).await.0.is_err());
        assert_eq!(server.lines().len(), 2);

        let write = request(Command::TrackingRemove, json!({"asin": "B0FIXTURE1"}));
        let server = Server::start(vec![broken, fine.clone()]).await;
        assert!(ask(&server, &write, MINUTE).await.0.is_err());
        assert_eq!(server.lines().len(), 1);
    }
}

#[tokio::test]
async fn an_error_is_an_error_whatever_its_status() {
    let unknown_key = r#"{"tokensLeft":0,"refillIn":0,"refillRate":0,"error":{"type":"invalidParameter","message":"no key0of0ours"}}"#;
    let cases = [
        (200, "invalid_parameter"),
        (400, "bad_request"),
        (402, "payment_required"),
        (404, "api_error"),
        (405, "invalid_parameter"),
    ];
    for (status, kind) in cases {
        let server = Server::start(vec![Reply::json(status, unknown_key).packed()]).await;
        let (answer, paused) = ask(&server, &product(), MINUTE).await;
        let failed = answer.unwrap_err();
        assert_eq!(failed.error.kind.name(), kind);
        assert_eq!(failed.error.message, "no [REDACTED]");
        assert_eq!(failed.error.status, Some(status));
        assert_eq!((failed.bucket, paused), (None, Duration::ZERO));
    }
}

#[tokio::test]
async fn a_promise_of_a_minute_is_kept_and_a_longer_one_is_not_waited_for() {
    for (ms, waits) in [(59_950, true), (60_000, true), (60_001, false)] {
        let empty = format!(r#"{{"tokensLeft":-3,"refillIn":{ms},"refillRate":5}}"#);
        let fine = Reply::json(200, "{}");
        let server = Server::start(vec![Reply::json(429, &empty), fine]).await;
        let (answer, paused) = ask(&server, &product(), 2 * MINUTE).await;
        assert_eq!(answer.is_ok(), waits, "{ms}");
        let expected = Duration::from_millis(if waits { ms + 100 } else { 0 });
        assert_eq!(paused, expected);
    }
}

#[tokio::test]
async fn where_the_body_does_not_tell_the_header_does() {
    let empty = Reply::json(429, "{}").header("retry-after: 7");
    let server = Server::start(vec![empty.clone(), Reply::json(200, "{}")]).await;
    let (answer, paused) = ask(&server, &product(), MINUTE).await;
    assert_eq!(answer.unwrap().waited, Some(Duration::from_millis(7100)));
    assert_eq!(paused, Duration::from_millis(7100));
    let server = Server::start(vec![empty]).await;
    let (answer, _) = ask(&server, &product(), Duration::from_secs(5)).await;
    assert_eq!(answer.unwrap_err().error.details["retry_after_seconds"], 7);
}

#[tokio::test]
async fn an_answer_that_never_comes_leaves_time_to_ask_again() {
    let silent = SilentOnce::default();
    let clock = silent.clock();
    let attempts = silent.attempts();
    let client = Client::new(silent, "http://127.0.0.1:9", ApiKey::new(KEY));
    assert!(client.call(&product(), 2 * MINUTE).await.is_ok());
    let lefts = attempts.lock().unwrap().clone();
    assert_eq!(lefts, [Duration::from_secs(59), Duration::from_secs(59)]);
    assert_eq!(clock.paused(), Duration::from_secs(61));

    // What changes something is asked once, and may take all the time there is.
    let silent = SilentOnce::default();
    let attempts = silent.attempts();
    let client = Client::new(silent, "http://127.0.0.1:9", ApiKey::new(KEY));
    let write = request(Command::TrackingRemove, json!({"asin": "B0FIXTURE1"}));
    assert!(client.call(&write, 2 * MINUTE).await.is_err());
    assert_eq!(attempts.lock().unwrap().clone(), [2 * MINUTE]);
}

#[tokio::test]
async fn the_key_is_taken_out_of_details_of_every_shape() {
    let body = format!(
        r#"{{"refillRate":0,"error":{{"type":"x","message":"m","details":{{"list":["a {KEY}"],"{KEY}":{{"deep":"{KEY}"}},"count":5}}}}}}"#
    );
    let server = Server::start(vec![Reply::json(400, &body)]).await;
    let failed = ask(&server, &product(), MINUTE).await.0.unwrap_err();
    let shown = format!("{failed:?}");
    assert!(!shown.contains(KEY), "{shown}");
    assert_eq!(failed.error.details["details"]["list"][0], "a [REDACTED]");
    assert_eq!(failed.error.details["details"]["count"], 5);
}

#[tokio::test]
async fn pictures_are_bytes_and_anything_else_is_not_one() {
    let graph = request(Command::GraphsImage, json!({"asin": "B0FIXTURE1"}));
    let png = b"\x89PNG\r\n\x1a\n\0\xff".to_vec();
    let server = Server::start(vec![Reply::bytes("image/png", png.clone())]).await;
    let (answer, _) = ask(&server, &graph, MINUTE).await;
    let content_type = "image/png".to_owned();
    assert_eq!(
        answer.unwrap().body,
        Body::Picture {
            bytes: png,
            content_type
        }
    );

    for other in ["<html>", "{}", ""] {
        let server = Server::start(vec![Reply::json(200, other)]).await;
        let failed = ask(&server, &graph, MINUTE).await.0.unwrap_err();
        assert_eq!(failed.error.kind, Kind::NetworkOrParseError);
    }
}

#[tokio::test]
async fn without_a_key_nothing_is_sent() {
    let server = Server::start(vec![]).await;
    let client = Client::new(TestWire::default(), server.base(), ApiKey::new(""));
    let failed = client.call(&product(), MINUTE).await.unwrap_err();
    assert_eq!(failed.error.kind, Kind::AuthMissing);
    assert!(server.lines().is_empty());
}

#[tokio::test]
async fn the_body_of_a_write_is_sent() {
    let add = request(
        Command::TrackingAdd,
        json!({"trackings": [{"asin": "B0FIXTURE1"}]}),
    );
    let server = Server::start(vec![Reply::json(200, r#"{"tokensLeft":1,"refillRate":5}"#)]).await;
    assert!(ask(&server, &add, MINUTE).await.0.is_ok());
    assert_eq!(server.bodies(), [r#"[{"asin":"B0FIXTURE1"}]"#]);
}
