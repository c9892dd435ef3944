//! `tollgate approvals grants` and `revoke`: what a human granted for a session.

use serde_json::{Value, json};
use tollgate_core::store::{Grant, GrantScope};

use super::{Exit, Scene, Stop};

/// Lists the grants of the session, without those of `revoked`, which it revokes.
pub(super) async fn run(revoked: Option<&str>, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let gateway = &wired.gateway;
    let session = scene.caller().session;
    let mut grants = gateway.store().grants(&session).await?;
    if let Some(tool) = revoked {
        let (gone, kept): (Vec<Grant>, Vec<Grant>) = grants
            .into_iter()
            .partition(|grant| tool_of(&grant.scope) == tool);
        if gone.is_empty() {
            return Err(Stop::usage(format!("nothing is granted for `{tool}` here")));
        }
        for grant in &gone {
            gateway.revoke_grant(grant).await?;
        }
        grants = kept;
    }
    let now = gateway.clock().now();
    wired.close().await;
    grants.retain(|grant| grant.in_time(now));
    if scene.console.is_json() {
        let all: Vec<Value> = grants.iter().map(|grant| json!(grant)).collect();
        scene.console.json(&json!({"grants": all}))?;
        return Ok(Exit::Ok);
    }
    if grants.is_empty() {
        scene.console.note("nothing is granted for this session");
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = grants
        .iter()
        .map(|grant| {
            let site = match &grant.scope {
                GrantScope::Tool { .. } => "any",
                GrantScope::Site { site, .. } => site,
            };
            vec![
                tool_of(&grant.scope).to_owned(),
                site.to_owned(),
                grant.by.clone(),
                grant.expires.to_string(),
            ]
        })
        .collect();
    scene
        .console
        .table(&["TOOL", "SITE", "BY", "ENDS"], &rows)?;
    Ok(Exit::Ok)
}

fn tool_of(scope: &GrantScope) -> &str {
    match scope {
        GrantScope::Tool { tool, .. } | GrantScope::Site { tool, .. } => tool,
    }
}
