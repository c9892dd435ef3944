//! Work that takes long, done where it holds up nobody else.
//!
//! Calls share few threads. What takes a millisecond or more with one of them, the others
//! would wait for, so they are moved to another thread meanwhile.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task,
};

/// From so many bytes on it takes long to look at all of them.
const LARGE: usize = 64 << 10;

/// Works on `bytes` bytes.
pub(super) fn aside<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_others =
        || Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread);
    if bytes >= LARGE && has_others() {
        task::block_in_place(work)
    } else {
        work()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// What needs another task to go on while it works.
    fn helped(bytes: usize) -> Result<(), mpsc::RecvTimeoutError> {
        let (send, receive) = mpsc::channel();
        tokio::spawn(async move { send.send(()) });
        aside(bytes, || receive.recv_timeout(WAIT))
    }

    const WAIT: std::time::Duration = std::time::Duration::from_secs(20);

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_much_is_worked_on() {
        let large = tokio::spawn(async { helped(LARGE) });
        assert_eq!(large.await.unwrap(), Ok(()));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn with_one_thread_it_is_done_in_place() {
        let thread = std::thread::current().id();
        let done = tokio::spawn(async { aside(LARGE, || std::thread::current().id()) });
        assert_eq!(done.await.unwrap(), thread);
    }
}
