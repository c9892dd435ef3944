//! Cleans text and JSON before a model, a cache or a log sees it: secrets and personal data are replaced,
//! terminal escapes and invisible characters are removed, and instruction-like text is listed but never altered.
//!
//! Invariants: rules are data, cleaning twice changes nothing, and in JSON only string tokens are ever rewritten.

#![forbid(unsafe_code)]

mod carry;
mod detect;
mod findings;
mod json;
mod prefilter;
mod rules;
mod sanitizer;
mod scope;
mod strip;
mod taint;
mod truncate;
mod url;

pub use findings::{Cleaned, Findings, Kind, Redaction, TaintSpan};
pub use json::JsonError;
pub use rules::RulesError;
pub use sanitizer::{Sanitizer, Sighting};
pub use scope::{Identifiers, Scope};
pub use strip::visible;
pub use truncate::truncate_on_char_boundary;
