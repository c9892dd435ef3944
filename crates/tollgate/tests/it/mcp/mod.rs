//! The MCP front ends, seen from outside.

mod peers;
mod wire;
