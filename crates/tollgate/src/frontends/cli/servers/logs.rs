//! `tollgate mcp logs`: what servers said beside the protocol, whichever process ran them.

use serde_json::json;

use super::{
    super::{
        Exit, Scene, Stop,
        console::{Paint, visible},
    },
    known,
};
use crate::upstream::{
    self,
    words::{Word, Words},
};

pub(super) fn run(server: Option<&str>, lines: usize, scene: &Scene<'_>) -> Result<Exit, Stop> {
    if let Some(server) = server {
        known(server, scene)?;
    }
    let words = Words::new(upstream::folder(&scene.config));
    let configured = scene.config.mcp.servers.iter().map(|one| one.name.as_str());
    let wanted = configured.filter(|name| server.is_none_or(|server| server == *name));
    let mut all = Vec::new();
    for name in wanted {
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
