//! The chores of this repository: `cargo xtask ci`, `cargo xtask bless`, `cargo xtask sizes`.
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
mod run;
mod sizes;

use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "\
usage: cargo xtask <chore>

  ci      check the format, lints, tests and documentation examples, as CI does
  bless   rewrite snapshots and generated pages from what the code says
  sizes   print how many lines each crate has";

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    let outcome = match chore.as_deref() {
        Some("ci") => ci::run(),
        Some("bless") => bless::run(),
        Some("sizes") => sizes::run(),
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
