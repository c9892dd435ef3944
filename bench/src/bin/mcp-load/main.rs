//! Loads an MCP server over HTTP and prints what it saw as one JSON document.
//!
//! One thread and prepared requests, so that most of the machine is left to the server.
//! Three ways: as many calls as fit into a time (`--seconds`), one call on each of many
//! connections at the same moment (`--once`), or sessions that are begun and left idle
//! (`--sessions`).

#![forbid(unsafe_code)]

mod message;
mod wire;

use std::{
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::LocalSet};

use self::{message::Caller, wire::Connection};

/// Sessions that are being begun at the same time.
const AT_ONCE: usize = 16;

struct Options {
    caller: Caller,
    connections: usize,
    seconds: f64,
    warm_up: f64,
    sessions: usize,
    is_once: bool,
}

fn options() -> Result<Options> {
    let (mut url, mut tool, mut text) = (None, "echo".to_owned(), None);
    let (mut connections, mut seconds, mut warm_up, mut sessions) = (1, 3.0, 0.5, 0);
    let mut is_once = false;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        match word.as_str() {
            "--url" => url = Some(value()?),
            "--tool" => tool = value()?,
            "--same-text" => text = Some(value()?),
            "--connections" => connections = value()?.parse()?,
            "--seconds" => seconds = value()?.parse()?,
            "--warm-up" => warm_up = value()?.parse()?,
            "--sessions" => sessions = value()?.parse()?,
            "--once" => is_once = true,
            _ => bail!("unknown option {word}"),
        }
    }
    let url = url.context("--url is missing")?;
    let place = url
        .strip_prefix("http://")
        .context("only http:// is spoken")?;
    let (address, path) = place.split_once('/').context("the url needs a path")?;
    Ok(Options {
        caller: Caller::new(address, &format!("/{path}"), &tool, text),
        connections,
        seconds,
        warm_up,
        sessions,
        is_once,
    })
}

/// What one connection saw.
#[derive(Default)]
struct Seen {
    nanos: Vec<u64>,
    /// Calls before the measuring began.
    warm: u64,
    errors: BTreeMap<String, u64>,
}

impl Seen {
    fn failed(&mut self, kind: String) {
        *self.errors.entry(kind).or_default() += 1;
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = Rc::new(options()?);
    let began = Instant::now();
    let tasks = if options.sessions > 0 {
        AT_ONCE.min(options.sessions)
    } else {
        options.connections
    };
    let barrier = Rc::new(Barrier::new(tasks));
    let local = LocalSet::new();
    let running: Vec<_> = (0..tasks)
        .map(|number| {
            let (options, barrier) = (Rc::clone(&options), Rc::clone(&barrier));
            local.spawn_local(async move {
                if options.sessions > 0 {
                    let share = (options.sessions + number) / AT_ONCE.min(options.sessions);
                    sessions(&options, share).await
                } else if options.is_once {
                    once(&options, number, &barrier).await
                } else {
                    steady(&options, number, &barrier).await
                }
            })
        })
        .collect();
    let mut all = Seen::default();
    local
        .run_until(async {
            for task in running {
                let seen = task.await?;
                all.nanos.extend(seen.nanos);
                all.warm += seen.warm;
                for (kind, count) in seen.errors {
                    *all.errors.entry(kind).or_default() += count;
                }
            }
            Ok::<_, anyhow::Error>(())
        })
        .await?;
    println!("{}", report(&options, all, began.elapsed()));
    Ok(())
}

/// Calls one after the other for as long as it takes.
async fn steady(options: &Options, number: usize, barrier: &Barrier) -> Seen {
    let mut seen = Seen::default();
    let opened = Connection::open(&options.caller.address).await;
    barrier.wait().await;
    let Ok(mut connection) = opened else {
        seen.failed("connect".to_owned());
        return seen;
    };
    let start = Instant::now() + Duration::from_secs_f64(options.warm_up);
    let end = start + Duration::from_secs_f64(options.seconds);
    for turn in 0_u64.. {
        let request = options.caller.call(number, turn);
        let began = Instant::now();
        if began >= end {
            break;
        }
        let outcome = connection.exchange(request.as_bytes()).await;
        let took = began.elapsed();
        match outcome.map(|answer| message::fault(&answer)) {
            Ok(None) if began >= start => {
                seen.nanos
                    .push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            }
            Ok(None) => seen.warm += 1,
            Ok(Some(kind)) => seen.failed(kind),
            Err(error) => {
                seen.failed(format!("broken: {error}"));
                break;
            }
        }
    }
    seen
}

/// One call, at the same moment as everybody else.
async fn once(options: &Options, number: usize, barrier: &Barrier) -> Seen {
    let mut seen = Seen::default();
    let opened = Connection::open(&options.caller.address).await;
    barrier.wait().await;
    let Ok(mut connection) = opened else {
        seen.failed("connect".to_owned());
        return seen;
    };
    let request = options.caller.call(number, 0);
    let began = Instant::now();
    match connection.exchange(request.as_bytes()).await {
        Ok(answer) => match message::fault(&answer) {
            None => {
                let nanos = began.elapsed().as_nanos();
                seen.nanos.push(u64::try_from(nanos).unwrap_or(u64::MAX));
            }
            Some(kind) => seen.failed(kind),
        },
        Err(error) => seen.failed(format!("broken: {error}")),
    }
    seen
}

/// Begins sessions as an older client does, each on a connection that is closed again.
async fn sessions(options: &Options, count: usize) -> Seen {
    let mut seen = Seen::default();
    for _ in 0..count {
        let began = Instant::now();
        match session(&options.caller).await {
            Ok(()) => {
                let nanos = began.elapsed().as_nanos();
                seen.nanos.push(u64::try_from(nanos).unwrap_or(u64::MAX));
            }
            Err(error) => seen.failed(error.to_string()),
        }
    }
    seen
}

async fn session(caller: &Caller) -> Result<()> {
    let mut connection = Connection::open(&caller.address).await?;
    let answer = connection.exchange(caller.handshake().as_bytes()).await?;
    let id = answer.header("mcp-session-id").context("no session")?;
    let ready = caller.ready(id);
    let answer = connection.exchange(ready.as_bytes()).await?;
    if answer.status != 202 {
        bail!("status {}", answer.status);
    }
    Ok(())
}

fn report(options: &Options, mut seen: Seen, took: Duration) -> Value {
    seen.nanos.sort_unstable();
    let at = |share: f64| {
        let place = (seen.nanos.len().saturating_sub(1)) as f64 * share;
        seen.nanos
            .get(place as usize)
            .map(|nanos| *nanos as f64 / 1e3)
    };
    let failed: u64 = seen.errors.values().sum();
    let timed = options.sessions == 0 && !options.is_once;
    let seconds = if timed {
        options.seconds
    } else {
        took.as_secs_f64()
    };
    json!({
        "calls": seen.nanos.len(),
        "calls_in_all": seen.nanos.len() as u64 + seen.warm + failed,
        "per_second": seen.nanos.len() as f64 / seconds,
        "p50_us": at(0.5),
        "p99_us": at(0.99),
        "longest_us": at(1.0),
        "errors": seen.errors,
    })
}
