//! A real client in a real browser: it looks, clicks with consent, logs in and comes back.

use serde_json::{Value, json};

use super::{Peers, script};
use crate::{
    browser::{SESAME, Site, world},
    support::TestEnv,
};

/// What the client saw, step by step.
fn browse(env: &TestEnv, steps: &[Value]) -> Vec<Value> {
    let token = env.approver();
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let mut words = vec![token.as_str()];
    words.extend(steps.iter().map(String::as_str));
    words.extend(["--", env!("CARGO_BIN_EXE_tollgate"), "mcp"]);
    let ran = Peers::installed().python(env, &script("browse.py"), &words);
    let saw = ran.exits(0).json();
    saw.as_array().unwrap().clone()
}

#[test]
fn a_client_looks_at_a_page_and_clicks_once_a_human_agreed() {
    let site = Site::start();
    let env = world(&site);
    let saw = browse(
        &env,
        &[
            json!(["browser.navigate", {"url": site.url("/shop")}]),
            json!(["browser.get_page_info", {}]),
            json!(["browser.click", {"element_id": "@Order now"}]),
            json!(["browser.get_page_info", {}]),
        ],
    );
    assert_eq!(saw[0]["page"]["title"], "Shop", "{saw:#?}");
    let asked = saw[2]["asked"].to_string();
    assert!(
        asked.contains("Order now") && asked.contains(&site.host),
        "{asked}"
    );
    assert_eq!(saw[3]["success"], true, "{saw:#?}");
    assert_eq!(saw[4]["page"]["title"], "Ordered", "{saw:#?}");
    env.whole();
}

#[test]
fn a_client_logs_in_and_is_still_logged_in_after_a_restart() {
    let site = Site::start();
    let env = world(&site);
    let inputs = json!({
        "startUrl": site.url("/account"),
        "credentials": {"username": "anna", "password": SESAME},
        "successIndicator": {"type": "textIncludes", "value": "Hello, Anna"},
        "profile": "anna",
    });
    let login =
        json!(["run_task_template", {"templateId": "login_keep_session", "inputs": inputs}]);
    let look =
        json!(["browser.navigate", {"sessionId": "@sessionId", "url": site.url("/account")}]);
    let saw = browse(&env, &[login, look.clone()]);
    assert!(!json!(saw).to_string().contains(SESAME), "{saw:#?}");
    assert_eq!(saw[1]["result"]["loginState"], "authenticated", "{saw:#?}");
    assert_eq!(saw[2]["page"]["title"], "Account", "{saw:#?}");
    // Another process, and a session of the same profile.
    let saw = browse(
        &env,
        &[
            json!(["browser.create_session", {"profile": "anna"}]),
            look.clone(),
        ],
    );
    assert_eq!(saw[1]["page"]["title"], "Account", "{saw:#?}");
    let saw = browse(&env, &[json!(["browser.create_session", {}]), look]);
    assert_eq!(saw[1]["page"]["title"], "Log in", "{saw:#?}");
}
