//! Every shipped rule against values that are generated from the published form of what it is for.
//!
//! Invariant: nothing here reads a rule's pattern. A format is written down as its issuer documents it, so a
//! pattern with a mistake in it fails. The random numbers are the same in every run.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of the tests may stop on a form that is written wrongly"
)]

mod catalog;
mod evasive;
mod form;
mod grammar;
mod personal;
mod random;
mod shipped;

pub(crate) use form::{Format, format};
pub(crate) use grammar::generate;
pub(crate) use random::Random;
