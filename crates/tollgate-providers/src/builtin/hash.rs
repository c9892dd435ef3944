//! `hash.*`: digests and plain encodings.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use tollgate_core::{CallContext, ProviderError, Tool, ToolSet, canonical::hex};

use super::Shared;

pub(super) fn add(tools: ToolSet<Shared>) -> ToolSet<Shared> {
    tools
        .tool(
            Tool::read(
                "hash.digest",
                "Hash a text",
                "Computes the SHA-2 digest of a text's UTF-8 bytes in hex. \
                 Use it to compare or to name content. Always succeeds. Success: the digest.",
            )
            .sets(&["gate"])
            .cached(),
            digest,
        )
        .tool(
            Tool::read(
                "hash.encode",
                "Encode or decode a text",
                "Turns text into base64, base64url or hex, or back. \
                 Decoding something that is not valid, or not UTF-8, is rejected with the reason. \
                 Success: the other form.",
            )
            .sets(&["gate"])
            .cached(),
            encode,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DigestArgs {
    /// The text.
    #[schemars(length(max = 1_048_576))]
    text: String,
    /// Which digest.
    #[serde(default)]
    algorithm: Algorithm,
}

#[derive(Default, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Algorithm {
    Sha224,
    #[default]
    Sha256,
    Sha384,
    Sha512,
}

#[derive(Serialize, JsonSchema)]
struct Digested {
    algorithm: Algorithm,
    #[schemars(extend("x-identifier" = true))]
    digest: String,
}

async fn digest(
    _: Arc<Shared>,
    args: DigestArgs,
    _: CallContext,
) -> Result<Digested, ProviderError> {
    let bytes = args.text.as_bytes();
    let digest = match args.algorithm {
        Algorithm::Sha224 => hex(&Sha224::digest(bytes)),
        Algorithm::Sha256 => hex(&Sha256::digest(bytes)),
        Algorithm::Sha384 => hex(&Sha384::digest(bytes)),
        Algorithm::Sha512 => hex(&Sha512::digest(bytes)),
    };
    Ok(Digested {
        algorithm: args.algorithm,
        digest,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EncodeArgs {
    /// The text to encode, or to decode.
    #[schemars(length(max = 1_048_576))]
    text: String,
    /// The encoding.
    encoding: Encoding,
    /// Whether to decode instead.
    #[serde(default)]
    decode: bool,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    Base64,
    Base64url,
    Hex,
}

#[derive(Serialize, JsonSchema)]
struct Encoded {
    text: String,
}

async fn encode(
    _: Arc<Shared>,
    args: EncodeArgs,
    _: CallContext,
) -> Result<Encoded, ProviderError> {
    let text = if args.decode {
        let bytes = match args.encoding {
            Encoding::Base64 => general_purpose::STANDARD
                .decode(&args.text)
                .map_err(invalid)?,
            Encoding::Base64url => general_purpose::URL_SAFE_NO_PAD
                .decode(args.text.trim_end_matches('='))
                .map_err(invalid)?,
            Encoding::Hex => unhex(&args.text)?,
        };
        String::from_utf8(bytes).map_err(invalid)?
    } else {
        match args.encoding {
            Encoding::Base64 => general_purpose::STANDARD.encode(&args.text),
            Encoding::Base64url => general_purpose::URL_SAFE_NO_PAD.encode(&args.text),
            Encoding::Hex => hex(args.text.as_bytes()),
        }
    };
    Ok(Encoded { text })
}

fn invalid(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::rejected(format!("it cannot be decoded: {error}"))
}

fn unhex(text: &str) -> Result<Vec<u8>, ProviderError> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => Ok(digits
            .chunks(2)
            .filter_map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok())
            .collect()),
        Some(_) | None => Err(invalid("hex digits come in pairs")),
    }
}
