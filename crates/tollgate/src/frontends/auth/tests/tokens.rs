//! Tokens of our own, and callers without one.

use super::*;

#[tokio::test]
async fn a_bearer_token_says_who_calls_and_how_far() {
    let door = Door::new().await;
    let scopes = json!({"toolsets": ["research"], "trust": "local", "session_limit": 50});
    let (credential, token) = door.token(CredentialKind::Bearer, scopes).await;
    let expected = Identity {
        principal: Principal::token(&credential.id),
        trust: TrustLevel::Local,
        toolsets: Some(vec!["research".to_owned()]),
        session_limit: Some(50),
        expires: credential.expires,
    };
    assert_eq!(from_elsewhere(&door.open(), &token).await, Ok(expected));
}

#[tokio::test]
async fn a_token_without_scopes_is_remote_and_unrestricted() {
    let door = Door::new().await;
    let (_, token) = door.token(CredentialKind::Bearer, json!({})).await;
    let identity = from_elsewhere(&door.open(), &token).await.unwrap();
    assert_eq!(identity.trust, TrustLevel::Remote);
    assert_eq!((identity.toolsets, identity.session_limit), (None, None));
}

#[tokio::test]
async fn scopes_that_cannot_be_understood_are_no_scopes() {
    let door = Door::new().await;
    for scopes in [json!({"trust": "full"}), json!({"tools": []}), json!(null)] {
        let (_, token) = door.token(CredentialKind::Bearer, scopes).await;
        assert_eq!(
            from_elsewhere(&door.open(), &token).await,
            Err(Refused::Invalid("the token's scopes cannot be read"))
        );
    }
}

#[tokio::test]
async fn a_token_that_is_shown_is_checked_even_where_none_is_needed() {
    let door = Door::new().await;
    let (_, approver) = door.token(CredentialKind::Approver, json!({})).await;
    // Right in form, under the prefix of the other kind.
    let disguised = approver.replace("tga_", "tgb_");
    let open = door.open();
    let mut said = Vec::new();
    for token in [
        approver.as_str(),
        disguised.as_str(),
        &format!("tgb_{}", "0".repeat(48)),
        "tgb_0",
        "secret",
        &"x".repeat(9000),
    ] {
        match open.identify(&bearing(token), true).await {
            Err(Refused::Invalid(why)) => said.push(why),
            other => panic!("{other:?}"),
        }
    }
    insta::assert_snapshot!(said.join("\n"), @"
    an approver token cannot call
    the token is not known, or has ended
    the token is not known, or has ended
    the token is not whole
    the token is not known
    the token is too long
    ");
}

#[tokio::test]
async fn the_header_has_one_form() {
    let door = Door::new().await;
    let (_, token) = door.token(CredentialKind::Bearer, json!({})).await;
    let open = door.open();
    for (value, is_good) in [
        (format!("bearer {token}"), true),
        (format!("BEARER  {token} "), true),
        (token.clone(), false),
        (format!("Basic {token}"), false),
        ("Bearer".to_owned(), false),
        (String::new(), false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&value).unwrap());
        assert_eq!(open.identify(&headers, true).await.is_ok(), is_good);
    }
    let mut twice = bearing(&token);
    twice.append(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
    assert!(open.identify(&twice, true).await.is_err());
}

#[tokio::test]
async fn revoking_takes_effect_within_seconds() {
    let door = Door::new().await;
    let (credential, token) = door.token(CredentialKind::Bearer, json!({})).await;
    let open = door.open();
    assert!(from_elsewhere(&open, &token).await.is_ok());
    door.gateway.revoke_token(&credential.id).await.unwrap();
    door.later(Duration::from_secs(2));
    assert!(from_elsewhere(&open, &token).await.is_err());
}

#[tokio::test]
async fn an_ended_token_is_not_remembered_beyond_its_end() {
    let door = Door::new().await;
    let (_, token) = door.token(CredentialKind::Bearer, json!({})).await;
    let open = door.open();
    door.later(Duration::from_millis(3_599_999));
    assert!(from_elsewhere(&open, &token).await.is_ok());
    door.later(Duration::from_millis(1));
    assert!(from_elsewhere(&open, &token).await.is_err());
}

#[tokio::test]
async fn without_a_token_only_this_machine_is_let_in() {
    let mut door = Door::new().await;
    let nothing = HeaderMap::new();
    let open = door.open();
    let identity = open.identify(&nothing, true).await.unwrap();
    assert_eq!(identity.principal, Principal::anonymous());
    assert_eq!(identity.trust, TrustLevel::Remote);
    assert_eq!(open.identify(&nothing, false).await, Err(Refused::Missing));
    for mark in ["forwarded", "x-forwarded-for", "x-real-ip", "via"] {
        let mut headers = HeaderMap::new();
        headers.insert(mark, HeaderValue::from_static("1.2.3.4"));
        assert_eq!(open.identify(&headers, true).await, Err(Refused::Missing));
    }
    door.config.serve.anonymous = Some(false);
    let open = door.open();
    assert_eq!(open.identify(&nothing, true).await, Err(Refused::Missing));
}

#[tokio::test]
async fn another_way_to_say_who_calls_ends_calls_without_a_token() {
    let nothing = HeaderMap::new();
    let is_let_in = async |door: &Door| door.open().identify(&nothing, true).await.is_ok();
    let mut door = Door::new().await;
    assert!(is_let_in(&door).await);
    door.token(CredentialKind::Approver, json!({})).await;
    assert!(is_let_in(&door).await, "it approves, and calls nothing");
    door.config.serve.allowed_hosts = vec!["gate.example".to_owned()];
    assert!(!is_let_in(&door).await);
    door.config.serve.allowed_hosts.clear();
    let (credential, _) = door.token(CredentialKind::Bearer, json!({})).await;
    assert!(!is_let_in(&door).await);
    door.gateway.revoke_token(&credential.id).await.unwrap();
    assert!(is_let_in(&door).await);

    let keys = KeySource::Url("https://login.example/keys".to_owned());
    let mut door = Door::with_issuer(keys).await;
    assert_eq!(door.config.serve.anonymous, None);
    assert!(!is_let_in(&door).await);
    door.config.serve.anonymous = Some(true);
    assert!(is_let_in(&door).await);
}

#[tokio::test]
async fn protection_is_a_live_token_or_an_issuer() {
    let door = Door::new().await;
    let open = door.open();
    door.token(CredentialKind::Approver, json!({})).await;
    assert_eq!(open.is_protected().await, Ok(false));
    let (credential, _) = door.token(CredentialKind::Bearer, json!({})).await;
    assert_eq!(open.is_protected().await, Ok(true));
    door.gateway.revoke_token(&credential.id).await.unwrap();
    assert_eq!(open.is_protected().await, Ok(false));
    let keys = KeySource::Url("https://login.example/keys".to_owned());
    let open = Door::with_issuer(keys).await.open();
    assert_eq!(open.is_protected().await, Ok(true));
}

#[tokio::test]
async fn without_an_issuer_nobody_is_sent_to_one() {
    let open = Door::new().await.open();
    let url = "http://127.0.0.1:7420/.well-known/oauth-protected-resource";
    assert_eq!(
        open.challenge(&Refused::Missing, url),
        "Bearer realm=\"tollgate\""
    );
    let document = open.metadata("http://127.0.0.1:7420/mcp");
    assert_eq!(document["resource"], "http://127.0.0.1:7420/mcp");
    assert_eq!(document.get("authorization_servers"), None);
}
