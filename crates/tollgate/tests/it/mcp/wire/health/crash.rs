//! One round of the crash campaign of `bench/` for each way a disk fails.

use std::path::Path;

use super::shim::preloaded;
use crate::support::{Ran, TestEnv, can_run};

#[test]
fn a_round_of_every_crash_violates_nothing() {
    if !can_run() || preloaded().is_none() {
        return;
    }
    let campaign = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/crash.py");
    let env = TestEnv::new();
    let arguments = [
        campaign.to_str().unwrap(),
        "--tollgate",
        env!("CARGO_BIN_EXE_tollgate"),
        "--rounds",
        "1",
    ];
    let ran = Ran::from(env.other("python3", &arguments).output().unwrap()).exits(0);
    assert_eq!(ran.out.matches("violations: 0").count(), 5, "{ran:?}");
}
