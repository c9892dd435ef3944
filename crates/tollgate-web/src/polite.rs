//! How gently a host is asked: few requests at a time, a pause between two, and none while it wants to be left alone.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

use crate::error::{Kind, WebError};

/// How many hosts are remembered.
const MAX_HOSTS: usize = 4096;
/// The longest a host is left alone at its word.
const MAX_REST: Duration = Duration::from_secs(3600);

/// How gently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Politeness {
    /// How many requests to one host run at the same time.
    pub at_once: usize,
    /// The pause between the starts of two requests to one host.
    pub pause: Duration,
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            at_once: 4,
            pause: Duration::from_millis(100),
        }
    }
}

struct Host {
    places: Arc<Semaphore>,
    /// When the next request may begin. Whoever waits for it holds the lock, and moves it on only when he begins.
    next: tokio::sync::Mutex<Instant>,
    rest_until: Mutex<Option<Instant>>,
}

impl Host {
    /// Whether the host can be asked, or wants to be left alone.
    fn is_willing(&self, name: &str) -> Result<(), WebError> {
        let rest = *lock(&self.rest_until);
        let left = rest.map(|until| until.saturating_duration_since(Instant::now()));
        let Some(left) = left.filter(|left| !left.is_zero()) else {
            return Ok(());
        };
        let message = format!("{name} wants to be left alone for now");
        let mut error = WebError::new(Kind::TooManyRequests, message);
        error.retry_after = Some(left);
        Err(error)
    }
}

/// The hosts we have asked.
pub(crate) struct Manners {
    how: Politeness,
    hosts: Mutex<HashMap<String, Arc<Host>>>,
}

impl Manners {
    pub(crate) fn new(how: Politeness) -> Self {
        Self {
            how,
            hosts: Mutex::default(),
        }
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get(name) {
            return Arc::clone(host);
        }
        if hosts.len() >= MAX_HOSTS {
            hosts.retain(|_, host| Arc::strong_count(host) > 1);
        }
        let host = Arc::new(Host {
            places: Arc::new(Semaphore::new(self.how.at_once.max(1))),
            next: tokio::sync::Mutex::new(Instant::now()),
            rest_until: Mutex::default(),
        });
        hosts.insert(name.to_owned(), Arc::clone(&host));
        host
    }

    /// Waits for our turn with a host; `pause` is what the host itself asks for.
    pub(crate) async fn turn(
        &self,
        name: &str,
        pause: Option<Duration>,
    ) -> Result<OwnedSemaphorePermit, WebError> {
        let host = self.host(name);
        host.is_willing(name)?;
        let place = Arc::clone(&host.places).acquire_owned().await;
        let place = place.map_err(|error| {
            WebError::new(Kind::Network, "no more requests are made").because(error)
        })?;
        // Nothing is taken before the wait is over, so one that is given up costs nobody a turn.
        let mut next = host.next.lock().await;
        // A sleep takes a millisecond at least, even until now.
        if *next > Instant::now() {
            sleep_until(*next).await;
        }
        host.is_willing(name)?;
        *next = Instant::now() + pause.unwrap_or_default().max(self.how.pause);
        Ok(place)
    }

    /// Leaves a host alone for a while.
    pub(crate) fn rest(&self, name: &str, time: Duration) {
        *lock(&self.host(name).rest_until) = Some(Instant::now() + time.min(MAX_REST));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Waker},
    };

    use super::*;

    #[tokio::test]
    async fn a_host_is_asked_no_more_than_so_often_at_a_time() {
        let manners = Manners::new(Politeness {
            at_once: 1,
            pause: Duration::ZERO,
        });
        let first = manners.turn("a.test", None).await.unwrap();
        let mut second = pin!(manners.turn("a.test", None));
        let mut context = Context::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(manners.turn("b.test", None).await.unwrap());
        drop(first);
        drop(second.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_nobody_waits_for_is_nobodys() {
        let pause = Duration::from_secs(10);
        let manners = Manners::new(Politeness { at_once: 4, pause });
        let start = Instant::now();
        drop(manners.turn("a.test", None).await.unwrap());
        for _ in 0..3 {
            let given_up =
                tokio::time::timeout(Duration::from_secs(1), manners.turn("a.test", None));
            assert!(given_up.await.is_err());
        }
        drop(manners.turn("a.test", None).await.unwrap());
        assert_eq!(start.elapsed(), pause, "the three that left took no turn");
        let longer = Duration::from_secs(30);
        drop(manners.turn("a.test", Some(longer)).await.unwrap());
        assert_eq!(start.elapsed(), 2 * pause);
        drop(manners.turn("a.test", None).await.unwrap());
        assert_eq!(start.elapsed(), 2 * pause + longer, "the host's own pause");
    }

    #[tokio::test]
    async fn without_a_pause_nobody_waits() {
        let manners = Manners::new(Politeness {
            at_once: 4,
            pause: Duration::ZERO,
        });
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..5 {
            let turn = pin!(manners.turn("a.test", None));
            assert!(turn.poll(&mut context).is_ready());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_wants_rest_while_we_wait_is_left_alone() {
        let pause = Duration::from_secs(10);
        let manners = Manners::new(Politeness { at_once: 4, pause });
        drop(manners.turn("a.test", None).await.unwrap());
        let waiting = manners.turn("a.test", None);
        let (waited, ()) = tokio::join!(waiting, async {
            manners.rest("a.test", Duration::from_secs(60));
        });
        assert_eq!(waited.unwrap_err().kind, Kind::TooManyRequests);
    }

    #[tokio::test]
    async fn a_host_that_wants_rest_is_refused_with_the_time() {
        let manners = Manners::new(Politeness::default());
        manners.rest("a.test", Duration::from_secs(86_400));
        let error = manners.turn("a.test", None).await.unwrap_err();
        assert_eq!(error.kind, Kind::TooManyRequests);
        let time = error.retry_after.unwrap();
        assert!(time <= MAX_REST && !time.is_zero());
        drop(manners.turn("b.test", None).await.unwrap());
    }
}
