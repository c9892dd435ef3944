//! The suite every store passes.

use std::sync::Arc;

use tollgate_core::SystemClock;
use tollgate_store::{Settings, SqliteStore};
use tollgate_testkit::{
    MemoryStore, store_suite,
    store_suite::{DEAD_OWNER, Subject},
};

store_suite!(memory, || async {
    let store = MemoryStore::new();
    store.bury(DEAD_OWNER);
    Subject::new(Arc::new(store), ())
});

store_suite!(sqlite, || async {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings::new(directory.path().join("state"));
    let store = SqliteStore::open(settings, Arc::new(SystemClock)).unwrap();
    Subject::new(Arc::new(store), directory)
});
