//! An authorization server: keys of every kind, and tokens signed with them.

use std::{fs, path::Path, sync::LazyLock};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    hmac,
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
        RSA_PSS_SHA512, RsaKeyPair,
    },
};

use super::*;

pub(super) const ISSUER: &str = "https://login.example/realm";
pub(super) const AUDIENCE: &str = "https://gate.example/mcp";

/// Making an RSA key is not ring's business, so this one was made with `openssl genpkey`.
static RSA: LazyLock<RsaKeyPair> = LazyLock::new(|| {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/oauth/rsa-2048.pk8");
    RsaKeyPair::from_pkcs8(&fs::read(file).unwrap()).unwrap()
});

pub(super) fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A private key, and what the issuer publishes of it.
pub(super) enum Key {
    Rsa,
    P256(Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

impl Key {
    pub(super) fn p256() -> Self {
        let random = SystemRandom::new();
        let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(curve, made.as_ref(), &random).unwrap();
        Self::P256(Box::new(pair))
    }

    pub(super) fn ed25519() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
        Self::Ed25519(Box::new(pair))
    }

    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    pub(super) fn jwk(&self, kid: &str) -> Value {
        match self {
            Self::Rsa => {
                let public = PublicKeyComponents::<Vec<u8>>::from(RSA.public());
                json!({"kty": "RSA", "kid": kid, "use": "sig",
                    "n": base64(public.n), "e": base64(public.e)})
            }
            Self::P256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "alg": "ES256",
                    "x": base64(x), "y": base64(y)})
            }
            Self::Ed25519(pair) => json!({"kty": "OKP", "crv": "Ed25519", "kid": kid,
                "key_ops": ["verify"], "x": base64(pair.public_key())}),
        }
    }

    /// A token with exactly this header and these claims.
    pub(super) fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let bytes = message.as_bytes();
        let random = SystemRandom::new();
        let signature = match self {
            Self::Rsa => {
                let mut signature = vec![0; RSA.public().modulus_len()];
                let pss = header["alg"] == "PS512";
                let padding: &dyn ring::signature::RsaEncoding = if pss {
                    &RSA_PSS_SHA512
                } else {
                    &RSA_PKCS1_SHA256
                };
                RSA.sign(padding, &random, bytes, &mut signature).unwrap();
                signature
            }
            Self::P256(pair) => pair.sign(&random, bytes).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(bytes).as_ref().to_vec(),
        };
        format!("{message}.{}", base64(signature))
    }

    /// A good token.
    pub(super) fn token(&self, kid: &str) -> String {
        self.sign(&self.header(kid), &claims())
    }

    pub(super) fn header(&self, kid: &str) -> Value {
        json!({"typ": "at+jwt", "alg": self.algorithm(), "kid": kid})
    }
}

pub(super) fn message(header: &Value, claims: &Value) -> String {
    let header = base64(header.to_string());
    format!("{header}.{}", base64(claims.to_string()))
}

/// What an attacker makes who takes a public key for a shared secret.
pub(super) fn sign_with_secret(secret: &[u8], header: &Value, claims: &Value) -> String {
    let message = message(header, claims);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let tag = hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", base64(tag))
}

pub(super) fn claims() -> Value {
    let now = NOW.0 / 1000;
    json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "client_id": "c", "jti": "1",
        "iat": now - 10, "nbf": now - 10, "exp": now + 600, "scope": "tools toolset:research"})
}

/// Good claims with some of them changed; `null` removes one.
pub(super) fn claims_with(changes: Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

pub(super) fn document(keys: &[Value]) -> String {
    json!({"keys": keys}).to_string()
}
