//! Starts the program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // A process that builds a sandbox around itself is nothing else.
    if let Some(code) = tollgate_providers::sandbox::helper() {
        return code;
    }
    tollgate::frontends::cli::main()
}
