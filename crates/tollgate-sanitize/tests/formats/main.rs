//! Every shipped rule against values that are generated from the published form of what it is for.
//!
//! Invariant: nothing here reads a rule's pattern. A format is written down as its issuer documents it, so a
//! pattern with a mistake in it fails. The random numbers are the same in every run.

#![allow(
    clippy::expect_used,
    clippy::panic,
    unused_imports,
    dead_code,
    reason = "a helper of the tests may stop on a form that is written wrongly; the bench uses a part of it"
)]

mod catalog;
mod evasive;
mod grammar;
mod personal;
mod random;
#[cfg(test)]
mod shipped;

pub(crate) use catalog::groups;
pub(crate) use evasive::{CLASSES, tally};
pub(crate) use grammar::generate;
pub(crate) use personal::PERSONAL;
pub(crate) use random::Random;

/// A documented form of one kind of secret or personal data.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// The rule that has to find it.
    pub(crate) rule: &'static str,
    /// The form, in the notation of [`grammar`].
    pub(crate) form: &'static str,
    /// Forms that look similar and are no secret.
    pub(crate) look_alikes: &'static [&'static str],
}

/// Shorthand for the tables of the catalog.
pub(crate) const fn format(
    rule: &'static str,
    form: &'static str,
    look_alikes: &'static [&'static str],
) -> Format {
    Format {
        rule,
        form,
        look_alikes,
    }
}
