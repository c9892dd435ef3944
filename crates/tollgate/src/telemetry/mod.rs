//! Finished calls as OpenTelemetry spans, sent to a collector over OTLP/HTTP.
//!
//! Invariant: a call never waits for the collector. Spans go into a bounded queue;
//! what does not fit, or cannot be delivered, is counted and dropped.

mod encode;
mod worker;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use reqwest::{
    Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tollgate_engine::record::{Span, SpanSink};

use crate::config::{Environment, SecretRef, Telemetry};
use encode::Resource;
use worker::Message;

/// Spans that may wait to be sent.
const QUEUE: usize = 2048;
/// How long the end of the process may be put off for spans.
const FLUSH: Duration = Duration::from_secs(2);

/// Sends spans from a thread of its own, which the first span starts.
pub struct Exporter {
    target: Arc<Target>,
    queue: OnceLock<Option<mpsc::Sender<Message>>>,
}

/// Where spans go, and how.
struct Target {
    url: Url,
    headers: HeaderMap,
    resource: Resource,
    dropped: AtomicU64,
    /// Set when the process is about to end: from here on nothing is tried twice.
    ending: CancellationToken,
}

impl Target {
    fn drop_spans(&self, count: usize) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Exporter {
    /// Checks the settings; `None` if they name no collector. Nothing is started yet.
    pub fn start(settings: &Telemetry, environment: &Environment) -> Result<Option<Self>, String> {
        let Some(endpoint) = &settings.otlp_endpoint else {
            return Ok(None);
        };
        let target = Target {
            url: traces_url(endpoint)?,
            headers: headers(settings, environment)?,
            resource: Resource::of(&settings.service_name),
            dropped: AtomicU64::new(0),
            ending: CancellationToken::new(),
        };
        Ok(Some(Self {
            target: Arc::new(target),
            queue: OnceLock::new(),
        }))
    }

    /// Sends what is waiting, within two seconds. The process is about to end: a
    /// collector that does not answer at once is given up.
    pub async fn flush(&self) {
        let Some(Some(queue)) = self.queue.get() else {
            return;
        };
        self.target.ending.cancel();
        let (done, sent) = oneshot::channel();
        let flush = async {
            if queue.send(Message::Flush(done)).await.is_ok() {
                drop(sent.await);
            }
        };
        drop(tokio::time::timeout(FLUSH, flush).await);
    }

    /// Spans that were not delivered.
    pub fn dropped(&self) -> u64 {
        self.target.dropped()
    }

    fn queue(&self) -> Option<&mpsc::Sender<Message>> {
        let start = || {
            let (sender, receiver) = mpsc::channel(QUEUE);
            worker::spawn(Arc::clone(&self.target), receiver)
                .is_ok()
                .then_some(sender)
        };
        self.queue.get_or_init(start).as_ref()
    }
}

impl SpanSink for Exporter {
    fn wants(&self) -> bool {
        true
    }

    fn export(&self, span: Span) {
        let queued = self
            .queue()
            .is_some_and(|queue| queue.try_send(Message::Span(span)).is_ok());
        if !queued {
            self.target.drop_spans(1);
        }
    }
}

/// The collector's address for traces: the base address with `/v1/traces` below it.
fn traces_url(endpoint: &str) -> Result<Url, String> {
    let text = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    let url = Url::parse(&text)
        .map_err(|error| format!("telemetry.otlp_endpoint is no address: {error}"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(format!("telemetry.otlp_endpoint: `{other}` is not spoken")),
    }
}

fn headers(settings: &Telemetry, environment: &Environment) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, reference) in &settings.headers {
        let fault = |why: &str| format!("telemetry.headers.{name}: {why}");
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| fault("not the name of a header"))?;
        headers.insert(
            key,
            value(reference, environment).map_err(|why| fault(&why))?,
        );
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(headers)
}

fn value(reference: &SecretRef, environment: &Environment) -> Result<HeaderValue, String> {
    let secret = reference
        .read(environment)
        .map_err(|error| error.to_string())?;
    let mut value = HeaderValue::from_str(secret.reveal())
        .map_err(|_| "the secret cannot be sent in a header".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn settings(endpoint: &str, header: Option<(&str, &str)>) -> Telemetry {
        let headers =
            header.map(|(name, reference)| (name.to_owned(), SecretRef::parse(reference).unwrap()));
        Telemetry {
            otlp_endpoint: Some(endpoint.to_owned()),
            headers: headers.into_iter().collect(),
            service_name: "tollgate".to_owned(),
        }
    }

    fn start(settings: &Telemetry, variables: &[(&str, &str)]) -> Result<Option<Exporter>, String> {
        let variables = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        let environment = Environment {
            variables: variables.collect::<BTreeMap<_, _>>(),
            ..Environment::default()
        };
        Exporter::start(settings, &environment)
    }

    #[test]
    fn without_a_collector_there_is_nothing() {
        let mut none = settings("http://127.0.0.1:4318", None);
        none.otlp_endpoint = None;
        assert!(start(&none, &[]).unwrap().is_none());
    }

    #[test]
    fn traces_go_below_the_base_address() {
        let urls = [
            "http://127.0.0.1:4318",
            "http://127.0.0.1:4318/",
            "https://a.example/otlp/",
        ]
        .map(|endpoint| traces_url(endpoint).unwrap().to_string());
        assert_eq!(
            urls,
            [
                "http://127.0.0.1:4318/v1/traces",
                "http://127.0.0.1:4318/v1/traces",
                "https://a.example/otlp/v1/traces"
            ]
        );
    }

    #[test]
    fn what_cannot_work_is_said_at_the_start_and_never_quotes_a_secret() {
        let faults = [
            (settings("http://a", Some(("x", "env:KEY"))), vec![]),
            (
                settings("http://a", Some(("x y", "env:KEY"))),
                vec![("KEY", "v")],
            ),
            (
                settings("http://a", Some(("x", "env:KEY"))),
                vec![("KEY", "hush\nhush")],
            ),
            (settings("ftp://a", None), vec![]),
        ]
        .map(|(settings, variables)| start(&settings, &variables).err().unwrap());
        assert_eq!(
            faults,
            [
                "telemetry.headers.x: the environment variable KEY is not set",
                "telemetry.headers.x y: not the name of a header",
                "telemetry.headers.x: the secret cannot be sent in a header",
                "telemetry.otlp_endpoint: `ftp` is not spoken",
            ]
        );
    }

    #[tokio::test]
    async fn without_a_span_no_thread_starts_and_nothing_waits() {
        let exporter = start(&settings("http://127.0.0.1:9", None), &[])
            .unwrap()
            .unwrap();
        exporter.flush().await;
        assert!(exporter.queue.get().is_none());
    }
}
