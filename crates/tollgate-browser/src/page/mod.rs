//! What a page shows, made of what the browser tells of it.

pub(crate) mod address;
mod alone;
mod clickable;
mod collect;
pub(crate) mod content;
pub(crate) mod element;
mod hidden;
pub(crate) mod locate;
pub(crate) mod matching;
pub(crate) mod next;
pub(crate) mod overview;
pub(crate) mod view;
