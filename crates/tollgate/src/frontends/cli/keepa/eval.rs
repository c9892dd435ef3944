//! `tollgate keepa eval`: says which specs of a folder hold.

use serde_json::{Value, json};

use super::super::{Exit, Scene, Stop, console::Paint};
use crate::keepa::{EvaluateError, Verdict, evaluate};

pub(super) async fn run(
    folder: &str,
    samples: Option<&str>,
    prefix: &str,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    let base = &scene.environment.current_dir;
    let (folder, samples) = (base.join(folder), samples.map(|folder| base.join(folder)));
    let (config, environment) = (&scene.config, &scene.environment);
    let ran = evaluate(&folder, samples.as_deref(), prefix, config, environment).await;
    let verdicts = ran.map_err(|error| match error {
        EvaluateError::Specs(message) => Stop::usage(message),
        EvaluateError::Scratch(error) => error.into(),
        EvaluateError::Wire(error) => error.into(),
    })?;
    report(&verdicts, scene)
}

fn report(verdicts: &[Verdict], scene: &Scene<'_>) -> Result<Exit, Stop> {
    let console = scene.console;
    let passed = verdicts.iter().filter(|one| one.holds()).count();
    let failed = verdicts.iter().filter(|one| one.fails()).count();
    let left_out = verdicts.len() - passed - failed;
    if console.is_json() {
        let all: Vec<Value> = verdicts
            .iter()
            .map(|one| {
                json!({
                    "id": one.id,
                    "ok": one.failures.as_ref().map(Vec::is_empty),
                    "failures": one.failures,
                })
            })
            .collect();
        console.json(&json!({
            "ok": failed == 0, "passed": passed, "failed": failed, "left_out": left_out, "specs": all,
        }))?;
    } else {
        for one in verdicts {
            let (paint, word) = match &one.failures {
                None => (Paint::Faint, "left out"),
                Some(failures) if failures.is_empty() => (Paint::Good, "ok"),
                Some(_) => (Paint::Bad, "failed"),
            };
            console.line(&format!("{}  {}", console.paint(paint, word), one.id))?;
            for failure in one.failures.iter().flatten() {
                console.line(&format!("    {failure}"))?;
            }
        }
        console.line(&format!(
            "{passed} hold, {failed} do not, {left_out} left out"
        ))?;
    }
    Ok(if failed == 0 {
        Exit::Ok
    } else {
        Exit::ToolError
    })
}
