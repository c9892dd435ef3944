//! Starts the program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// What one thread allocates another often frees: a call is written down by the store's own
/// thread. The system's allocator takes a lock for that, this one does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A process that builds a sandbox around itself is nothing else.
    if let Some(code) = tollgate_providers::sandbox::helper() {
        return code;
    }
    tollgate::frontends::cli::main()
}
