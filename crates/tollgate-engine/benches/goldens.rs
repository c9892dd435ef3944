//! Compares cache keys and sanitising with recorded answers of the origin.
//!
//! `cargo bench -p tollgate-engine --bench goldens -- --data DIR`, where DIR holds
//! `golden/*.json` with `command`, `params`, `cache_key` and `payload`.

use std::{fs, path::PathBuf, process::ExitCode};

use serde_json::Value;
use tollgate_core::Payload;
use tollgate_engine::cache_key_of;
use tollgate_sanitize::{Sanitizer, Scope};

fn main() -> ExitCode {
    let mut arguments = std::env::args()
        .skip_while(|argument| argument != "--data")
        .skip(1);
    let Some(folder) = arguments.next().map(PathBuf::from) else {
        say("skipped: no --data DIR");
        return ExitCode::SUCCESS;
    };
    let Ok(entries) = fs::read_dir(folder.join("golden")) else {
        say("skipped: no golden answers there");
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

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn say(line: &str) {
    println!("{line}");
}
