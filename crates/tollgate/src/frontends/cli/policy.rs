//! `tollgate policy`.

use serde_json::{Value, json};
use tollgate_engine::policy::{Source, Table};

use super::{
    Exit, Scene, Stop,
    arguments::{Policy, PolicyAction},
    console::Paint,
    explain,
};
use crate::wire;

pub(super) async fn run(policy: &Policy, scene: &Scene<'_>) -> Result<Exit, Stop> {
    match &policy.action {
        PolicyAction::Show => {
            let shipped = Source::shipped();
            if scene.console.is_json() {
                let policy = json!({"name": shipped.name, "text": shipped.text});
                scene.console.json(&policy)?;
            } else {
                scene.console.line(shipped.text.trim_end())?;
            }
            Ok(Exit::Ok)
        }
        PolicyAction::Check => {
            let policies = wire::policies(&scene.config)?;
            let files = scene.config.policy.len();
            if scene.console.is_json() {
                scene
                    .console
                    .json(&json!({"version": policies.version(), "files": files}))?;
            } else {
                scene.console.line(&format!(
                    "the shipped policy and {files} file(s) compile, version {}",
                    policies.version()
                ))?;
            }
            Ok(Exit::Ok)
        }
        PolicyAction::Test { table } => test(table, scene).await,
        PolicyAction::Explain(explained) => explain::run(explained, scene).await,
    }
}

async fn test(path: &std::path::Path, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let path = scene.environment.current_dir.join(path);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Stop::usage(format!("{}: {error}", path.display())))?;
    let table =
        Table::parse(&text).map_err(|error| Stop::usage(format!("{}: {error}", path.display())))?;
    let policies = wire::policies(&scene.config)?;
    let catalog = wire::listed(&scene.config, &scene.environment).await?;
    let results = table.run(&policies, |name| {
        catalog.find(name).map(|listing| (*listing.spec).clone())
    });
    let failed = results.iter().filter(|result| !result.passed()).count();
    if scene.console.is_json() {
        let all: Vec<Value> = results
            .iter()
            .map(|result| {
                json!({
                    "case": result.name, "line": result.line, "passed": result.passed(),
                    "problem": result.problem,
                })
            })
            .collect();
        scene
            .console
            .json(&json!({"cases": all, "failed": failed}))?;
    } else {
        for result in &results {
            let (paint, word) = if result.passed() {
                (Paint::Good, "pass")
            } else {
                (Paint::Bad, "FAIL")
            };
            let word = scene.console.paint(paint, word);
            scene.console.line(&format!(
                "{word}  {}  {}",
                result.name,
                result.problem.as_deref().unwrap_or_default()
            ))?;
        }
        let passed = results.len() - failed;
        scene
            .console
            .line(&format!("{passed} passed, {failed} failed"))?;
    }
    Ok(if failed == 0 {
        Exit::Ok
    } else {
        Exit::ToolError
    })
}
