//! The chores of this repository: `cargo xtask ci`, `bless`, `peers`, `sizes` and `mcpb`.
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
mod peers;
mod run;
mod sizes;
mod zip;

use std::process::ExitCode;

use anyhow::Result;
use ci::Peers;

const USAGE: &str = "\
usage: cargo xtask <chore>

  ci      check the format, lints, tests and documentation examples, as CI does
          (--without-peers leaves out what needs a package registry once)
  bless   rewrite snapshots and generated pages from what the code says
  peers   install the MCP clients that the tests talk to into target/peers
  sizes   print how many lines each crate has
  mcpb    BINARY [FILE]: bundle a built program for desktop clients, as tollgate.mcpb";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["ci"] => ci::run(Peers::Installed),
        ["ci", "--without-peers"] => ci::run(Peers::LeftOut),
        ["bless"] => bless::run(),
        ["peers"] => peers::run(),
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
