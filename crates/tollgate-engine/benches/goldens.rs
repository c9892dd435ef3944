//! Compares cache keys and sanitising with recorded answers of the origin.
//!
//! `cargo bench -p tollgate-engine --bench goldens -- --data DIR`, where DIR holds
//! `golden/*.json` with `command`, `params`, `cache_key` and `payload`, or a folder `keepa` that does.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde_json::Value;
use tollgate_core::Payload;
use tollgate_engine::cache_key_of;
use tollgate_sanitize::{Sanitizer, Scope};

fn main() -> ExitCode {
    let mut arguments = std::env::args()
        .skip_while(|argument| argument != "--data")
        .skip(1);
    let data = arguments.next().map(PathBuf::from);
    let Some(entries) = data.as_deref().and_then(goldens) else {
        skipped(data.as_deref());
        return ExitCode::SUCCESS;
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let (mut keys, mut clean) = (0, 0);
    for file in &files {
        let text = fs::read_to_string(file).unwrap_or_default();
        let golden: Value = serde_json::from_str(&text).unwrap_or_default();
        let command = golden["command"].as_str().unwrap_or_default();
        let key = cache_key_of(command, &Payload::from(golden["params"].clone()));
        let same_key = key.ok().as_deref() == golden["cache_key"].as_str();
        let unchanged = Sanitizer::shipped()
            .json(&text, &Scope::open_world())
            .is_ok_and(|cleaned| cleaned.text == text);
        keys += usize::from(same_key);
        clean += usize::from(unchanged);
        if !same_key || !unchanged {
            say(&format!(
                "{}: key {same_key}, unchanged {unchanged}",
                file.display()
            ));
        }
    }
    let all = files.len();
    say(&format!("cache keys equal   {keys} of {all}"));
    say(&format!("sanitising leaves  {clean} of {all} as they are"));
    if keys == all && clean == all {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The recorded answers below a folder.
fn goldens(data: &Path) -> Option<fs::ReadDir> {
    let folders = [data.join("golden"), data.join("keepa/golden")];
    folders.iter().find_map(|folder| fs::read_dir(folder).ok())
}

/// Says what was not compared, why, and how it is.
fn skipped(data: Option<&Path>) {
    let why = match data {
        Some(folder) => format!("{} does not hold it", folder.display()),
        None => "no --data was given".to_owned(),
    };
    say(&format!(
        "skipped: cache keys and sanitising of recorded answers: it needs data that is not part of the \
         repository, and {why};"
    ));
    say(
        "         cargo bench -p tollgate-engine --bench goldens -- --data DIR, where DIR holds golden/*.json",
    );
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn say(line: &str) {
    println!("{line}");
}
