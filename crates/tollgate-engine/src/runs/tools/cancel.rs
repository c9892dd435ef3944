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
use crate::{
    call::Inner,
    runs::{Shared, errors},
};

/// Asks for the end of a run, wherever it is driven; `false` if it is over already.
pub(in super::super) async fn call_off(
    shared: &Arc<Shared>,
    inner: &Arc<Inner>,
    id: &str,
) -> Result<bool, StoreError> {
    let batch = Batch {
        changes: vec![Change::Run(RunChange::Cancel {
            id: id.to_owned(),
            at: inner.clock.now(),
        })],
        durability: Durability::Disk,
        ..Batch::default()
    };
    match inner.store.commit(batch).await {
        Ok(_) => {}
        Err(StoreError::Missing) => return Ok(false),
        Err(error) => return Err(error),
    }
    if let Some(driven) = shared.driven(id) {
        driven.cancel.cancel();
        return Ok(true);
    }
    // One that waits for its turn needs no place to be called off. If somebody else has it, or
    // the store fails now, whoever claims it finds the wish.
    if let Ok(Some(row)) = inner.store.run(id).await
        && row.owner.is_none()
        && !row.is_over
    {
        drop(shared.claim(inner, row, u32::MAX).await);
    }
    Ok(true)
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
    let taken = !row.is_over
        && call_off(&shared, &inner, &row.id)
            .await
            .map_err(errors::from_store)?;
    shared.begin(&inner);
    let row = own_run(&inner, &args.run_id, &cx.principal).await?;
    Ok(Canceled {
        cancel_requested: taken,
        current_status: row.status,
    })
}
