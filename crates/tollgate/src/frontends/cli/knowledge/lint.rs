//! `tollgate knowledge lint`.

use serde_json::{Value, json};
use tollgate_knowledge::{Base, Problem, Severity, lint};

use super::{arguments::Lint, loaded, paths, shown};
use crate::frontends::cli::{
    Exit, Scene, Stop,
    console::{Paint, visible},
};

pub(super) fn run(it: &Lint, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let mut reports = Vec::new();
    for path in paths(&it.bases, scene)? {
        let (base, problems) = match loaded(&path, scene) {
            Ok(base) => {
                let problems = lint(&base);
                (Some(base), problems)
            }
            Err(problems) => (None, problems),
        };
        reports.push((shown(&path, scene), base, problems));
    }
    let all = || reports.iter().flat_map(|(_, _, problems)| problems);
    let errors = all()
        .filter(|one| one.severity != Severity::Warning)
        .count();
    let warnings = all().count() - errors;
    if scene.console.is_json() {
        let bases: Vec<Value> = reports
            .iter()
            .map(|(path, base, problems)| {
                json!({
                    "path": path,
                    "loads": base.is_some(),
                    "id": base.as_ref().map(Base::id),
                    "version": base.as_ref().map(Base::version),
                    "nodes": base.as_ref().map(Base::node_count),
                    "problems": problems,
                })
            })
            .collect();
        let report = json!({"bases": bases, "errors": errors, "warnings": warnings});
        scene.console.json(&report)?;
    } else {
        for (path, base, problems) in &reports {
            for problem in problems {
                scene.console.line(&line(problem, scene))?;
            }
            let state = match base {
                Some(base) => {
                    let languages = base.languages().iter().filter(|name| !name.is_empty());
                    let languages: Vec<&str> = languages.map(String::as_str).collect();
                    let (nodes, version) = (base.node_count(), base.version());
                    let spoken = if languages.is_empty() {
                        "-".to_owned()
                    } else {
                        languages.join(", ")
                    };
                    format!(
                        "`{}`, {nodes} nodes, languages {spoken}, version {version}",
                        visible(base.id())
                    )
                }
                None => "cannot be loaded".to_owned(),
            };
            let paint = match (base, problems.is_empty()) {
                (None, _) => Paint::Bad,
                (Some(_), true) => Paint::Good,
                (Some(_), false) => Paint::Warn,
            };
            let path = scene.console.paint(paint, &path.display().to_string());
            scene.console.line(&format!("{path}: {state}"))?;
        }
        let counted = format!("{errors} error(s), {warnings} warning(s)");
        scene.console.line(&counted)?;
    }
    let is_bad = errors > 0 || (it.strict && warnings > 0);
    Ok(if is_bad { Exit::ToolError } else { Exit::Ok })
}

fn line(problem: &Problem, scene: &Scene<'_>) -> String {
    let paint = match problem.severity {
        Severity::Fatal | Severity::Error => Paint::Bad,
        Severity::Warning => Paint::Warn,
    };
    let word = format!("{}[{}]", problem.severity.as_str(), problem.code);
    let painted = scene.console.paint(paint, &word);
    visible(&problem.to_string()).replacen(&word, &painted, 1)
}
