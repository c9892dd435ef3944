//! Compares the product view with a recorded one: `--data DIR` names a folder with `fixtures/` and `golden/`.
//!
//! Our words are our own, so texts are compared only where they are names; every difference in a figure or a shape is
//! either listed here with its reason or makes the comparison fail.

#![expect(clippy::print_stdout, reason = "it is a report for people")]

use std::{env, fs, path::Path, process::ExitCode};

use serde_json::Value;
use tollgate_keepa::{
    Product,
    graph::{MergeOptions, merge},
    view::{Options, product},
};

/// Where we differ on purpose.
const ON_PURPOSE: &[(&str, &str)] = &[
    (
        "merge.diagnostics.lowest_source_weight",
        "no source weighs less than one",
    ),
    (
        "merge.sources.2",
        "nodes and edges are counted where the graph does not say",
    ),
    ("pricing.coupon_history", "coupons come in triples"),
    (
        "next_actions.0.mcp_tool",
        "an action names its tool beside its command",
    ),
    (
        "agent_brief.recommended_next_actions.0.mcp_tool",
        "an action names its tool beside its command",
    ),
    (
        "next_actions.0.params.domain",
        "an action can be run as it stands",
    ),
    (
        "agent_brief.recommended_next_actions.0.params.domain",
        "an action can be run as it stands",
    ),
];
/// Names of texts for people.
const PROSE: &[&str] = &["reason", "why", "notes", "follow_up", "cli", "command"];

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let flag = arguments.next();
    let (Some("--data"), Some(folder)) = (flag.as_deref(), arguments.next()) else {
        println!("skipped: no --data DIR was given");
        return ExitCode::SUCCESS;
    };
    match compare(Path::new(&folder)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("skipped: {error}");
            ExitCode::SUCCESS
        }
    }
}

fn compare(folder: &Path) -> Result<usize, String> {
    let read = |name: &str| {
        fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    let json = |name: &str| -> Result<Value, String> {
        serde_json::from_str(&read(name)?).map_err(|error| format!("{name}: {error}"))
    };
    let golden = json("golden/products_get_research_B0TEST.json")?;
    let body = read("fixtures/product_agent_view_B0TEST.json")?;
    let products = Product::read_all(&body).map_err(|error| error.to_string())?;
    let first = products.first().ok_or("the fixture has no product")?;
    let ours = product(first, &Options::default());
    let mut found = Vec::new();
    differences(
        "",
        &golden["payload"]["data"]["products"][0],
        &ours,
        &mut found,
    );
    let golden = json("golden/research_graph_merge.json")?;
    let params = &golden["params"];
    let options = MergeOptions {
        root: params["root"].as_str().unwrap_or_default().to_owned(),
        prefer_source: params["prefer_source"].as_str().map(str::to_owned),
        ..MergeOptions::default()
    };
    let graphs = params["graph"]
        .as_array()
        .ok_or("the merge has no graphs")?;
    let ours = merge(graphs.clone(), &options).map_err(|error| error.to_string())?;
    differences(
        "merge",
        &golden["payload"]["data"]["graph"],
        &ours,
        &mut found,
    );
    let mut unexpected = 0;
    for (path, line) in found {
        let reason = ON_PURPOSE
            .iter()
            .find(|(prefix, _)| path.starts_with(prefix));
        match reason {
            Some((_, reason)) => println!("on purpose ({reason}): {line}"),
            None => {
                unexpected += 1;
                println!("DIFFERS: {line}");
            }
        }
    }
    println!("{unexpected} unexpected differences");
    Ok(unexpected)
}

fn differences(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<(String, String)>) {
    let name = path.rsplit('.').next().unwrap_or_default();
    if PROSE.contains(&name) && !ours.is_null() {
        return;
    }
    let below = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                differences(
                    &below(name),
                    value,
                    b.get(name).unwrap_or(&Value::Null),
                    found,
                );
            }
            for (name, value) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
                differences(&below(name), &Value::Null, value, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                differences(&below(&index.to_string()), x, y, found);
            }
        }
        (theirs, ours) if theirs == ours => {}
        (theirs, ours) => {
            let line = format!("{path}: {theirs:.120} / {ours:.120}");
            found.push((path.to_owned(), line));
        }
    }
}
