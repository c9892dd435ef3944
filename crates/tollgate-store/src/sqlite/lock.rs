//! The lock every writer of every process takes before it begins a transaction.
//!
//! Two files make it fair. Whoever wants to write first takes the turn, then
//! waits for the writer before it, then passes the turn on. A process that has
//! just written therefore queues behind the one that already holds the turn,
//! however quickly it comes back. A single short commit of a caller who is alone does
//! without the turn.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::condition::holder::holder;
use crate::error::OpenError;

/// The file of the turn, and that of the writer.
pub(crate) const TURN: &str = "turn.lock";
pub(crate) const WRITE: &str = "write.lock";
/// How long a lock is waited for before it is looked who holds it.
pub(crate) const LOOK: Duration = Duration::from_millis(200);

/// The two files. Each thread opens its own: a lock belongs to an open file.
#[derive(Debug)]
pub(crate) struct WriteLock {
    turn: File,
    write: File,
    directory: PathBuf,
}

/// Holds the lock until it goes out of scope.
#[derive(Debug)]
pub(crate) struct Held<'a>(&'a WriteLock);

impl WriteLock {
    /// Opens the files, creating them if need be.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let open = |name| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(directory.join(name))
        };
        Ok(Self {
            turn: open(TURN)?,
            write: open(WRITE)?,
            directory: directory.to_owned(),
        })
    }

    /// Waits for the lock; says so first if it has to.
    pub(crate) fn acquire(&self, on_wait: impl FnOnce()) -> io::Result<Held<'_>> {
        self.take(on_wait)?;
        Ok(Held(self))
    }

    /// Takes the lock if nobody has it or waits for it.
    pub(crate) fn try_acquire(&self) -> io::Result<Option<Held<'_>>> {
        Ok(self.try_take()?.then(|| Held(self)))
    }

    /// Takes the lock if nobody has it, for one short commit: whoever waits for it is
    /// woken when it is let go, before the same caller comes again.
    pub(crate) fn try_briefly(&self) -> io::Result<Option<Held<'_>>> {
        Ok(try_lock(&self.write)?.then(|| Held(self)))
    }

    /// Waits for the lock, but not longer than `limit`, and not for a stopped process; dropping it
    /// lets it go.
    pub(crate) fn acquire_within(self, limit: Duration) -> Result<Self, OpenError> {
        if self.try_take().map_err(OpenError::Directory)? {
            return Ok(self);
        }
        // A blocked `flock` cannot be called off, so a thread does the waiting;
        // if nobody wants the lock any more it is dropped on arrival.
        let (arrived, arrival) = mpsc::sync_channel(1);
        let directory = self.directory.clone();
        let wait = move || {
            let taken = self.take(|| ());
            let _ = arrived.send(taken.map(|()| self));
        };
        thread::Builder::new()
            .name("tollgate-lock".to_owned())
            .spawn(wait)
            .map_err(OpenError::Directory)?;
        let since = Instant::now();
        loop {
            match arrival.recv_timeout(LOOK.min(limit)) {
                Ok(taken) => return taken.map_err(OpenError::Directory),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(OpenError::Busy),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            let holder = holder(&directory);
            if holder.is_stopped || since.elapsed() >= limit {
                return Err(OpenError::Held(holder));
            }
        }
    }

    fn take(&self, on_wait: impl FnOnce()) -> io::Result<()> {
        if self.try_take()? {
            return Ok(());
        }
        on_wait();
        wait(&self.turn)?;
        let taken = wait(&self.write);
        self.turn.unlock()?;
        taken
    }

    fn try_take(&self) -> io::Result<bool> {
        if !try_lock(&self.turn)? {
            return Ok(false);
        }
        let taken = try_lock(&self.write);
        self.turn.unlock()?;
        taken
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Unlocking an open file of ours cannot fail; if it did, closing it would help.
        let _ = self.0.write.unlock();
    }
}

fn wait(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
