//! Front ends: bytes in, calls through the door, bytes out. They contain no rules.

pub mod cli;
pub mod jsonl;
