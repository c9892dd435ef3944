//! Answers of Keepa's that are used again, across sessions and processes.
//!
//! Invariants: only successful reads are kept, under a fingerprint that holds no key; an entry ends by itself, and what is
//! kept is listed, so that clearing leaves nothing behind. Losing an entry costs tokens and nothing else, so a conflict or a
//! store that is busy is no failure of the call.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Value, json};
use tollgate_core::{
    CallContext, Clock, StoreError, Timestamp, canonical::hex_digest, store::Versioned,
};
use tollgate_keepa::{
    Command, Effect, Error, KeepaMinute, Kind, Params,
    client::{Answer, Body, Bucket},
    key::cache_key,
    request::{Request, build},
};

use super::Settings;

const INDEX: &str = "responses";
/// What keys of answers begin with.
const PREFIX: &str = "response/";
/// For how long the index lives after its last change.
const INDEX_LIVES: Duration = Duration::from_secs(30 * 86_400);
/// How often the index is changed anew when somebody else was faster.
const ATTEMPTS: usize = 8;
/// Entries that are shown unless more are asked for.
const SHOWN: i64 = 50;
/// Entries the index knows.
const MOST: usize = 512;
/// Longer answers are not kept.
const MOST_BYTES: usize = 8 << 20;

#[derive(Serialize, Deserialize)]
struct Entry {
    at: i64,
    until: i64,
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
    format!("{PREFIX}{}", hex_digest(text.as_bytes()))
}

/// The answer that was kept, since when and until when: never longer than this caller lets it live.
pub(super) async fn find(
    cx: &CallContext,
    now: Timestamp,
    key: &str,
    ttl: Duration,
) -> Option<(Answer, (i64, i64))> {
    let Versioned { value, .. } = cx.state.get(key).await.ok()??;
    let entry: Entry = serde_json::from_slice(&value).ok()?;
    let until = entry.until.min(Timestamp(entry.at).plus(ttl).0);
    if until <= now.0 {
        return None;
    }
    let bucket = Bucket::read(entry.text.as_bytes());
    let answer = Answer {
        body: Body::Json(entry.text),
        bucket,
        waited: None,
    };
    Some((answer, (entry.at, until)))
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
        until: until.0,
        text: text.to_owned(),
    };
    let Ok(value) = serde_json::to_vec(&entry) else {
        return;
    };
    if put(cx, key, value, until).await.is_err() {
        return;
    }
    let line = Line {
        key: key.to_owned(),
        endpoint: request.endpoint.clone(),
        at: now.0,
        until: until.0,
        bytes: text.len(),
    };
    let listed = change(cx, now, |lines| {
        lines.retain(|known| known.key != key);
        lines.push(line.clone());
        let first = lines.len().saturating_sub(MOST);
        lines.drain(..first).map(|line| line.key).collect()
    });
    // What is not listed would outlive a clearing.
    let unlisted = listed.await.unwrap_or_else(|| vec![line.key.clone()]);
    for key in unlisted {
        drop(cx.state.delete(&key).await);
    }
}

/// Changes the index and says which keys it lost; whoever else writes at the same time is not overwritten. Nothing if it
/// could not be changed.
async fn change(
    cx: &CallContext,
    now: Timestamp,
    edit: impl Fn(&mut Vec<Line>) -> Vec<String>,
) -> Option<Vec<String>> {
    for _ in 0..ATTEMPTS {
        let (mut lines, version) = read(cx.state.get(INDEX).await.ok()?);
        let lost = edit(&mut lines);
        let value = serde_json::to_vec(&lines).ok()?;
        let until = Some(now.plus(INDEX_LIVES));
        match cx.state.compare_and_put(INDEX, version, value, until).await {
            Ok(_) => return Some(lost),
            Err(StoreError::Conflict) => {}
            Err(_) => return None,
        }
    }
    None
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

fn read(kept: Option<Versioned>) -> (Vec<Line>, Option<u64>) {
    let version = kept.as_ref().map(|kept| kept.version);
    let lines = kept.and_then(|kept| serde_json::from_slice(&kept.value).ok());
    (lines.unwrap_or_default(), version)
}

async fn index(cx: &CallContext) -> Vec<Line> {
    read(cx.state.get(INDEX).await.ok().flatten()).0
}

/// Answers what only this place can: the commands about kept answers.
pub(super) async fn about(
    command: Command,
    params: &Params,
    cx: &CallContext,
    settings: &Settings,
) -> Option<Result<Value, Error>> {
    let now = settings.clock.now();
    let told = if command == Command::CacheStats {
        Ok(stats(cx, now).await)
    } else if command == Command::CacheInspect {
        inspect(cx, now, params).await
    } else if command == Command::CacheExplain {
        explain(cx, settings, params).await
    } else if command == Command::CachePruneExpired {
        prune(cx, now, false).await
    } else if command == Command::CacheClear {
        prune(cx, now, true).await
    } else {
        return None;
    };
    Some(told)
}

async fn stats(cx: &CallContext, now: Timestamp) -> Value {
    let lines = index(cx).await;
    let live: Vec<&Line> = lines.iter().filter(|line| line.until > now.0).collect();
    let bytes: usize = live.iter().map(|line| line.bytes).sum();
    let mut by_endpoint = BTreeMap::new();
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

fn shown(line: &Line, now: Timestamp) -> Value {
    let time = |ms: i64| KeepaMinute::from_unix_ms(ms).to_string();
    json!({
        "cache_key": line.key,
        "endpoint": line.endpoint,
        "created_at": time(line.at),
        "expires_at": time(line.until),
        "size_bytes": line.bytes,
        "is_expired": line.until <= now.0,
    })
}

/// What is kept, the latest first; of one entry also what it cost and what it holds, never the answer itself.
async fn inspect(cx: &CallContext, now: Timestamp, params: &Params) -> Result<Value, Error> {
    let most = usize::try_from(params.number("limit", SHOWN)?)
        .map_err(|_| Error::argument("limit cannot be negative"))?;
    let lines = index(cx).await;
    let Some(wanted) = params.text(&["entry"]) else {
        let all = lines.iter().rev().take(most);
        let entries: Vec<Value> = all.map(|line| shown(line, now)).collect();
        return Ok(json!({
            "view": "cache_inspect",
            "entry_count": lines.len(),
            "entries": entries,
        }));
    };
    let full = format!("{PREFIX}{}", wanted.trim_start_matches(PREFIX));
    let line = lines.iter().find(|line| line.key == full);
    let found = find(cx, now, &full, Duration::MAX).await;
    let (Some(line), Some((answer, _))) = (line, found) else {
        let message = format!("no answer is kept under {wanted:?}");
        return Err(Error::new(Kind::ResourceNotFound, message));
    };
    let mut entry = shown(line, now);
    entry["token_bucket"] = json!(answer.bucket);
    if let Body::Json(text) = &answer.body {
        let names: Option<BTreeMap<String, IgnoredAny>> = serde_json::from_str(text).ok();
        entry["fields"] = json!(names.unwrap_or_default().into_keys().collect::<Vec<_>>());
    }
    Ok(json!({"view": "cache_inspect", "entry_count": lines.len(), "entries": [entry]}))
}

/// How a command would be answered: by this session, by a kept answer, or by asking.
async fn explain(cx: &CallContext, settings: &Settings, params: &Params) -> Result<Value, Error> {
    let name = params.required("command")?;
    let command = Command::named(&name)
        .ok_or_else(|| Error::argument(format!("there is no command {name:?}")))?;
    let inner = params.get(&["params"]).cloned().unwrap_or_default();
    let given = Params::of(&inner);
    let mut told = json!({
        "view": "cache_explain",
        "command": command.name(),
        "session_cache_key": cache_key(command.name(), given.canonical()),
        "ttl_seconds": settings.cache_ttl.as_secs(),
        "is_kept": false,
    });
    if command.effect() == Effect::Local {
        told["reason"] = Value::from("It asks nothing, so there is nothing to keep.");
        return Ok(told);
    }
    let request = build(command, &given)?;
    let key = key(&request);
    told["endpoint"] = Value::from(request.endpoint.as_str());
    told["params_hash"] = Value::from(request.params_hash());
    told["cache_key"] = Value::from(key.as_str());
    let ttl = given.cache_ttl()?.map(Duration::from_secs);
    let ttl = ttl.unwrap_or(settings.cache_ttl);
    told["ttl_seconds"] = Value::from(ttl.as_secs());
    let may_keep = request.may_be_kept() && !given.is_on("no_cache") && !ttl.is_zero();
    let kept = find(cx, settings.clock.now(), &key, ttl).await;
    told["reason"] = Value::from(match (&kept, may_keep) {
        (_, false) => "Such an answer is never kept.",
        (Some(_), true) => "An answer is kept and would be used again.",
        (None, true) => "No answer is kept; Keepa would be asked.",
    });
    if let Some((_, (at, until))) = kept.filter(|_| may_keep) {
        told["is_kept"] = Value::Bool(true);
        for (name, ms) in [("created_at", at), ("expires_at", until)] {
            told[name] = Value::from(KeepaMinute::from_unix_ms(ms).to_string());
        }
    }
    Ok(told)
}

/// Removes what has expired, or everything.
async fn prune(cx: &CallContext, now: Timestamp, is_all: bool) -> Result<Value, Error> {
    let goes = |line: &Line| is_all || line.until <= now.0;
    let lines = index(cx).await;
    let gone: Vec<&Line> = lines.iter().filter(|line| goes(line)).collect();
    for line in &gone {
        let deleted = cx.state.delete(&line.key).await;
        deleted.map_err(|error| Error::new(Kind::ServerError, error.to_string()))?;
    }
    // An answer that came in between stays, and stays listed.
    let is_gone = |line: &Line| {
        let mut gone = gone.iter();
        gone.any(|one| (&one.key, one.at) == (&line.key, line.at))
    };
    let unlisted = change(cx, now, |lines| {
        let (lost, left) = lines.drain(..).partition(is_gone);
        *lines = left;
        lost.into_iter().map(|line| line.key).collect()
    });
    drop(unlisted.await);
    Ok(json!({
        "view": if is_all { "cache_clear" } else { "cache_prune_expired" },
        "removed": gone.len(),
        "removed_bytes": gone.iter().map(|line| line.bytes).sum::<usize>(),
        "left": lines.len() - gone.len(),
    }))
}
