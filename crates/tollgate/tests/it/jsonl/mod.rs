//! JSON lines, as an agent's own program speaks them.

mod bad_lines;
mod conversation;
