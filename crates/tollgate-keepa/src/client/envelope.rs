//! What stands around every answer: the tokens, and whether it is an error.
//!
//! Invariant: an answer is read once for all of it, and a field that is not what it should be says nothing; it never
//! makes a good answer unreadable.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::Bucket;
use crate::{Error, Kind, scan::Cursor};

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
        std::str::from_utf8(body)
            .ok()
            .and_then(Self::read_quickly)
            .or_else(|| Self::read_plainly(body))
    }

    fn read_plainly(body: &[u8]) -> Option<Self> {
        // A list would be read as its fields in a row.
        let is_object = body.trim_ascii_start().starts_with(b"{");
        is_object.then(|| serde_json::from_slice(body).ok())?
    }

    /// Nothing if it is not the usual answer. Products are walked over, histories without a look at their numbers.
    fn read_quickly(body: &str) -> Option<Self> {
        let mut found = Self::default();
        let mut seen = Vec::new();
        let mut cursor = Cursor::new(body);
        cursor.object(|cursor, name| {
            let field = match name {
                "tokensLeft" => &mut found.tokens_left,
                "tokensConsumed" => &mut found.tokens_consumed,
                "refillIn" => &mut found.refill_in,
                "refillRate" => &mut found.refill_rate,
                "tokenFlowReduction" => &mut found.token_flow_reduction,
                "error" => &mut found.error,
                "products" => return skip_products(cursor),
                _ => return cursor.skip(),
            };
            // Twice the same is an error.
            if seen.contains(&name) {
                return None;
            }
            seen.push(name);
            *field = cursor.value(1)?;
            Some(())
        })?;
        cursor.is_at_end().then_some(found)
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

fn skip_products(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.list(|cursor| {
        if cursor.null() {
            return Some(());
        }
        cursor.object(|cursor, name| match name {
            "csv" => skip_histories(cursor),
            _ => cursor.skip(),
        })
    })
}

fn skip_histories(cursor: &mut Cursor<'_>) -> Option<()> {
    if cursor.null() {
        return Some(());
    }
    cursor.list(|cursor| {
        if cursor.null() {
            return Some(());
        }
        cursor.numbers(|_| Some(()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Envelope {
        Envelope::read(body.as_bytes()).unwrap()
    }

    #[test]
    fn both_ways_read_the_same() {
        let deep = |levels: usize| {
            format!(
                r#"{{"error":{}{}}}"#,
                "[".repeat(levels),
                "]".repeat(levels)
            )
        };
        let same = [
            "{}",
            r#" {"tokensLeft":5,"refillIn":1.5,"error":{"a":[null]}} "#,
            r#"{"products":[{"csv":null}]}"#,
            r#"{"products":[null,{"csv":[null,[1,-2 ],[]],"title":"}"},{}],"refillRate":"x"}"#,
        ];
        for body in same.map(str::to_owned).into_iter().chain([deep(126)]) {
            let quick = Envelope::read_quickly(&body);
            let plain = Envelope::read_plainly(body.as_bytes());
            assert!(quick.is_some(), "{body}");
            assert_eq!(format!("{quick:?}"), format!("{plain:?}"), "{body}");
        }
        let odd = [
            "",
            "[]",
            "{",
            "{}}",
            "{\"error\":1,}",
            r#"{"error":1,"error":2}"#,
            r#"{"products":[{"csv":[[1.5,"2"],3]}],"tokensLeft":7}"#,
            r#"{"products":5,"tokensLeft":7}"#,
            r#"{"products":[{"csv":[[01]]}]}"#,
            r#"{"products":[{"csv":[[1,]]}]}"#,
            r#"{"\u0065rror":"no"}"#,
            "{\"error\n\":1}",
            "{\"products\":[{\"csv\t\":[[1]]}]}",
        ];
        for body in odd.map(str::to_owned).into_iter().chain([deep(127)]) {
            assert!(Envelope::read_quickly(&body).is_none(), "{body}");
            let plain = Envelope::read_plainly(body.as_bytes());
            let read = Envelope::read(body.as_bytes());
            assert_eq!(format!("{read:?}"), format!("{plain:?}"), "{body}");
        }
        assert!(Envelope::read(b"{\"tokensLeft\":1,\"title\":\"\xff\"}").is_some());
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
