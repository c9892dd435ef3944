//! Starts the program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate::frontends::cli::main()
}
