//! Time as a value, so that tests can hold it still and a clock that jumps back
//! cannot reorder anything: order comes from sequence numbers, never from here.

use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The moment `duration` later, saturating.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// The moment `duration` earlier, saturating.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(millis))
    }
}

/// How far the clocks of two processes may differ.
pub const SLACK: Duration = Duration::from_secs(5);

impl Timestamp {
    /// Whether this lies between a beginning and an end. A clock that jumped back before the
    /// beginning does not make old things new, nor let them last.
    pub fn is_within(self, begins: Self, ends: Self) -> bool {
        self >= begins.minus(SLACK) && self < ends
    }
}

/// RFC 3339 in UTC with milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.div_euclid(86_400_000);
        let millis = self.0.rem_euclid(86_400_000);
        let (year, month, day) = civil(days);
        let seconds = millis / 1000;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            millis % 1000
        )
    }
}

/// Turns days since the epoch into a proleptic Gregorian date.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The current wall-clock time.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the clock everyone else takes"
        )]
        let now = std::time::SystemTime::now();
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that moves only when told to.
#[derive(Debug, Default)]
pub struct HeldClock(AtomicI64);

impl HeldClock {
    /// Starts at `at`.
    pub fn new(at: Timestamp) -> Self {
        Self(AtomicI64::new(at.0))
    }

    /// Moves the clock, also backwards.
    pub fn set(&self, at: Timestamp) {
        self.0.store(at.0, Ordering::SeqCst);
    }
}

impl Clock for HeldClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_print_as_rfc_3339() {
        let shown: Vec<_> = [0, 951_782_400_000, 1_795_000_000_123, -1]
            .map(|at| Timestamp(at).to_string())
            .to_vec();
        assert_eq!(
            shown,
            [
                "1970-01-01T00:00:00.000Z",
                "2000-02-29T00:00:00.000Z",
                "2026-11-18T11:06:40.123Z",
                "1969-12-31T23:59:59.999Z"
            ]
        );
    }
}
