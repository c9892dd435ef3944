//! `tollgate knowledge stats`.

use std::time::Duration;

use serde_json::json;
use tollgate_knowledge::{Observed, Report};

use super::{arguments::Stats, recorded::recorded};
use crate::frontends::cli::{
    Exit, Scene, Stop,
    console::{Paint, visible},
};

pub(super) async fn run(it: &Stats, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let idle = Duration::from_secs(it.idle.saturating_mul(60));
    let sessions = recorded(scene).await?.into_iter();
    let seen: Vec<Observed> = sessions.map(|session| session.judged(idle)).collect();
    let mut reports = Report::of(&seen);
    if let Some(base) = &it.base {
        reports.retain(|report| report.knowledge_base == *base);
    }
    if scene.console.is_json() {
        scene.console.json(&json!({"knowledge_bases": reports}))?;
        return Ok(Exit::Ok);
    }
    if reports.is_empty() {
        scene.console.line("no sessions are recorded")?;
    }
    for (number, report) in reports.iter().enumerate() {
        if number > 0 {
            scene.console.line("")?;
        }
        let name = scene
            .console
            .paint(Paint::Strong, &visible(&report.knowledge_base));
        scene.console.line(&format!(
            "{name}: {} sessions, {} to their end, {} gave up, {} may go on, {} steps",
            report.sessions, report.complete, report.gave_up, report.running, report.steps
        ))?;
        let rows: Vec<Vec<String>> = report
            .nodes
            .iter()
            .take(it.nodes)
            .map(|node| {
                let counts = [
                    node.sessions,
                    node.began,
                    node.ended,
                    node.gave_up,
                    node.not_understood,
                ];
                let counts = counts.iter().map(ToString::to_string);
                std::iter::once(node.node.clone()).chain(counts).collect()
            })
            .collect();
        let head = [
            "node",
            "sessions",
            "began",
            "ended",
            "gave up",
            "not understood",
        ];
        scene.console.table(&head, &rows)?;
        let more = report.nodes.len().saturating_sub(it.nodes);
        if more > 0 {
            scene.console.line(&format!("and {more} more node(s)"))?;
        }
    }
    Ok(Exit::Ok)
}
