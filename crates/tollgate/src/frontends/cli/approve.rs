//! `tollgate approvals`: consent a model cannot give itself.

use serde_json::{Value, json};
use tollgate_core::{
    Capability,
    store::{Approval, ApprovalFilter, ApprovalState},
};
use tollgate_engine::{Decided, can_be_granted_for_session};

use super::{
    Exit, Scene, Stop,
    arguments::{Approvals, ApprovalsAction, Approve, Deny, ListedApprovals},
    console::{Paint, visible, visible_lines},
    grants, terminal,
};
use crate::frontends::consent_text;

/// Characters of arguments in a table.
const EXCERPT: usize = 60;

pub(super) async fn run(approvals: &Approvals, scene: &Scene<'_>) -> Result<Exit, Stop> {
    match &approvals.action {
        None => list(&approvals.listed, scene).await,
        Some(ApprovalsAction::List(listed)) => list(listed, scene).await,
        Some(ApprovalsAction::Approve(approve)) => {
            decide(
                &approve.id,
                &decision(approve),
                approve.token.as_deref(),
                scene,
            )
            .await
        }
        Some(ApprovalsAction::Deny(Deny { id, token })) => {
            decide(id, &Decided::Denied, token.as_deref(), scene).await
        }
        Some(ApprovalsAction::Grants) => grants::run(None, scene).await,
        Some(ApprovalsAction::Revoke { tool }) => grants::run(Some(tool), scene).await,
    }
}

/// What the options of `approvals approve` decide.
fn decision(approve: &Approve) -> Decided {
    match (approve.for_session, &approve.site) {
        (true, Some(site)) => Decided::SiteForSession(site.to_ascii_lowercase()),
        (true, None) => Decided::ToolForSession,
        (false, _) => Decided::Once,
    }
}

async fn list(args: &ListedApprovals, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let filter = ApprovalFilter {
        state: (!args.all).then_some(ApprovalState::Pending),
        limit: 200,
    };
    let mut approvals = wired.gateway.store().approvals(&filter).await?;
    let now = wired.gateway.clock().now();
    wired.close().await;
    if !args.all {
        approvals.retain(|approval| approval.in_time(now));
    }
    if scene.console.is_json() {
        scene.console.json(&json!({"approvals": approvals}))?;
        return Ok(Exit::Ok);
    }
    if approvals.is_empty() {
        scene.console.note("nothing waits for consent");
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = approvals
        .iter()
        .map(|approval| {
            let state = if approval.in_time(now) {
                approval.state.as_str()
            } else {
                "ended"
            };
            vec![
                approval.id.clone(),
                state.to_owned(),
                approval.tool.clone(),
                approval.session.handle.clone(),
                approval.expires.to_string(),
                excerpt(approval),
            ]
        })
        .collect();
    let head = ["APPROVAL", "STATE", "TOOL", "SESSION", "ENDS", "ARGUMENTS"];
    scene.console.table(&head, &rows)?;
    Ok(Exit::Ok)
}

async fn decide(
    id: &str,
    decided: &Decided,
    token: Option<&str>,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let gateway = &wired.gateway;
    let Some(approval) = gateway.store().approval(id).await? else {
        return Err(Stop::usage(format!(
            "there is no approval `{id}`; `tollgate approvals list` shows those that wait"
        )));
    };
    if approval.state != ApprovalState::Pending || !approval.in_time(gateway.clock().now()) {
        let state = approval.state.as_str();
        return Err(Stop::usage(format!(
            "`{id}` is no longer open ({state}, or its time is over)"
        )));
    }
    let for_session = !matches!(decided, Decided::Once | Decided::Denied);
    if for_session && !can_be_granted_for_session(&approval) {
        return Err(Stop::usage(format!(
            "this call of `{}` has to be agreed to call by call; leave `--for-session` out",
            approval.tool
        )));
    }
    let by = terminal::establish(token, &shown(&approval, decided), gateway, scene).await?;
    gateway.decide(&approval, decided, &by).await?;
    wired.close().await;
    if scene.console.is_json() {
        let granted = *decided != Decided::Denied;
        scene
            .console
            .json(&json!({"approval_id": approval.id, "granted": granted, "by": by}))?;
    } else {
        let console = scene.console;
        let run = approval.preview.get("run").and_then(Value::as_str);
        let said = match decided {
            Decided::Once if run.is_some() => {
                console.paint(Paint::Good, "approved once; the run goes on")
            }
            Decided::Once => console.paint(Paint::Good, "approved once; repeat the call"),
            Decided::ToolForSession => console.paint(Paint::Good, "approved for this session"),
            Decided::SiteForSession(site) => {
                console.paint(Paint::Good, &format!("approved for {site} in this session"))
            }
            Decided::Denied => console.paint(Paint::Warn, "refused"),
        };
        console.line(&said)?;
        if let Some(run) = run {
            console.note(&format!("tollgate runs watch {run}"));
        }
    }
    Ok(Exit::Ok)
}

/// What the human reads before typing the code.
fn shown(approval: &Approval, decided: &Decided) -> String {
    let what = match decided {
        Decided::Once => "ALLOW ONCE".to_owned(),
        Decided::ToolForSession => "ALLOW EVERY CALL OF THIS TOOL IN THIS SESSION".to_owned(),
        Decided::SiteForSession(site) => {
            format!("ALLOW EVERY CALL OF THIS TOOL TO {}", visible(site))
        }
        Decided::Denied => "REFUSE".to_owned(),
    };
    let field = |name: &str| {
        let value = approval.preview.get(name);
        let text = value.map(|value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        });
        visible(&text.unwrap_or_default())
    };
    format!(
        "\n{what}\n  tool       {}\n  can        {}\n  session    {} of {}\n  rule       {}\n  arguments  {}\n",
        approval.tool,
        capability(approval),
        visible(&approval.session.handle),
        visible(approval.session.principal.as_str()),
        field("rule"),
        visible(&arguments(approval)),
    ) + &run_of(approval)
        + &listed(consent_text::plan(&approval.preview))
        + &effect(approval)
        + &code(approval)
        + &listed(consent_text::changes(&approval.preview))
}

/// What the call can do, with the level's meaning.
fn capability(approval: &Approval) -> String {
    let level = approval.preview.get("capability").cloned();
    let level = level.and_then(|level| serde_json::from_value(level).ok());
    level.map_or(String::new(), |level: Capability| {
        level.described().to_owned()
    })
}

/// The run whose step it is.
fn run_of(approval: &Approval) -> String {
    let text = |name: &str| {
        let value = approval.preview.get(name);
        value.and_then(Value::as_str).map(visible)
    };
    match (text("run"), text("run_step")) {
        (Some(run), Some(step)) => format!("  run        {run}, step {step}\n"),
        (_, _) => String::new(),
    }
}

/// What the call would do, by its provider's account.
fn effect(approval: &Approval) -> String {
    let preview = &approval.preview;
    let Some(effect) = preview.get("effect").and_then(Value::as_str) else {
        return String::new();
    };
    let mut text = String::from("\nWHAT IT WOULD DO\n");
    for line in visible_lines(&consent_text::marked(effect)).lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text + &listed(consent_text::effect_changes(preview))
}

/// The code that would run, line by line.
fn code(approval: &Approval) -> String {
    let mut text = String::new();
    for (head, lines) in consent_text::code(&approval.preview) {
        text.push_str(&format!("\n{}\n", visible(&head.to_uppercase())));
        for line in visible_lines(&lines).lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

fn listed(lines: Vec<(&'static str, String)>) -> String {
    let line = |(name, text): (&str, String)| format!("  {name:<10} {}\n", visible(&text));
    lines.into_iter().map(line).collect()
}

fn arguments(approval: &Approval) -> String {
    let shown = approval.preview.get("arguments");
    shown.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The beginning of the arguments, for a table; whatever is not seen there is said.
fn excerpt(approval: &Approval) -> String {
    let all = arguments(approval);
    let mut text: String = all.chars().take(EXCERPT).collect();
    let more = all.chars().count().saturating_sub(EXCERPT);
    if more > 0 {
        text.push_str(&format!("… {more} more"));
    }
    if approval.preview.get("cleaned") == Some(&Value::Bool(true)) {
        text.push_str(" (cleaned)");
    }
    text
}
