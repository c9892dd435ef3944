//! Calling a run off.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::{
    CallContext, ProviderError, StoreError,
    store::{Batch, Change, Durability, RunChange},
};

use super::{
    Handle,
    look::{RunId, own_run},
};
use crate::{call::Inner, runs::Shared};

/// Asks for the end of a run, wherever it is driven.
pub(in super::super) async fn call_off(
    shared: &Shared,
    inner: &Inner,
    id: &str,
) -> Result<(), StoreError> {
    let batch = Batch {
        changes: vec![Change::Run(RunChange::Cancel {
            id: id.to_owned(),
            at: inner.clock.now(),
        })],
        durability: Durability::Disk,
        ..Batch::default()
    };
    inner.store.commit(batch).await?;
    if let Some(driven) = shared.driven(id) {
        driven.cancel.cancel();
    }
    Ok(())
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Canceled {
    /// Whether the wish was taken.
    cancel_requested: bool,
    /// Where the run stands.
    current_status: String,
}

pub(super) async fn cancel_run(
    shared: Arc<Handle>,
    args: RunId,
    cx: CallContext,
) -> Result<Canceled, ProviderError> {
    let inner = shared.engine()?;
    let row = own_run(&inner, &args.run_id, &cx.principal).await?;
    let taken = !row.is_over && call_off(&shared, &inner, &row.id).await.is_ok();
    shared.begin(&inner);
    let row = own_run(&inner, &args.run_id, &cx.principal).await?;
    Ok(Canceled {
        cancel_requested: taken,
        current_status: row.status,
    })
}
