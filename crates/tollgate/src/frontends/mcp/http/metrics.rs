//! Figures of this process, for Prometheus.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

use tollgate_core::ErrorCode;
use tollgate_engine::Holdings;

use super::super::Reply;

/// Upper bounds of the buckets, in microseconds.
const BOUNDS: [u64; 10] = [
    100, 250, 500, 1_000, 2_500, 10_000, 50_000, 250_000, 1_000_000, 10_000_000,
];
/// Methods that are counted by name; the rest are `other`.
const METHODS: [&str; 10] = [
    "tools/call",
    "tools/list",
    "resources/read",
    "resources/list",
    "prompts/get",
    "prompts/list",
    "completion/complete",
    "server/discover",
    "initialize",
    "subscriptions/listen",
];

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// With a result.
    Ok,
    /// With the result of a call that failed.
    ToolError,
    /// With an error of the protocol.
    Error,
}

impl Ending {
    const ALL: [(Self, &str); 3] = [
        (Self::Ok, "ok"),
        (Self::ToolError, "tool_error"),
        (Self::Error, "error"),
    ];
}

impl From<&Reply> for Ending {
    fn from(reply: &Reply) -> Self {
        match reply.result {
            Err(_) => Self::Error,
            Ok(_) if reply.is_tool_error => Self::ToolError,
            Ok(_) => Self::Ok,
        }
    }
}

/// Counters of one outcome by method.
type ByMethod = [AtomicU64; METHODS.len() + 1];

pub(super) struct Metrics {
    answered: ByMethod,
    tool_errors: ByMethod,
    failed: ByMethod,
    /// Calls that failed, in the order of all codes.
    codes: [AtomicU64; ErrorCode::ALL.len()],
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
    refused: AtomicU64,
    overloaded: AtomicU64,
    running: AtomicI64,
    connections: AtomicI64,
}

/// Counts something for as long as it is there.
pub(super) struct Counted<'a>(&'a AtomicI64);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn counted(gauge: &AtomicI64) -> Counted<'_> {
    gauge.fetch_add(1, Ordering::Relaxed);
    Counted(gauge)
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            answered: ByMethod::default(),
            tool_errors: ByMethod::default(),
            failed: ByMethod::default(),
            codes: [const { AtomicU64::new(0) }; ErrorCode::ALL.len()],
            buckets: Default::default(),
            micros: AtomicU64::default(),
            refused: AtomicU64::default(),
            overloaded: AtomicU64::default(),
            running: AtomicI64::default(),
            connections: AtomicI64::default(),
        }
    }
}

impl Metrics {
    fn counters(&self, ending: Ending) -> &ByMethod {
        match ending {
            Ending::Ok => &self.answered,
            Ending::ToolError => &self.tool_errors,
            Ending::Error => &self.failed,
        }
    }

    /// Counts an answer by its method and outcome, and a failed call by its code.
    pub(super) fn answered(&self, method: &str, reply: &Reply, took: Duration) {
        let ending = Ending::from(reply);
        let code = reply.failure;
        let code = code.and_then(|code| ErrorCode::ALL.iter().position(|known| *known == code));
        if let Some(counter) = code.and_then(|at| self.codes.get(at)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let place = METHODS.iter().position(|known| *known == method);
        let place = place.unwrap_or(METHODS.len());
        self.counters(ending)[place].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound);
        self.buckets[bucket.unwrap_or(BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn overloaded(&self) {
        self.overloaded.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn running(&self) -> Counted<'_> {
        counted(&self.running)
    }

    pub(super) fn connection(&self) -> Counted<'_> {
        counted(&self.connections)
    }

    /// Single figures: name, kind, meaning and value.
    fn figures(
        &self,
        sessions: usize,
        holdings: &Holdings,
    ) -> [(&'static str, &'static str, &'static str, u64); 10] {
        [
            (
                "tollgate_refused_total",
                "counter",
                "Requests without a valid token.",
                self.refused.load(Ordering::Relaxed),
            ),
            (
                "tollgate_overloaded_total",
                "counter",
                "Requests over a limit.",
                self.overloaded.load(Ordering::Relaxed),
            ),
            (
                "tollgate_running",
                "gauge",
                "Requests being answered.",
                gauge(&self.running),
            ),
            (
                "tollgate_connections",
                "gauge",
                "Open connections.",
                gauge(&self.connections),
            ),
            (
                "tollgate_sessions",
                "gauge",
                "Sessions of older clients.",
                sessions as u64,
            ),
            (
                "tollgate_sessions_in_use",
                "gauge",
                "Sessions in use, of all callers.",
                holdings.sessions as u64,
            ),
            (
                "tollgate_memory_bytes",
                "gauge",
                "Kept answers and marks in memory.",
                holdings.memory_bytes as u64,
            ),
            (
                "tollgate_answers_evicted_total",
                "counter",
                "Kept answers that gave way.",
                holdings.answers_evicted,
            ),
            (
                "tollgate_sessions_refused_total",
                "counter",
                "Calls refused because there were too many sessions.",
                holdings.sessions_refused,
            ),
            (
                "tollgate_bodies_left_out_total",
                "counter",
                "Bodies for replay that were not written.",
                holdings.bodies_left_out,
            ),
        ]
    }

    /// The figures as text.
    pub(super) fn printed(&self, sessions: usize, holdings: &Holdings) -> String {
        let mut text = String::new();
        let mut say = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        say("# HELP tollgate_requests_total Requests by method and outcome.".to_owned());
        say("# TYPE tollgate_requests_total counter".to_owned());
        let names = METHODS.iter().copied().chain(["other"]);
        for (place, method) in names.enumerate() {
            for (ending, outcome) in Ending::ALL {
                let count = self.counters(ending)[place].load(Ordering::Relaxed);
                if count > 0 {
                    let mut line = String::new();
                    // Writing to a string cannot fail.
                    let _ = write!(
                        line,
                        "tollgate_requests_total{{method=\"{method}\",outcome=\"{outcome}\"}} {count}"
                    );
                    say(line);
                }
            }
        }
        say(
            "# HELP tollgate_call_errors_total Calls that failed, by the code of the error."
                .to_owned(),
        );
        say("# TYPE tollgate_call_errors_total counter".to_owned());
        for (code, counter) in ErrorCode::ALL.iter().zip(&self.codes) {
            let count = counter.load(Ordering::Relaxed);
            if count > 0 {
                say(format!(
                    "tollgate_call_errors_total{{code=\"{code}\"}} {count}"
                ));
            }
        }
        say("# HELP tollgate_request_seconds Time from request to answer.".to_owned());
        say("# TYPE tollgate_request_seconds histogram".to_owned());
        let mut below = 0;
        for (place, bucket) in self.buckets.iter().enumerate() {
            below += bucket.load(Ordering::Relaxed);
            let bound = BOUNDS.get(place).map_or_else(
                || "+Inf".to_owned(),
                |micros| Duration::from_micros(*micros).as_secs_f64().to_string(),
            );
            say(format!(
                "tollgate_request_seconds_bucket{{le=\"{bound}\"}} {below}"
            ));
        }
        let sum = Duration::from_micros(self.micros.load(Ordering::Relaxed)).as_secs_f64();
        say(format!("tollgate_request_seconds_sum {sum}"));
        say(format!("tollgate_request_seconds_count {below}"));
        for (name, kind, about, value) in self.figures(sessions, holdings) {
            say(format!(
                "# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {value}"
            ));
        }
        text
    }
}

fn gauge(gauge: &AtomicI64) -> u64 {
    u64::try_from(gauge.load(Ordering::Relaxed)).unwrap_or(0)
}
