//! Where work that fills a core is done.
//!
//! The tree of a page takes many times its size, so the number of places bounds what all callers
//! together can make us hold. Invariant: a place is taken until the work has ended, whether or
//! not anybody still waits for it.

use std::{sync::Arc, thread::available_parallelism};

use tokio::sync::Semaphore;
use tollgate_core::ProviderError;

/// As many places as there are cores.
pub(super) struct Places(Arc<Semaphore>);

impl Places {
    pub(super) fn new() -> Self {
        Self::of(available_parallelism().map_or(1, usize::from))
    }

    fn of(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count)))
    }

    /// Does work where it holds nobody up, when there is a place for it.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ProviderError> {
        let place = Arc::clone(&self.0).acquire_owned().await;
        let place = place.map_err(ProviderError::unavailable)?;
        let in_place = move || {
            let done = work();
            drop(place);
            done
        };
        let done = tokio::task::spawn_blocking(in_place).await;
        done.map_err(ProviderError::unavailable)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        time::Duration,
    };

    use super::*;

    #[tokio::test]
    async fn no_more_is_done_at_once_than_there_are_places() {
        let places = Arc::new(Places::of(2));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = || {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            move || {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                now.fetch_sub(1, Ordering::SeqCst);
            }
        };
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..10 {
            let (places, work) = (Arc::clone(&places), work());
            all.spawn(async move { places.work(work).await.is_ok() });
        }
        assert_eq!(all.join_all().await, [true; 10]);
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_keeps_its_place() {
        let places = Places::of(1);
        let (began, has_begun) = tokio::sync::oneshot::channel();
        let (go, gone) = mpsc::channel::<()>();
        let left = places.work(move || {
            began.send(()).unwrap();
            gone.recv().unwrap();
        });
        tokio::select! {
            _ = left => panic!("it ends when it is told to"),
            () = async { has_begun.await.unwrap() } => {}
        }
        let next = places.work(|| "next");
        tokio::pin!(next);
        let early = tokio::select! {
            biased;
            done = &mut next => Some(done.is_ok()),
            () = tokio::task::yield_now() => None,
        };
        assert_eq!((early, places.0.available_permits()), (None, 0));
        go.send(()).unwrap();
        assert_eq!(next.await.unwrap(), "next");
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_frees_its_place() {
        let places = Places::of(1);
        let broken = places.work(|| panic!("a page too odd")).await;
        assert!(broken.is_err());
        assert_eq!(places.work(|| 1).await.unwrap(), 1);
    }
}
