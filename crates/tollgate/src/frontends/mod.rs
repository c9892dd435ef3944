//! Front ends: bytes in, calls through the door, bytes out. They contain no rules.

pub(crate) mod auth;
pub mod cli;
pub mod jsonl;
mod lines;
pub(crate) mod mcp;
mod rest;
mod signal;
