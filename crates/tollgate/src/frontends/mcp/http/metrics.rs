//! Figures of this process, for Prometheus.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

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

#[derive(Default)]
pub(super) struct Metrics {
    answered: [AtomicU64; METHODS.len() + 1],
    failed: [AtomicU64; METHODS.len() + 1],
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

impl Metrics {
    pub(super) fn answered(&self, method: &str, ok: bool, took: Duration) {
        let place = METHODS.iter().position(|known| *known == method);
        let place = place.unwrap_or(METHODS.len());
        let counter = if ok { &self.answered } else { &self.failed };
        counter[place].fetch_add(1, Ordering::Relaxed);
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

    /// The figures as text.
    pub(super) fn printed(&self, sessions: usize) -> String {
        let mut text = String::new();
        let mut say = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        say("# HELP tollgate_requests_total Requests by method and outcome.".to_owned());
        say("# TYPE tollgate_requests_total counter".to_owned());
        let names = METHODS.iter().copied().chain(["other"]);
        for (place, method) in names.enumerate() {
            for (outcome, counter) in [("ok", &self.answered), ("error", &self.failed)] {
                let count = counter[place].load(Ordering::Relaxed);
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
        for (name, kind, about, value) in [
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
        ] {
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
