//! A browser session that is a run's own ends with the run, whoever wrote the template and
//! however it ends. Each session has a folder while it lives, which is how these tests count them.

use std::{fs, thread, time::Duration};

use serde_json::{Value, json};

use super::{Site, ask, ended, run, world};
use crate::support::{Lines, TestEnv};

/// A template of the user's own that looks at a page and closes nothing.
const LOOK: &str = r#"id: look
version: 1.0.0
name: Look at a page
inputsSchema: {type: object, properties: {url: {type: string}}}
steps:
  - id: go
    tool: browser.navigate
    args: {url: "{{ inputs.url }}", sessionId: "{{ run.sessionId }}"}
result: {title: "{{ steps.go.data.page.title }}"}
"#;

/// The browser sessions that live.
pub(super) fn sessions(env: &TestEnv) -> Vec<String> {
    found(env, |name| name.starts_with("sess_"))
}

/// What is called like this in the folders of the program.
fn found(env: &TestEnv, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut left = vec![env.path("data"), env.path("state")];
    let mut found = Vec::new();
    while let Some(place) = left.pop() {
        // A folder that is gone meanwhile holds none.
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_wanted(&name) {
                found.push(name);
            } else if entry.path().is_dir() {
                left.push(entry.path());
            }
        }
    }
    found
}

/// Waits for the end of all sessions; a run is seen to be over a moment before its own ends.
#[track_caller]
pub(super) fn gone(env: &TestEnv, what: &str) {
    for _ in 0..400 {
        if sessions(env).is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{what} left {:?}", sessions(env));
}

fn looking(site: &Site) -> TestEnv {
    let env = world(site);
    env.write("config/tollgate/templates/look.yaml", LOOK);
    env
}

#[test]
fn a_template_that_closes_nothing_leaves_no_session() {
    let site = Site::start();
    let env = looking(&site);
    let mut lines = Lines::start(&env, &[]);
    let ran = run(
        &mut lines,
        "look",
        json!({"url": site.url("/plain")}),
        "sync",
    );
    assert_eq!(ran["data"]["result"]["title"], "Plain", "{ran:#}");
    gone(&env, "the run");

    let queued = run(
        &mut lines,
        "look",
        json!({"url": site.url("/held/1")}),
        "async",
    );
    site.wait_for("/held/", 1);
    assert_eq!(sessions(&env).len(), 1, "it has one while it runs");
    let id = &queued["data"]["runId"];
    ask(&mut lines, "cancel_task_run", json!({"runId": id}));
    site.open();
    assert_eq!(ended(&mut lines, id)["status"], "canceled");
    gone(&env, "the run that was called off");
    lines.end();
    lines.wait();
}

#[test]
fn sessions_that_somebody_else_has_go_on() {
    let site = Site::start();
    let env = looking(&site);
    let mut lines = Lines::start(&env, &[]);
    ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/mark")}),
    );
    let made = ask(&mut lines, "browser.create_session", json!({}));
    let session = made["data"]["sessionId"].clone();
    let params =
        json!({"templateId": "look", "sessionId": session, "inputs": {"url": site.url("/shop")}});
    let ran = ask(&mut lines, "run_task_template", params);
    assert_eq!(ran["data"]["result"]["title"], "Shop", "{ran:#}");
    let own = run(
        &mut lines,
        "look",
        json!({"url": site.url("/plain")}),
        "sync",
    );
    assert_eq!(own["data"]["status"], "succeeded", "{own:#}");
    let title = |lines: &mut Lines, place: Value| {
        let tabs = ask(lines, "browser.list_tabs", place);
        tabs["data"]["tabs"][0]["title"].clone()
    };
    assert_eq!(title(&mut lines, json!({"sessionId": session})), "Shop");
    assert_eq!(title(&mut lines, json!({})), "Mark");
    lines.end();
    lines.wait();
}

#[test]
fn the_templates_that_come_along_leave_no_session() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let two = |below: &str| {
        json!([
            site.url(&format!("{below}1")),
            site.url(&format!("{below}2"))
        ])
    };
    let inputs = |below: &str| {
        [
            (
                "batch_extract_pages",
                json!({"urls": two(below), "engine": "browser"}),
            ),
            ("multi_tab_compare", json!({"urls": two(below)})),
            (
                "paginated_extract",
                json!({"startUrl": site.url(&format!("{below}1")), "maxPages": 2}),
            ),
        ]
    };
    for (template, inputs) in inputs("/held/") {
        let queued = run(&mut lines, template, inputs, "async");
        let id = queued["data"]["runId"].clone();
        site.wait_for("/held/", 1);
        ask(&mut lines, "cancel_task_run", json!({"runId": id}));
        site.open();
        assert_eq!(ended(&mut lines, &id)["status"], "canceled", "{template}");
        gone(&env, template);
        site.hold();
    }
    for (template, inputs) in inputs("/list/") {
        let ran = run(&mut lines, template, inputs, "sync");
        assert_eq!(ran["data"]["status"], "succeeded", "{ran:#}");
        gone(&env, template);
    }
    lines.end();
    lines.wait();
}

#[test]
fn pages_that_the_next_process_could_go_on_with_end_with_the_run() {
    let site = Site::start();
    let env = looking(&site);
    let pages = || found(&env, |name| name.ends_with(".sealed"));
    let page = json!({"url": site.url("/plain")});
    env.ok("browser.navigate", &page.to_string());
    assert_eq!(pages().len(), 1, "those of the conversation itself");
    let ran = env.ok(
        "run_task_template",
        &json!({"templateId": "look", "inputs": page}).to_string(),
    );
    assert_eq!(ran["data"]["result"]["title"], "Plain", "{ran:#}");
    assert_eq!(pages().len(), 1, "{:?}", pages());
}
