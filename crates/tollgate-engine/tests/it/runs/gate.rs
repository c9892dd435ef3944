//! A gate whose steps a test holds in its hand: one tool that reads, and one that waits.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use tollgate_core::{ErrorCode, ProviderError};
use tollgate_engine::runs::Settings;

use super::{Shop, answers};
use crate::support::{Setup, World, spec_read};

/// Templates of `shelf.read` and `shelf.wait`, and a gate that runs them.
pub(super) struct Gate {
    pub(super) world: World,
    pub(super) shop: Shop,
    /// A permit lets one `shelf.wait` go on.
    pub(super) door: Arc<Semaphore>,
}

impl Gate {
    /// `shelf.read` answers its `n`, fails below zero and panics above a thousand; `shelf.wait`
    /// waits for a permit or until it is called off.
    pub(super) async fn new(templates: &[&str], change: impl FnOnce(&mut Settings)) -> Self {
        let shop = Shop::new(templates, change);
        let door = Arc::new(Semaphore::new(0));
        let inside = Arc::clone(&door);
        let world = Setup::new()
            .tool(spec_read("shelf.read"), |call, _| async move {
                let n = call.arguments.value()["n"].as_i64().unwrap_or(0);
                if n < 0 {
                    return Err(ProviderError::new(ErrorCode::ToolFailed, "too small"));
                }
                if n > 1000 {
                    panic!("a step that panics");
                }
                answers(json!({"n": n})).await
            })
            .tool(spec_read("shelf.wait"), move |_, cx| {
                let door = Arc::clone(&inside);
                async move {
                    tokio::select! {
                        permit = door.acquire() => permit.unwrap().forget(),
                        () = cx.cancel.cancelled() => {
                            return Err(ProviderError::new(ErrorCode::Cancelled, "stopped"));
                        }
                    }
                    answers(json!({})).await
                }
            })
            .runs(&shop.runs)
            .build()
            .await;
        Self { world, shop, door }
    }
}
