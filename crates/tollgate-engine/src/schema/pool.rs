//! Threads for validations that take long, apart from those that answer others.
//!
//! A validator cannot be cancelled. Invariant: however many expensive validations are asked
//! for, at most [`THREADS`] run and [`WAITING`] wait; one more is refused at once.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    mpsc::{Receiver, SyncSender, sync_channel},
};

use tokio::sync::oneshot;

/// How many run at once.
const THREADS: usize = 2;
/// How many more wait.
const WAITING: usize = 8;
/// Validators recurse; so does the walk that counts their steps.
const STACK: usize = 64 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// Why a job has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolError {
    /// All threads work, and as many jobs as may wait do.
    Full,
    /// The job panicked.
    Broken,
}

/// The threads, started with the first job.
#[derive(Default)]
pub(crate) struct Pool(OnceLock<SyncSender<Job>>);

impl Pool {
    /// Runs `job` on a thread of the pool. Whoever stops waiting does not stop the job.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        let (send, receive) = oneshot::channel();
        let job: Job = Box::new(move || drop(send.send(job())));
        let jobs = self.0.get_or_init(start);
        jobs.try_send(job).map_err(|_| PoolError::Full)?;
        receive.await.map_err(|_| PoolError::Broken)
    }
}

fn start() -> SyncSender<Job> {
    let (send, receive) = sync_channel::<Job>(WAITING);
    let receive = Arc::new(Mutex::new(receive));
    for _ in 0..THREADS {
        let receive = Arc::clone(&receive);
        let thread = std::thread::Builder::new()
            .name("validate".to_owned())
            .stack_size(STACK);
        // Without a single thread nobody receives, and every job is refused.
        drop(thread.spawn(move || work(&receive)));
    }
    send
}

fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // The receiver of a job that panics sees its channel close.
        drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_full_pool_refuses_and_works_on_later() {
        let pool = Arc::new(Pool::default());
        let (release, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let (started, mut running) = tokio::sync::mpsc::unbounded_channel();
        let mut waits = Vec::new();
        for _ in 0..THREADS + WAITING {
            let (gate, started) = (Arc::clone(&gate), started.clone());
            let (taken, is_taken) = oneshot::channel();
            let pool = Arc::clone(&pool);
            waits.push(tokio::spawn(async move {
                let job = pool.run(move || {
                    started.send(()).unwrap();
                    gate.lock().unwrap().recv().unwrap();
                    7
                });
                taken.send(()).unwrap();
                job.await
            }));
            is_taken.await.unwrap();
            tokio::task::yield_now().await;
            if waits.len() <= THREADS {
                // The second thread waits for the lock that the first holds; both have a job.
                running.recv().await.unwrap();
            }
        }
        assert_eq!(pool.run(|| 1).await, Err(PoolError::Full));
        (0..THREADS + WAITING).for_each(|_| release.send(()).unwrap());
        for wait in waits {
            assert_eq!(wait.await.unwrap(), Ok(7));
        }
        let broken = pool.run(|| assert_eq!(1, 2, "a bug")).await;
        assert_eq!(broken, Err(PoolError::Broken));
        assert_eq!(pool.run(|| 2).await, Ok(2));
    }
}
