//! The issuer's public keys (JWKS, RFC 7517) and the signatures they can check.
//!
//! A key fits only the algorithms of its own kind, so no token can turn a public key into a
//! shared secret, and keys that are not for signatures are not there at all.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

use super::Refused;
use crate::config::Algorithm;

/// The largest document.
pub(super) const LARGEST: usize = 256 << 10;
/// More keys than an issuer has.
const MOST: usize = 64;

/// The algorithm of a token's header; `none` and shared secrets are not among them.
pub(super) fn algorithm(name: &str) -> Option<Algorithm> {
    Some(match name {
        "RS256" => Algorithm::RS256,
        "RS384" => Algorithm::RS384,
        "RS512" => Algorithm::RS512,
        "PS256" => Algorithm::PS256,
        "PS384" => Algorithm::PS384,
        "PS512" => Algorithm::PS512,
        "ES256" => Algorithm::ES256,
        "ES384" => Algorithm::ES384,
        // RFC 9864 gave the only curve we know a name of its own.
        "EdDSA" | "Ed25519" => Algorithm::EdDSA,
        _ => return None,
    })
}

/// One attempt to find who signed something.
pub(super) struct Trial<'t> {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<&'t str>,
    pub(super) message: &'t [u8],
    pub(super) signature: &'t [u8],
}

/// Every usable key of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug, PartialEq, Eq)]
struct Key {
    kid: Option<String>,
    /// The only algorithm it is meant for, if the issuer says so.
    only: Option<String>,
    public: Public,
}

#[derive(Debug, PartialEq, Eq)]
enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a document; keys that cannot check a signature of ours are skipped.
    pub(super) fn read(text: &[u8]) -> Result<Self, &'static str> {
        let document: Document =
            serde_json::from_slice(text).map_err(|_| "it is not a JSON Web Key Set")?;
        if document.keys.len() > MOST {
            return Err("it has too many keys");
        }
        let keys: Vec<Key> = document.keys.into_iter().filter_map(Key::read).collect();
        if keys.is_empty() {
            return Err("it has no key for signatures");
        }
        Ok(Self(keys))
    }

    /// Whether one of the keys could have made the signature.
    pub(super) fn know(&self, trial: &Trial<'_>) -> bool {
        self.0.iter().any(|key| key.fits(trial))
    }

    pub(super) fn verify(&self, trial: &Trial<'_>) -> Result<(), Refused> {
        let mut fitting = self.0.iter().filter(|key| key.fits(trial)).peekable();
        if fitting.peek().is_none() {
            return Err(Refused::Invalid("the issuer has no such key"));
        }
        if fitting.any(|key| key.public.verify(trial)) {
            Ok(())
        } else {
            Err(Refused::Invalid("the token's signature is wrong"))
        }
    }
}

impl Key {
    fn read(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let signs = jwk.usage.as_deref().is_none_or(|usage| usage == "sig");
        let verifies = |all: &Vec<String>| all.iter().any(|one| one == "verify");
        if !signs || !jwk.key_ops.as_ref().is_none_or(verifies) {
            return None;
        }
        Some(Self {
            public: Public::read(&jwk)?,
            kid: jwk.kid,
            only: jwk.alg,
        })
    }

    fn fits(&self, trial: &Trial<'_>) -> bool {
        let named = trial.kid.is_none_or(|kid| self.kid.as_deref() == Some(kid));
        let meant = self.only.as_deref().map(algorithm);
        let meant = meant.is_none_or(|only| only == Some(trial.algorithm));
        named && meant && self.public.scheme(trial.algorithm).is_some()
    }
}

/// How a key and an algorithm check a signature together.
enum Scheme {
    Rsa(&'static RsaParameters),
    Curve(&'static dyn VerificationAlgorithm),
}

impl Public {
    fn read(jwk: &Jwk) -> Option<Self> {
        match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Some(Self::Rsa {
                n: number(jwk.n.as_deref()?)?,
                e: number(jwk.e.as_deref()?)?,
            }),
            ("EC", Some("P-256")) => Some(Self::P256(point(jwk, 32)?)),
            ("EC", Some("P-384")) => Some(Self::P384(point(jwk, 48)?)),
            ("OKP", Some("Ed25519")) => Some(Self::Ed25519(coordinate(jwk.x.as_deref(), 32)?)),
            _ => None,
        }
    }

    /// The one table of which algorithm belongs to which kind of key.
    fn scheme(&self, algorithm: Algorithm) -> Option<Scheme> {
        Some(match (self, algorithm) {
            (Self::Rsa { .. }, Algorithm::RS256) => Scheme::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            (Self::Rsa { .. }, Algorithm::RS384) => Scheme::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            (Self::Rsa { .. }, Algorithm::RS512) => Scheme::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            (Self::Rsa { .. }, Algorithm::PS256) => Scheme::Rsa(&RSA_PSS_2048_8192_SHA256),
            (Self::Rsa { .. }, Algorithm::PS384) => Scheme::Rsa(&RSA_PSS_2048_8192_SHA384),
            (Self::Rsa { .. }, Algorithm::PS512) => Scheme::Rsa(&RSA_PSS_2048_8192_SHA512),
            (Self::P256(_), Algorithm::ES256) => Scheme::Curve(&ECDSA_P256_SHA256_FIXED),
            (Self::P384(_), Algorithm::ES384) => Scheme::Curve(&ECDSA_P384_SHA384_FIXED),
            (Self::Ed25519(_), Algorithm::EdDSA) => Scheme::Curve(&ED25519),
            (Self::Rsa { .. } | Self::P256(_) | Self::P384(_) | Self::Ed25519(_), _) => {
                return None;
            }
        })
    }

    fn verify(&self, trial: &Trial<'_>) -> bool {
        let (message, signature) = (trial.message, trial.signature);
        let checked = match (self, self.scheme(trial.algorithm)) {
            (Self::Rsa { n, e }, Some(Scheme::Rsa(parameters))) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (
                Self::P256(bytes) | Self::P384(bytes) | Self::Ed25519(bytes),
                Some(Scheme::Curve(curve)),
            ) => UnparsedPublicKey::new(curve, bytes).verify(message, signature),
            (
                Self::Rsa { .. } | Self::P256(_) | Self::P384(_) | Self::Ed25519(_),
                Some(Scheme::Rsa(_) | Scheme::Curve(_)) | None,
            ) => return false,
        };
        checked.is_ok()
    }
}

/// A number in as few bytes as it needs.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    Some(bytes.get(zeros..)?.to_vec()).filter(|bytes| !bytes.is_empty())
}

fn coordinate(text: Option<&str>, length: usize) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text?).ok()?;
    (bytes.len() == length).then_some(bytes)
}

/// A point of a curve, uncompressed.
fn point(jwk: &Jwk, length: usize) -> Option<Vec<u8>> {
    let mut point = vec![4];
    point.extend(coordinate(jwk.x.as_deref(), length)?);
    point.extend(coordinate(jwk.y.as_deref(), length)?);
    Some(point)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether a key made this compact token.
    fn made(jwk: &Value, algorithm: Algorithm, token: &str) -> bool {
        let keys = KeySet::read(json!({"keys": [jwk]}).to_string().as_bytes()).unwrap();
        let (message, signature) = token.rsplit_once('.').unwrap();
        let trial = Trial {
            algorithm,
            kid: None,
            message: message.as_bytes(),
            signature: &URL_SAFE_NO_PAD.decode(signature).unwrap(),
        };
        keys.verify(&trial).is_ok()
    }

    #[test]
    fn the_examples_of_the_standards_verify() {
        // RFC 7515, appendix A.3.
        let curve = json!({"kty": "EC", "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
        let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        assert!(made(&curve, Algorithm::ES256, token));
        // RFC 8037, appendix A.4.
        let edwards = json!({"kty": "OKP", "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let token = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        assert!(made(&edwards, Algorithm::EdDSA, token));
    }

    #[test]
    fn keys_that_cannot_check_a_signature_are_not_there() {
        let x = URL_SAFE_NO_PAD.encode([1; 32]);
        let key = |changes: Value| {
            let mut jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": x});
            for (name, value) in changes.as_object().unwrap() {
                jwk[name] = value.clone();
            }
            KeySet::read(json!({"keys": [jwk]}).to_string().as_bytes()).is_ok()
        };
        assert!(key(json!({})));
        assert!(key(json!({"use": "sig", "key_ops": ["verify"]})));
        for unusable in [
            json!({"use": "enc"}),
            json!({"key_ops": ["encrypt"]}),
            json!({"crv": "X25519"}),
            json!({"kty": "oct", "k": "c2VjcmV0"}),
            json!({"x": "AQ"}),
            json!({"x": 7}),
        ] {
            assert!(!key(unusable.clone()), "{unusable}");
        }
    }

    #[test]
    fn a_key_for_one_algorithm_serves_no_other() {
        let n = URL_SAFE_NO_PAD.encode([255; 256]);
        let document = json!({"keys": [{"kty": "RSA", "n": n, "e": "AQAB", "alg": "RS256"}]});
        let keys = KeySet::read(document.to_string().as_bytes()).unwrap();
        let knows = |algorithm| {
            keys.know(&Trial {
                algorithm,
                kid: None,
                message: b"",
                signature: b"",
            })
        };
        assert!(knows(Algorithm::RS256));
        assert!(!knows(Algorithm::PS256) && !knows(Algorithm::RS512));
    }
}
