//! How often the lists of a server are read again that keeps saying that they have changed, and
//! how long it is left alone after something failed.
//!
//! Invariant: whoever says so without end is asked less and less; whoever was quiet for a
//! while is asked at once.

use std::time::Duration;

use tokio::time::Instant;

/// How long lists may still be changing before they are read again.
const SETTLE: Duration = Duration::from_millis(50);
/// The longest pause between two readings.
const LONGEST: Duration = Duration::from_secs(30);
/// Who has said nothing for this long after a reading begins anew.
const QUIET: Duration = Duration::from_secs(10);

/// When the lists of one server are read.
#[derive(Debug)]
pub(super) struct Pace {
    last: Option<Instant>,
    pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            last: None,
            pause: SETTLE,
        }
    }
}

impl Pace {
    /// When lists that are said to have changed now are to be read.
    pub(super) fn due(&mut self, now: Instant) -> Instant {
        let was_quiet = |last: Instant| now.saturating_duration_since(last) >= QUIET;
        self.pause = if self.last.is_none_or(was_quiet) {
            SETTLE
        } else {
            (self.pause * 2).min(LONGEST)
        };
        let settled = now + SETTLE;
        self.last
            .map_or(settled, |last| settled.max(last + self.pause))
    }

    /// They have been read.
    pub(super) fn read(&mut self, now: Instant) {
        self.last = Some(now);
    }
}

/// Waits between attempts at something that fails, each twice as long as the one before.
pub(super) struct Waits {
    first: Duration,
    next: Duration,
}

impl Waits {
    /// The longest of them.
    const LONGEST: Duration = Duration::from_secs(60);

    pub(super) fn from(first: Duration) -> Self {
        Self { first, next: first }
    }

    /// How long to wait now.
    pub(super) fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(Self::LONGEST);
        wait
    }

    /// It went well, so the next failure is a first one.
    pub(super) fn anew(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_begin_anew() {
        let mut waits = Waits::from(Duration::from_secs(10));
        let seconds: Vec<u64> = (0..5).map(|_| waits.next().as_secs()).collect();
        assert_eq!(seconds, [10, 20, 40, 60, 60]);
        waits.anew();
        assert_eq!(waits.next().as_secs(), 10);
    }

    /// How many readings there are in a while if each is followed by word of a change.
    fn readings(pace: &mut Pace, begun: Instant, seconds: u64) -> usize {
        let end = begun + Duration::from_secs(seconds);
        let mut now = begun;
        let mut count = 0;
        loop {
            now = pace.due(now);
            if now > end {
                return count;
            }
            pace.read(now);
            count += 1;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn changes_without_end_are_read_less_and_less_until_it_is_quiet() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        assert_eq!(pace.due(begun), begun + SETTLE);
        assert_eq!(readings(&mut pace, begun, 4), 6);
        let (mut pace, hour) = (Pace::default(), 3600);
        assert!(readings(&mut pace, begun, hour) < 130);
        let later = begun + Duration::from_secs(hour) + QUIET;
        assert_eq!(pace.due(later), later + SETTLE);
    }
}
