//! Spans as a collector gets them, and what a broken collector may not do.

use std::{collections::BTreeMap, path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use tollgate::{
    config::{Config, Environment, Flags},
    telemetry::Exporter,
    wire::{self, Wired},
};
use tollgate_core::{Payload, Principal, Status, Surface, Timestamp};
use tollgate_engine::{
    Caller, Outcome, Request,
    record::{Span, SpanSink},
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
/// Longer than anything here takes; only a hang reaches it.
const HANG: Duration = Duration::from_secs(60);

/// What the collector got: the head of the request, and the decoded body.
struct Received {
    head: String,
    body: Value,
}

impl Received {
    fn spans(&self) -> &Vec<Value> {
        self.body["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap()
    }
}

/// A collector on loopback that gives these answers, the last one for ever.
async fn collector(answers: &'static [&'static str]) -> (String, mpsc::Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel(64);
    tokio::spawn(async move {
        let mut answers = answers.iter().copied();
        let mut last = "200 OK";
        while let Ok((mut stream, _)) = listener.accept().await {
            while let Some(received) = read_request(&mut stream).await {
                last = answers.next().unwrap_or(last);
                let reply = format!("HTTP/1.1 {last}\r\ncontent-length: 2\r\n\r\n{{}}");
                stream.write_all(reply.as_bytes()).await.unwrap();
                sender.send(received).await.unwrap();
            }
        }
    });
    (endpoint, receiver)
}

/// A collector that takes the connection and never answers.
async fn silent_collector() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    endpoint
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let mut wanted = None;
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = *wanted.get_or_insert_with(|| content_length(&head));
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..]).unwrap();
                return Some(Received { head, body });
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn content_length(head: &str) -> usize {
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    line.unwrap().parse().unwrap()
}

fn environment(folder: &Path, endpoint: &str) -> Environment {
    let home = folder.join("home");
    let configuration = home.join(".config/tollgate");
    std::fs::create_dir_all(&configuration).unwrap();
    let file = format!(
        "[telemetry]\notlp_endpoint = \"{endpoint}\"\nservice_name = \"gate\"\n\
         [telemetry.headers]\nauthorization = \"env:COLLECTOR_KEY\"\n"
    );
    std::fs::write(configuration.join("tollgate.toml"), file).unwrap();
    Environment {
        variables: BTreeMap::from([("COLLECTOR_KEY".into(), "Bearer hush".into())]),
        home: Some(home.clone()),
        current_dir: home,
        ..Environment::default()
    }
}

fn load(environment: &Environment) -> Config {
    Config::load(environment, &Flags::default()).unwrap()
}

async fn gate(folder: &Path, endpoint: &str) -> Wired {
    let environment = environment(folder, endpoint);
    wire::wire(&load(&environment), &environment).await.unwrap()
}

async fn call(wired: &Wired, tool: &str, arguments: Value) -> Outcome {
    let caller = Caller::local(Principal::user(1000), "tests", Surface::Jsonl);
    let mut request = Request::new(tool, Payload::from(arguments));
    request.traceparent = Some(format!("00-{TRACE}-{PARENT}-01"));
    wired.gateway.call(&caller, request).await
}

fn attributes(of: &Value) -> BTreeMap<&str, &Value> {
    let list = of["attributes"].as_array().unwrap().iter();
    list.map(|one| (one["key"].as_str().unwrap(), &one["value"]["stringValue"]))
        .collect()
}

fn nanos(span: &Value, field: &str) -> u128 {
    span[field].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_call_arrives_as_a_span_below_the_callers() {
    let folder = tempfile::tempdir().unwrap();
    let (endpoint, mut received) = collector(&["200 OK"]).await;
    let wired = gate(folder.path(), &endpoint).await;
    let outcome = call(&wired, "text.stats", json!({"text": "hello"})).await;
    wired.close().await;
    let request = timeout(HANG, received.recv()).await.unwrap().unwrap();

    assert!(request.head.starts_with("POST /v1/traces HTTP/1.1\r\n"));
    assert!(request.head.contains("content-type: application/json"));
    assert!(request.head.contains("authorization: Bearer hush"));
    let resource = attributes(&request.body["resourceSpans"][0]["resource"]);
    assert_eq!(resource["service.name"], "gate");
    assert_eq!(request.spans().len(), 1);
    let span = &request.spans()[0];
    assert_eq!(span["traceId"], TRACE);
    assert_eq!(span["parentSpanId"], PARENT);
    assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
    assert_ne!(span["spanId"], PARENT);
    assert_eq!(span["name"], "execute_tool text.stats");
    assert_eq!(span["kind"], 1);
    assert_eq!(span["status"], json!({}));
    assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"));
    let known = attributes(span);
    assert_eq!(known["gen_ai.operation.name"], "execute_tool");
    assert_eq!(known["gen_ai.tool.name"], "text.stats");
    assert_eq!(known["gen_ai.tool.call.id"], outcome.call.as_str());
    assert_eq!(known["mcp.method.name"], "tools/call");
    assert_eq!(known["tollgate.status"], "ok");
    assert_eq!(known["tollgate.provider"], "builtin");
}

#[tokio::test]
async fn a_failed_call_says_why_in_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let (endpoint, mut received) = collector(&["200 OK"]).await;
    let wired = gate(folder.path(), &endpoint).await;
    let outcome = call(&wired, "text.stats", json!({"text": 5})).await;
    wired.close().await;
    let request = timeout(HANG, received.recv()).await.unwrap().unwrap();

    let code = outcome.envelope.get().error.as_ref().unwrap().code.as_str();
    let span = &request.spans()[0];
    assert_eq!(span["status"], json!({"code": 2, "message": code}));
    assert_eq!(attributes(span)["error.type"], code);
}

#[tokio::test]
async fn a_busy_collector_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let answers = &["503 Service Unavailable\r\nretry-after: 0", "200 OK"];
    let (endpoint, mut received) = collector(answers).await;
    let wired = gate(folder.path(), &endpoint).await;
    call(&wired, "text.stats", json!({"text": "hello"})).await;
    let first = timeout(HANG, received.recv()).await.unwrap().unwrap();
    let second = timeout(HANG, received.recv()).await.unwrap().unwrap();
    wired.close().await;
    assert_eq!(first.body, second.body);
}

#[tokio::test]
async fn an_unreachable_collector_neither_fails_nor_holds_up_a_call() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refusing = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    for endpoint in [refusing, silent_collector().await] {
        let folder = tempfile::tempdir().unwrap();
        let wired = gate(folder.path(), &endpoint).await;
        for number in 0..20 {
            let text = format!("hello {number}");
            let calling = call(&wired, "text.stats", json!({"text": text}));
            let outcome = timeout(HANG, calling).await.unwrap();
            assert_eq!(outcome.envelope.get().status, Status::Ok);
        }
        timeout(HANG, wired.close()).await.unwrap();
    }
}

#[tokio::test]
async fn a_collector_that_falls_behind_costs_spans_and_memory_stays_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path(), &silent_collector().await);
    let config = load(&environment);
    let exporter = Exporter::start(&config.telemetry, &environment)
        .unwrap()
        .unwrap();
    for _ in 0..10_000 {
        exporter.export(Span {
            trace_id: TRACE.to_owned(),
            span_id: PARENT.to_owned(),
            parent_span_id: None,
            name: "execute_tool text.stats".to_owned(),
            start: Timestamp(0),
            duration: Duration::ZERO,
            attributes: Vec::new(),
            error: None,
        });
    }
    assert!(exporter.dropped() >= 10_000 - 2048 - 2 * 512);
    timeout(HANG, exporter.flush()).await.unwrap();
}
