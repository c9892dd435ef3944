//! An approval fits one call, however that call is spelled.

use tollgate_core::{Secret, SessionKey, canonical::CanonicalError};

use super::{super::ApprovalKey, *};

struct Call {
    key: u8,
    tool: &'static str,
    spec: &'static str,
    arguments: &'static str,
    uid: u32,
    session: &'static str,
}

const CALL: Call = Call {
    key: 7,
    tool: "file.write",
    spec: "0a",
    arguments: r#"{"path":"/a","count":1,"deep":{"x":[1,2],"y":null}}"#,
    uid: 1000,
    session: "default",
};

impl Call {
    fn digest(&self) -> Result<[u8; 32], CanonicalError> {
        let key = ApprovalKey::new(Secret::new([self.key; 32]));
        key.digest(
            &ToolName::new(self.tool).unwrap(),
            self.spec,
            &Payload::parse(self.arguments.to_owned()).unwrap(),
            &SessionKey::new(Principal::user(self.uid), self.session),
        )
    }
}

#[test]
fn spelling_does_not_matter() {
    for arguments in [
        r#"{"deep":{"y":null,"x":[1,2]},"count":1,"path":"/a"}"#,
        "{ \"path\" : \"/a\",\n\t\"count\": 1, \"deep\": {\"x\": [1, 2], \"y\": null} }",
        r#"{"path":"\u002fa","count":1.0,"deep":{"x":[1e0,20e-1],"y":null}}"#,
    ] {
        let other = Call { arguments, ..CALL };
        assert_eq!(other.digest(), CALL.digest(), "{arguments}");
    }
}

#[test]
fn any_other_change_does() {
    let mut others = vec![
        Call { key: 8, ..CALL },
        Call {
            tool: "file.writ",
            spec: "e0a",
            ..CALL
        },
        Call {
            tool: "file.append",
            ..CALL
        },
        Call { spec: "0b", ..CALL },
        Call { uid: 1001, ..CALL },
        Call {
            session: "other",
            ..CALL
        },
        Call {
            session: "",
            ..CALL
        },
    ];
    for arguments in [
        r#"{"path":"/b","count":1,"deep":{"x":[1,2],"y":null}}"#,
        r#"{"path":"/a","count":2,"deep":{"x":[1,2],"y":null}}"#,
        r#"{"path":"/a","count":"1","deep":{"x":[1,2],"y":null}}"#,
        r#"{"path":"/a","count":1,"deep":{"x":[2,1],"y":null}}"#,
        r#"{"path":"/a","count":1,"deep":{"x":[1,2]}}"#,
        r#"{"path":"/a","count":1,"deep":{"x":[1,2],"y":null},"more":0}"#,
        r#"{"path":"/a","count":1.0000000000000000001,"deep":{"x":[1,2],"y":null}}"#,
        "{}",
    ] {
        others.push(Call { arguments, ..CALL });
    }
    let mut seen = std::collections::HashSet::from([CALL.digest().unwrap()]);
    for other in &others {
        assert!(
            seen.insert(other.digest().unwrap()),
            "{} {}",
            other.tool,
            other.arguments
        );
    }
}

#[test]
fn arguments_that_can_be_read_two_ways_have_no_digest() {
    let ambiguous = Call {
        arguments: r#"{"a":1,"a":2}"#,
        ..CALL
    };
    assert_eq!(
        ambiguous.digest(),
        Err(CanonicalError::DuplicateKey("a".to_owned()))
    );
}

#[test]
fn the_digest_is_hmac_sha256_and_the_key_is_not_shown() {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&[7; 32]).unwrap();
    let arguments = r#"{"count":1,"deep":{"x":[1,2],"y":null},"path":"/a"}"#;
    for field in [
        "tollgate approval 1",
        "file.write",
        "0a",
        arguments,
        "user:1000",
        "default",
    ] {
        mac.update(&(field.len() as u64).to_be_bytes());
        mac.update(field.as_bytes());
    }
    let expected: [u8; 32] = mac.finalize().into_bytes().into();
    assert_eq!(CALL.digest(), Ok(expected));
    let key = ApprovalKey::new(Secret::new([7; 32]));
    assert_eq!(format!("{key:?}"), "ApprovalKey(***)");
}
