//! A server on loopback that behaves as Keepa does: it knows one key, counts tokens that come back with time and may go
//! below zero, packs what it sends, keeps connections open, and fails when it is told to.

use std::{
    collections::VecDeque,
    io::Write as _,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

pub(super) const KEY: &str = "k3y0f0urs000000000000000000000000000000000000000000000000000test";

/// What goes wrong with the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The connection closes without an answer.
    CutOff,
    /// The answer is no JSON.
    Nonsense,
    /// Status 500.
    Broken,
    /// The answer takes a while.
    Slow(Duration),
    /// A 200 that carries an error.
    HiddenError,
    /// Status 429, with the promise of a token after this time.
    Empty(Duration),
}

struct Account {
    tokens: i64,
    /// One token comes back after each of these.
    every: Duration,
    since: Instant,
    faults: VecDeque<Fault>,
    lines: Vec<String>,
    connections: usize,
}

impl Account {
    fn refill(&mut self) {
        let back = self.since.elapsed().as_nanos() / self.every.as_nanos().max(1);
        let back = u32::try_from(back).unwrap_or(u32::MAX);
        self.tokens += i64::from(back);
        self.since += self.every * back;
    }

    fn envelope(&self, consumed: i64) -> Value {
        let left = self.every.saturating_sub(self.since.elapsed());
        json!({
            "timestamp": 1_773_838_800_000_i64, "tokensLeft": self.tokens, "tokensConsumed": consumed,
            "refillIn": left.as_millis() as u64, "refillRate": 60, "tokenFlowReduction": 0.0,
        })
    }
}

/// The server.
pub(super) struct Server {
    address: SocketAddr,
    account: Arc<Mutex<Account>>,
}

impl Server {
    pub(super) async fn start(tokens: i64, every: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let account = Arc::new(Mutex::new(Account {
            tokens,
            every,
            since: Instant::now(),
            faults: VecDeque::new(),
            lines: Vec::new(),
            connections: 0,
        }));
        let shared = Arc::clone(&account);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let account = Arc::clone(&shared);
                account.lock().unwrap().connections += 1;
                tokio::spawn(serve(stream, account));
            }
        });
        Self { address, account }
    }

    pub(super) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn fail_next(&self, fault: Fault) {
        self.account.lock().unwrap().faults.push_back(fault);
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.account.lock().unwrap().lines.clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.account.lock().unwrap().connections
    }

    pub(super) fn tokens(&self) -> i64 {
        self.account.lock().unwrap().tokens
    }
}

async fn serve(mut stream: TcpStream, account: Arc<Mutex<Account>>) {
    while let Some(line) = request(&mut stream).await {
        let fault = {
            let mut account = account.lock().unwrap();
            account.lines.push(line.clone());
            account.faults.pop_front()
        };
        if let Some(Fault::Slow(time)) = fault {
            tokio::time::sleep(time).await;
        }
        if fault == Some(Fault::CutOff) {
            return;
        }
        let (status, kind, body) = answer(&line, fault, &mut account.lock().unwrap());
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&body).unwrap();
        let packed = packed.finish().unwrap();
        let head = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            packed.len()
        );
        let whole = [head.as_bytes(), &packed].concat();
        if stream.write_all(&whole).await.is_err() {
            return;
        }
    }
}

/// The first line of the next request, once all of it is there.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let so_far = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = so_far.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")
                    .map(str::to_owned)
            });
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return head.lines().next().map(str::to_owned);
            }
        }
        let read = stream.read(&mut buffer).await.ok()?;
        if read == 0 {
            return None;
        }
        text.extend_from_slice(&buffer[..read]);
    }
}

/// As many products as were asked for, at one token each and twelve more with two pages of offers.
fn products(line: &str, account: &mut Account) -> Vec<u8> {
    let asked = line
        .split(['?', '&', ' '])
        .find_map(|part| part.strip_prefix("asin="));
    let asked: Vec<&str> = asked.unwrap_or_default().split("%2C").collect();
    let each = if line.contains("&offers=") { 13 } else { 1 };
    let cost = each * asked.len() as i64;
    account.tokens -= cost;
    let text = tollgate_keepa::fixtures::find("product_kettle.json").unwrap();
    let mut body: Value = serde_json::from_str(text).unwrap();
    let sample = body["products"][0].take().to_string();
    for (name, value) in account.envelope(cost).as_object().unwrap() {
        body[name] = value.clone();
    }
    // As text: a hundred copies of a tree take an unoptimised program seconds.
    let all = asked.iter().map(|asin| sample.replace("B0KETTLE01", asin));
    let all = all.collect::<Vec<_>>().join(",");
    body["products"] = json!("HERE");
    let whole = body.to_string().replace("\"HERE\"", &format!("[{all}]"));
    whole.into_bytes()
}

fn answer(line: &str, fault: Option<Fault>, account: &mut Account) -> (u16, &'static str, Vec<u8>) {
    const JSON: &str = "application/json";
    let packed = |value: Value| value.to_string().into_bytes();
    account.refill();
    if !line.contains(&format!("key={KEY}")) {
        let body = json!({
            "tokensLeft": 0, "refillIn": 0, "refillRate": 0, "tokensConsumed": 0,
            "error": {"type": "invalidParameter", "message": "unknown key", "details": line},
        });
        return (402, JSON, packed(body));
    }
    match fault {
        Some(Fault::Nonsense) => return (200, "text/html", b"<html>".to_vec()),
        Some(Fault::Broken) => return (500, JSON, b"oops".to_vec()),
        Some(Fault::HiddenError) => {
            let mut body = account.envelope(0);
            body["error"] = json!({"type": "invalidParameter", "message": "no such thing"});
            return (200, JSON, packed(body));
        }
        Some(Fault::Empty(promised)) => {
            let mut body = account.envelope(0);
            body["refillIn"] = json!(promised.as_millis() as u64);
            body["error"] = json!({"type": "notEnoughToken", "message": "no tokens"});
            return (429, JSON, packed(body));
        }
        Some(Fault::CutOff | Fault::Slow(_)) | None => {}
    }
    let path = line.split(['/', '?', ' ']).nth(2).unwrap_or_default();
    if account.tokens <= 0 && path != "token" {
        let mut body = account.envelope(0);
        body["error"] = json!({"type": "notEnoughToken", "message": "no tokens"});
        return (429, JSON, packed(body));
    }
    let (cost, sample) = match path {
        "product" => return (200, JSON, products(line, account)),
        "bestsellers" => (50, "bestsellers.json"),
        "search" => (1, "category_search.json"),
        "graphimage" => {
            account.tokens -= 1;
            return (200, "image/png", b"\x89PNG\r\n\x1a\nsample".to_vec());
        }
        _ => (0, "token_status.json"),
    };
    account.tokens -= cost;
    let text = tollgate_keepa::fixtures::find(sample).unwrap();
    let mut body: Value = serde_json::from_str(text).unwrap();
    for (name, value) in account.envelope(cost).as_object().unwrap() {
        body[name] = value.clone();
    }
    (200, JSON, packed(body))
}
