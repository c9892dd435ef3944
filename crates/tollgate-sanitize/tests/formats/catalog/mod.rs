//! What issuers document about the form of their keys and tokens, by kind of issuer.

mod cloud;
mod code;
mod generic;
mod services;

use super::Format;

/// All formats, in no order that matters.
pub(crate) fn all() -> Vec<Format> {
    [
        cloud::FORMATS,
        code::FORMATS,
        generic::FORMATS,
        services::FORMATS,
    ]
    .concat()
}
