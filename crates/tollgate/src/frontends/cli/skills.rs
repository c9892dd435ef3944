//! `tollgate skills`.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tollgate_engine::{Skills, Standing, policy::Policies};

use super::{
    Exit, Scene, Stop,
    console::{Paint, visible_lines},
    terminal,
};
use crate::{
    skills::{Book, Found, read_file, read_folder, shipped},
    wire,
};

#[derive(Debug, Args)]
pub(crate) struct SkillCommand {
    #[command(subcommand)]
    action: SkillAction,
}

#[derive(Debug, Subcommand)]
enum SkillAction {
    /// Every skill, whether it can be used, and why not
    List,
    /// Everything about one skill, and its guide
    Show {
        /// The skill
        name: String,
    },
    /// Turn a skill on, at a terminal or with an approver token
    Enable {
        /// The skill
        name: String,
        /// An approver token instead of a terminal; - reads it from standard input
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
    },
    /// Turn a skill off: its runs are refused, and what only it allows is hidden
    Disable {
        /// The skill
        name: String,
    },
    /// Check manifests and guides
    Lint {
        /// Files or folders; without any, those in use
        paths: Vec<PathBuf>,
    },
}

pub(super) async fn run(command: &SkillCommand, scene: &Scene<'_>) -> Result<Exit, Stop> {
    match &command.action {
        SkillAction::List => list(scene).await,
        SkillAction::Show { name } => show(name, scene).await,
        SkillAction::Enable { name, token } => enable(name, token.as_deref(), scene).await,
        SkillAction::Disable { name } => disable(name, scene).await,
        SkillAction::Lint { paths } => lint(paths, scene).await,
    }
}

async fn standings(scene: &Scene<'_>) -> Result<std::sync::Arc<Skills>, Stop> {
    let wired = scene.wire().await?;
    let skills = wired.gateway.skills();
    wired.close().await;
    Ok(skills)
}

async fn list(scene: &Scene<'_>) -> Result<Exit, Stop> {
    let skills = standings(scene).await?;
    if scene.console.is_json() {
        scene.console.json(&json!({"skills": skills.all()}))?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = skills
        .all()
        .iter()
        .map(|standing| {
            let skill = &standing.skill;
            let state = if standing.enabled { "on" } else { "off" };
            let about = standing.reason.as_ref().unwrap_or(&skill.description);
            vec![
                skill.name.clone(),
                state.to_owned(),
                skill.allowed_run_types.join(" "),
                about.clone(),
            ]
        })
        .collect();
    let head = ["SKILL", "STATE", "RUNS", "ABOUT"];
    scene.console.painted_table(&head, &rows, |at| {
        let is_on = skills.all().get(at).is_some_and(|it| it.enabled);
        Some(if is_on { Paint::Good } else { Paint::Faint })
    })?;
    Ok(Exit::Ok)
}

fn find<'s>(skills: &'s Skills, name: &str) -> Result<&'s Standing, Stop> {
    skills.find(name).ok_or_else(|| {
        let known: Vec<&str> = skills
            .all()
            .iter()
            .map(|it| it.skill.name.as_str())
            .collect();
        Stop::usage(format!(
            "there is no skill `{name}`; there are {}",
            known.join(", ")
        ))
    })
}

async fn show(name: &str, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let skills = standings(scene).await?;
    let standing = find(&skills, name)?;
    let skill = &standing.skill;
    if scene.console.is_json() {
        let mut shown = serde_json::to_value(standing).unwrap_or_default();
        shown["guide"] = Value::from(skill.guide.as_str());
        scene.console.json(&shown)?;
        return Ok(Exit::Ok);
    }
    let state = match &standing.reason {
        None => "on".to_owned(),
        Some(reason) => format!("off: {reason}"),
    };
    for (name, value) in [
        ("skill", skill.name.clone()),
        ("state", state),
        ("about", skill.description.clone()),
        ("tools", skill.required_tools.join(", ")),
        ("runs", skill.allowed_run_types.join(", ")),
        ("templates", skill.templates.join(", ")),
        ("risk", skill.risk_policy.clone()),
        ("file", skill.source.clone()),
    ] {
        scene
            .console
            .line(&visible_lines(&format!("{name:<10} {value}")))?;
    }
    scene
        .console
        .line(&format!("\n{}", visible_lines(skill.guide.trim_end())))?;
    Ok(Exit::Ok)
}

/// Turning on widens what agents may do, so a human has to be here.
async fn enable(name: &str, token: Option<&str>, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let skills = wired.gateway.skills();
    let standing = find(&skills, name)?;
    let shown = format!(
        "\nTURN THE SKILL ON\n  skill      {}\n  tools      {}\n  runs       {}\n",
        standing.skill.name,
        standing.skill.required_tools.join(", "),
        standing.skill.allowed_run_types.join(", "),
    );
    let by = terminal::establish(token, &visible_lines(&shown), &wired.gateway, scene).await?;
    Book::new(&scene.config).turn(name, None)?;
    wired.gateway.note_skill(name, true, &by).await?;
    wired.close().await;
    let skills = standings(scene).await?;
    if let Some(standing) = skills.find(name) {
        return said(standing, scene);
    }
    let reason = "its manifest is gone, so there is nothing to turn on";
    if scene.console.is_json() {
        let gone = json!({"skill_name": name, "enabled": false, "reason": reason});
        scene.console.json(&gone)?;
    } else {
        let line = format!("`{name}` is turned off no more; {reason}");
        scene.console.line(&line)?;
    }
    Ok(Exit::Ok)
}

/// Turning off narrows, which needs nobody's consent.
async fn disable(name: &str, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let skills = wired.gateway.skills();
    let standing = find(&skills, name)?;
    Book::new(&scene.config).turn(name, Some(&standing.skill))?;
    let by = super::principal().to_string();
    wired.gateway.note_skill(name, false, &by).await?;
    wired.close().await;
    let skills = standings(scene).await?;
    said(find(&skills, name)?, scene)
}

fn said(standing: &Standing, scene: &Scene<'_>) -> Result<Exit, Stop> {
    if scene.console.is_json() {
        scene.console.json(standing)?;
        return Ok(Exit::Ok);
    }
    let name = &standing.skill.name;
    scene.console.line(&match &standing.reason {
        None => scene.console.paint(Paint::Good, &format!("`{name}` is on")),
        Some(reason) => format!("`{name}` is off: {reason}"),
    })?;
    Ok(Exit::Ok)
}

/// One thing that is wrong with a skill.
struct Fault {
    text: String,
    is_error: bool,
}

async fn lint(paths: &[PathBuf], scene: &Scene<'_>) -> Result<Exit, Stop> {
    let found = candidates(paths, scene)?;
    let catalog = wire::listed(&scene.config, &scene.environment).await?;
    let has_tool = |pattern: &str| {
        let stem = pattern.strip_suffix('*');
        catalog.listings().any(|listing| {
            let name = listing.spec.name.as_str();
            stem.map_or(name == pattern, |stem| name.starts_with(stem))
        })
    };
    let shelf = wire::library(&scene.config).shelf();
    let has_template = |id: &str| !shelf.versions(id).is_empty();
    let mut faults = Vec::new();
    for one in &found {
        faults.extend(wrong_with(one, scene, (&has_tool, &has_template))?);
    }
    let errors = faults.iter().filter(|fault| fault.is_error).count();
    if scene.console.is_json() {
        let told = |is_error: bool| -> Vec<&str> {
            let of = faults.iter().filter(|fault| fault.is_error == is_error);
            of.map(|fault| fault.text.as_str()).collect()
        };
        let told = json!({"files": found.len(), "errors": told(true), "warnings": told(false)});
        scene.console.json(&told)?;
    } else {
        for fault in &faults {
            let (paint, word) = match fault.is_error {
                true => (Paint::Bad, "error"),
                false => (Paint::Warn, "warning"),
            };
            let word = scene.console.paint(paint, word);
            scene
                .console
                .line(&format!("{word}: {}", visible_lines(&fault.text)))?;
        }
        let count = found.len();
        scene
            .console
            .line(&format!("{count} skill(s), {errors} error(s)"))?;
    }
    Ok(if errors == 0 {
        Exit::Ok
    } else {
        Exit::ToolError
    })
}

fn candidates(paths: &[PathBuf], scene: &Scene<'_>) -> Result<Vec<Found>, Stop> {
    if paths.is_empty() {
        let own = scene.config.skills.folders.iter();
        let own = own.flat_map(|folder| read_folder(folder));
        return Ok(shipped().into_iter().chain(own).collect());
    }
    let mut found = Vec::new();
    for path in paths {
        let path: &Path = &scene.environment.current_dir.join(path);
        if path.is_dir() {
            found.extend(read_folder(path));
        } else if path.is_file() {
            found.push(read_file(path));
        } else {
            return Err(Stop::usage(format!("there is no {}", path.display())));
        }
    }
    Ok(found)
}

/// Whether there is something of that name.
type Knows<'a> = &'a dyn Fn(&str) -> bool;

fn wrong_with(
    found: &Found,
    scene: &Scene<'_>,
    (has_tool, has_template): (Knows<'_>, Knows<'_>),
) -> Result<Vec<Fault>, Stop> {
    let error = |text: String| Fault {
        text,
        is_error: true,
    };
    let warning = |text: String| Fault {
        text,
        is_error: false,
    };
    let manifest = match &found.manifest {
        Ok(manifest) => manifest,
        Err(problems) => {
            return Ok(problems.iter().map(|it| error(it.to_string())).collect());
        }
    };
    let file = &found.source;
    let mut faults = Vec::new();
    if manifest.name != found.stem {
        let name = &manifest.name;
        faults.push(error(format!(
            "{file}: the file of `{name}` is not called {name}.yaml"
        )));
    }
    let named = manifest.templates.iter().chain(&manifest.allowed_run_types);
    for id in named.collect::<BTreeSet<_>>() {
        if !has_template(id) {
            faults.push(warning(format!("{file}: there is no template `{id}`")));
        }
    }
    match &found.guide {
        None => faults.push(warning(format!(
            "{file}: there is no {}/SKILL.md",
            found.stem
        ))),
        Some(guide) => {
            let named = format!("name: {}", manifest.name);
            let has_front = guide.lines().next() == Some("---");
            if !has_front || !guide.lines().any(|line| line.trim() == named) {
                let message =
                    format!("{file}: its SKILL.md does not begin with `{named}` between two `---`");
                faults.push(error(message));
            }
        }
    }
    if let Some(text) = manifest.rules() {
        let mut sources = wire::policy_sources(&scene.config)?;
        let mentions = text.contains("context.skill");
        sources.push(tollgate_engine::policy::Source {
            name: file.clone(),
            text,
            origin: tollgate_engine::policy::Origin::Restricting,
        });
        if let Err(problems) = Policies::compile(sources) {
            faults.extend(
                problems
                    .iter()
                    .map(|it| error(format!("risk_policy: {it}"))),
            );
        } else if !mentions {
            let message = format!(
                "{file}: its rules do not look at `context.skill`, so they hold for every call"
            );
            faults.push(warning(message));
        }
    }
    for tool in manifest
        .required_tools
        .iter()
        .filter(|tool| !has_tool(tool))
    {
        faults.push(warning(format!(
            "{file}: there is no tool `{tool}` now; the skill is off"
        )));
    }
    Ok(faults)
}
