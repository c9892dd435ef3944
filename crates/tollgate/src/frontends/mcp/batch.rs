//! Several messages in one, which version 2025-03-26 demands of every server and no other
//! version knows.
//!
//! Whoever agreed on that version may send them; for everybody else an array is no message.

use serde_json::value::RawValue;
use tollgate_core::depth::within_depth;

use super::rpc::{self, Incoming, RpcError, Unreadable, code};

/// The only version that has batches.
pub(super) const VERSION: &str = "2025-03-26";
/// The most messages of one batch.
const MOST: usize = 100;

/// Whether a text wants to be a batch.
pub(super) fn is_one(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

/// The messages of a batch, each taken or refused by itself.
pub(super) fn split(text: &str) -> Result<Vec<Result<Incoming, Unreadable>>, Unreadable> {
    let refuse = |code, message: String| Unreadable {
        id: None,
        error: RpcError::new(code, message),
    };
    if !within_depth(text.as_bytes()) {
        let message = "the message nests too deeply".to_owned();
        return Err(refuse(code::PARSE, message));
    }
    let all: Vec<&RawValue> = serde_json::from_str(text)
        .map_err(|error| refuse(code::PARSE, format!("this is not JSON: {error}")))?;
    if all.is_empty() || all.len() > MOST {
        let message = format!("a batch has 1 to {MOST} messages");
        return Err(refuse(code::INVALID_REQUEST, message));
    }
    Ok(all.iter().map(|one| alone(one.get())).collect())
}

fn alone(text: &str) -> Result<Incoming, Unreadable> {
    match rpc::read(text)? {
        Incoming::Asked(asked) if asked.method == "initialize" => Err(Unreadable {
            id: Some(asked.id),
            error: RpcError::new(code::INVALID_REQUEST, "`initialize` is not part of a batch"),
        }),
        message @ (Incoming::Asked(_) | Incoming::Told(_) | Incoming::Answered(_)) => Ok(message),
    }
}

/// The answers to a batch as one message.
pub(super) fn joined<'a>(answers: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", answers.collect::<Vec<_>>().join(","))
}
