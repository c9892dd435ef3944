//! The generators of `tests/formats`, without the tests.

#![expect(
    clippy::panic,
    reason = "a generator may stop on a form that is written wrongly"
)]

#[path = "../../tests/formats/catalog/mod.rs"]
pub(crate) mod catalog;
#[path = "../../tests/formats/evasive.rs"]
pub(crate) mod evasive;
#[path = "../../tests/formats/form.rs"]
mod form;
#[path = "../../tests/formats/grammar.rs"]
mod grammar;
#[path = "../../tests/formats/personal.rs"]
pub(crate) mod personal;
#[path = "../../tests/formats/random.rs"]
mod random;

pub(crate) use form::{Format, format};
pub(crate) use grammar::generate;
pub(crate) use random::Random;
