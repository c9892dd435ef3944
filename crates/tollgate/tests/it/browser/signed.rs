//! Addresses with a secret in them: nobody sees the secret, and a run fetches them all the same.

use std::{thread, time::Duration};

use serde_json::{Value, json};

use super::{SIGNED, Site, ask, ended, run, searches, world};
use crate::support::{Lines, approval_id};

/// The placeholder of the token on a site's page.
#[track_caller]
fn token(lines: &mut Lines, site: &Site) -> String {
    let read = ask(lines, "web.fetch", json!({"url": site.url("/signed")}));
    let text = read["data"].to_string();
    assert!(!text.contains(SIGNED), "{read:#}");
    let start = text
        .find("token=[REDACTED:url-parameter#")
        .unwrap_or_else(|| panic!("{read:#}"));
    text[start..=start + text[start..].find(']').unwrap()].to_owned()
}

/// What a run waits for, once it does.
#[track_caller]
fn waits(lines: &mut Lines, id: &Value) -> Value {
    loop {
        let shown = ask(lines, "get_task_run", json!({"runId": id}));
        if shown["data"]["waitingFor"].is_array() {
            return shown["data"]["waitingFor"][0].clone();
        }
        assert!(
            matches!(shown["data"]["status"].as_str(), Some("queued" | "running")),
            "{shown:#}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// A run whose step types a text, with a human's consent.
const TYPING: &str = "id: typing\nversion: 1.0.0\nname: Typing\nsteps:\n  - id: type\n    tool: browser.type_text\n    args:\n      sessionId: \"{{ run.sessionId }}\"\n      element_id: \"{{ inputs.element }}\"\n      text: \"{{ inputs.text }}\"\n";

#[test]
fn a_step_fetches_the_address_it_was_given_with_its_token() {
    let (site, other) = (Site::start(), Site::start());
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let token = token(&mut lines, &site);
    let address = site.url(&format!("/plans?{token}"));

    for engine in ["http", "browser"] {
        let inputs = json!({"urls": [address], "engine": engine});
        let started = run(&mut lines, "batch_extract_pages", inputs, "async");
        let run = ended(&mut lines, &started["data"]["runId"]);
        assert_eq!(run["status"], "succeeded", "{run:#}");
        assert_eq!(run["result"]["items"][0]["statusCode"], 200, "{run:#}");
        assert!(!run.to_string().contains("Zk3vQ9w"), "{run:#}");
    }

    // To another host it goes only with a human's consent, which the run waits for.
    let elsewhere = other.url(&format!("/plans?{token}"));
    let inputs = json!({"urls": [elsewhere], "engine": "http"});
    let started = run(&mut lines, "batch_extract_pages", inputs, "async");
    let id = &started["data"]["runId"];
    let waiting = waits(&mut lines, id);
    let used = &waiting["preview"]["placeholders"][0];
    let wanted = format!("http://{}", other.host);
    assert_eq!(used["goes_to"], wanted, "{waiting:#}");
    ask(&mut lines, "cancel_task_run", json!({"runId": id}));
    assert!(other.state.asked.lock().unwrap().is_empty());

    // Nor does a call outside a run send it, also not where it came from.
    let asked = ask(&mut lines, "web.fetch", json!({"url": address}));
    assert_eq!(asked["error"]["kind"], "confirmation_required", "{asked:#}");
    lines.end();
    lines.wait();
    assert!(
        !std::fs::read(env.state_dir().join("tollgate.db"))
            .unwrap()
            .windows(7)
            .any(|it| it == b"Zk3vQ9w")
    );
}

#[test]
fn a_token_goes_back_only_into_the_address_that_is_fetched() {
    let site = Site::start();
    let env = searches::world(&site, &["/plain"]);
    env.write("config/tollgate/templates/typing.yaml", TYPING);
    let approver = env.approver();
    let mut lines = Lines::start(&env, &[]);
    let token = token(&mut lines, &site);
    let address = site.url(&format!("/plans?{token}"));

    // A search engine is another host, whatever the words look like.
    let started = run(
        &mut lines,
        "search_extract",
        json!({"query": address}),
        "async",
    );
    let id = &started["data"]["runId"];
    let waiting = waits(&mut lines, id);
    let used = &waiting["preview"]["placeholders"][0];
    assert_eq!(used["goes_to"], "web.search", "{waiting:#}");
    assert_eq!(used["asks"], true, "{waiting:#}");
    ask(&mut lines, "cancel_task_run", json!({"runId": id}));

    // So is a page that a text is typed into.
    let session = ask(&mut lines, "browser.create_session", json!({}));
    let session = &session["data"]["sessionId"];
    let door = json!({"sessionId": session, "url": site.url("/door")});
    ask(&mut lines, "browser.navigate", door);
    let info = ask(
        &mut lines,
        "browser.get_page_info",
        json!({"sessionId": session}),
    );
    let element = &info["data"]["elements"][0]["id"];
    let typing = json!({"templateId": "typing", "sessionId": session,
        "inputs": {"element": element, "text": address}, "options": {"mode": "async"}});
    let refused = ask(&mut lines, "run_task_template", typing.clone());
    let approval = approval_id(&refused);
    env.run(&["approve", &approval, "--token", &approver])
        .exits(0);
    let started = ask(&mut lines, "run_task_template", typing);
    let waiting = waits(&mut lines, &started["data"]["runId"]);
    let used = &waiting["preview"]["placeholders"][0];
    assert_eq!(used["goes_to"], "browser.type_text", "{waiting:#}");
    lines.end();
    lines.wait();
}
