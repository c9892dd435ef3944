//! Opening a claimed run: what was kept of it, put together again.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tollgate_core::store::RunRow;
use tollgate_runs::{Event, Run};

use super::{Drive, Heard};
use crate::{
    call::Inner,
    runs::{Live, Shared, body::Body, seal, step::Surroundings, task::Given, view::read_steps},
};

/// A run that cannot go on, and why.
pub(super) struct Unopened {
    pub(super) body: Option<Box<Body>>,
    pub(super) reason: String,
}

pub(super) async fn open(
    shared: &Arc<Shared>,
    inner: &Arc<Inner>,
    row: RunRow,
    live: &watch::Sender<Live>,
) -> Result<(Drive, mpsc::UnboundedReceiver<Heard>), Unopened> {
    let unopened = |body: Option<&Body>, reason: &str| Unopened {
        body: body.cloned().map(Box::new),
        reason: reason.to_owned(),
    };
    let Some(mut body) = Body::read(&row.record) else {
        return Err(unopened(None, "what was kept of it cannot be read"));
    };
    body.taken_up(row.updated, inner.clock.now());
    let source = body.source.as_deref().unwrap_or_default();
    let Some(template) = shared.followed(&body.digest, &row.template, source) else {
        return Err(unopened(Some(&body), "its template can no longer be read"));
    };
    let sealed = row.sealed.as_deref().unwrap_or_default();
    let plain = seal::open(inner, &row.id, sealed).unwrap_or_default();
    let Ok(inputs) = serde_json::from_slice::<Value>(&plain) else {
        return Err(unopened(Some(&body), "its inputs can no longer be opened"));
    };
    let task: Option<Given> = match &body.task {
        Some(_) => serde_json::from_slice(&plain).ok(),
        None => None,
    };
    if body.task.is_some() && task.is_none() {
        return Err(unopened(Some(&body), "its inputs can no longer be opened"));
    }
    let mut records = read_steps(inner, &row.id)
        .await
        .map_err(|error| unopened(Some(&body), &error.to_string()))?;
    for (name, record) in &mut records {
        if let Some(artifact) = &record.spilled {
            let data = spilled(shared, artifact).await.map_err(|why| {
                let reason = format!("what step `{name}` came to can no longer be read: {why}");
                unopened(Some(&body), &reason)
            })?;
            record.data = Some(Arc::new(data));
        }
    }
    let about = json!({
        "id": row.id,
        "sessionId": body.session_id,
        "conversation": body.conversation,
    });
    let run = Run::new(template, inputs, about, shared.settings.threshold).restored(records);
    let (events, inbox) = mpsc::unbounded_channel();
    let around = Arc::new(Surroundings {
        shared: Arc::clone(shared),
        inner: Arc::clone(inner),
        run: row.id,
        session: row.session,
        fence: row.fence + 1,
        body: body.clone(),
        is_resting: AtomicBool::new(false),
        task,
        answers: Mutex::default(),
    });
    let drive = Drive {
        around,
        run,
        fence: row.fence + 1,
        body,
        live: live.clone(),
        events,
        calls: HashMap::new(),
        next: if row.is_canceled {
            VecDeque::from([Event::Cancel])
        } else {
            VecDeque::from([Event::Begin])
        },
        looked: None,
        changed: BTreeSet::new(),
        light: BTreeSet::new(),
        kept: None,
    };
    Ok((drive, inbox))
}

/// What a step came to that was too large for the run. Without it a run must not go on: it
/// would take nothing for what was there.
async fn spilled(shared: &Shared, artifact: &str) -> Result<Value, String> {
    let whole = shared.blobs.part(artifact, 0, u64::MAX).await;
    let bytes = whole.map_err(|error| error.to_string())?;
    let bytes = bytes.ok_or_else(|| format!("artifact `{artifact}` is gone"))?;
    serde_json::from_slice(&bytes).map_err(|_| format!("artifact `{artifact}` is damaged"))
}
