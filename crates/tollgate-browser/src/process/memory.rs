//! How much memory pages take, with what is no part of their scripts' heap: buffers, canvases,
//! pictures, and blobs, which the browser's own process holds for them.
//!
//! Invariant: a process of pages that holds more than it may ends soon, and with it its pages
//! alone. If the browser's own process holds more than that, the pages end that worked most
//! while it grew; what was held for them goes with them. A browser that does not even say how
//! much that is hangs, and is given up.

use std::{collections::HashMap, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::protocol::{
    WireError,
    commands::{OneProcess, Processes},
    pipe::Connection,
};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(500);
/// How long the browser may take to name its processes.
const PATIENCE: Duration = Duration::from_secs(15);
/// Whoever made the browser hold less than this is not the reason that it holds too much.
const LEAST: f64 = 64.0 * 1024.0 * 1024.0;

/// Ends processes of pages that hold more than `most` bytes, or make the browser hold more, as
/// long as the browser runs.
pub(crate) async fn watch(connection: Connection, most: u64) {
    let mut shares = Shares::default();
    loop {
        tokio::select! {
            () = sleep(LOOK) => {}
            () = connection.closed().cancelled() => return,
        }
        let all = match connection.ask(None, &Processes {}, PATIENCE).await {
            Ok(all) => all,
            Err(WireError::Silent(_)) => {
                // It hangs, and every call would wait for it in vain.
                connection.give_up();
                return;
            }
            Err(_) => continue,
        };
        let (pages, others): (Vec<_>, Vec<_>) = all
            .process_info
            .into_iter()
            .partition(|process| process.r#type == "renderer");
        for page in &pages {
            if held(page.id).is_some_and(|held| held > most) {
                end(page.id);
            }
        }
        let browser = others.iter().find(|process| process.r#type == "browser");
        if let Some(held) = browser.and_then(|browser| held(browser.id))
            && let Some(page) = shares.look(held, &pages, most)
        {
            end(page);
        }
    }
}

fn end(process: i32) {
    if let Some(pid) = Pid::from_raw(process) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// How much of what the browser's own process holds is held for which process of pages. Nobody
/// tells, so what comes is put down to those that worked meanwhile.
#[derive(Default)]
struct Shares {
    /// What it held when it was looked at last.
    held: u64,
    pages: HashMap<i32, Share>,
}

#[derive(Clone, Copy, Default)]
struct Share {
    /// The time it has worked so far, in seconds.
    worked: f64,
    bytes: f64,
}

impl Shares {
    /// Takes what the browser holds now; gives the process of pages that is to end for it.
    fn look(&mut self, held: u64, pages: &[OneProcess], most: u64) -> Option<i32> {
        let (now, before) = (bytes(held), bytes(self.held));
        let is_first = self.held == 0;
        self.held = held;
        let old = std::mem::take(&mut self.pages);
        let known = |page: &OneProcess| old.get(&page.id).copied().unwrap_or_default();
        let worked = |page: &OneProcess| (page.cpu_time - known(page).worked).max(0.0);
        let all: f64 = pages.iter().map(worked).sum();
        for page in pages {
            let bytes = known(page).bytes;
            let bytes = match now > before {
                _ if is_first => 0.0,
                true if all > 0.0 => bytes + (now - before) * worked(page) / all,
                true => bytes,
                // Whose it was that went is not told either.
                false => bytes * now / before,
            };
            let worked = page.cpu_time;
            self.pages.insert(page.id, Share { worked, bytes });
        }
        // What is going already needs nobody's end.
        if held <= most || now < before {
            return None;
        }
        let shares = self.pages.iter_mut();
        let (page, share) = shares.max_by(|one, other| one.1.bytes.total_cmp(&other.1.bytes))?;
        if share.bytes < LEAST {
            return None;
        }
        // It takes a moment until it is gone, and nobody ends twice.
        share.bytes = 0.0;
        Some(*page)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share of memory needs no last byte"
)]
fn bytes(number: u64) -> f64 {
    number as f64
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

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1 << 20;

    fn look(shares: &mut Shares, megabytes: u64, worked: [f64; 3]) -> Option<i32> {
        let ids = (1..).zip(worked);
        let pages = ids.map(|(id, cpu_time)| OneProcess {
            r#type: "renderer".to_owned(),
            id,
            cpu_time,
        });
        let pages: Vec<_> = pages.collect();
        shares.look(megabytes * MEGABYTE, &pages, 400 * MEGABYTE)
    }

    #[test]
    fn who_worked_while_the_browser_grew_ends_for_it() {
        let mut shares = Shares::default();
        // Work from before, and work without growth, is nobody's fault.
        assert_eq!(look(&mut shares, 100, [9.0, 0.0, 0.0]), None);
        assert_eq!(look(&mut shares, 100, [9.0, 0.0, 5.0]), None);
        assert_eq!(look(&mut shares, 300, [9.0, 0.3, 5.1]), None);
        assert_eq!(look(&mut shares, 500, [9.0, 0.6, 5.2]), Some(2));
        // It is on its way out.
        assert_eq!(look(&mut shares, 450, [9.0, 0.6, 5.2]), None);
        assert_eq!(look(&mut shares, 450, [9.0, 0.6, 5.2]), Some(3));
        // Nobody else has a share worth an end.
        assert_eq!(look(&mut shares, 450, [9.0, 0.6, 5.2]), None);
    }

    #[test]
    fn what_was_let_go_of_is_held_against_nobody() {
        let mut shares = Shares::default();
        look(&mut shares, 100, [0.0; 3]);
        look(&mut shares, 390, [1.0, 0.0, 0.0]);
        assert_eq!(look(&mut shares, 40, [1.0, 0.0, 0.0]), None);
        assert_eq!(look(&mut shares, 390, [1.0, 1.0, 0.0]), None);
        assert_eq!(look(&mut shares, 410, [1.0, 1.0, 0.1]), Some(2));
    }
}
