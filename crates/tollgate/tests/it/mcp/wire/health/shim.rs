//! A gateway whose writes and syncs of the state fail on demand, by the preload of `bench/`.

use std::{fs, os::unix::fs::FileExt, path::Path};

use crate::support::TestEnv;

/// What fails.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    Nothing,
    /// Every write finds the disk full.
    Full,
    /// Every sync fails.
    Sync,
}

/// Builds the preload and sets it for every later run; nothing where there is no C compiler.
pub(super) fn preloaded() -> Option<TestEnv> {
    let mut env = TestEnv::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/crash_shim.c");
    let shim = env.path("shim.so").display().to_string();
    let source = source.display().to_string();
    let built = env
        .other(
            "cc",
            &[
                "-shared",
                "-fPIC",
                "-O1",
                "-o",
                &shim,
                &source,
                "-ldl",
                "-lpthread",
            ],
        )
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        eprintln!("skipped: there is no C compiler");
        return None;
    }
    let fault = env.write("fault", "0");
    let folder = env.state_dir().display().to_string();
    env.ok("time.now", "{}");
    env.set("LD_PRELOAD", &shim);
    env.set("CRASH_FOLDER", &folder);
    env.set("CRASH_FAULT", &fault);
    Some(env)
}

/// Makes the next writes or syncs of every running process fail.
pub(super) fn inject(env: &TestEnv, fault: Fault) {
    let kind = match fault {
        Fault::Nothing => b"0",
        Fault::Full => b"n",
        Fault::Sync => b"s",
    };
    let file = fs::OpenOptions::new().write(true).open(env.path("fault"));
    file.unwrap().write_all_at(kind, 0).unwrap();
}
