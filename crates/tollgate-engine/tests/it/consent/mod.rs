//! Who agreed to what, how often it counts, and what a tool may ask in between.

mod approvals;
mod grants;
mod input;
mod kinds;
mod preview;
mod reissue;
