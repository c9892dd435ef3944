//! `tollgate policy explain`.

use serde_json::json;
use tollgate_core::{Surface, TrustLevel};
use tollgate_engine::policy::{Action, Consent, Decision, Question};

use super::{Exit, Scene, Stop, arguments::Explain, call, console::Paint, principal};

pub(super) async fn run(args: &Explain, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let arguments = call::read_arguments(&args.args, scene)?;
    let wired = scene.wire().await?;
    wired.gateway.look_for(&args.tool).await;
    let catalog = wired.gateway.catalog();
    let Some(listing) = catalog.find(&args.tool) else {
        return Err(unknown(&args.tool, &catalog.nearest(&args.tool, 5)));
    };
    let spec = &listing.spec;
    let arguments = spec.telling.respelled(arguments);
    let empty = serde_json::Map::new();
    let fields = arguments.value().as_object().unwrap_or(&empty);
    let capability = spec.capability_with(fields);
    let principal = principal();
    let session = wired
        .gateway
        .store()
        .session(&scene.caller().session)
        .await?;
    let question = Question {
        principal: &principal,
        action: Action::Call,
        tool: spec,
        capability,
        consent: Consent::None,
        trust: TrustLevel::Local,
        surface: Surface::Cli,
        profile: scene
            .profile
            .as_deref()
            .or(scene.config.discovery.profile.as_deref()),
        skill: None,
        session: &scene.session,
        budget_left: session.and_then(|session| session.remaining()),
        estimate: spec.cost.estimate(fields),
        tainted: false,
        arguments: &arguments,
    };
    let explanation = wired.gateway.policies().explain(&question);
    wired.close().await;
    let verdict = &explanation.verdict;
    let (word, exit) = match verdict.decision {
        Decision::Allow => ("allowed", Exit::Ok),
        Decision::NeedsConsent(Consent::Human) => ("needs a human's consent", Exit::ConsentNeeded),
        Decision::NeedsConsent(_) => ("needs consent to its cost (--yes)", Exit::ConsentNeeded),
        Decision::Deny => ("denied", Exit::Denied),
        Decision::Error => ("denied: a rule could not be evaluated", Exit::Denied),
    };
    if scene.console.is_json() {
        scene.console.json(&json!({
            "tool": spec.name.as_str(), "capability": capability.as_str(), "decision": word,
            "rule": verdict.rule, "rules": verdict.rules, "errors": verdict.errors,
            "explanation": explanation.to_string(),
        }))?;
    } else {
        let console = scene.console;
        console.line(&format!(
            "{} {}, {}",
            console.paint(Paint::Strong, spec.name.as_str()),
            word,
            capability.described()
        ))?;
        console.line(explanation.to_string().trim_end())?;
    }
    Ok(exit)
}

/// There is no such tool: which ones are near, and where a tool may be that is not there.
fn unknown(tool: &str, nearest: &[String]) -> Stop {
    let mut lines = vec![format!("there is no tool `{tool}`")];
    if !nearest.is_empty() {
        lines.push(format!("nearest: {}", nearest.join(", ")));
    }
    lines.push(
        "`tollgate tools search WORDS` finds tools; a pack that is switched off (`[packs]`) has none"
            .to_owned(),
    );
    Stop {
        exit: Exit::Usage,
        lines,
    }
}
