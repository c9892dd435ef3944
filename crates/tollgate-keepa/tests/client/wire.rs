//! HTTP as simple as it gets, and a clock that only moves when somebody waits.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tollgate_keepa::{
    client::{Incoming, Outgoing, Wire, WireError},
    request::Method,
};

#[derive(Clone, Default)]
pub(crate) struct TestClock(Arc<Mutex<Duration>>);

impl TestClock {
    /// How long was waited in all.
    pub(crate) fn paused(&self) -> Duration {
        *self.0.lock().unwrap()
    }
}

#[derive(Default)]
pub(crate) struct TestWire {
    clock: TestClock,
}

impl TestWire {
    pub(crate) fn clock(&self) -> TestClock {
        self.clock.clone()
    }
}

impl Wire for TestWire {
    async fn send(&self, outgoing: Outgoing) -> Result<Incoming, WireError> {
        exchange(outgoing)
            .await
            .map_err(|error| WireError(error.to_string()))?
            .ok_or_else(|| WireError("the connection was closed".to_owned()))
    }

    async fn pause(&self, time: Duration) {
        *self.clock.0.lock().unwrap() += time;
    }

    fn now(&self) -> Duration {
        self.clock.paused()
    }
}

/// A wire whose first request is never answered: all the time it may take passes.
#[derive(Default)]
pub(crate) struct SilentOnce {
    clock: TestClock,
    attempts: Arc<Mutex<Vec<Duration>>>,
}

impl SilentOnce {
    pub(crate) fn clock(&self) -> TestClock {
        self.clock.clone()
    }

    /// How long each request was given.
    pub(crate) fn attempts(&self) -> Arc<Mutex<Vec<Duration>>> {
        Arc::clone(&self.attempts)
    }
}

impl Wire for SilentOnce {
    async fn send(&self, outgoing: Outgoing) -> Result<Incoming, WireError> {
        let mut attempts = self.attempts.lock().unwrap();
        attempts.push(outgoing.time_left);
        if attempts.len() == 1 {
            *self.clock.0.lock().unwrap() += outgoing.time_left;
            return Err(WireError("no answer came in time".to_owned()));
        }
        Ok(Incoming {
            status: 200,
            body: b"{}".to_vec(),
            ..Incoming::default()
        })
    }

    async fn pause(&self, time: Duration) {
        *self.clock.0.lock().unwrap() += time;
    }

    fn now(&self) -> Duration {
        self.clock.paused()
    }
}

async fn exchange(outgoing: Outgoing) -> std::io::Result<Option<Incoming>> {
    let address = outgoing.url.expose().trim_start_matches("http://");
    let (host, path) = address.split_once('/').unwrap();
    let method = match outgoing.method {
        Method::Get => "GET",
        Method::Post => "POST",
    };
    let body = outgoing.body.unwrap_or_default();
    let length = body.len();
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(host).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(parse(&answer))
}

fn parse(answer: &[u8]) -> Option<Incoming> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    Some(Incoming {
        status: head.split(' ').nth(1)?.parse().ok()?,
        content_type: header("content-type: ").map(str::to_owned),
        retry_after: header("retry-after: ").and_then(|text| text.parse().ok()),
        body: answer[end + 4..].to_vec(),
    })
}
