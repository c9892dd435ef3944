//! What a stored session keeps in the store beside its ledger: one value for each purpose.
//!
//! Invariant: a change is made to what is there now; whoever writes at the same time loses nothing.

use tollgate_core::{
    StoreError,
    store::{Batch, Change},
};

use super::{Inner, Stage};
use crate::{record::Trail, session::SessionState};

/// What is kept for a purpose, with its version.
pub(super) async fn read(
    inner: &Inner,
    session: &SessionState,
    namespace: &str,
) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
    let (key, now) = (session.key(), inner.clock.now());
    let found = inner
        .store
        .state(namespace, &key.principal, &key.handle, now)
        .await?;
    Ok(found.map(|found| (found.value, found.version)))
}

/// Replaces what is kept by what `change` makes of it, again if somebody else was faster.
pub(super) async fn change(
    inner: &Inner,
    session: &SessionState,
    namespace: &str,
    trail: &Trail,
    change: impl Fn(Option<Vec<u8>>) -> Result<Vec<u8>, StoreError>,
) -> Result<(), StoreError> {
    loop {
        let (before, version) = read(inner, session, namespace).await?.unzip();
        let put = Change::PutState {
            namespace: namespace.to_owned(),
            principal: session.key().principal.clone(),
            key: session.key().handle.clone(),
            version,
            value: change(before)?,
            until: None,
            at: inner.clock.now(),
        };
        let batch = Batch {
            changes: vec![put],
            ..Batch::default()
        };
        match inner.store.commit(batch).await {
            Ok(_) => {
                inner.probe(trail, Stage::Mark);
                return Ok(());
            }
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error),
        }
    }
}
