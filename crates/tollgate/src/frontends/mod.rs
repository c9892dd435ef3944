//! Front ends: bytes in, calls through the door, bytes out. They contain no rules.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "only the HTTP front end asks who is calling")
)]
pub(crate) mod auth;
pub mod cli;
pub mod jsonl;
