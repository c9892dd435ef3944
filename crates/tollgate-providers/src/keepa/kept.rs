//! Answers of Keepa's that are used again, across sessions and processes.
//!
//! Invariants: only successful reads are kept, under a fingerprint that holds no key; an entry ends by itself. Losing an
//! entry costs tokens and nothing else, so a conflict or a store that is busy is no failure of the call.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tollgate_core::{
    CallContext, Clock, StoreError, Timestamp, canonical::hex_digest, store::Versioned,
};
use tollgate_keepa::{
    client::{Answer, Body, Bucket},
    request::Request,
};

const INDEX: &str = "responses";
/// Entries the index knows.
const MOST: usize = 512;
/// Longer answers are not kept.
const MOST_BYTES: usize = 8 << 20;

#[derive(Serialize, Deserialize)]
struct Entry {
    at: i64,
    text: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Line {
    key: String,
    endpoint: String,
    at: i64,
    until: i64,
    bytes: usize,
}

/// The key of a request; it holds no secret because the request does not.
pub(super) fn key(request: &Request) -> String {
    let text = serde_json::to_string(request).unwrap_or_default();
    format!("response/{}", hex_digest(text.as_bytes()))
}

/// The answer that was kept, and when.
pub(super) async fn find(cx: &CallContext, key: &str) -> Option<(Answer, i64)> {
    let Versioned { value, .. } = cx.state.get(key).await.ok()??;
    let entry: Entry = serde_json::from_slice(&value).ok()?;
    let bucket = Bucket::read(entry.text.as_bytes());
    let answer = Answer {
        body: Body::Json(entry.text),
        bucket,
        waited: None,
    };
    Some((answer, entry.at))
}

/// Keeps an answer.
pub(super) async fn keep(
    cx: &CallContext,
    clock: &dyn Clock,
    key: &str,
    request: &Request,
    (text, ttl): (&str, Duration),
) {
    if text.len() > MOST_BYTES || ttl.is_zero() {
        return;
    }
    let now = clock.now();
    let until = now.plus(ttl);
    let entry = Entry {
        at: now.0,
        text: text.to_owned(),
    };
    let Ok(value) = serde_json::to_vec(&entry) else {
        return;
    };
    if put(cx, key, value, until).await.is_err() {
        return;
    }
    let mut lines = index(cx).await;
    lines.retain(|line| line.key != key && line.until > now.0);
    lines.push(Line {
        key: key.to_owned(),
        endpoint: request.endpoint.clone(),
        at: now.0,
        until: until.0,
        bytes: text.len(),
    });
    let first = lines.len().saturating_sub(MOST);
    if let Ok(value) = serde_json::to_vec(&lines[first..]) {
        // A neighbour who wrote at the same time loses us a line of statistics.
        drop(put(cx, INDEX, value, now.plus(Duration::from_secs(30 * 86_400))).await);
    }
}

async fn put(
    cx: &CallContext,
    key: &str,
    value: Vec<u8>,
    until: Timestamp,
) -> Result<(), StoreError> {
    let known = cx.state.get(key).await?;
    let version = known.map(|known| known.version);
    cx.state
        .compare_and_put(key, version, value, Some(until))
        .await
        .map(|_| ())
}

async fn index(cx: &CallContext) -> Vec<Line> {
    let kept = cx.state.get(INDEX).await.ok().flatten();
    kept.and_then(|kept| serde_json::from_slice(&kept.value).ok())
        .unwrap_or_default()
}

/// `cache.stats`.
pub(super) async fn stats(cx: &CallContext, clock: &dyn Clock) -> Value {
    let now = clock.now().0;
    let lines = index(cx).await;
    let live: Vec<&Line> = lines.iter().filter(|line| line.until > now).collect();
    let bytes: usize = live.iter().map(|line| line.bytes).sum();
    let mut by_endpoint = std::collections::BTreeMap::new();
    for line in &live {
        *by_endpoint.entry(line.endpoint.as_str()).or_insert(0_u64) += 1;
    }
    json!({
        "view": "cache_stats",
        "entries": live.len(),
        "expired": lines.len() - live.len(),
        "bytes": bytes,
        "by_endpoint": by_endpoint,
    })
}

/// `cache.clear`.
pub(super) async fn clear(cx: &CallContext) -> Result<Value, StoreError> {
    let lines = index(cx).await;
    for line in &lines {
        cx.state.delete(&line.key).await?;
    }
    cx.state.delete(INDEX).await?;
    Ok(json!({"view": "cache_clear", "removed": lines.len()}))
}
