//! `tollgate token`.

use std::time::Duration;

use serde_json::json;
use tollgate_core::store::CredentialKind;
use tollgate_engine::NewToken;

use super::{
    Exit, Scene, Stop,
    arguments::{Token, TokenAction},
};

pub(super) async fn run(token: &Token, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let gateway = &wired.gateway;
    match &token.action {
        TokenAction::Create {
            label,
            expires,
            quiet,
            ..
        } => {
            let day = Duration::from_secs(86_400);
            let now = gateway.clock().now();
            let days = expires.map(|days| u32::try_from(days).unwrap_or(u32::MAX));
            let (credential, secret) = gateway
                .create_token(NewToken {
                    kind: CredentialKind::Approver,
                    label: label.clone(),
                    scopes: json!({}),
                    expires: days.map(|days| now.plus(day.saturating_mul(days))),
                })
                .await?;
            if scene.console.is_json() {
                scene
                    .console
                    .json(&json!({"id": credential.id, "token": secret}))?;
            } else if *quiet {
                scene.console.line(&secret)?;
            } else {
                scene.console.line(&secret)?;
                scene.console.note(&format!(
                    "approver token {}: shown once. Whoever has it can approve calls: keep it away from agents.",
                    credential.id
                ));
            }
        }
        TokenAction::List => {
            let all = gateway.store().credentials().await?;
            if scene.console.is_json() {
                scene.console.json(&json!({"tokens": all}))?;
            } else {
                let now = gateway.clock().now();
                let rows: Vec<Vec<String>> = all
                    .iter()
                    .map(|it| {
                        vec![
                            it.id.clone(),
                            it.kind.as_str().to_owned(),
                            if it.is_live(now) { "live" } else { "ended" }.to_owned(),
                            it.created.to_string(),
                            it.label.clone().unwrap_or_default(),
                        ]
                    })
                    .collect();
                scene
                    .console
                    .table(&["TOKEN", "KIND", "STATE", "MADE", "LABEL"], &rows)?;
            }
        }
        TokenAction::Revoke { id } => {
            gateway.revoke_token(id).await?;
            if scene.console.is_json() {
                scene.console.json(&json!({"id": id, "revoked": true}))?;
            } else {
                scene.console.line(&format!("{id} is revoked"))?;
            }
        }
    }
    wired.close().await;
    Ok(Exit::Ok)
}
