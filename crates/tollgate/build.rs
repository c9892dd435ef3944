//! Links the program so that its own addresses take a bit each instead of 24 bytes.
//!
//! The table of addresses that the loader fills in is 1.4 MB of the program, and every start
//! reads all of it. A packed table needs a C library that can read it, so the one this build
//! runs on is asked, and a build for another system is left as it was.

#![expect(
    clippy::disallowed_methods,
    reason = "what a build is told comes in its environment"
)]

use std::{env, fs};

/// What a C library says of itself that can read a packed table.
const READS_PACKED: &[u8] = b"GLIBC_ABI_DT_RELR";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    let is_own = env::var("HOST").is_ok_and(|host| is("TARGET", &host));
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_own && is_gnu && reads_packed() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether the C library that this very program runs on can read a packed table.
fn reads_packed() -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    let Some(path) = paths.find(|path| path.ends_with("/libc.so.6")) else {
        return false;
    };
    let library = fs::read(path).unwrap_or_default();
    let length = READS_PACKED.len();
    library.windows(length).any(|part| part == READS_PACKED)
}
