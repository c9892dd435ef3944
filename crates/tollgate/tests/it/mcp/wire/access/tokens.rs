//! Bearer tokens, and doing without.

use serde_json::{Value, json};

use super::{BESIDE, bearer, list};
use crate::{
    mcp::wire::peer::{Ask, Gate, Heard, code, names, until},
    support::{TestEnv, database, envelope},
};

#[track_caller]
fn is_refused(heard: Heard) -> String {
    let heard = heard.has(401);
    let challenge = heard.header("www-authenticate").unwrap();
    assert!(
        challenge.starts_with("Bearer realm=\"tollgate\""),
        "{challenge}"
    );
    challenge.to_owned()
}

#[test]
fn nobody_listens_to_the_world_without_authentication() {
    let env = TestEnv::new();
    for host in ["0.0.0.0", "::"] {
        let ran = env.run(&["serve", "--host", host, "--port", "0"]).exits(2);
        assert!(ran.err.contains("without authentication"), "{}", ran.err);
        assert!(ran.err.contains("tollgate token create"), "{}", ran.err);
        assert_eq!(ran.out, "");
    }
    env.approver();
    let ran = env.run(&["serve", "--host", "0.0.0.0", "--port", "0"]);
    ran.exits(2);
}

#[test]
fn with_a_token_the_world_may_be_listened_to() {
    let env = TestEnv::with_config("[serve]\nanonymous = false\n");
    let token = bearer(&env, &[]);
    let gate = Gate::open_with(&env, &["--host", "0.0.0.0"]);
    is_refused(gate.ask(&list()));
    gate.result(&list().bearing(&token));
}

#[test]
fn a_guided_session_belongs_to_whoever_began_it() {
    let env = TestEnv::new();
    let path = env.write(
        "project/tea.json",
        r#"{"nodes": {"root": {"response": "Tea?", "options": [{"id": "end", "next_node": null}]}}}"#,
    );
    env.configure(&format!("{BESIDE}[knowledge]\npaths = [\"{path}\"]\n"));
    let (mine, foreign) = (bearer(&env, &[]), bearer(&env, &[]));
    let gate = Gate::open(&env);
    let begin = Ask::call("initiate_session", json!({"user_query": "hello"}));
    let begun = gate.result(&begin.bearing(&mine));
    let id = &begun["structuredContent"]["session_id"];
    let end = || {
        let step = json!({"session_id": id, "selected_option_id": "end"});
        Ask::call("navigate_session", step)
    };
    for ask in [end().bearing(&foreign), end()] {
        let refused = gate.result(&ask);
        let error = &refused["_meta"]["tollgate/result"]["error"];
        assert_eq!(error["kind"], "not_found", "{refused}");
        let what_to_do = error["recovery_suggestion"].as_str().unwrap();
        assert!(what_to_do.contains("initiate_session"), "{refused}");
    }
    let ended = gate.result(&end().bearing(&mine));
    assert_eq!(ended["structuredContent"]["is_complete"], true);
}

#[test]
fn a_good_token_works_and_says_who_calls() {
    let env = TestEnv::with_config(BESIDE);
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let call = Ask::call("text.stats", json!({"text": "hello"}));
    gate.result(&call.clone().bearing(&token));
    gate.result(
        &call
            .clone()
            .header("authorization", &format!("bearer  {token}")),
    );
    gate.result(&call);
    let rows = env.recorded();
    let who: Vec<&str> = rows
        .iter()
        .filter(|row| row["kind"] == "ending")
        .map(|row| row["principal"].as_str().unwrap())
        .collect();
    assert!(
        who[0].starts_with("token:tk-") && who[0] == who[1],
        "{who:?}"
    );
    assert_eq!(who[2], "anonymous");
    assert!(!rows.iter().any(|row| row.to_string().contains(&token)));
}

#[test]
fn a_bad_token_is_refused_even_where_none_is_needed() {
    let env = TestEnv::with_config(BESIDE);
    let good = bearer(&env, &[]);
    let approver = env.approver();
    let gate = Gate::open(&env);
    let altered = format!(
        "{}{}",
        &good[..51],
        if good.ends_with('0') { "1" } else { "0" }
    );
    for bad in [
        altered.as_str(),
        &good[..20],
        "tgb_",
        "something",
        &approver,
    ] {
        let challenge = is_refused(gate.ask(&list().bearing(bad)));
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
        assert!(!challenge.contains(bad) || bad.len() < 10);
    }
    is_refused(gate.ask(&list().header("authorization", "Basic YTpi")));
    is_refused(gate.ask(&list().header("authorization", "Bearer")));
    is_refused(gate.ask(&Ask::new("GET", "/metrics").bearing("something")));
    gate.result(&list());
}

#[test]
fn an_expired_or_revoked_token_is_refused() {
    let env = TestEnv::with_config(BESIDE);
    let expired = bearer(&env, &["--expires", "1"]);
    database(&env)
        .execute("UPDATE credentials SET expires = 1", [])
        .unwrap();
    let revoked = bearer(&env, &["--label", "gone"]);
    let gate = Gate::open(&env);
    is_refused(gate.ask(&list().bearing(&expired)));
    gate.result(&list().bearing(&revoked));
    let all = env.run(&["token", "list", "--json"]).exits(0).json();
    let all = all["tokens"].as_array().unwrap();
    let gone = all.iter().find(|it| it["label"] == "gone").unwrap();
    env.run(&["token", "revoke", gone["id"].as_str().unwrap()])
        .exits(0);
    until(|| gate.ask(&list().bearing(&revoked)).status == 401);
}

#[test]
fn nobody_is_anonymous_where_the_operator_says_so() {
    let env = TestEnv::with_config("[serve]\nanonymous = false\n");
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let challenge = is_refused(gate.ask(&list()));
    assert!(
        !challenge.contains("error="),
        "nothing was wrong yet: {challenge}"
    );
    is_refused(gate.ask(&Ask::legacy("", "initialize", json!({}))));
    is_refused(gate.ask(&Ask::new("GET", "/mcp")));
    is_refused(gate.ask(&Ask::new("GET", "/metrics")));
    gate.result(&list().bearing(&token));
    gate.ask(&Ask::new("GET", "/healthz")).has(200);
}

#[test]
fn a_request_that_was_passed_on_is_not_from_here() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for mark in ["x-forwarded-for", "forwarded", "via", "x-real-ip"] {
        is_refused(gate.ask(&list().header(mark, "1.2.3.4")));
    }
}

#[test]
fn a_token_reaches_its_own_toolsets_and_knows_of_no_other() {
    let env = TestEnv::with_config(
        "[serve]\nanonymous = true\n[providers.stub]\ntools = [\"weather.today\"]\n",
    );
    let token = bearer(&env, &["--toolset", "stub", "--toolset", "discovery"]);
    let gate = Gate::open(&env);
    let ask = |ask: Ask| gate.ask(&ask.bearing(&token));
    let listed = gate.result(&Ask::modern("tools/list", json!({"toolset": "all"})).bearing(&token));
    let mut listed = names(&listed);
    listed.sort_unstable();
    let own = [
        "tools.call",
        "tools.describe",
        "tools.search",
        "weather.today",
    ];
    assert_eq!(listed, own);
    let odd = ask(Ask::modern("tools/list", json!({"toolset": "results"})));
    assert_eq!(code(&odd.json()), -32602, "a toolset that is none here");

    gate.result(&Ask::call("weather.today", json!({})).bearing(&token));
    let direct = ask(Ask::call("text.stats", json!({"text": "a"})));
    assert_eq!(code(&direct.json()), -32602);
    let by_name = json!({"name": "text.stats", "arguments": {"text": "a"}});
    let by_name = ask(Ask::call("tools.call", by_name)).json();
    assert!(!by_name.to_string().contains("\"characters\""), "{by_name}");
    let described = ask(Ask::call("tools.describe", json!({"name": "text.stats"}))).json();
    assert_eq!(described["result"]["isError"], true);
    let found = ask(Ask::call(
        "tools.search",
        json!({"query": "count text words"}),
    ))
    .json();
    assert!(!found.to_string().contains("text.stats"), "{found}");
    for uri in ["tollgate://tools", "tollgate://toolsets"] {
        let read = ask(Ask::modern("resources/read", json!({"uri": uri}))).json();
        let text = read["result"]["contents"][0]["text"].as_str().unwrap();
        let other = text.contains("text.stats") || text.contains("\"results\"");
        assert!(!other, "{text}");
    }
    let read = json!({"uri": "tollgate://tools/text.stats"});
    let read = ask(Ask::modern("resources/read", read)).json();
    assert_eq!(code(&read), -32602);
    let complete = json!({"ref": {"type": "ref/resource", "uri": "tollgate://tools/{name}"},
        "argument": {"name": "name", "value": "text."}});
    let complete = ask(Ask::modern("completion/complete", complete)).json();
    assert_eq!(complete["result"]["completion"]["values"], json!([]));
}

#[test]
fn the_sessions_of_a_token_have_its_limit() {
    let config = "[serve]\nanonymous = true\n\
                  [providers.stub]\ntools = [\"weather.today\"]\nunits = 3\n";
    let env = TestEnv::with_config(config);
    let token = bearer(&env, &["--session-limit", "5"]);
    let gate = Gate::open(&env);
    let ask = |day: u64, session: &str| -> Value {
        let params = json!({"name": "weather.today", "arguments": {"day": day},
            "_meta": {"tollgate/session": session}});
        let ask = Ask::modern("tools/call", params).bearing(&token);
        envelope(&gate.result(&ask))
    };
    assert_eq!(ask(1, "a")["budget_ledger"]["remaining_limit"], 2);
    let refused = ask(2, "a");
    assert_eq!(refused["error"]["kind"], "budget_exceeded");
    assert_eq!(ask(1, "b")["budget_ledger"]["remaining_limit"], 2);
    let anonymous = gate.call("weather.today", json!({"day": 2}));
    assert_eq!(anonymous["_meta"]["tollgate/result"]["status"], "ok");
}

#[test]
fn a_token_says_how_far_its_bearer_is_trusted() {
    let env = TestEnv::with_config(BESIDE);
    let gate = Gate::open(&env);
    for (token, trust) in [
        (bearer(&env, &["--trust", "local"]), "local"),
        (bearer(&env, &[]), "remote"),
    ] {
        gate.result(&Ask::call("time.now", json!({})).bearing(&token));
        let rows = env.recorded();
        assert_eq!(rows.last().unwrap()["trust"], trust);
    }
}

#[test]
fn a_token_watches_only_what_it_may_read() {
    let env = TestEnv::with_config(BESIDE);
    let all = bearer(&env, &[]);
    let narrow = bearer(&env, &["--toolset", "discovery"]);
    let gate = Gate::open_with(&env, &["--conformance-fixtures"]);
    let watched = "test://watched-resource";
    for (token, wanted) in [(&all, json!([watched])), (&narrow, Value::Null)] {
        let params = json!({"notifications": {"resourceSubscriptions": [watched]}});
        let listen = Ask::modern("subscriptions/listen", params).bearing(token);
        let said = gate.begin(&listen).event().unwrap();
        let honoured = &said["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(*honoured, wanted, "{said}");
        let session = gate.session(|ask| ask.bearing(token));
        let subscribe = Ask::legacy(&session, "resources/subscribe", json!({"uri": watched}));
        let answer = gate.ask(&subscribe.bearing(token)).has(200).json();
        assert_eq!(answer.get("result").is_some(), token == &all, "{answer}");
    }
}
