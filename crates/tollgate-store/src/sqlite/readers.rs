//! Connections that only read, so that reading never waits for writing.
//!
//! Look-ups by key take microseconds and run where they are asked for; whatever
//! grows with the state runs on a blocking thread.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::Connection;
use tollgate_core::store::StoreError;

use super::open;
use crate::error::store_error;

/// How many idle connections are kept.
const KEPT: usize = 8;

/// A few connections, opened as they are needed.
#[derive(Clone)]
pub(crate) struct Readers(Arc<Pool>);

struct Pool {
    state_dir: PathBuf,
    busy: Duration,
    frozen: bool,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Readers of a state; a `frozen` one is on a file system nobody can write.
    pub(crate) fn new(state_dir: PathBuf, busy: Duration, frozen: bool) -> Self {
        Self(Arc::new(Pool {
            state_dir,
            busy,
            frozen,
            idle: Mutex::default(),
        }))
    }

    /// Looks something up by its key, here and now.
    pub(crate) fn look_up<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.0.take()?;
        let found = read(&connection);
        self.0.give_back(connection);
        found
    }

    /// Reads something that may take a while.
    pub(crate) async fn scan<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let pool = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || {
            let mut connection = pool.take()?;
            let found = read(&mut connection);
            pool.give_back(connection);
            found
        })
        .await
        .unwrap_or_else(|error| Err(StoreError::Failed(Box::new(error))))
    }
}

impl Pool {
    fn take(&self) -> Result<Connection, StoreError> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        match idle {
            Some(connection) => Ok(connection),
            None if self.frozen => open::frozen_reader(&self.state_dir).map_err(store_error),
            None => open::reader(&self.state_dir, self.busy).map_err(store_error),
        }
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(connection);
        }
    }
}
