//! `tollgate servers restart`: asks every process that runs a server to start it again.

use serde_json::json;
use tollgate_providers::upstream::{self, Restarted};

use super::{
    super::{Exit, Scene, Stop, console::visible},
    known,
};
use crate::{upstream::folder, wire};

pub(super) async fn run(server: &str, scene: &Scene<'_>) -> Result<Exit, Stop> {
    known(server, scene)?;
    let all = upstream::restart(&folder(&scene.config), server).await?;
    let cleaner = wire::cleaner(&scene.config)?;
    let clean = |one: Restarted| Restarted {
        reason: cleaner.line(&one.reason),
        ..one
    };
    let ran: Vec<_> = all.into_iter().filter(|one| one.ran).map(clean).collect();
    let well = ran.iter().all(|one| one.ready);
    if scene.console.is_json() {
        scene
            .console
            .json(&json!({"server": server, "restarted": ran}))?;
    } else if ran.is_empty() {
        scene.console.line(&format!(
            "no process runs `{server}` now; it is started when it is next wanted"
        ))?;
    }
    for one in &ran {
        let how = if one.ready {
            format!("ready, {} tools", one.tools)
        } else {
            visible(&one.reason)
        };
        scene
            .console
            .line(&format!("`{server}` in process {}: {how}", one.process))?;
    }
    Ok(if well { Exit::Ok } else { Exit::ToolError })
}
