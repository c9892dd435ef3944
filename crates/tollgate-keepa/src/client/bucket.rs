//! The account's tokens, as every answer reports them.
//!
//! Invariant: a refill rate of zero is no reading. Keepa answers an unknown key with all fields at zero, and that must
//! not be taken for an account that is out of tokens.

use serde::Serialize;

use super::envelope::Envelope;

/// The tokens at the time of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bucket {
    /// Tokens that come back each minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill_rate: Option<i64>,
    /// Milliseconds until the next do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill_in_ms: Option<i64>,
    /// The balance; a request may push it below zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_left: Option<i64>,
    /// What this answer cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_consumed: Option<i64>,
    /// Tokens a minute that trackings use up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_flow_reduction: Option<f64>,
}

impl Bucket {
    /// Reads the tokens from an answer's JSON, if it tells.
    pub fn read(body: &[u8]) -> Option<Self> {
        Envelope::read(body)?.bucket()
    }

    /// What fits into it: an hour's refill.
    pub fn capacity(&self) -> Option<i64> {
        self.refill_rate.map(|rate| rate.saturating_mul(60))
    }

    /// Seconds until `tokens` are there; none if they are, and nothing if that is not known or can never be.
    pub fn seconds_until(&self, tokens: i64) -> Option<u64> {
        let (left, rate) = (self.tokens_left?, self.refill_rate?);
        let missing = tokens.saturating_sub(left);
        if missing <= 0 {
            return Some(0);
        }
        if rate <= 0 || tokens > rate.saturating_mul(60) {
            return None;
        }
        let after_next = (missing.saturating_sub(1) / rate).saturating_mul(60);
        let until_next = self
            .refill_in_ms
            .map_or(60, |ms| ms.max(0).saturating_add(999) / 1000);
        u64::try_from(after_next.saturating_add(until_next)).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_unknown_key_is_no_reading() {
        let unknown =
            br#"{"tokensLeft":0,"tokensConsumed":0,"refillIn":0,"refillRate":0,"error":{}}"#;
        assert_eq!(Bucket::read(unknown), None);
        assert_eq!(Bucket::read(b"{}"), None);
        assert_eq!(Bucket::read(b"not json"), None);
        let below = Bucket::read(br#"{"tokensLeft":-12,"refillRate":5,"refillIn":1500}"#).unwrap();
        assert_eq!(below.tokens_left, Some(-12));
    }

    #[test]
    fn a_refill_is_counted_in_minutes() {
        let bucket = Bucket {
            tokens_left: Some(-2),
            refill_rate: Some(5),
            refill_in_ms: Some(1500),
            ..Bucket::default()
        };
        assert_eq!(bucket.seconds_until(-2), Some(0));
        assert_eq!(bucket.seconds_until(3), Some(2));
        assert_eq!(bucket.seconds_until(4), Some(62));
        assert_eq!(bucket.seconds_until(301), None);
        assert_eq!(bucket.capacity(), Some(300));
    }

    proptest! {
        #[test]
        fn more_tokens_never_come_sooner(left in -500_i64..500, rate in 1_i64..100, a in 0_i64..400, b in 0_i64..400) {
            let bucket = Bucket { tokens_left: Some(left), refill_rate: Some(rate), ..Bucket::default() };
            let (few, many) = (a.min(b), a.max(b));
            if let (Some(soon), Some(late)) = (bucket.seconds_until(few), bucket.seconds_until(many)) {
                prop_assert!(soon <= late);
            }
        }
    }
}
