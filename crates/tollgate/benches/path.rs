//! The whole path and its parts, at full size: 10,000 tools, a million audit rows.
//!
//! `cargo bench -p tollgate --bench path -- [--rows N] [--tools N] [--rounds N] [--millis N] [--only NAME]`

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench reports by printing and fails by panicking"
)]

use std::time::Duration;

use tollgate::bench::{Plan, Section, measure};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let value = |name: &str| {
        let mut rest = arguments.iter().skip_while(|argument| *argument != name);
        rest.nth(1)
    };
    let number =
        |name: &str, otherwise: u64| value(name).map_or(otherwise, |value| value.parse().unwrap());
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let plan = Plan {
        folder: folder.path().to_owned(),
        time: Duration::from_millis(number("--millis", 1000)),
        rounds: usize::try_from(number("--rounds", 5)).unwrap(),
        tools: usize::try_from(number("--tools", 10_000)).unwrap(),
        rows: number("--rows", 1_000_000),
        only: value("--only").cloned(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut show = |section: Section| println!("{section}\n");
    runtime.block_on(measure(&plan, &mut show)).unwrap();
}
