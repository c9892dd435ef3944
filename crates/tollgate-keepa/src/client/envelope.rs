//! What stands around every answer: the tokens, and whether it is an error.
//!
//! Invariant: an answer is read once for all of it, and a field that is not what it should be says nothing; it never
//! makes a good answer unreadable.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::Bucket;
use crate::{Error, Kind};

/// The fields that every answer has, good or not.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Envelope {
    tokens_left: Value,
    tokens_consumed: Value,
    refill_in: Value,
    refill_rate: Value,
    token_flow_reduction: Value,
    error: Value,
}

impl Envelope {
    /// Nothing if it is no JSON object at all.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        // A list would be read as its fields in a row.
        let is_object = body.trim_ascii_start().starts_with(b"{");
        is_object.then(|| serde_json::from_slice(body).ok())?
    }

    /// The tokens, if it tells. A refill rate of zero is no reading.
    pub(crate) fn bucket(&self) -> Option<Bucket> {
        let refill_rate = self.refill_rate.as_i64();
        let tokens_left = self.tokens_left.as_i64();
        let tells = tokens_left.is_some() || refill_rate.is_some();
        (tells && refill_rate != Some(0)).then(|| Bucket {
            refill_rate,
            refill_in_ms: self.refill_in.as_i64(),
            tokens_left,
            tokens_consumed: self.tokens_consumed.as_i64(),
            token_flow_reduction: self.token_flow_reduction.as_f64(),
        })
    }

    /// How long until tokens come back.
    pub(crate) fn refill(&self) -> Option<Duration> {
        self.refill_in.as_u64().map(Duration::from_millis)
    }

    /// What it says went wrong, if anything did: a 200 may carry an error too.
    pub(crate) fn error(&self, status: u16, refill: Option<Duration>) -> Option<Error> {
        let is_reported = match &self.error {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Bool(true) | Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
        };
        (is_reported || status != 200).then(|| self.reported(status, refill))
    }

    fn reported(&self, status: u16, refill: Option<Duration>) -> Error {
        let text = |name: &str| self.error[name].as_str().filter(|text| !text.is_empty());
        let name = text("type");
        let kind = match (status, name) {
            (200, Some("invalidParameter")) => Kind::InvalidParameter,
            (200, Some("notEnoughToken")) => Kind::NotEnoughToken,
            (status, _) => Kind::of_status(status),
        };
        let message = text("message").or(self.error.as_str());
        let message = message.map_or_else(
            || format!("Keepa answered with status {status}"),
            str::to_owned,
        );
        let mut error = Error::new(kind, message);
        if let Some(name) = name {
            error = error.with("type", name);
        }
        let details = &self.error["details"];
        if !details.is_null() {
            error = error.with("details", details.clone());
        }
        if let (Kind::NotEnoughToken, Some(wait)) = (kind, refill) {
            let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            error = error
                .with("retry_after_ms", ms)
                .with("retry_after_seconds", ms.div_ceil(1000));
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Envelope {
        Envelope::read(body.as_bytes()).unwrap()
    }

    #[test]
    fn an_odd_field_says_nothing_and_breaks_nothing() {
        let odd = read(
            r#"{"tokensLeft":"many","refillRate":5,"refillIn":-7,"tokensConsumed":1.5,"products":[]}"#,
        );
        let bucket = odd.bucket().unwrap();
        assert_eq!((bucket.tokens_left, bucket.refill_rate), (None, Some(5)));
        assert_eq!(bucket.tokens_consumed, None);
        assert_eq!(odd.refill(), None);
        assert_eq!(odd.error(200, None), None);
        assert!(Envelope::read(b"[]").is_none() && Envelope::read(b"{").is_none());
    }

    #[test]
    fn an_error_is_one_whatever_its_shape() {
        for body in [
            r#"{"error":{"message":"no"}}"#,
            r#"{"error":"no"}"#,
            r#"{"error":{"type":"x","message":"no","details":[1]}}"#,
        ] {
            assert_eq!(read(body).error(200, None).unwrap().message, "no", "{body}");
        }
        for body in [r#"{"error":null}"#, r#"{"error":""}"#, r#"{"error":false}"#] {
            assert_eq!(read(body).error(200, None), None, "{body}");
        }
        let wait = Some(Duration::from_millis(1500));
        let short = read("{}").error(429, wait).unwrap();
        assert_eq!(short.details["retry_after_seconds"], 2);
    }
}
