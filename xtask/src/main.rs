//! The chores of this repository: `cargo xtask ci`, `cargo xtask bless`, `cargo xtask sizes`,
//! `cargo xtask mcpb`.
//!
//! What CI runs is what you run; there is nothing else to install.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stderr,
    reason = "a chore talks to the person who runs it"
)]

mod bless;
mod ci;
mod inline;
mod mcpb;
mod run;
mod sizes;
mod zip;

use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "\
usage: cargo xtask <chore>

  ci      check the format, lints, tests and documentation examples, as CI does
  bless   rewrite snapshots and generated pages from what the code says
  sizes   print how many lines each crate has
  mcpb    BINARY [FILE]: bundle a built program for desktop clients, as tollgate.mcpb";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["ci"] => ci::run(),
        ["bless"] => bless::run(),
        ["sizes"] => sizes::run(),
        ["mcpb", binary] => mcpb::run(binary, "tollgate.mcpb"),
        ["mcpb", binary, file] => mcpb::run(binary, file),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    finish(outcome)
}

fn finish(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
