//! Servers that want a token: asked for once, kept, and replaced when it is refused.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};

use super::{
    Session, text,
    web::{Got, Then, Web, modern, tool},
};
use crate::support::{Ran, TestEnv};

/// What an issuer and a server at one address say; `valid` is the number of the token that
/// counts.
fn guarded(got: &Got, given: &AtomicU64, valid: &AtomicU64, issuer: &str) -> Then {
    let host = got.header("host").unwrap();
    let base = format!("http://{host}");
    match got.path.as_str() {
        "/token" => {
            // `client:se:cret` with both parts escaped.
            let right = got.header("authorization") == Some("Basic Y2xpZW50OnNlJTNBY3JldA==");
            if !right {
                return Then::json(401, &json!({"error": "invalid_client"}));
            }
            let number = given.fetch_add(1, Ordering::SeqCst) + 1;
            Then::json(
                200,
                &json!({"access_token": format!("token-{number}"),
                                    "token_type": "Bearer", "expires_in": u64::MAX}),
            )
        }
        "/.well-known/oauth-protected-resource/mcp" => Then::json(
            200,
            &json!({"resource": format!("{base}/mcp"), "authorization_servers": [issuer.replace("BASE", &base)]}),
        ),
        "/.well-known/oauth-authorization-server" => Then::json(
            200,
            &json!({"issuer": base, "token_endpoint": format!("{base}/token"),
                    "token_endpoint_auth_methods_supported": ["client_secret_basic"]}),
        ),
        "/mcp" => {
            let wanted = format!("Bearer token-{}", valid.load(Ordering::SeqCst));
            if got.header("authorization") == Some(&wanted) {
                return modern(got, &json!([tool("good")]));
            }
            let challenge = format!(
                "Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\", scope=\"calls\""
            );
            Then::Answer(401, vec![("www-authenticate", challenge)], String::new())
        }
        _ => Then::Answer(404, Vec::new(), String::new()),
    }
}

struct Guarded {
    web: Web,
    given: Arc<AtomicU64>,
    valid: Arc<AtomicU64>,
}

fn guard(issuer: &'static str) -> Guarded {
    let (given, valid) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(1)));
    let (own_given, own_valid) = (Arc::clone(&given), Arc::clone(&valid));
    let web = Web::start(move |got| guarded(got, &own_given, &own_valid, issuer));
    Guarded { web, given, valid }
}

fn env_of(web: &Web, more: &str) -> TestEnv {
    let oauth = format!(
        "[mcp.servers.oauth]\nclient_id = \"client\"\nclient_secret = \"env:CLIENT_SECRET\"\n{more}"
    );
    let mut env = TestEnv::with_config(&web.section(&oauth));
    env.set("CLIENT_SECRET", "se:cret");
    env
}

fn token_url(web: &Web) -> String {
    format!("token_url = \"http://127.0.0.1:{}/token\"", web.port)
}

fn fields(got: &Got) -> Vec<&str> {
    got.text.split('&').collect()
}

#[test]
fn a_token_is_got_once_and_replaced_once_when_it_is_refused() {
    let Guarded { web, given, valid } = guard("BASE");
    let env = env_of(&web, &token_url(&web));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    for _ in 0..3 {
        assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    }
    assert_eq!(given.load(Ordering::SeqCst), 1);
    valid.store(2, Ordering::SeqCst);
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    assert_eq!(given.load(Ordering::SeqCst), 2);
    // What no new token helps with ends, and does not go round in circles.
    valid.store(100, Ordering::SeqCst);
    let answer = session.call("mcp.s.good", json!({}));
    let failed = &answer["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "unauthorized", "{answer:#}");
    assert_eq!(given.load(Ordering::SeqCst), 3);
    let got = web.got.lock().unwrap();
    let asked: Vec<&Got> = got.iter().filter(|one| one.path == "/token").collect();
    let first = fields(asked[0]);
    let resource = format!("resource=http%3A%2F%2F127.0.0.1%3A{}%2Fmcp", web.port);
    assert!(
        first.contains(&"grant_type=client_credentials"),
        "{first:?}"
    );
    assert!(first.contains(&resource.as_str()), "{first:?}");
    // What the server asked for is asked for.
    assert!(
        fields(asked[1]).contains(&"scope=calls"),
        "{:?}",
        asked[1].text
    );
}

#[test]
fn where_tokens_are_given_is_found_out_from_the_issuer() {
    let Guarded { web, given, .. } = guard("BASE");
    let issuer = format!(
        "issuer = \"http://127.0.0.1:{}\"\nscopes = [\"a\", \"b\"]",
        web.port
    );
    let env = env_of(&web, &issuer);
    env.ok("mcp.s.good", "{}");
    assert_eq!(given.load(Ordering::SeqCst), 1);
    let got = web.got.lock().unwrap();
    let asked = got.iter().find(|one| one.path == "/token").unwrap();
    assert!(fields(asked).contains(&"scope=a+b"), "{}", asked.text);
}

/// The status once the server has had its turn, however slow the machine is.
fn settled(env: &TestEnv) -> Ran {
    for _ in 0..30 {
        let ran = env.run(&["mcp", "status", "--json"]).exits(1);
        if ran.json()["servers"][0]["reason"] != "it is starting" {
            return ran;
        }
    }
    panic!("the server never got its turn");
}

#[test]
fn a_server_cannot_choose_who_gets_the_secret() {
    let Guarded { web, given, .. } = guard("https://elsewhere.example");
    let issuer = format!("issuer = \"http://127.0.0.1:{}\"", web.port);
    let env = env_of(&web, &issuer);
    let status = settled(&env).json();
    let reason = status["servers"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("another issuer"), "{reason}");
    assert_eq!(given.load(Ordering::SeqCst), 0);
}

#[test]
fn a_wrong_secret_is_told_and_shown_nowhere() {
    let Guarded { web, .. } = guard("BASE");
    let mut env = env_of(&web, &token_url(&web));
    env.set("CLIENT_SECRET", "hunter2-hunter2");
    let ran = settled(&env);
    let reason = &ran.json()["servers"][0]["reason"];
    assert!(
        reason.as_str().unwrap().contains("invalid_client"),
        "{reason}"
    );
    let logs = env.run(&["mcp", "logs"]).exits(0);
    for text in [&ran.out, &ran.err, &logs.out] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn half_a_setting_is_left_out_with_a_reason() {
    let web = Web::start(|got| modern(got, &Value::Array(Vec::new())));
    for (more, why) in [
        ("", "`token_url` or an `issuer`"),
        (
            "token_url = \"http://127.0.0.1:1/\"\n[mcp.servers.headers]\nAuthorization = \"env:X\"",
            "`Authorization`",
        ),
    ] {
        let env = env_of(&web, more);
        let ran = env.run(&["mcp", "list"]).exits(0);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}

/// An issuer at `/tenant` of a server that wants tokens: where it says what about itself, how
/// it takes secrets, and how long its tokens last.
#[derive(Clone)]
struct Issuer {
    place: &'static str,
    resource: &'static str,
    method: &'static str,
    lasts: Value,
}

impl Default for Issuer {
    fn default() -> Self {
        Self {
            place: "/.well-known/oauth-authorization-server/tenant",
            resource: "/.well-known/oauth-protected-resource/mcp",
            method: "client_secret_basic",
            lasts: json!(3600),
        }
    }
}

impl Issuer {
    fn start(self) -> Web {
        let given = AtomicU64::new(0);
        Web::start(move |got: &Got| {
            let base = format!("http://{}", got.header("host").unwrap());
            let own = format!("{base}/tenant");
            match got.path.as_str() {
                path if path == self.place => Then::json(
                    200,
                    &json!({"issuer": own, "token_endpoint": format!("{base}/token"),
                            "token_endpoint_auth_methods_supported": [self.method]}),
                ),
                path if path == self.resource => {
                    Then::json(200, &json!({"authorization_servers": [own]}))
                }
                "/token" => {
                    let number = given.fetch_add(1, Ordering::SeqCst) + 1;
                    let mut token = json!({"access_token": format!("token-{number}")});
                    if !self.lasts.is_null() {
                        token["expires_in"] = self.lasts.clone();
                    }
                    Then::json(200, &token)
                }
                "/mcp" => modern(got, &json!([tool("good")])),
                _ => Then::Answer(404, Vec::new(), String::new()),
            }
        })
    }
}

/// A call through such an issuer; gives what was asked of it, in order.
fn called(web: &Web) -> Vec<Got> {
    let issuer = format!("issuer = \"http://127.0.0.1:{}/tenant\"", web.port);
    env_of(web, &issuer).ok("mcp.s.good", "{}");
    web.got.lock().unwrap().clone()
}

fn at<'a>(got: &'a [Got], path: &str) -> Vec<&'a Got> {
    got.iter().filter(|one| one.path == path).collect()
}

#[test]
fn a_token_that_is_about_to_end_is_not_sent_any_more() {
    for (lasts, is_kept) in [(json!(20), false), (json!(3600), true), (Value::Null, true)] {
        let issuer = Issuer {
            lasts: lasts.clone(),
            ..Issuer::default()
        };
        let got = called(&issuer.start());
        let sent: Vec<_> = at(&got, "/mcp")
            .iter()
            .map(|one| one.header("authorization").unwrap_or_default().to_owned())
            .collect();
        assert!(sent.len() > 2, "{sent:?}");
        let fresh: std::collections::BTreeSet<_> = sent.iter().collect();
        let wanted = if is_kept { 1 } else { sent.len() };
        assert_eq!(fresh.len(), wanted, "{lasts}: {sent:?}");
        assert_eq!(at(&got, "/token").len(), wanted, "{lasts}");
    }
}

#[test]
fn a_secret_goes_into_the_body_where_nothing_else_is_taken() {
    let issuer = Issuer {
        method: "client_secret_post",
        ..Issuer::default()
    };
    let got = called(&issuer.start());
    let asked = at(&got, "/token")[0];
    assert_eq!(asked.header("authorization"), None);
    for field in ["client_id=client", "client_secret=se%3Acret"] {
        assert!(fields(asked).contains(&field), "{}", asked.text);
    }
    let got = called(&Issuer::default().start());
    let asked = at(&got, "/token")[0];
    assert!(asked.header("authorization").is_some());
    assert!(!asked.text.contains("client_secret"), "{}", asked.text);
}

#[test]
fn documents_about_tokens_are_found_wherever_they_may_be() {
    for place in [
        "/.well-known/oauth-authorization-server/tenant",
        "/.well-known/openid-configuration/tenant",
        "/tenant/.well-known/openid-configuration",
    ] {
        for resource in [
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource",
        ] {
            let issuer = Issuer {
                place,
                resource,
                ..Issuer::default()
            };
            let got = called(&issuer.start());
            for path in [place, resource] {
                assert_eq!(at(&got, path).len(), 1, "{place} {resource}");
            }
            assert_eq!(at(&got, "/token").len(), 1);
        }
    }
}
