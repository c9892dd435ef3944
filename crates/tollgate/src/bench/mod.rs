//! What the gate costs on this machine.
//!
//! `tollgate bench` and `cargo bench` measure with the same code and differ only in
//! size. Figures stand beside each other in one run; nothing here asserts a time.

mod load;
mod parts;
mod path;
mod report;
mod rig;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;

use crate::frontends::cli::{Exit, Scene, Stop, arguments::Bench};
use rig::Scratch;

pub use report::Section;

/// How large a measurement is.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where state is kept meanwhile; on the disk that is to be measured.
    pub folder: PathBuf,
    /// How long each figure is measured in each round.
    pub time: Duration,
    /// How often each figure is measured.
    pub rounds: usize,
    /// Tools in the large catalogue.
    pub tools: usize,
    /// Rows in the long audit log.
    pub rows: u64,
    /// Only calls of this name, and no parts; for a profiler.
    pub only: Option<String>,
}

/// Measures everything, and shows each section as soon as it is there.
pub async fn measure(plan: &Plan, show: &mut dyn FnMut(Section)) -> anyhow::Result<()> {
    show(path::calls(plan).await?);
    if plan.only.is_some() {
        return Ok(());
    }
    show(parts::sanitizing(plan));
    show(parts::policy(plan).await?);
    show(parts::first_use(plan).await?);
    Ok(())
}

pub(crate) async fn run(arguments: &Bench, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let scratch = Scratch::inside(&scene.config.state.dir)?;
    let plan = plan(arguments, scratch.path());
    let mut sections = Vec::new();
    let console = scene.console;
    let mut show = |section: Section| {
        if !console.is_json() {
            drop(console.line(&format!("{section}\n")));
        }
        sections.push(section);
    };
    measure(&plan, &mut show)
        .await
        .map_err(|error| Stop::failed(format!("{error:#}")))?;
    if console.is_json() {
        console.json(&json!({ "sections": sections }))?;
    }
    Ok(Exit::Ok)
}

fn plan(arguments: &Bench, folder: &Path) -> Plan {
    const ROUNDS: u32 = 3;
    let usual = Plan {
        folder: folder.to_owned(),
        time: Duration::from_secs(arguments.seconds) / ROUNDS,
        rounds: ROUNDS as usize,
        tools: 10_000,
        rows: 20_000,
        only: None,
    };
    if !arguments.quick {
        return usual;
    }
    Plan {
        time: Duration::from_millis(20),
        rounds: 1,
        tools: 100,
        rows: 1000,
        ..usual
    }
}
