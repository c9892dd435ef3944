//! Whether the state works, is the one that was acknowledged, and who keeps others from it.

pub(super) mod accept;
pub(super) mod guard;
pub(super) mod health;
pub(super) mod holder;
pub(super) mod wal;
