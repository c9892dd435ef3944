//! What a front end gives back when it has nothing to do.
//!
//! Starting up runs through much of the program, and none of that is needed again; a call needs
//! little. So an idle process lets go of its text once it has done something worth forgetting,
//! and a busy one every now and then: what it still needs comes back from the page cache within
//! a millisecond, the rest stays away. Which of both it is is told by the processor time it
//! used, so calls pay nothing for it.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::{task::JoinHandle, time::sleep};

/// How often it is looked at.
const PERIOD: Duration = Duration::from_secs(2);
/// A process that used less of a period than this did nothing.
const IDLE: Duration = Duration::from_millis(20);
/// A process that used less than this since the last time has touched little.
const WORTH: Duration = Duration::from_millis(5);
/// How many periods of work one after the other are enough to let go of what is not needed.
const LONG: u32 = 3;

/// Gives memory back for as long as it is held.
pub(crate) struct Rest(JoinHandle<()>);

impl Drop for Rest {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Rest {
    pub(crate) fn begin() -> Self {
        Self(tokio::spawn(async {
            let mut habit = Habit::default();
            loop {
                sleep(PERIOD).await;
                // A system that refuses once is not asked again.
                if habit.is_time(used()) && give_back().is_err() {
                    return;
                }
            }
        }))
    }
}

/// Lets go of what starting up has run through; a system that refuses keeps it.
pub(crate) fn forget_start() {
    drop(give_back());
}

/// When it is worth giving memory back.
#[derive(Default)]
struct Habit {
    last: Duration,
    given: Duration,
    /// How many periods of work there were since.
    worked: u32,
}

impl Habit {
    /// Whether a process that has used so much time is idle, and was not when it last gave back,
    /// or has worked for long.
    fn is_time(&mut self, used: Duration) -> bool {
        let is_idle = used.saturating_sub(self.last) < IDLE;
        self.last = used;
        self.worked = if is_idle { 0 } else { self.worked + 1 };
        let is_worth = used.saturating_sub(self.given) >= WORTH;
        let is_time = is_worth && (is_idle || self.worked >= LONG);
        if is_time {
            self.given = used;
            self.worked = 0;
        }
        is_time
    }
}

fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn give_back() -> std::io::Result<usize> {
    tollgate_providers::sandbox::give_back_program()
}

#[cfg(not(target_os = "linux"))]
fn give_back() -> std::io::Result<usize> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_once_after_each_time_of_work() {
        let mut habit = Habit::default();
        let mut at = |millis: u64| habit.is_time(Duration::from_millis(millis));
        let asked = [9, 10, 11, 400, 900, 905, 906, 908, 911, 912];
        let given: Vec<u64> = asked.into_iter().filter(|millis| at(*millis)).collect();
        assert_eq!(given, [9, 905, 911]);
    }

    #[test]
    fn a_process_that_never_rests_gives_back_now_and_then() {
        let mut habit = Habit::default();
        let mut at = |millis: u64| habit.is_time(Duration::from_millis(millis));
        let given: Vec<u64> = (1..=9).map(|it| it * 500).filter(|it| at(*it)).collect();
        assert_eq!(given, [1500, 3000, 4500]);
    }
}
