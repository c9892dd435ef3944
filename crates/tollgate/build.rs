//! Links the program so that it is small.
//!
//! The table of addresses that the loader fills in is 1.4 MB of the program, and every start
//! reads all of it. Packed, its own addresses take a bit each instead of 24 bytes. That needs a
//! C library that can read it, so the one this build runs on is asked, and a build for another
//! system is left as it was.
//!
//! A release also keeps one copy of functions that came out the same (0.6 MB), and no names of
//! functions (8 MB): `strip` of the profile is forgotten for a package that has settings of its
//! own, as this one does. Both are asked of the linker that comes with the compiler, and only
//! where it is the one in use.
//!
//! It also notes the commit and the kind of build for `tollgate --version`.

#![expect(
    clippy::disallowed_methods,
    reason = "a build is configured by its environment, and git knows the commit"
)]

use std::{env, fs, path::Path, process::Command};

/// What a C library says of itself that can read a packed table.
const READS_PACKED: &[u8] = b"GLIBC_ABI_DT_RELR";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    name_build();
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    let is_own = env::var("HOST").is_ok_and(|host| is("TARGET", &host));
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_own && is_gnu && reads_packed() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    let is_usual = env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.is_empty());
    if is_usual && is("TARGET", "x86_64-unknown-linux-gnu") && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all,--strip-all");
    }
}

/// Names the commit and the kind of build; a change of the checked-out commit builds again.
fn name_build() {
    println!("cargo::rerun-if-env-changed=TOLLGATE_BUILD_COMMIT");
    // Packagers without a repository say which commit they build.
    let named = env::var("TOLLGATE_BUILD_COMMIT").ok();
    let commit = named.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    let profile = env::var("PROFILE").unwrap_or_default();
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=TOLLGATE_COMMIT={commit}");
    println!("cargo::rustc-env=TOLLGATE_BUILD={profile} build for {target}");
}

/// What git answers about this repository; nothing where there is none.
fn git(arguments: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let text = text.trim();
    (answer.status.success() && !text.is_empty()).then(|| text.to_owned())
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
