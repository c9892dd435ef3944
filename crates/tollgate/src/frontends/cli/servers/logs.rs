//! `tollgate servers logs`: what servers said beside the protocol, whichever process ran them.

use std::time::Duration;

use serde_json::json;

use super::{
    super::{
        Exit, Scene, Stop,
        console::{Paint, visible},
    },
    known,
};
use crate::{
    frontends::signal,
    upstream::{
        self,
        words::{Mark, Word, Words},
    },
};

/// How often new lines are looked for.
const LOOK: Duration = Duration::from_millis(200);

/// The servers whose lines are wanted.
fn wanted<'s>(server: Option<&str>, scene: &'s Scene<'_>) -> Result<Vec<&'s str>, Stop> {
    if let Some(server) = server {
        known(server, scene)?;
    }
    let configured = scene.config.mcp.servers.iter().map(|one| one.name.as_str());
    let wanted = configured.filter(|name| server.is_none_or(|server| server == *name));
    Ok(wanted.collect())
}

/// Shows the last lines and then every new one, for programs a document for each.
pub(super) async fn follow(
    server: Option<&str>,
    lines: usize,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    let words = Words::new(upstream::folder(&scene.config));
    let names = wanted(server, scene)?;
    let mut marks: Vec<(&str, Mark)> = names.iter().map(|name| (*name, Mark::default())).collect();
    let mut most = lines;
    let stopped = signal::stopped();
    tokio::pin!(stopped);
    loop {
        for (name, mark) in &mut marks {
            let new = words.since(name, mark)?;
            for word in &new[new.len().saturating_sub(most)..] {
                if scene.console.is_json() {
                    let text = visible(&word.text);
                    let line = json!({"server": name, "at": word.at, "process": word.process, "text": text});
                    scene.console.json(&line)?;
                    continue;
                }
                let line = shown(word, scene);
                let line = match server {
                    Some(_) => line,
                    None => format!("{} {line}", scene.console.paint(Paint::Strong, name)),
                };
                scene.console.line(&line)?;
            }
        }
        most = usize::MAX;
        tokio::select! {
            () = &mut stopped => return Ok(Exit::Ok),
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

pub(super) fn run(server: Option<&str>, lines: usize, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let words = Words::new(upstream::folder(&scene.config));
    let mut all = Vec::new();
    for name in wanted(server, scene)? {
        all.push((name, words.last(name, lines)?));
    }
    if scene.console.is_json() {
        let all: Vec<_> = all
            .iter()
            .map(|(name, lines)| json!({"name": name, "lines": lines}))
            .collect();
        scene.console.json(&json!({"servers": all}))?;
        return Ok(Exit::Ok);
    }
    for (name, lines) in &all {
        if server.is_none() {
            let head = scene.console.paint(Paint::Strong, name);
            scene.console.line(&head)?;
        }
        if lines.is_empty() {
            scene
                .console
                .line("nothing was said, or it was never started")?;
        }
        for word in lines {
            scene.console.line(&shown(word, scene))?;
        }
    }
    Ok(Exit::Ok)
}

/// A line for people; what happened to a server stands out from what it said.
fn shown(word: &Word, scene: &Scene<'_>) -> String {
    let (at, text) = (&word.at, visible(&word.text));
    match word.process {
        Some(process) => format!("{at} {process} {text}"),
        None => format!("{at} {}", scene.console.paint(Paint::Warn, &text)),
    }
}
