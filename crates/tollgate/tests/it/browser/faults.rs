//! The browser or the program dies in the middle of a batch: the run still reads every page.

use std::{fs, thread, time::Duration};

use serde_json::json;

use super::{Site, ended, run, world};
use crate::support::{Lines, TestEnv};

const PAGES: usize = 8;
const AT_ONCE: usize = 3;

fn held(site: &Site, lines: &mut Lines) -> serde_json::Value {
    let urls: Vec<String> = (0..PAGES)
        .map(|it| site.url(&format!("/held/{it}")))
        .collect();
    let inputs = json!({"urls": urls, "engine": "browser", "concurrency": AT_ONCE});
    let queued = run(lines, "batch_extract_pages", inputs, "async");
    // All that may be under way is under way, and none of it can end.
    site.wait_for("/held/", AT_ONCE);
    queued["data"]["runId"].clone()
}

/// The children of a process that are browsers.
pub(crate) fn browsers(parent: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some((head, tail)) = stat.rsplit_once(") ") else {
            continue;
        };
        let is_child = tail.split_whitespace().nth(1) == Some(parent.to_string().as_str());
        if is_child && head.contains("(chrom") {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

pub(crate) fn kill(env: &TestEnv, process: &str) {
    let killed = env
        .other("/bin/sh", &["-c", "kill -9 \"$0\"", process])
        .output();
    assert!(killed.unwrap().status.success());
}

#[test]
fn a_browser_that_is_killed_in_the_middle_of_a_batch_costs_no_page() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let id = held(&site, &mut lines);
    let found = browsers(lines.child.id());
    assert_eq!(found.len(), 1, "{found:?}");
    kill(&env, &found[0]);
    while browsers(lines.child.id()).contains(&found[0]) {
        thread::sleep(Duration::from_millis(20));
    }
    site.open();
    let ran = ended(&mut lines, &id);
    assert_eq!(ran["status"], "succeeded", "{ran:#}");
    assert_eq!(ran["result"]["summary"]["succeeded"], PAGES);
    let tried_again = ran["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["attempts"] == 2);
    assert!(tried_again.count() >= AT_ONCE, "{ran:#}");
    lines.end();
    lines.wait();
    env.whole();
}

#[test]
fn a_program_that_is_killed_in_the_middle_of_a_batch_costs_no_page() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let id = held(&site, &mut lines);
    let found = browsers(lines.child.id());
    lines.child.kill().unwrap();
    lines.wait();
    site.open();
    let id = id.as_str().unwrap();
    let ran = env.run(&["runs", "watch", id, "--json"]).exits(0).json();
    assert_eq!(ran["status"], "succeeded", "{ran:#}");
    assert_eq!(ran["result"]["summary"]["succeeded"], PAGES);
    // The browser went with the program.
    for process in found {
        while fs::read_to_string(format!("/proc/{process}/cmdline"))
            .is_ok_and(|it| it.contains("chrom"))
        {
            thread::sleep(Duration::from_millis(20));
        }
    }
    env.whole();
}
