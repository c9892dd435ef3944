//! What a list of tools costs a model: `tools/list` results on stdin, one a line.
//!
//! Counted is the list as JSON, once as it travels and once as a model is usually shown it:
//! only names, descriptions and input schemas.

#![forbid(unsafe_code)]

use std::io::{BufRead, stdin};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tiktoken_rs::o200k_base;

fn main() -> Result<()> {
    let encoding = o200k_base()?;
    let cost = |value: &Value| {
        let text = value.to_string();
        json!({"bytes": text.len(), "tokens": encoding.encode_ordinary(&text).len()})
    };
    for line in stdin().lock().lines() {
        let result: Value = serde_json::from_str(&line?)?;
        let tools = result["tools"].as_array().context("there is no list")?;
        let shown: Value = tools.iter().map(shown).collect();
        println!(
            "{}",
            json!({"tools": tools.len(), "whole": cost(&result["tools"]), "shown": cost(&shown)})
        );
    }
    Ok(())
}

/// What clients pass on to a model.
fn shown(tool: &Value) -> Value {
    json!({
        "name": tool["name"],
        "description": tool["description"],
        "input_schema": tool["inputSchema"],
    })
}
