//! JSON Web Tokens: which part of one is secret.

use std::ops::Range;

use super::base64;
use super::plain_text::reads_as_text;

/// Where the signature stands in a signed token. Header and claims are readable by whoever holds
/// the token and are never hidden; a token that nobody signed holds no secret.
pub(super) fn signature(token: &str) -> Option<Range<usize>> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    if signature.contains('=') || !is_object(claims) {
        return None;
    }
    let header: serde_json::Value = serde_json::from_slice(&base64(header.as_bytes())?).ok()?;
    let bytes = base64(signature.as_bytes())?;
    let fits = is_length(header.get("alg")?.as_str()?, bytes.len());
    (fits && !reads_as_text(&bytes)).then_some(signed.len() + 1..token.len())
}

fn is_object(part: &str) -> bool {
    let bytes = base64(part.as_bytes()).unwrap_or_default();
    let value: Option<serde_json::Value> = serde_json::from_slice(&bytes).ok();
    value.is_some_and(|value| value.is_object())
}

/// Whether signatures of an algorithm (RFC 7518, section 3.1) have so many bytes; `none` has none.
fn is_length(algorithm: &str, length: usize) -> bool {
    match algorithm {
        "HS256" => length == 32,
        "HS384" => length == 48,
        "HS512" | "ES256" | "ES256K" | "Ed25519" => length == 64,
        "EdDSA" => matches!(length, 64 | 114),
        "ES384" => length == 96,
        "ES512" => length == 132,
        "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" => {
            matches!(length, 128 | 256 | 384 | 512 | 1_024)
        }
        _ => false,
    }
}
