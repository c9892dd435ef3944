//! A way to end a run early, from anywhere.

use std::{io, os::fd::OwnedFd, sync::Arc};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// Set once; every run that was given it ends.
#[derive(Debug, Clone)]
pub struct Stop(Arc<OwnedFd>);

impl Stop {
    /// One that is not set.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(event)))
    }

    /// Ends what waits for it.
    pub fn set(&self) {
        // It can only fail when it is set more often than a 64-bit number counts.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        let mut waited = [PollFd::new(&*self.0, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut waited, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    pub(crate) fn event(&self) -> &OwnedFd {
        &self.0
    }
}
