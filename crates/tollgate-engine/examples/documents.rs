//! Compares a document's own JSON examples of runs with our schemas.
//!
//! `cargo run -p tollgate-engine --example documents -- --data DIR` reads every text file of
//! `DIR` that tells of `run_task_template`, prints for each JSON block which request or
//! answer it is, and fails if one is none. The schemas are those in `contracts/`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example reports by printing and fails by panicking"
)]

use std::{fs, path::Path, process::ExitCode};

use jsonschema::Validator;
use serde_json::Value;

fn main() -> ExitCode {
    let mut words = std::env::args().skip_while(|word| word != "--data");
    let Some(folder) = words.nth(1) else {
        println!("which documents? --data DIR");
        return ExitCode::from(2);
    };
    let schemas = schemas();
    let (mut seen, mut strange) = (0, 0);
    for file in fs::read_dir(folder).unwrap().map(|file| file.unwrap()) {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        if !text.contains("run_task_template") {
            continue;
        }
        for block in blocks(&text) {
            let Ok(value) = serde_json::from_str::<Value>(&block) else {
                continue;
            };
            let fits: Vec<&str> = schemas
                .iter()
                .filter(|(_, schema)| schema.is_valid(&value))
                .map(|(name, _)| name.as_str())
                .collect();
            seen += 1;
            strange += usize::from(fits.is_empty());
            let short: String = block.split_whitespace().collect();
            let short: String = short.chars().take(50).collect();
            println!("{short:<50}  {}", fits.join(", "));
        }
    }
    println!("{seen} examples, {strange} that fit nothing");
    if seen > 0 && strange == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Requests, answers and the error of a run, by name.
fn schemas() -> Vec<(String, Validator)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/tools/runs");
    let mut all = Vec::new();
    for file in fs::read_dir(folder).unwrap().map(|file| file.unwrap()) {
        let spec: Value = serde_json::from_slice(&fs::read(file.path()).unwrap()).unwrap();
        let name = spec["name"].as_str().unwrap().to_owned();
        let compile = |schema: &Value| jsonschema::draft202012::new(schema).unwrap();
        let data = &spec["output_schema"]["properties"]["data"];
        all.push((format!("{name} request"), compile(&spec["input_schema"])));
        all.push((format!("{name} answer"), compile(data)));
        let error = &data["anyOf"][0]["properties"]["error"];
        if name == "get_task_run" && !error.is_null() {
            all.push(("error of a run".to_owned(), compile(error)));
        }
    }
    all
}

/// The blocks of a document that are marked as JSON.
fn blocks(text: &str) -> Vec<String> {
    let parts = text.split("```json").skip(1);
    parts
        .filter_map(|part| part.split_once("```"))
        .map(|(block, _)| block.trim().to_owned())
        .collect()
}
