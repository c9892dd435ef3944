//! Access tokens of an authorization server.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair},
};
use serde_json::{Value, json};
use tollgate_core::{Clock, SystemClock};

use super::list;
use crate::{
    mcp::wire::peer::{Ask, Gate, names},
    support::TestEnv,
};

const ISSUER: &str = "https://login.example/realm";
const AUDIENCE: &str = "https://gate.example/mcp";

/// An authorization server that has published its key in a file.
struct Issuer {
    env: TestEnv,
    key: Ed25519KeyPair,
}

fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn key() -> Ed25519KeyPair {
    let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap()
}

impl Issuer {
    /// Nothing is said of callers without a token: an issuer alone turns them away.
    fn new(more: &str) -> Self {
        let env = TestEnv::new();
        let key = key();
        let jwk =
            json!({"kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": base64(key.public_key())});
        let file = env.write("jwks.json", json!({"keys": [jwk]}).to_string());
        env.configure(&format!(
            "[serve.oauth]\nissuer = \"{ISSUER}\"\n\
             audience = \"{AUDIENCE}\"\njwks_file = \"{file}\"\n{more}"
        ));
        Self { env, key }
    }

    /// A token with good claims, some of them changed.
    fn token(&self, changes: Value) -> String {
        sign(&self.key, changes)
    }
}

fn sign(key: &Ed25519KeyPair, changes: Value) -> String {
    let now = SystemClock.now().0 / 1000;
    let mut claims = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ada",
        "iat": now - 10, "exp": now + 600, "scope": "tools toolset:gate toolset:discovery"});
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let header = json!({"typ": "at+jwt", "alg": "EdDSA", "kid": "k1"});
    let signed = format!(
        "{}.{}",
        base64(header.to_string()),
        base64(claims.to_string())
    );
    let signature = key.sign(signed.as_bytes());
    format!("{signed}.{}", base64(signature))
}

#[test]
fn a_token_for_this_gate_works_and_says_who_calls() {
    let issuer = Issuer::new("");
    let gate = Gate::open(&issuer.env);
    let token = issuer.token(json!({}));
    gate.result(&Ask::call("time.now", json!({})).bearing(&token));
    let rows = issuer.env.recorded();
    let who = rows.last().unwrap()["principal"].as_str().unwrap();
    assert_eq!(who, format!("oauth:{ISSUER}#ada"));
    assert!(!rows.iter().any(|row| row.to_string().contains(&token)));
}

#[test]
fn an_issuer_ends_calls_without_a_token_unless_the_operator_says_otherwise() {
    let issuer = Issuer::new("");
    let gate = Gate::open(&issuer.env);
    gate.ask(&list()).has(401);
    gate.ask(&Ask::call("time.now", json!({}))).has(401);
    gate.result(&list().bearing(&issuer.token(json!({}))));
    drop(gate);

    let open = Issuer::new("[serve]\nanonymous = true\n");
    let gate = Gate::open(&open.env);
    gate.result(&list());
}

#[test]
fn a_token_for_anything_else_is_refused() {
    let issuer = Issuer::new("");
    let gate = Gate::open(&issuer.env);
    let past = SystemClock.now().0 / 1000 - 3600;
    let good = issuer.token(json!({}));
    let (signed, _) = good.rsplit_once('.').unwrap();
    let (_, payload) = signed.split_once('.').unwrap();
    let none = base64(json!({"alg": "none", "typ": "at+jwt"}).to_string());
    let turned_away = || {
        let rows = issuer.env.recorded();
        let refused = rows.iter().filter(|row| {
            row["error_code"] == "tool.provider.auth.refused"
                && row["principal"] == "unauthenticated"
        });
        refused.count()
    };
    let wrong = [
        issuer.token(json!({"aud": "https://other.example/mcp"})),
        issuer.token(json!({"aud": null})),
        issuer.token(json!({"iss": "https://evil.example"})),
        issuer.token(json!({"exp": past})),
        issuer.token(json!({"exp": null})),
        sign(&key(), json!({})),
        format!("{none}.{payload}."),
        signed.to_owned(),
        format!("{signed}."),
    ];
    for bad in &wrong {
        let heard = gate.ask(&list().bearing(bad)).has(401);
        let challenge = heard.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
        assert!(!challenge.contains(bad));
        assert_eq!(
            turned_away(),
            1,
            "the first is written down, the others are counted"
        );
    }
    gate.result(&list().bearing(&good));
}

#[test]
fn whoever_has_no_token_is_told_where_to_get_one() {
    let issuer = Issuer::new("scopes = [\"tools\"]\n");
    let gate = Gate::open(&issuer.env);
    let heard = gate.ask(&list()).has(401);
    let challenge = heard.header("www-authenticate").unwrap();
    let place = "https://gate.example/.well-known/oauth-protected-resource/mcp";
    let place = format!("resource_metadata=\"{place}\"");
    assert!(challenge.contains(&place), "{challenge}");
    assert!(challenge.contains("scope=\"tools\""), "{challenge}");
    let path = "/.well-known/oauth-protected-resource";
    let said = gate.ask(&Ask::new("GET", path)).has(200).json();
    assert_eq!(said["resource"], AUDIENCE);
    assert_eq!(said["authorization_servers"], json!([ISSUER]));
    assert_eq!(said["scopes_supported"], json!(["tools"]));

    let narrow = issuer.token(json!({"scope": "other"}));
    let heard = gate.ask(&list().bearing(&narrow)).has(403);
    let challenge = heard.header("www-authenticate").unwrap();
    assert!(challenge.contains("insufficient_scope"), "{challenge}");
}

#[test]
fn scopes_become_toolsets_where_the_operator_says_so() {
    let issuer = Issuer::new("toolset_prefix = \"toolset:\"\n");
    let gate = Gate::open(&issuer.env);
    let all = Ask::modern("tools/list", json!({"toolset": "all"}));
    let listed = gate.result(&all.clone().bearing(&issuer.token(json!({}))));
    assert!(names(&listed).contains(&"text.stats"));
    let less = issuer.token(json!({"scope": "toolset:discovery"}));
    let listed = gate.result(&all.bearing(&less));
    assert!(!names(&listed).contains(&"text.stats"));
}

#[test]
fn a_token_of_ours_works_beside_those_of_others() {
    let issuer = Issuer::new("");
    let ours = super::bearer(&issuer.env, &[]);
    let gate = Gate::open(&issuer.env);
    gate.result(&list().bearing(&ours));
    gate.result(&list().bearing(&issuer.token(json!({}))));
}
