//! The thread that gathers spans and sends them, and what it does when that fails.

use std::{io, sync::Arc, time::Duration};

use reqwest::{
    Client, Response, StatusCode,
    header::{HeaderMap, RETRY_AFTER},
    redirect::Policy,
};
use tokio::{
    sync::{mpsc::Receiver, oneshot},
    time::{Instant, sleep, timeout_at},
};
use tollgate_engine::record::Span;

use super::{Target, encode};

/// Spans in one request.
const BATCH: usize = 512;
/// How long a span waits for company.
const LINGER: Duration = Duration::from_secs(1);
/// How long the collector may take to connect, and to answer.
const CONNECT: Duration = Duration::from_secs(3);
const ANSWER: Duration = Duration::from_secs(10);
/// Waits between attempts; after the last one the batch is given up.
const WAITS: [Duration; 4] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(8),
];
/// The longest wait a collector may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How much of an answer is read, so that the connection can be used again.
const ANSWER_BYTES: usize = 64 << 10;

/// What the worker is told.
pub(super) enum Message {
    Span(Span),
    /// Send everything that came before, then drop it: that wakes whoever waits.
    Flush(oneshot::Sender<()>),
}

/// Starts the thread; it ends when the queue is closed and empty.
pub(super) fn spawn(target: Arc<Target>, queue: Receiver<Message>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("telemetry".to_owned())
        .spawn(move || runtime.block_on(serve(&target, queue)))
        .map(|_| ())
}

async fn serve(target: &Target, mut queue: Receiver<Message>) {
    let client = client(target).ok();
    while let Some(gathered) = gather(&mut queue).await {
        let count = gathered.spans.len();
        let sent = match &client {
            Some(client) if count > 0 => deliver(client, target, &gathered.spans).await,
            Some(_) | None => count == 0,
        };
        if !sent {
            target.drop_spans(count);
        }
        drop(gathered.flushed);
    }
}

struct Gathered {
    spans: Vec<Span>,
    flushed: Option<oneshot::Sender<()>>,
}

/// Waits for a span and then for company; `None` when nobody can send any more.
async fn gather(queue: &mut Receiver<Message>) -> Option<Gathered> {
    let mut spans = Vec::new();
    let mut deadline = None;
    while spans.len() < BATCH {
        let message = match deadline {
            None => queue.recv().await,
            Some(deadline) => match timeout_at(deadline, queue.recv()).await {
                Ok(message) => message,
                Err(_) => break,
            },
        };
        match message {
            Some(Message::Span(span)) => {
                spans.push(span);
                deadline.get_or_insert_with(|| Instant::now() + LINGER);
            }
            Some(Message::Flush(done)) => {
                let flushed = Some(done);
                return Some(Gathered { spans, flushed });
            }
            None if spans.is_empty() => return None,
            None => break,
        }
    }
    Some(Gathered {
        spans,
        flushed: None,
    })
}

/// A client that follows no redirect: the headers are for this collector only.
fn client(target: &Target) -> reqwest::Result<Client> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = Client::builder()
        .default_headers(target.headers.clone())
        .user_agent(concat!("tollgate/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .connect_timeout(CONNECT)
        .timeout(ANSWER)
        .pool_max_idle_per_host(1);
    if target.url.scheme() == "http" {
        // Without TLS the machine's certificates need not be read, or even be there.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(target) {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn is_loopback(target: &Target) -> bool {
    target.url.host_str().is_some_and(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = bare.parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    })
}

/// Sends one batch, again and again if that makes sense; `false` if it was given up.
async fn deliver(client: &Client, target: &Target, spans: &[Span]) -> bool {
    let body = encode::request(&target.resource, spans, target.dropped());
    for wait in WAITS.map(Some).into_iter().chain([None]) {
        let asked = match attempt(client, target, body.clone()).await {
            Verdict::Taken => return true,
            Verdict::Refused => return false,
            Verdict::Later(asked) => asked,
        };
        let Some(wait) = wait else { break };
        tokio::select! {
            () = sleep(asked.unwrap_or(wait).min(LONGEST_WAIT)) => {}
            () = target.ending.cancelled() => break,
        }
    }
    false
}

enum Verdict {
    Taken,
    /// The collector will never take it.
    Refused,
    /// It may take it later, perhaps after as long as it says.
    Later(Option<Duration>),
}

async fn attempt(client: &Client, target: &Target, body: Vec<u8>) -> Verdict {
    match client.post(target.url.clone()).body(body).send().await {
        Err(_) => Verdict::Later(None),
        Ok(response) => {
            let verdict = judge(response.status(), response.headers());
            drain(response).await;
            verdict
        }
    }
}

/// Which answers are worth another try, as the OTLP specification lists them.
fn judge(status: StatusCode, headers: &HeaderMap) -> Verdict {
    match status.as_u16() {
        200..=299 => Verdict::Taken,
        429 | 502 | 503 | 504 => {
            let seconds = headers
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.trim().parse().ok());
            Verdict::Later(seconds.map(Duration::from_secs))
        }
        _ => Verdict::Refused,
    }
}

async fn drain(mut response: Response) {
    let mut seen = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        seen += chunk.len();
        if seen > ANSWER_BYTES {
            return;
        }
    }
}
