//! `tollgate runs templates`: what can be run, whether a file is right, and what it looks like.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tollgate_engine::runs::{check_template, may_be_step};
use tollgate_runs::{Problem, Shelf, StepKind, Template};

use super::{Exit, Scene, Stop, console::Paint};
use crate::{templates::BUILT_IN, wire};

#[derive(Debug, Args)]
pub(crate) struct Templates {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the templates that can be run
    List,
    /// Check template files: their form, their steps, and whether their tools exist
    Lint {
        /// The files; those the configuration names, if none is given
        files: Vec<PathBuf>,
    },
    /// Show one template as its file says
    Show {
        /// The template
        id: String,
    },
    /// Draw the steps of a template, in the words of Mermaid
    Graph {
        /// The template
        id: String,
    },
}

pub(super) async fn run(templates: &Templates, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let library = wire::library(&scene.config);
    let shelf = library.shelf();
    match &templates.action {
        Action::List => list(&shelf, scene),
        Action::Lint { files } if files.is_empty() => lint(&shelf, scene).await,
        Action::Lint { files } => {
            let mut own = Shelf::checked_by(check_template);
            for file in files {
                let path = scene.environment.current_dir.join(file);
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| Stop::usage(format!("{}: {error}", file.display())))?;
                own.add(&file.display().to_string(), &text);
            }
            lint(&own, scene).await
        }
        Action::Show { id } => {
            let template = find(&shelf, id)?;
            if scene.console.is_json() {
                scene.console.json(&shown(template))?;
            } else {
                scene.console.line(template.source.trim_end())?;
            }
            Ok(Exit::Ok)
        }
        Action::Graph { id } => {
            let drawn = tollgate_runs::mermaid(find(&shelf, id)?);
            if scene.console.is_json() {
                scene.console.json(&json!({"mermaid": drawn}))?;
            } else {
                scene.console.line(drawn.trim_end())?;
            }
            Ok(Exit::Ok)
        }
    }
}

fn find<'s>(shelf: &'s Shelf, id: &str) -> Result<&'s Template, Stop> {
    let found = shelf.find(id, None).map(AsRef::as_ref);
    found.ok_or_else(|| {
        let known: Vec<&str> = shelf.all().map(|template| template.id.as_str()).collect();
        Stop::usage(format!(
            "there is no template `{id}`; there are {}",
            known.join(", ")
        ))
    })
}

fn shown(template: &Template) -> Value {
    let steps: Vec<Value> = template
        .calls()
        .map(|(name, call)| json!({"id": name, "tool": call.tool}))
        .collect();
    json!({
        "templateId": template.id,
        "version": template.version,
        "name": template.name,
        "description": template.description,
        "digest": template.digest,
        "trustLevelSupport": template.trust,
        "supportsPartialSuccess": template.supports_partial_success,
        "maxTimeoutMs": template.max_timeout_ms,
        "limits": template.limits,
        "inputsSchema": template.inputs_schema,
        "outputsSchema": template.outputs_schema,
        "steps": steps,
    })
}

fn list(shelf: &Shelf, scene: &Scene<'_>) -> Result<Exit, Stop> {
    if scene.console.is_json() {
        let all: Vec<Value> = shelf.all().map(|template| shown(template)).collect();
        scene.console.json(&json!({"templates": all}))?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = shelf
        .all()
        .map(|template| {
            vec![
                template.id.clone(),
                template.version.clone(),
                template.trust.join(","),
                steps(template),
                template.name.clone(),
            ]
        })
        .collect();
    scene
        .console
        .table(&["TEMPLATE", "VERSION", "TRUST", "STEPS", "NAME"], &rows)?;
    for problem in &shelf.problems {
        scene.console.note(&problem.to_string());
    }
    Ok(Exit::Ok)
}

fn steps(template: &Template) -> String {
    let names = template.steps.iter().map(|step| match &step.kind {
        StepKind::Call(_) => step.id.clone(),
        StepKind::Group(_) => format!("{}[]", step.id),
    });
    names.collect::<Vec<_>>().join(" > ")
}

/// Problems of form first; then whether what a template calls is there. One of our own whose
/// tools an operator has not turned on is none.
async fn lint(shelf: &Shelf, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let catalog = wire::listed(&scene.config, &scene.environment).await?;
    let mut missing = Vec::new();
    let is_ours = |template: &Template| BUILT_IN.iter().any(|ours| ours.text == template.source);
    for template in shelf.all().filter(|template| !is_ours(template)) {
        for (step, call) in template.calls() {
            let why = match catalog.find(&call.tool) {
                None => "which is not offered here",
                Some(known) if !may_be_step(known.spec.name.as_str()) => {
                    "which makes calls of its own"
                }
                Some(_) => continue,
            };
            let problem = Problem {
                file: template.file.clone(),
                place: call.place,
                message: format!("step `{step}` calls `{}`, {why}", call.tool),
            };
            missing.push(problem.to_string());
        }
    }
    let problems: Vec<String> = shelf.problems.iter().map(Problem::to_string).collect();
    let is_good = problems.is_empty() && missing.is_empty();
    if scene.console.is_json() {
        scene.console.json(&json!({
            "files": shelf.files,
            "templates": shelf.all().count(),
            "problems": problems,
            "missing_tools": missing,
        }))?;
    } else {
        for line in problems.iter().chain(&missing) {
            scene.console.line(line)?;
        }
        let (paint, word) = if is_good {
            (Paint::Good, "no problem")
        } else {
            (Paint::Bad, "problems")
        };
        let count = problems.len() + missing.len();
        let said = if is_good {
            word.to_owned()
        } else {
            format!("{count} {word}")
        };
        scene.console.line(&format!(
            "{} in {} file(s)",
            scene.console.paint(paint, &said),
            shelf.files
        ))?;
    }
    Ok(if is_good { Exit::Ok } else { Exit::ToolError })
}
