//! Logging in by a run: a human agrees, the session stays, and the password is nowhere.

use std::{fs, thread, time::Duration};

use serde_json::{Value, json};

use super::{SESAME, Site, artifact, ask, browsers, ended, ending::sessions, kill, world};
use crate::support::{Lines, TestEnv, approval_id};

fn inputs(site: &Site, word: &str, more: &Value) -> Value {
    let mut inputs = json!({
        "startUrl": site.url("/account"),
        "credentials": {"username": "anna", "password": word},
        "successIndicator": {"type": "selector", "value": "#hello"},
    });
    let more = more.as_object().unwrap().clone();
    inputs.as_object_mut().unwrap().extend(more);
    inputs
}

/// Runs it once a human has agreed.
fn agreed(env: &TestEnv, lines: &mut Lines, inputs: &Value, mode: &str) -> Value {
    let params =
        json!({"templateId": "login_keep_session", "inputs": inputs, "options": {"mode": mode}});
    let refused = ask(lines, "run_task_template", params.clone());
    assert_eq!(
        refused["error"]["kind"], "confirmation_required",
        "{refused:#}"
    );
    assert!(!refused.to_string().contains(SESAME), "{refused:#}");
    let id = approval_id(&refused);
    env.run(&["approve", &id, "--token", &env.approver()])
        .exits(0);
    ask(lines, "run_task_template", params)
}

/// Fails the test if a file below the folder holds the password.
fn nowhere(env: &TestEnv) {
    let mut left = vec![env.path("data"), env.path("state")];
    while let Some(place) = left.pop() {
        if place.is_dir() {
            left.extend(fs::read_dir(&place).unwrap().map(|it| it.unwrap().path()));
        } else if let Ok(bytes) = fs::read(&place) {
            let found = bytes
                .windows(SESAME.len())
                .any(|it| it == SESAME.as_bytes());
            assert!(!found, "{}", place.display());
        }
    }
}

#[test]
fn a_login_stays_in_its_session_and_its_password_nowhere() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let selectors = json!({"mode": "selector", "usernameSelector": "[name=user]", "passwordSelector": "[name=word]", "submitSelector": "button"});
    let ways = [
        (json!({"fields": selectors}), "sync"),
        (
            json!({"fields": {"mode": "semantic", "usernameQuery": "Name", "passwordQuery": "Word"}}),
            "async",
        ),
        (json!({}), "auto"),
    ];
    for (more, mode) in ways {
        let ran = agreed(&env, &mut lines, &inputs(&site, SESAME, &more), mode);
        let ran = ended(&mut lines, &ran["data"]["runId"]);
        assert_eq!(ran["status"], "succeeded", "{more} {ran:#}");
        let result = &ran["result"];
        assert_eq!(
            (&result["success"], &result["loginState"]),
            (&json!(true), &json!("authenticated")),
            "{ran:#}"
        );
        assert_eq!(
            (&result["title"], &result["finalUrl"]),
            (&json!("Account"), &json!(site.url("/account")))
        );
        let kept = artifact(&mut lines, &ran, "result.json");
        assert_eq!(kept["sessionId"], result["sessionId"]);
        let again = json!({"sessionId": result["sessionId"], "url": site.url("/account")});
        let went = ask(&mut lines, "browser.navigate", again);
        assert_eq!(went["data"]["page"]["title"], "Account", "{went:#}");
    }
    lines.end();
    lines.wait();
    nowhere(&env);
    env.whole();
}

#[test]
fn a_login_that_fails_says_why_and_leaves_no_session() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let missing = json!({"fields": {"mode": "selector", "usernameSelector": "#nobody"}});
    let ran = agreed(&env, &mut lines, &inputs(&site, SESAME, &missing), "sync");
    let details = &ran["error"]["details"];
    assert_eq!(
        ran["error"]["errorCode"], "STEP_EXECUTION_FAILED",
        "{ran:#}"
    );
    assert_eq!(details["stepErrorCode"], "ELEMENT_NOT_FOUND", "{ran:#}");
    let result = &ran["data"]["result"];
    assert_eq!(
        (&result["success"], &result["sessionId"]),
        (&json!(false), &Value::Null)
    );
    let wrong = json!({"successIndicator": {"type": "urlContains", "value": "/inside"}});
    let ran = agreed(&env, &mut lines, &inputs(&site, "wrong", &wrong), "sync");
    sees(&ran, "Log in", &site.url("/account"));
    assert_eq!(sessions(&env), Vec::<String>::new());
    lines.end();
    lines.wait();
    nowhere(&env);
}

/// A login that failed names the page that came instead.
#[track_caller]
fn sees(ran: &Value, title: &str, url: &str) {
    assert_eq!(ran["data"]["status"], "failed", "{ran:#}");
    let error = &ran["data"]["error"];
    assert_eq!(error["errorCode"], "STEP_EXECUTION_FAILED", "{ran:#}");
    let details = &error["details"];
    assert_eq!(details["stepErrorCode"], "EXECUTION_ERROR", "{ran:#}");
    let said = error["error"].as_str().unwrap();
    assert!(said.contains("the login did not work"), "{said}");
    assert!(said.contains(title) && said.contains(url), "{said}");
    assert_eq!(ran["data"]["result"]["success"], false, "{ran:#}");
}

#[test]
fn a_wrong_password_is_a_failure_also_where_nobody_said_what_success_looks_like() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let cases = [
        (
            "/account",
            json!(null),
            "Log in",
            "still asks for a password",
        ),
        (
            "/account",
            json!({"type": "stable"}),
            "Log in",
            "still asks for a password",
        ),
        ("/account/strict", json!(null), "Denied", "answered 401"),
    ];
    for (path, sign, title, why) in cases {
        let mut inputs = inputs(&site, "wrong", &json!({"startUrl": site.url(path)}));
        let fields = inputs.as_object_mut().unwrap();
        fields.remove("successIndicator");
        if !sign.is_null() {
            fields.insert("successIndicator".to_owned(), sign);
        }
        let ran = agreed(&env, &mut lines, &inputs, "sync");
        sees(&ran, title, &site.url(path));
        let said = ran["data"]["error"]["error"].as_str().unwrap();
        assert!(said.contains(why), "{said}");
        assert_eq!(sessions(&env), Vec::<String>::new(), "{path}");
        // With the right one it works, and nobody can tell more.
        let fields = inputs.as_object_mut().unwrap();
        fields["credentials"]["password"] = SESAME.into();
        let ran = agreed(&env, &mut lines, &inputs, "sync");
        let result = &ran["data"]["result"];
        assert_eq!(result["loginState"], "unknown", "{ran:#}");
        let close = json!({"sessionId": result["sessionId"]});
        ask(&mut lines, "browser.close_session", close);
    }
    lines.end();
    lines.wait();
    nowhere(&env);
}

#[test]
fn whoever_agrees_to_a_login_sees_as_whom_and_not_the_password() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let mut inputs = inputs(&site, SESAME, &json!({}));
    inputs["credentials"]["username"] = "anna@example.com".into();
    let params = json!({"templateId": "login_keep_session", "inputs": inputs});
    let refused = ask(&mut lines, "run_task_template", params);
    let details = &refused["error"]["details"];
    let shown = details["preview"]["arguments"].as_str().unwrap();
    let masked = r#""password":"[REDACTED:argument, "#;
    assert!(shown.contains(r#""username":"#), "{refused:#}");
    assert!(shown.contains(masked), "{refused:#}");
    assert!(!refused.to_string().contains(SESAME), "{refused:#}");
    assert_eq!(
        refused["error"]["errorCode"], "EXECUTION_ERROR",
        "{refused:#}"
    );
    let own = "tool.gate.policy.confirmation_required";
    assert_eq!(details["code"], own, "{refused:#}");
    let id = approval_id(&refused);
    let listed = env.run(&["approvals", "--json"]).exits(0).json();
    assert!(listed.to_string().contains("anna@example.com"), "{listed}");
    assert!(listed.to_string().contains(&id), "{listed}");
    lines.end();
    lines.wait();
    nowhere(&env);
}

#[test]
fn a_login_says_whether_it_is_kept() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let result = |ran: &Value| ran["data"]["result"].clone();
    let plain = inputs(&site, SESAME, &json!({}));
    let ran = agreed(&env, &mut lines, &plain, "sync");
    assert_eq!(result(&ran)["cookiesSaved"], false, "{ran:#}");
    let named = inputs(&site, SESAME, &json!({"profile": "own"}));
    let ran = agreed(&env, &mut lines, &named, "sync");
    assert_eq!(result(&ran)["cookiesSaved"], true, "{ran:#}");

    // A session that the caller brought along is kept, too.
    let made = ask(&mut lines, "browser.create_session", json!({}));
    let session = &made["data"]["sessionId"];
    let brought = inputs(&site, SESAME, &json!({"profile": "brought"}));
    let params = json!({"templateId": "login_keep_session", "inputs": brought, "sessionId": session, "options": {"mode": "sync"}});
    let refused = ask(&mut lines, "run_task_template", params.clone());
    let id = approval_id(&refused);
    env.run(&["approve", &id, "--token", &env.approver()])
        .exits(0);
    let ran = ask(&mut lines, "run_task_template", params);
    assert_eq!(result(&ran)["cookiesSaved"], true, "{ran:#}");
    for profile in ["own", "brought"] {
        let again = ask(
            &mut lines,
            "browser.create_session",
            json!({"profile": profile}),
        );
        let url = json!({"sessionId": again["data"]["sessionId"], "url": site.url("/account")});
        let went = ask(&mut lines, "browser.navigate", url);
        assert_eq!(
            went["data"]["page"]["title"], "Account",
            "{profile}: {went:#}"
        );
    }

    let failing =
        json!({"profile": "never", "fields": {"mode": "selector", "usernameSelector": "#nobody"}});
    let ran = agreed(&env, &mut lines, &inputs(&site, SESAME, &failing), "sync");
    let told = &ran["data"]["result"];
    assert_eq!(told["cookiesSaved"], false, "{ran:#}");
    lines.end();
    lines.wait();
    nowhere(&env);
}

#[test]
fn a_field_that_is_drawn_anew_is_filled_in_once_more() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let selectors = json!({"mode": "selector", "usernameSelector": "[name=user]", "passwordSelector": "[name=word]"});
    for fields in [json!({}), json!({"fields": selectors})] {
        let mut inputs = inputs(&site, SESAME, &fields);
        inputs["startUrl"] = json!(site.url("/redrawn"));
        let ran = agreed(&env, &mut lines, &inputs, "sync");
        assert_eq!(
            ran["data"]["result"]["loginState"], "authenticated",
            "{fields} {ran:#}"
        );
    }
    lines.end();
    lines.wait();
    nowhere(&env);
}

#[test]
fn where_nothing_tells_a_name_goes_beside_the_password() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let mut inputs = inputs(&site, SESAME, &json!({}));
    inputs["startUrl"] = json!(site.url("/nameless"));
    let ran = agreed(&env, &mut lines, &inputs, "sync");
    assert_eq!(
        ran["data"]["result"]["loginState"], "authenticated",
        "{ran:#}"
    );
    lines.end();
    lines.wait();
    nowhere(&env);
}

/// Nobody keeps this session anywhere; its browser is all that dies.
#[test]
fn a_session_is_logged_in_as_before_after_its_browser_was_killed() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let ran = agreed(&env, &mut lines, &inputs(&site, SESAME, &json!({})), "sync");
    let result = &ran["data"]["result"];
    assert_eq!(result["cookiesSaved"], false, "{ran:#}");
    let session = &result["sessionId"];
    for _ in 0..2 {
        let found = browsers(lines.child.id());
        assert_eq!(found.len(), 1, "{found:?}");
        kill(&env, &found[0]);
        while browsers(lines.child.id()).contains(&found[0]) {
            thread::sleep(Duration::from_millis(20));
        }
        let here = json!({"sessionId": session});
        let mut page = ask(&mut lines, "browser.get_page_content", here.clone());
        // Whoever comes before the death is noticed shares it.
        if page["error"]["errorCode"] == "PAGE_CRASHED" {
            page = ask(&mut lines, "browser.get_page_content", here);
        }
        let said = page["data"].to_string();
        assert!(said.contains("Hello, Anna"), "{page:#}");
        assert!(!said.contains("Visits before: 0"), "{page:#}");
    }
    let anew = json!({"sessionId": session, "url": site.url("/account")});
    let went = ask(&mut lines, "browser.navigate", anew);
    assert_eq!(went["data"]["page"]["title"], "Account", "{went:#}");
    // Another session shares nothing of it.
    let other = ask(&mut lines, "browser.create_session", json!({}));
    let other = json!({"sessionId": other["data"]["sessionId"], "url": site.url("/account")});
    let went = ask(&mut lines, "browser.navigate", other);
    assert_eq!(went["data"]["page"]["title"], "Log in", "{went:#}");
    lines.end();
    lines.wait();
    nowhere(&env);
}

/// The button of this form is called like none that is looked for, so Enter sends it off.
#[test]
fn a_form_that_puts_a_login_into_its_address_shows_nothing_of_it() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let signs = [
        (
            json!({"type": "selector", "value": "#hello"}),
            "authenticated",
        ),
        (json!({"type": "stable"}), "unknown"),
        (Value::Null, "unknown"),
    ];
    for (sign, state) in signs {
        let mut inputs = inputs(&site, SESAME, &json!({"startUrl": site.url("/door")}));
        inputs["successIndicator"] = sign;
        if inputs["successIndicator"].is_null() {
            inputs.as_object_mut().unwrap().remove("successIndicator");
        }
        let ran = agreed(&env, &mut lines, &inputs, "sync");
        let result = &ran["data"]["result"];
        let address = site.url("/door/in?user=********&word=********");
        assert_eq!(result["finalUrl"], address, "{ran:#}");
        assert_eq!(
            (&result["title"], &result["loginState"]),
            (&json!("Inside"), &json!(state)),
            "{ran:#}"
        );
        let kept = artifact(&mut lines, &ran["data"], "result.json");
        for told in [&ran, &kept] {
            let told = told.to_string();
            assert!(!told.contains(SESAME) && !told.contains("anna"), "{told}");
        }
    }
    site.wait_for("/door/in?user=anna&word=", 1);
    lines.end();
    lines.wait();
    nowhere(&env);
}
