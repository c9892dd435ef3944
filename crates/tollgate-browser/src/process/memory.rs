//! How much memory pages take, with what is no part of their scripts' heap: buffers, canvases,
//! pictures.
//!
//! Invariant: a process of pages that holds more than it may ends soon, and with it its pages
//! alone.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::protocol::{commands::Processes, pipe::Connection};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(500);
/// How long the browser may take to name its processes.
const PATIENCE: Duration = Duration::from_secs(15);

/// Ends processes of pages that hold more than `most` bytes, as long as the browser runs.
pub(crate) async fn watch(connection: Connection, most: u64) {
    loop {
        tokio::select! {
            () = sleep(LOOK) => {}
            () = connection.closed().cancelled() => return,
        }
        let Ok(all) = connection.ask(None, &Processes {}, PATIENCE).await else {
            continue;
        };
        for process in all.process_info {
            let is_page = process.r#type == "renderer";
            if is_page
                && held(process.id).is_some_and(|held| held > most)
                && let Some(pid) = Pid::from_raw(process.id)
            {
                // It may have ended by itself.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// The bytes that a process has for itself; nothing where that cannot be told.
fn held(pid: i32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kilobytes = status.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let number = rest.split_whitespace().next()?;
        matches!(name, "RssAnon" | "RssShmem").then(|| number.parse::<u64>().ok())?
    });
    Some(kilobytes.sum::<u64>() * 1024)
}
