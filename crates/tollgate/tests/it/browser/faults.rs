//! The browser or the program dies in the middle of a batch: the run still reads every page.

use std::{collections::HashMap, fs, iter, thread, time::Duration};

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

/// The browsers below a process: their own, not what they are made of.
pub(crate) fn browsers(above: u32) -> Vec<String> {
    let mut parents: HashMap<String, String> = HashMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ");
        let parent = parent.and_then(|(_, tail)| tail.split_whitespace().nth(1));
        if let Some(parent) = parent {
            let name = entry.file_name().to_string_lossy().into_owned();
            parents.insert(name, parent.to_owned());
        }
    }
    let above = above.to_string();
    let is_below = |name: &&String| {
        let mut ancestors = iter::successors(parents.get(*name), |it| parents.get(*it));
        ancestors.any(|it| *it == above)
    };
    let is_browser = |name: &&String| {
        let command = fs::read_to_string(format!("/proc/{name}/cmdline"));
        let program = fs::read_to_string(format!("/proc/{name}/comm"));
        program.is_ok_and(|it| it.starts_with("chrom"))
            && command.is_ok_and(|it| it.contains("-pipe") && !it.contains("--type="))
    };
    let own = parents.keys().filter(is_below).filter(is_browser);
    own.cloned().collect()
}

pub(crate) fn kill(env: &TestEnv, process: &str) {
    let killed = env
        .other("/bin/sh", &["-c", "kill -9 \"$0\"", process])
        .output();
    assert!(killed.unwrap().status.success());
}

/// Kills the browser; from then on it counts what is asked for.
fn killed(env: &TestEnv, site: &Site, lines: &Lines) {
    let found = browsers(lines.child.id());
    assert_eq!(found.len(), 1, "{found:?}");
    site.hold();
    kill(env, &found[0]);
    while browsers(lines.child.id()).contains(&found[0]) {
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_browser_that_is_killed_in_the_middle_of_a_batch_costs_no_page() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let id = held(&site, &mut lines);
    killed(&env, &site, &lines);
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

/// A page is read once more and no more often: whoever is killed with its browser twice is lost,
/// and the others are not.
#[test]
fn a_browser_that_is_killed_twice_costs_the_pages_of_both_times() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let id = held(&site, &mut lines);
    killed(&env, &site, &lines);
    site.wait_for("/held/", AT_ONCE);
    killed(&env, &site, &lines);
    site.open();
    let ran = ended(&mut lines, &id);
    assert_eq!(ran["status"], "partial_success", "{ran:#}");
    let result = &ran["result"];
    assert_eq!(
        result["summary"],
        json!({"total": PAGES, "succeeded": PAGES - AT_ONCE, "failed": AT_ONCE})
    );
    for (no, item) in result["items"].as_array().unwrap().iter().enumerate() {
        assert_eq!(item["success"], no >= AT_ONCE, "{item:#}");
        if no < AT_ONCE {
            assert_eq!(item["error"]["errorCode"], "PAGE_CRASHED", "{item:#}");
        }
    }
    // What is left of it can be read by another run.
    let rest: Vec<String> = (0..AT_ONCE)
        .map(|it| site.url(&format!("/held/{it}")))
        .collect();
    let inputs = json!({"urls": rest, "engine": "browser"});
    let again = run(&mut lines, "batch_extract_pages", inputs, "sync");
    assert_eq!(again["data"]["status"], "succeeded", "{again:#}");
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
