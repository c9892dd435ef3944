//! Bounds for everybody who connects, whoever they are.

pub(super) mod room;
pub(super) mod strangers;
