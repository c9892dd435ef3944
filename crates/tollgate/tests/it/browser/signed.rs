//! Addresses with a secret in them: nobody sees the secret, and a run fetches them all the same.

use std::{thread, time::Duration};

use serde_json::json;

use super::{SIGNED, Site, ask, ended, run, world};
use crate::support::Lines;

#[test]
fn a_step_fetches_the_address_it_was_given_with_its_token() {
    let (site, other) = (Site::start(), Site::start());
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let read = ask(&mut lines, "web.fetch", json!({"url": site.url("/signed")}));
    let text = read["data"].to_string();
    assert!(!text.contains(SIGNED), "{read:#}");
    let start = text
        .find("token=[REDACTED:url-parameter#")
        .unwrap_or_else(|| panic!("{read:#}"));
    let token = &text[start..=start + text[start..].find(']').unwrap()];
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
    let waiting = loop {
        let shown = ask(&mut lines, "get_task_run", json!({"runId": id}));
        if shown["data"]["waitingFor"].is_array() {
            break shown["data"]["waitingFor"][0].clone();
        }
        assert!(
            matches!(shown["data"]["status"].as_str(), Some("queued" | "running")),
            "{shown:#}"
        );
        thread::sleep(Duration::from_millis(20));
    };
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
