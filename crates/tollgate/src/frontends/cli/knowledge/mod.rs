//! `tollgate knowledge`: what the author of a knowledge base needs.
//!
//! Everything here reads files and, for `stats` and `graph --walked`, what was recorded;
//! nothing calls a tool, so an author needs no running gate.

pub(super) mod arguments;
mod draw;
mod golden;
mod lint;
mod new;
mod recorded;
mod stats;
mod walk;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;
use tollgate_knowledge::{Base, ImportFormat, Library, Limits, Problem, import, load, schema};

use super::{Exit, Scene, Stop, console::Paint};
use arguments::{Chart, Import, Knowledge, KnowledgeAction};

pub(super) async fn run(knowledge: &Knowledge, scene: &Scene<'_>) -> Result<Exit, Stop> {
    match &knowledge.action {
        KnowledgeAction::New(it) => new::run(it, scene),
        KnowledgeAction::Lint(it) => lint::run(it, scene),
        KnowledgeAction::Graph(it) => draw::run(it, scene).await,
        KnowledgeAction::Try(it) => walk::run(it, scene),
        KnowledgeAction::Test(it) => golden::run(it, scene),
        KnowledgeAction::Import(it) => imported(it, scene),
        KnowledgeAction::Stats(it) => stats::run(it, scene).await,
        KnowledgeAction::Schema => {
            let text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
            if scene.console.is_json() {
                scene.console.json(&schema())?;
            } else {
                scene.console.line(&text)?;
            }
            Ok(Exit::Ok)
        }
    }
}

/// The bases that were named, else those of the configuration.
fn paths(named: &[PathBuf], scene: &Scene<'_>) -> Result<Vec<PathBuf>, Stop> {
    let configured = &scene.config.knowledge.paths;
    if named.is_empty() {
        if configured.is_empty() {
            return Err(Stop::usage(
                "no knowledge base is named, and `[knowledge] paths` names none either",
            ));
        }
        return Ok(configured.clone());
    }
    let path = |named: &PathBuf| {
        let path = scene.environment.current_dir.join(named);
        let known = configured
            .iter()
            .find(|known| known.file_stem() == Some(named.as_os_str()));
        match known {
            Some(known) if !path.exists() => known.clone(),
            Some(_) | None => path,
        }
    };
    Ok(named.iter().map(path).collect())
}

/// The path as people write it: from where they are.
fn shown(path: &Path, scene: &Scene<'_>) -> PathBuf {
    let below = path.strip_prefix(&scene.environment.current_dir);
    below.map_or_else(|_| path.to_owned(), Path::to_owned)
}

/// Reads one base, named as people write it.
fn loaded(path: &Path, scene: &Scene<'_>) -> Result<Base, Vec<Problem>> {
    load(&shown(path, scene), Limits::default()).0
}

/// Reads all of them; a base that cannot be read stops the command.
fn library(paths: &[PathBuf], scene: &Scene<'_>) -> Result<Library, Stop> {
    let mut bases: Vec<Arc<Base>> = Vec::new();
    for path in paths {
        let base = loaded(path, scene).map_err(|problems| unreadable(&problems))?;
        if bases.iter().any(|known| known.id() == base.id()) {
            let message = format!("two knowledge bases are called `{}`", base.id());
            return Err(Stop::failed(message));
        }
        bases.push(Arc::new(base));
    }
    Ok(Library::new(bases))
}

fn unreadable(problems: &[Problem]) -> Stop {
    Stop {
        exit: Exit::ToolError,
        lines: problems.iter().map(ToString::to_string).collect(),
    }
}

/// Writes a text to a file, or prints it.
fn give(text: &str, out: Option<&PathBuf>, scene: &Scene<'_>) -> Result<(), Stop> {
    let Some(out) = out else {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        return Ok(stdout.flush()?);
    };
    let path = scene.environment.current_dir.join(out);
    fs::write(&path, text).map_err(|error| Stop::failed(format!("{}: {error}", out.display())))
}

/// `import`: a drawing or a sheet into a draft.
fn imported(it: &Import, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let path = scene.environment.current_dir.join(&it.file);
    let format = match it.format {
        Some(Chart::Dot) => ImportFormat::Dot,
        Some(Chart::Mermaid) => ImportFormat::Mermaid,
        Some(Chart::Csv) => ImportFormat::Csv,
        Some(Chart::Workbook) => ImportFormat::Workbook,
        None => ImportFormat::of(&path).ok_or_else(|| {
            Stop::usage("this name says no format; add --format dot, mermaid, csv or workbook")
        })?,
    };
    let wrong = |error: std::io::Error| Stop::failed(format!("{}: {error}", it.file.display()));
    let limit = Limits::default().file_bytes;
    if fs::metadata(&path).map_err(wrong)?.len() > limit {
        let message = format!("{}: at most {limit} bytes are read", it.file.display());
        return Err(Stop::failed(message));
    }
    let bytes = fs::read(&path).map_err(wrong)?;
    let name = it.file.display().to_string();
    let draft = import(&name, bytes, format).map_err(|problems| unreadable(&problems))?;
    if let Some(out) = &it.out
        && !it.force
        && scene.environment.current_dir.join(out).exists()
    {
        let message = format!("{} is there already; --force writes over it", out.display());
        return Err(Stop::usage(message));
    }
    if scene.console.is_json() {
        if it.out.is_some() {
            give(&draft.text, it.out.as_ref(), scene)?;
        }
        scene.console.json(&json!({
            "nodes": draft.nodes, "options": draft.options, "out": it.out, "text": draft.text,
        }))?;
        return Ok(Exit::Ok);
    }
    give(&draft.text, it.out.as_ref(), scene)?;
    let made = format!("{} node(s), {} option(s)", draft.nodes, draft.options);
    let made = scene.console.paint_note(Paint::Faint, &made);
    match &it.out {
        Some(out) => {
            let out = out.display();
            scene.console.note(&format!(
                "{out}: {made}; next: tollgate knowledge lint {out}"
            ));
        }
        None => scene.console.note(&made),
    }
    Ok(Exit::Ok)
}
