//! Callers that call as fast as they are answered, and what that costs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tollgate_engine::Caller;

use super::rig::Rig;

/// What is called over and over.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) caller: Caller,
    pub(super) tool: &'static str,
    /// The arguments of the call with this number.
    pub(super) arguments: fn(u64) -> String,
}

/// What a stretch of calls cost.
pub(super) struct Cost {
    calls: u64,
    wall: Duration,
    cpu: Duration,
    latencies: Vec<Duration>,
}

impl Cost {
    /// Microseconds of processor time a call, of all threads of the process.
    pub(super) fn cpu(&self) -> f64 {
        micros(self.cpu) / self.calls.max(1) as f64
    }

    pub(super) fn per_second(&self) -> f64 {
        self.calls as f64 / self.wall.as_secs_f64()
    }

    /// The time in microseconds in which this share of the calls was answered.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let place = self.latencies.len().saturating_sub(1) as f64 * share;
        self.latencies
            .get(place.round() as usize)
            .map_or(f64::NAN, |latency| micros(*latency))
    }
}

pub(super) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Numbers for arguments; no two calls of a process share one.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Keeps so many calls in flight for so long.
pub(super) async fn press(
    rig: &Arc<Rig>,
    work: &Work,
    in_flight: usize,
    time: Duration,
) -> anyhow::Result<Cost> {
    rig.call(&work.caller, work.tool, (work.arguments)(next()))
        .await?;
    let (began, before) = (Instant::now(), cpu_time());
    let callers: Vec<_> = (0..in_flight)
        .map(|_| tokio::spawn(keep_calling(Arc::clone(rig), work.clone(), began + time)))
        .collect();
    let mut latencies = Vec::new();
    for caller in callers {
        latencies.extend(caller.await??);
    }
    let (wall, cpu) = (began.elapsed(), cpu_time().saturating_sub(before));
    latencies.sort_unstable();
    Ok(Cost {
        calls: latencies.len() as u64,
        wall,
        cpu,
        latencies,
    })
}

/// Calls until then, and once at least: a figure of no call at all is none.
async fn keep_calling(rig: Arc<Rig>, work: Work, until: Instant) -> anyhow::Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    let mut began = Instant::now();
    loop {
        rig.call(&work.caller, work.tool, (work.arguments)(next()))
            .await?;
        let ended = Instant::now();
        latencies.push(ended - began);
        began = ended;
        if began >= until {
            return Ok(latencies);
        }
    }
}

fn next() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Processor time of the whole process so far.
#[cfg(unix)]
pub(super) fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Unknown here; the figures say so by being zero.
#[cfg(not(unix))]
pub(super) fn cpu_time() -> Duration {
    Duration::ZERO
}
