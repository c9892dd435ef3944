//! Access tokens: the good ones, and everything an attacker would try.

use super::{
    issuer::{
        AUDIENCE, ISSUER, Key, base64, claims, claims_with, document, message, sign_with_secret,
    },
    *,
};

/// A door that knows one key of each kind.
struct World {
    door: Door,
    ec: Key,
    ed: Key,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let (ec, ed) = (Key::p256(), Key::ed25519());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("jwks.json");
        let secret = json!({"kty": "oct", "kid": "shared", "k": base64("secret")});
        let keys = [Key::Rsa.jwk("rsa"), ec.jwk("ec"), ed.jwk("ed"), secret];
        std::fs::write(&file, document(&keys)).unwrap();
        Self {
            door: Door::with_issuer(KeySource::File(file)).await,
            ec,
            ed,
            _folder: folder,
        }
    }

    fn oauth(&mut self) -> &mut Oauth {
        self.door.config.serve.oauth.as_mut().unwrap()
    }

    async fn show(&self, token: &str) -> Result<Identity, Refused> {
        from_elsewhere(&self.door.open(), token).await
    }

    async fn refused(&self, token: &str) -> String {
        match self.show(token).await {
            Err(Refused::Invalid(why)) => why.to_owned(),
            other => panic!("{other:?}"),
        }
    }

    /// What happens to the good claims with some changes, signed as they should be.
    async fn with(&self, changes: Value) -> String {
        let token = self.ed.sign(&self.ed.header("ed"), &claims_with(changes));
        match self.show(&token).await {
            Ok(identity) => identity.principal.to_string(),
            Err(Refused::Invalid(why)) => why.to_owned(),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_good_token_of_every_algorithm_is_accepted() {
    let mut world = World::new().await;
    let good = Identity {
        principal: Principal::oauth(ISSUER, "ada"),
        trust: TrustLevel::Remote,
        toolsets: None,
        session_limit: None,
        expires: Some(NOW.plus(Duration::from_secs(660))),
    };
    let tokens = [
        Key::Rsa.token("rsa"),
        world.ec.token("ec"),
        world.ed.token("ed"),
    ];
    for token in tokens {
        assert_eq!(world.show(&token).await.as_ref(), Ok(&good));
    }
    let pss = Key::Rsa.sign(&json!({"alg": "PS512", "kid": "rsa"}), &claims());
    assert_eq!(
        world.refused(&pss).await,
        "the token's algorithm is not accepted"
    );
    world.oauth().algorithms.push(Algorithm::PS512);
    assert_eq!(world.show(&pss).await, Ok(good));
}

#[tokio::test]
async fn claims_must_be_for_this_server_and_for_now() {
    let world = World::new().await;
    let now = NOW.0 / 1000;
    let cases = [
        json!({}),
        json!({"aud": ["https://other.example", AUDIENCE]}),
        json!({"nbf": null, "iat": null, "scope": null}),
        json!({"exp": now - 59}),
        json!({"exp": now as f64 + 0.5}),
        json!({"aud": "https://other.example"}),
        json!({"aud": ["https://gate.example"]}),
        json!({"aud": null}),
        json!({"aud": 7}),
        json!({"iss": "https://login.example/realm/"}),
        json!({"iss": null}),
        json!({"exp": now - 60}),
        json!({"exp": null}),
        json!({"exp": "never"}),
        json!({"exp": 1e300}),
        json!({"nbf": now + 60}),
        json!({"nbf": now + 61}),
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": "a\nb"}),
        json!({"sub": "x".repeat(256)}),
        json!({"cnf": {"jkt": "x"}}),
    ];
    let mut said = Vec::new();
    for case in cases {
        let shown: String = case.to_string().chars().take(48).collect();
        said.push(format!("{shown} -> {}", world.with(case).await));
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    {} -> oauth:https://login.example/realm#ada
    {"aud":["https://other.example","https://gate.ex -> oauth:https://login.example/realm#ada
    {"nbf":null,"iat":null,"scope":null} -> oauth:https://login.example/realm#ada
    {"exp":1799999941} -> oauth:https://login.example/realm#ada
    {"exp":1800000000.5} -> oauth:https://login.example/realm#ada
    {"aud":"https://other.example"} -> the token is for another audience
    {"aud":["https://gate.example"]} -> the token is for another audience
    {"aud":null} -> the token is for another audience
    {"aud":7} -> the token's claims cannot be read
    {"iss":"https://login.example/realm/"} -> the token is from another issuer
    {"iss":null} -> the token is from another issuer
    {"exp":1799999940} -> the token has expired
    {"exp":null} -> the token does not say when it ends
    {"exp":"never"} -> the token's claims cannot be read
    {"exp":1e+300} -> the token does not say when it ends
    {"nbf":1800000060} -> oauth:https://login.example/realm#ada
    {"nbf":1800000061} -> the token is not valid yet
    {"sub":null} -> the token does not say whom it is for
    {"sub":""} -> the token does not say whom it is for
    {"sub":"a\nb"} -> the token does not say whom it is for
    {"sub":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx -> the token does not say whom it is for
    {"cnf":{"jkt":"x"}} -> the token is bound to a key
    "#);
}

#[tokio::test]
async fn a_signature_cannot_be_left_out_or_moved() {
    let world = World::new().await;
    let good = world.ed.token("ed");
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let (header, _) = signed.split_once('.').unwrap();
    let evil = base64(claims_with(json!({"sub": "eve"})).to_string());
    let none = message(&json!({"alg": "none"}), &claims());
    let spelled = message(&json!({"alg": "NonE", "kid": "ed"}), &claims());
    let cases = [
        ("no signature", format!("{signed}.")),
        ("alg none", format!("{none}.")),
        (
            "alg NonE with another's signature",
            format!("{spelled}.{signature}"),
        ),
        ("tampered payload", format!("{header}.{evil}.{signature}")),
        ("padded", format!("{signed}.{signature}==")),
        ("two parts", signed.to_owned()),
        ("five parts", format!("{good}.{signature}.{signature}")),
        ("nothing", "..".to_owned()),
        ("shortened", good[..good.len() - 5].to_owned()),
    ];
    let mut said = Vec::new();
    for (what, token) in cases {
        said.push(format!("{what}: {}", world.refused(&token).await));
    }
    insta::assert_snapshot!(said.join("\n"), @"
    no signature: the token's signature is wrong
    alg none: the token's algorithm is not accepted
    alg NonE with another's signature: the token's algorithm is not accepted
    tampered payload: the token's signature is wrong
    padded: the token is not a signed JSON token
    two parts: the token is not a signed JSON token
    five parts: the token is not a signed JSON token
    nothing: the token is not a signed JSON token
    shortened: the token is not a signed JSON token
    ");
}

#[tokio::test]
async fn no_change_of_a_single_character_is_accepted() {
    let world = World::new().await;
    let open = world.door.open();
    let good = world.ed.token("ed");
    assert!(from_elsewhere(&open, &good).await.is_ok());
    for place in 0..good.len() {
        let other = match good.as_bytes()[place] {
            b'A' => "B",
            _ => "A",
        };
        let mut changed = good.clone();
        changed.replace_range(place..=place, other);
        let answer = from_elsewhere(&open, &changed).await;
        assert!(matches!(answer, Err(Refused::Invalid(_))), "{place}");
    }
}

#[tokio::test]
async fn a_key_is_used_for_its_own_algorithm_only() {
    let mut world = World::new().await;
    let public = Key::Rsa.jwk("rsa");
    let modulus = public["n"].as_str().unwrap();
    let confused = |kid: &str, secret: &[u8]| {
        let header = json!({"alg": "HS256", "kid": kid});
        sign_with_secret(secret, &header, &claims())
    };
    let as_rsa = |alg: &str| json!({"alg": alg, "kid": "rsa"});
    let stranger = Key::ed25519();
    let mut header = stranger.header("mine");
    header["jwk"] = stranger.jwk("mine");
    let brought = stranger.sign(&header, &claims());
    let cases = [
        (
            "HS256 with the modulus",
            confused("rsa", modulus.as_bytes()),
        ),
        (
            "HS256 with a published secret",
            confused("shared", b"secret"),
        ),
        (
            "ES256 under the RSA key's name",
            world.ec.sign(&as_rsa("ES256"), &claims()),
        ),
        (
            "EdDSA under the RSA key's name",
            world.ed.sign(&as_rsa("EdDSA"), &claims()),
        ),
        ("RS256 under the EC key's name", Key::Rsa.token("ec")),
        (
            "an EC signature said to be RS256",
            world.ec.sign(&as_rsa("RS256"), &claims()),
        ),
        ("the name of a key nobody has", world.ed.token("other")),
        ("the name of another's key", stranger.token("ed")),
        ("a stranger who brings a key along", brought),
        (
            "a stranger without a name",
            stranger.sign(&json!({"alg": "EdDSA"}), &claims()),
        ),
    ];
    let mut said = Vec::new();
    for (what, token) in cases {
        said.push(format!("{what}: {}", world.refused(&token).await));
    }
    insta::assert_snapshot!(said.join("\n"), @"
    HS256 with the modulus: the token's algorithm is not accepted
    HS256 with a published secret: the token's algorithm is not accepted
    ES256 under the RSA key's name: the issuer has no such key
    EdDSA under the RSA key's name: the issuer has no such key
    RS256 under the EC key's name: the issuer has no such key
    an EC signature said to be RS256: the token's signature is wrong
    the name of a key nobody has: the issuer has no such key
    the name of another's key: the token's signature is wrong
    a stranger who brings a key along: the issuer has no such key
    a stranger without a name: the token's signature is wrong
    ");
    let nameless = world.ed.sign(&json!({"alg": "EdDSA"}), &claims());
    assert!(world.show(&nameless).await.is_ok());
    world.oauth().algorithms = vec![Algorithm::RS256];
    assert_eq!(
        world.refused(&nameless).await,
        "the token's algorithm is not accepted"
    );
}

#[tokio::test]
async fn the_header_may_not_ask_for_more() {
    let world = World::new().await;
    let mut said = Vec::new();
    for (name, value) in [
        ("crit", json!(["exp"])),
        ("typ", json!("dpop+jwt")),
        ("typ", json!("application/AT+JWT")),
        ("typ", json!("JWT")),
        ("jku", json!("https://evil.example/keys")),
        ("jwk", Key::ed25519().jwk("ed")),
    ] {
        let mut header = world.ed.header("ed");
        header[name] = value;
        let token = world.ed.sign(&header, &claims());
        let answer = match world.show(&token).await {
            Ok(_) => "accepted".to_owned(),
            Err(refused) => format!("{refused:?}"),
        };
        said.push(format!("{name}: {answer}"));
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    crit: Invalid("the token asks for an unknown extension")
    typ: Invalid("the token is not an access token")
    typ: accepted
    typ: accepted
    jku: accepted
    jwk: accepted
    "#);
}

#[tokio::test]
async fn scopes_are_required_and_name_toolsets() {
    let mut world = World::new().await;
    world.oauth().scopes = vec!["tools".to_owned(), "admin".to_owned()];
    let token = world.ed.token("ed");
    let missing = vec!["tools".to_owned(), "admin".to_owned()];
    assert_eq!(
        world.show(&token).await,
        Err(Refused::Insufficient(missing))
    );

    world.oauth().scopes = vec!["tools".to_owned()];
    world.oauth().toolset_prefix = Some("toolset:".to_owned());
    let identity = world.show(&token).await.unwrap();
    assert_eq!(identity.toolsets, Some(vec!["research".to_owned()]));

    let listed = claims_with(json!({"scope": null, "scp": ["tools"]}));
    let token = world.ed.sign(&world.ed.header("ed"), &listed);
    let identity = world.show(&token).await.unwrap();
    assert_eq!(identity.toolsets, Some(Vec::new()));
}

#[tokio::test]
async fn a_refused_client_learns_where_to_go() {
    let mut world = World::new().await;
    world.oauth().scopes = vec!["tools".to_owned()];
    let open = world.door.open();
    let url = "https://gate.example/.well-known/oauth-protected-resource/mcp";
    let said: Vec<String> = [
        Refused::Missing,
        Refused::Invalid("the token has expired"),
        Refused::Insufficient(vec!["tools".to_owned(), "admin".to_owned()]),
    ]
    .iter()
    .map(|refused| open.challenge(refused, url))
    .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    Bearer realm="tollgate", scope="tools", resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp"
    Bearer realm="tollgate", error="invalid_token", error_description="the token has expired", scope="tools", resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp"
    Bearer realm="tollgate", error="insufficient_scope", scope="tools admin", resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp"
    "#);
    insta::assert_snapshot!(format!("{:#}", open.metadata("http://127.0.0.1:7420/mcp")), @r#"
    {
      "resource": "https://gate.example/mcp",
      "resource_name": "Tollgate",
      "bearer_methods_supported": [
        "header"
      ],
      "authorization_servers": [
        "https://login.example/realm"
      ],
      "scopes_supported": [
        "tools"
      ]
    }
    "#);
}

#[tokio::test]
async fn no_answer_quotes_the_token() {
    let world = World::new().await;
    let good = world.ed.token("ed");
    let (signed, _) = good.rsplit_once('.').unwrap();
    for token in [
        format!("{signed}.AAAA"),
        format!("x{good}"),
        "hunter2".to_owned(),
    ] {
        let said = format!("{:?}", world.show(&token).await);
        let piece = &token[..token.len().min(12)];
        assert!(!said.contains(piece), "{said}");
    }
}
