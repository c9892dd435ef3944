//! The suite every store passes.

use std::sync::Arc;

use tollgate_core::SystemClock;
use tollgate_store::{Settings, SqliteStore};
use tollgate_testkit::{MemoryStore, store_suite, store_suite::Subject};

store_suite!(memory, || async {
    Subject::new(Arc::new(MemoryStore::new()), ())
});

store_suite!(sqlite, || async {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings::new(directory.path().join("state"));
    let store = SqliteStore::open(settings, Arc::new(SystemClock)).unwrap();
    Subject::new(Arc::new(store), directory)
});
