//! `tollgate call`.

use std::{
    io::{IsTerminal, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::Value;
use tollgate_core::{Envelope, ErrorCode, Event, EventSink, Failure, FromCache, Payload, Status};
use tollgate_engine::{Caller, Catalog, Gateway, Missing, Outcome, Request};
use tollgate_sanitize::disarmed;

use super::{
    Exit, Scene, Stop,
    arguments::Call,
    console::{Paint, visible},
    save,
};
use crate::wire::Wired;

/// The longest arguments read from a file or a pipe.
const MAX_INPUT: u64 = 64 << 20;
/// What is said to whoever gave arguments that cannot be read.
const TAKES: &str = "give JSON such as '{\"text\":\"hello\"}', or @FILE, or - for standard input";

pub(super) async fn run(call: &Call, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let arguments = read_arguments(call.arguments(), scene)?;
    let wired = scene.wire().await?;
    let mut request = Request::new(&call.tool, arguments);
    request.control.yes = call.yes;
    request.control.dry_run = call.dry_run;
    request.control.from_cache = match call.from_cache.as_deref() {
        None => FromCache::No,
        Some("true") => FromCache::SameArguments,
        Some(key) => FromCache::Entry(key.to_owned()),
    };
    request.control.fixture.clone_from(&call.fixture);
    request.control.approval.clone_from(&call.approval);
    request
        .control
        .idempotency_key
        .clone_from(&call.idempotency_key);
    request.traceparent = scene.environment.text("TRACEPARENT").map(str::to_owned);
    request.events = Arc::new(Progress::on_terminal());
    let outcome = waited(&wired.gateway, &scene.caller(), request).await;
    show(&outcome, scene)?;
    tell_missing(&outcome, &wired.gateway.catalog(), scene);
    let is_fine = outcome.envelope.get().error.is_none();
    let saved = match call.output.as_deref().filter(|_| is_fine) {
        Some(file) => save::save(&outcome, file, scene),
        None => Ok(()),
    };
    let delivered = wired.gateway.delivered(&outcome).await;
    stay(&wired, scene).await;
    let waiting = wired.runs.waiting_for().await;
    wired.close().await;
    delivered?;
    saved?;
    let waiting = waiting?;
    for each in &waiting {
        let line = format!("step `{}` waits for a human:  {}", each.step, each.approve);
        scene.console.note(&line);
    }
    Ok(if waiting.is_empty() {
        Exit::from(&outcome)
    } else {
        Exit::ConsentNeeded
    })
}

/// Stays until runs that were started here are over: without us nobody might drive them.
pub(super) async fn stay(wired: &Wired, scene: &Scene<'_>) {
    if wired.runs.is_idle().await {
        return;
    }
    scene
        .console
        .note("the run goes on; `tollgate runs watch` shows it");
    tokio::select! {
        () = wired.runs.settle() => {}
        _ = tokio::signal::ctrl_c() => {
            let line = "left; the next process of Tollgate that looks for runs goes on with it";
            scene.console.note(line);
        }
    }
}

/// Makes a call; an interrupt takes it back in order.
pub(super) async fn waited(gateway: &Gateway, caller: &Caller, request: Request) -> Outcome {
    let cancel = request.cancel.clone();
    let calling = gateway.call(caller, request);
    tokio::pin!(calling);
    loop {
        tokio::select! {
            outcome = &mut calling => break outcome,
            _ = tokio::signal::ctrl_c(), if !cancel.is_cancelled() => cancel.cancel(),
        }
    }
}

/// Reads `JSON`, `@FILE` or `-`.
pub(super) fn read_arguments(written: &str, scene: &Scene<'_>) -> Result<Payload, Stop> {
    let text = match written.strip_prefix('@') {
        Some(path) => {
            let path = scene.environment.current_dir.join(path);
            let file = std::fs::File::open(&path)
                .map_err(|error| Stop::usage(format!("{}: {error}", path.display())))?;
            read_all(file)?
        }
        None if written == "-" => read_all(std::io::stdin().lock())?,
        None => written.to_owned(),
    };
    let payload = Payload::parse(text.trim().to_owned())
        .map_err(|error| Stop::usage(format!("the arguments are {error}; {TAKES}")))?;
    if payload.raw().starts_with('{') {
        Ok(payload)
    } else {
        let message = format!("the arguments must be a JSON object; {TAKES}");
        Err(Stop::usage(message))
    }
}

fn read_all(input: impl Read) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| Stop::usage(format!("the arguments cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(Stop::usage("the arguments are too long"));
    }
    String::from_utf8(bytes).map_err(|_| Stop::usage("the arguments are not UTF-8"))
}

/// Prints the envelope, or what a person wants to know of it.
pub(super) fn show(outcome: &Outcome, scene: &Scene<'_>) -> Result<(), Stop> {
    let envelope = outcome.envelope.get();
    if scene.console.is_json() {
        scene.console.json(envelope)?;
    } else {
        for_people(envelope, scene)?;
    }
    Ok(())
}

fn for_people(envelope: &Envelope, scene: &Scene<'_>) -> Result<(), Stop> {
    let console = scene.console;
    head(envelope, scene);
    if let Some(data) = &envelope.data {
        console.readable_text(data)?;
    }
    if let Some(failure) = &envelope.error {
        explain(failure, &envelope.tool, scene);
    }
    tail(envelope, scene);
    Ok(())
}

/// How it went, in a line.
pub(super) fn head(envelope: &Envelope, scene: &Scene<'_>) {
    let console = scene.console;
    let (paint, word) = match envelope.status {
        Status::Ok => (Paint::Good, "ok"),
        Status::Empty => (Paint::Good, "empty"),
        Status::Degraded => (Paint::Warn, "degraded"),
        Status::Error => (Paint::Bad, "error"),
    };
    let origin = if envelope.cache_hit {
        ", from the session"
    } else {
        ""
    };
    console.note(&format!(
        "{} {} ({} ms{origin})",
        console.paint_note(paint, word),
        console.paint_note(Paint::Strong, &envelope.tool),
        envelope.meta.duration_ms
    ));
}

/// What to know beside the answer.
pub(super) fn tail(envelope: &Envelope, scene: &Scene<'_>) {
    let console = scene.console;
    if !envelope.warnings.is_empty() {
        let words: Vec<_> = envelope.warnings.iter().map(|it| it.as_str()).collect();
        let line = format!("warnings: {}", words.join(", "));
        console.note(&console.paint_note(Paint::Warn, &line));
    }
}

fn explain(failure: &Failure, tool: &str, scene: &Scene<'_>) {
    let console = scene.console;
    console.note(&format!(
        "{} [{}]",
        disarmed(&failure.message),
        failure.code
    ));
    if let Some(detail) = &failure.detail {
        console.note(&disarmed(detail));
    }
    for (name, word) in [
        ("nearest", "nearest"),
        ("profiles", "there are"),
        ("available_cache_keys", "there are"),
    ] {
        let known = listed(failure, name).filter_map(Value::as_str);
        let known: Vec<_> = known.collect();
        if !known.is_empty() {
            console.note(&format!("{word}: {}", known.join(", ")));
        }
    }
    // One problem is in the message already.
    if listed(failure, "problems").count() > 1 {
        for problem in listed(failure, "problems") {
            let part = |name: &str| problem[name].as_str().unwrap_or_default();
            console.note(&format!("  {} {}", part("at"), part("message")));
        }
    }
    match approval(failure) {
        Some(id) => {
            if let Some(preview) = failure.details.get("preview") {
                console.note(&serde_json::to_string_pretty(preview).unwrap_or_default());
            }
            console.note(&format!(
                "to allow it once:  tollgate approvals approve {id}"
            ));
            console.note("then repeat the same command");
        }
        None if asks_the_caller(failure) => {
            console.note("to accept the cost, repeat the command with --yes");
        }
        None => {
            if let Some(suggestion) = suggestion(failure, tool) {
                console.note(&suggestion);
            }
        }
    }
}

/// The question that a human has to answer first.
pub(super) fn approval(failure: &Failure) -> Option<&str> {
    failure.details.get("approval_id").and_then(Value::as_str)
}

/// The entries of a list among the details.
fn listed<'f>(failure: &'f Failure, name: &str) -> impl Iterator<Item = &'f Value> {
    let list = failure.details.get(name).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// What to do, in commands rather than in tools where there is one.
fn suggestion(failure: &Failure, tool: &str) -> Option<String> {
    if failure.details.contains_key("profiles") {
        Some("choose one of them with --profile, or leave it out".to_owned())
    } else if failure.code == ErrorCode::UnknownTool {
        let said = "`tollgate tools search WORDS` finds tools, `tollgate tools list` shows all";
        Some(said.to_owned())
    } else if failure.code == ErrorCode::InvalidArguments {
        Some(format!("`tollgate tools show {tool}` shows what it takes"))
    } else {
        failure.recovery_suggestion.clone()
    }
}

/// Says whose tools are not there, if the one that was wanted is not.
fn tell_missing(outcome: &Outcome, catalog: &Catalog, scene: &Scene<'_>) {
    let error = outcome.envelope.get().error.as_ref();
    let is_unknown = error.is_some_and(|failure| failure.code == ErrorCode::UnknownTool);
    if !is_unknown || scene.console.is_json() {
        return;
    }
    let problems = catalog.problems().iter();
    for problem in problems.filter(|problem| problem.missing == Missing::Everything) {
        let line = format!("{}: {}", problem.provider, problem.message);
        scene.console.note(&visible(&line));
    }
}

/// Whether the caller's own word is enough.
fn asks_the_caller(failure: &Failure) -> bool {
    failure.code == ErrorCode::ConfirmationRequired
        && failure
            .details
            .get("consent")
            .is_none_or(|it| it != "human")
}

/// Progress on standard error, where a person looks: one line that fills up, and goes with the call.
pub(super) struct Progress {
    seen: bool,
    is_open: AtomicBool,
}

/// How many places a bar has.
const PLACES: usize = 24;

impl Progress {
    /// Shown only where a person looks.
    pub(super) fn on_terminal() -> Self {
        Self {
            seen: std::io::stderr().is_terminal(),
            is_open: AtomicBool::new(false),
        }
    }

    /// Goes on below a bar that is not finished.
    fn leave_bar(&self) {
        if self.is_open.swap(false, Ordering::Relaxed) {
            drop(writeln!(std::io::stderr().lock()));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.leave_bar();
    }
}

/// A bar with its share and what it counts; without a total only the count.
fn bar(done: f64, total: Option<f64>, message: &str) -> String {
    // What a server says must not steer the terminal.
    let message: String = message.chars().filter(|one| !one.is_control()).collect();
    let Some(total) = total.filter(|total| *total > 0.0) else {
        return format!("{done} {message}");
    };
    let share = (done / total).clamp(0.0, 1.0);
    let full = (share * PLACES as f64) as usize;
    let (full, open) = ("#".repeat(full), "-".repeat(PLACES - full));
    format!("[{full}{open}] {:3.0} % {message}", share * 100.0)
}

impl EventSink for Progress {
    fn emit(&self, event: Event) {
        if !self.seen {
            return;
        }
        match event {
            Event::Progress {
                done,
                total,
                message,
            } => {
                let line = bar(done, total, &message.unwrap_or_default());
                self.is_open.store(true, Ordering::Relaxed);
                // Back to the beginning of the line, and what was longer before is wiped.
                drop(write!(std::io::stderr().lock(), "\r{line}\x1b[K"));
                if total.is_some_and(|total| done >= total) {
                    self.leave_bar();
                }
            }
            Event::Log { data, .. } => {
                self.leave_bar();
                drop(writeln!(std::io::stderr().lock(), "{data}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_up_and_never_overflows() {
        assert_eq!(
            bar(0.0, Some(10.0), "read"),
            "[------------------------]   0 % read"
        );
        assert_eq!(
            bar(5.0, Some(10.0), "read"),
            "[############------------]  50 % read"
        );
        let full = "[########################] 100 % read";
        assert_eq!(bar(10.0, Some(10.0), "read"), full);
        assert_eq!(bar(99.0, Some(10.0), "read"), full);
        assert_eq!(bar(7.0, None, "read"), "7 read");
        assert_eq!(bar(7.0, Some(0.0), "re\x1bad\n"), "7 read");
    }
}
