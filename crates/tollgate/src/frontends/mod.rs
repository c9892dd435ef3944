//! Front ends: bytes in, calls through the door, bytes out. They contain no rules.

pub(crate) mod auth;
pub mod cli;
pub(crate) mod consent_text;
pub mod jsonl;
mod lines;
pub(crate) mod mcp;
mod rest;
mod signal;
