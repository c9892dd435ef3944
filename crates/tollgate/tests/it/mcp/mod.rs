//! The MCP front ends, seen from outside.

pub(crate) mod peers;
mod wire;
