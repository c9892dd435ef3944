//! `tollgate session`: a session, all of them, and the ledger of one.

use serde_json::{Value, json};
use tollgate_core::store::Session as Stored;

use super::{
    Exit, Scene, Stop,
    arguments::{Session, SessionAction},
    principal,
};

pub(super) async fn run(session: &Session, scene: &Scene<'_>) -> Result<Exit, Stop> {
    match session.action.unwrap_or(SessionAction::Show) {
        SessionAction::Show => list(Listed::InUse, scene).await,
        SessionAction::List => list(Listed::All, scene).await,
        SessionAction::Ledger => ledger(scene).await,
    }
}

/// Which sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    InUse,
    All,
}

async fn list(listed: Listed, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let mut sessions = wired.gateway.store().sessions(&principal()).await?;
    wired.close().await;
    if listed == Listed::InUse {
        sessions.retain(|session| session.key.handle == scene.session);
    }
    if scene.console.is_json() {
        let all: Vec<Value> = sessions.iter().map(as_json).collect();
        scene.console.json(&json!({"sessions": all}))?;
        return Ok(Exit::Ok);
    }
    if sessions.is_empty() {
        scene.console.note(&format!(
            "session `{}` has not been used yet; `tollgate session list` lists yours",
            scene.session
        ));
        return Ok(Exit::Ok);
    }
    let number = |units: Option<u64>| units.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|session| {
            vec![
                session.key.handle.clone(),
                session.created.to_string(),
                session.consumed.to_string(),
                number(session.remaining()),
                session.cache_hits.to_string(),
                session.profile.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        })
        .collect();
    let head = ["SESSION", "SINCE", "CONSUMED", "LEFT", "HITS", "PROFILE"];
    scene.console.table(&head, &rows)?;
    Ok(Exit::Ok)
}

async fn ledger(scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let key = scene.caller().session;
    let session = wired.gateway.store().session(&key).await?;
    let session = session.unwrap_or_else(|| Stored::new(key, wired.gateway.clock().now()));
    wired.close().await;
    let ledger = session.ledger();
    if scene.console.is_json() {
        scene.console.json(&ledger)?;
        return Ok(Exit::Ok);
    }
    let left = ledger
        .remaining_limit
        .map_or_else(|| "no limit".to_owned(), |it| it.to_string());
    let rows = [
        ("estimated", ledger.session_estimated.to_string()),
        ("consumed", ledger.session_consumed.to_string()),
        ("reserved", session.reserved.to_string()),
        ("left", left),
        ("cache hits", ledger.cache_hits.to_string()),
        ("blocked", ledger.blocked_actions.len().to_string()),
        ("source", ledger.consumed_source.as_str().to_owned()),
    ]
    .map(|(name, value)| vec![name.to_owned(), value]);
    scene
        .console
        .table(&["LEDGER", &session.key.handle], &rows)?;
    for action in &ledger.blocked_actions {
        let tool = action.get("tool").and_then(Value::as_str).unwrap_or("?");
        let reason = action.get("reason").and_then(Value::as_str).unwrap_or("?");
        scene
            .console
            .line(&format!("  blocked: {tool} ({reason})"))?;
    }
    Ok(Exit::Ok)
}

fn as_json(session: &Stored) -> Value {
    json!({
        "session": session.key.handle,
        "principal": session.key.principal.as_str(),
        "created": session.created.to_string(),
        "profile": session.profile,
        "limit": session.limit,
        "budget_ledger": session.ledger(),
    })
}
