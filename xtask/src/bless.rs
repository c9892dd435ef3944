//! Rewrites what is generated: contracts, pages, and snapshots in files and in source.

use anyhow::Result;

use crate::{
    inline,
    run::{cargo, root, shown},
};

pub(crate) fn run() -> Result<()> {
    let mut tests = cargo(&["test", "--workspace", "--no-fail-fast", "--quiet"]);
    tests
        .arg("--tests")
        .env("TOLLGATE_BLESS", "1")
        .env("INSTA_UPDATE", "always")
        .env("INSTA_FORCE_PASS", "1");
    let outcome = shown(tests);
    // What was blessed stays, even if a test fails for another reason.
    for file in inline::apply(&root())? {
        eprintln!("rewrote the snapshots in {}", file.display());
    }
    eprintln!("read the difference before you commit it: `git diff`");
    outcome
}
