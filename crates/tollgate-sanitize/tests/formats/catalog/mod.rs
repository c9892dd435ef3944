//! What issuers document about the form of their keys and tokens, by kind of issuer.

mod cloud;
mod code;
mod generic;
mod platforms;
mod services;

use super::Format;

/// The formats of each kind of issuer.
pub(crate) fn groups() -> [(&'static str, &'static [Format]); 5] {
    [
        ("clouds and models", cloud::FORMATS),
        ("code and packages", code::FORMATS),
        ("told by a name", generic::FORMATS),
        ("delivery, hosting, payment", platforms::FORMATS),
        ("services", services::FORMATS),
    ]
}

/// All formats, in no order that matters.
pub(crate) fn all() -> Vec<Format> {
    groups().map(|(_, formats)| formats).concat()
}
