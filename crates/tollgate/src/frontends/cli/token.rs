//! `tollgate token`: makes, lists and ends the tokens of approvers and of callers over HTTP.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::{
    StoreError, TrustLevel,
    store::{Credential, CredentialKind},
};
use tollgate_engine::{Gateway, NewToken};

use super::{
    Exit, Scene, Stop,
    arguments::{self, Token, TokenAction, Trusted},
    console::visible,
    terminal,
};
use crate::frontends::auth::TokenScopes;

pub(super) async fn run(token: &Token, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    match &token.action {
        TokenAction::Create(new) => create(new, &wired.gateway, scene).await?,
        TokenAction::List => list(&wired.gateway, scene).await?,
        TokenAction::Revoke { id } => {
            match wired.gateway.revoke_token(id).await {
                Err(StoreError::Missing) => {
                    return Err(Stop::usage(format!(
                        "there is no token `{id}`; `tollgate token list` shows those there are"
                    )));
                }
                revoked => revoked?,
            }
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

async fn create(
    new: &arguments::NewToken,
    gateway: &Gateway,
    scene: &Scene<'_>,
) -> Result<(), Stop> {
    let kind = match new.approver {
        true => CredentialKind::Approver,
        false => CredentialKind::Bearer,
    };
    let scopes = match kind {
        CredentialKind::Approver | CredentialKind::Dialog => json!({}),
        CredentialKind::Bearer => scopes(new)?,
    };
    if kind == CredentialKind::Approver {
        terminal::typed_code(&shown(new))?;
    }
    let day = Duration::from_secs(86_400);
    let now = gateway.clock().now();
    let days = new
        .expires
        .map(|days| u32::try_from(days).unwrap_or(u32::MAX));
    let (credential, secret) = gateway
        .create_token(NewToken {
            kind,
            label: new.label.clone(),
            scopes,
            expires: days.map(|days| now.plus(day.saturating_mul(days))),
        })
        .await?;
    if scene.console.is_json() {
        return Ok(scene
            .console
            .json(&json!({"id": credential.id, "token": secret}))?);
    }
    scene.console.line(&secret)?;
    if !new.quiet {
        let id = &credential.id;
        scene.console.note(&match kind {
            CredentialKind::Approver => format!(
                "approver token {id}: shown once. Whoever has it can approve calls: keep it away from agents."
            ),
            CredentialKind::Bearer | CredentialKind::Dialog => format!(
                "bearer token {id}: shown once. Whoever has it can call over HTTP with {}.",
                describe(&credential)
            ),
        });
        for set in unknown_toolsets(new, gateway) {
            let note = format!("no tool is in the toolset `{set}` at the moment");
            scene.console.note(&note);
        }
    }
    Ok(())
}

/// What the human reads before typing the code.
fn shown(new: &arguments::NewToken) -> String {
    let label = new.label.as_deref().map(visible).unwrap_or_default();
    let ends = match new.expires {
        Some(days) => format!("in {days} day(s)"),
        None => "never".to_owned(),
    };
    format!(
        "\nMAKE AN APPROVER TOKEN\n  who has it can approve every call, without being asked anything\n  label      {label}\n  ends       {ends}\n"
    )
}

fn scopes(new: &arguments::NewToken) -> Result<Value, Stop> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    for set in &new.toolset {
        if set.is_empty() || set.len() > 64 || !set.chars().all(plain) {
            let message = format!("`{}` is not the name of a toolset", set.escape_debug());
            return Err(Stop::usage(message));
        }
    }
    let scopes = TokenScopes {
        toolsets: (!new.toolset.is_empty()).then(|| new.toolset.clone()),
        trust: match new.trust {
            Trusted::Remote => TrustLevel::Remote,
            Trusted::Local => TrustLevel::Local,
        },
        session_limit: new.session_limit,
    };
    Ok(json!(scopes))
}

fn unknown_toolsets<'n>(new: &'n arguments::NewToken, gateway: &Gateway) -> Vec<&'n String> {
    let catalog = gateway.catalog();
    let is_known = |set: &&String| {
        let mut listings = catalog.listings();
        listings.any(|listing| listing.spec.toolsets.contains(set))
    };
    new.toolset.iter().filter(|set| !is_known(set)).collect()
}

async fn list(gateway: &Gateway, scene: &Scene<'_>) -> Result<(), Stop> {
    let all = gateway.store().credentials().await?;
    if scene.console.is_json() {
        return Ok(scene.console.json(&json!({"tokens": all}))?);
    }
    let now = gateway.clock().now();
    let row = |it: &Credential| {
        let ends = it.expires.map(|expires| expires.to_string());
        vec![
            it.id.clone(),
            it.kind.as_str().to_owned(),
            if it.is_live(now) { "live" } else { "ended" }.to_owned(),
            it.created.to_string(),
            ends.unwrap_or_else(|| "never".to_owned()),
            describe(it),
            it.label.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let head = ["TOKEN", "KIND", "STATE", "MADE", "ENDS", "MAY USE", "LABEL"];
    Ok(scene.console.table(&head, &rows)?)
}

/// What a token may do, in a few words.
fn describe(credential: &Credential) -> String {
    match credential.kind {
        CredentialKind::Approver => return "approvals".to_owned(),
        CredentialKind::Dialog => return "a client's dialogs".to_owned(),
        CredentialKind::Bearer => {}
    }
    let Some(scopes) = TokenScopes::read(&credential.scopes) else {
        return "nothing: its scopes cannot be read".to_owned();
    };
    let mut said = match &scopes.toolsets {
        None => "all toolsets".to_owned(),
        Some(sets) => sets.join(", "),
    };
    said.push_str(&format!(" ({}", scopes.trust.as_str()));
    if let Some(limit) = scopes.session_limit {
        said.push_str(&format!(", {limit} units a session"));
    }
    said + ")"
}
