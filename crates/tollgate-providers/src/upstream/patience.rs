//! How long a call may still be silent: progress begins the wait anew, and nothing extends it
//! beyond the cap.

use std::time::Duration;

use tokio::time::Instant;

/// The wait of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    silence: Duration,
    end: Instant,
    cap: Instant,
}

impl Patience {
    /// From now on, `silence` at a time and `whole` altogether.
    pub(super) fn new(now: Instant, silence: Duration, whole: Duration) -> Self {
        let cap = now + whole;
        Self {
            silence,
            end: cap.min(now + silence),
            cap,
        }
    }

    /// The server showed that it works on it.
    pub(super) fn progress(&mut self, now: Instant) {
        self.end = self.cap.min(now + self.silence);
    }

    /// When the wait is over.
    pub(super) fn end(&self) -> Instant {
        self.end
    }

    /// Whether it is over because there is no more time at all.
    pub(super) fn is_whole(&self) -> bool {
        self.end == self.cap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_extends_the_wait_up_to_the_cap() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let silence = Duration::from_secs(10);
        let mut patience = Patience::new(start, silence, Duration::from_secs(25));
        assert_eq!(patience.end(), at(10));
        for seconds in [9, 14] {
            patience.progress(at(seconds));
            assert_eq!(patience.end(), at(seconds + 10));
            assert!(!patience.is_whole());
        }
        for seconds in [16, 24] {
            patience.progress(at(seconds));
            assert_eq!(patience.end(), at(25));
            assert!(patience.is_whole());
        }
        let short = Patience::new(start, silence, Duration::from_secs(3));
        assert_eq!(short.end(), at(3));
    }
}
