//! Cleans text and JSON before a model, a cache or a log sees it: secrets and personal data are replaced,
//! terminal escapes and invisible characters are removed, and instruction-like text is listed but never altered.
//!
//! Invariants: rules are data, cleaning twice changes nothing, and in JSON only string tokens are ever rewritten.

#![forbid(unsafe_code)]

mod active;
mod carry;
mod detect;
mod findings;
#[doc(hidden)]
pub mod fuzzing;
mod json;
mod key_material;
pub mod placeholder;
mod prefilter;
mod rules;
mod sanitizer;
mod scope;
mod strip;
mod taint;
mod truncate;
mod url;
mod views;

pub use active::{disarmed, is_active, may_be_active};
pub use findings::{Cleaned, Findings, Kind, Redaction, TaintSpan};
pub use json::{JsonError, may_look_like_placeholder, with_strings};
pub use key_material::KeyMaterial;
pub use rules::RulesError;
pub use sanitizer::{Sanitizer, Sighting};
pub use scope::{Identifiers, Scope};
pub use strip::visible;
pub use truncate::truncate_on_char_boundary;
