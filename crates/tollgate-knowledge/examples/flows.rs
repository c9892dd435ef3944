//! Real decision flows, drawn in every way that can be imported, and imported again.
//!
//! `--data DIR` names a folder with `smart-answers.json`: a list of flows, each with a
//! `start` and `nodes` that have a text, `options` and the nodes that come `next`. Each flow
//! is written as Graphviz, Mermaid and CSV; what is imported must have every node and every
//! way of it, a session must come from its start to every node that can be reached, and
//! `lint` must find what is wrong with the flow itself and nothing else.

#![expect(clippy::print_stdout, reason = "it is a report for people")]

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::Write as _,
    fs,
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use serde_json::Value;
use tollgate_knowledge::{
    Base, Format, ImportFormat, Library, ProblemCode, import, lint, load_text,
};

/// A flow as the file has it: texts and ways, by the ids of nodes.
struct Flow {
    name: String,
    start: String,
    nodes: BTreeMap<String, (String, Vec<(String, String)>)>,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some("--data"), Some(folder)) = (arguments.next().as_deref(), arguments.next()) else {
        println!("skipped: no --data DIR was given");
        return ExitCode::SUCCESS;
    };
    let path = Path::new(&folder).join("smart-answers.json");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: there is no {}", path.display());
        return ExitCode::SUCCESS;
    };
    let Ok(Value::Array(all)) = serde_json::from_str(&text) else {
        println!("{} is not a list of flows", path.display());
        return ExitCode::FAILURE;
    };
    let mut failures = 0;
    println!("flow | nodes | ways | reached | as | lint");
    for flow in all.iter().map(read) {
        if flow.nodes.is_empty() {
            println!("{} | 0 | nothing is drawn in it", flow.name);
            continue;
        }
        for (what, format, drawn) in [
            ("dot", ImportFormat::Dot, dot(&flow)),
            ("mermaid", ImportFormat::Mermaid, mermaid(&flow)),
            ("csv", ImportFormat::Csv, csv(&flow)),
        ] {
            match imported(&flow, drawn, format) {
                Ok((ways, reached, found)) => println!(
                    "{} | {} | {ways} | {reached} | {what} | {found}",
                    flow.name,
                    flow.nodes.len()
                ),
                Err(wrong) => {
                    failures += 1;
                    println!("{} | {what} | FAILED: {wrong}", flow.name);
                }
            }
        }
    }
    println!("{failures} failure(s)");
    match failures {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn read(flow: &Value) -> Flow {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut nodes = BTreeMap::new();
    for (id, node) in flow["nodes"].as_object().into_iter().flatten() {
        let nexts = node["next"].as_array().into_iter().flatten().map(word);
        let options = node["options"].as_array().into_iter().flatten().map(word);
        let mut options = options.collect::<Vec<_>>().into_iter();
        let ways = nexts
            .zip(1..)
            .map(|(next, at)| (options.next().unwrap_or(format!("way {at}")), next))
            .collect();
        nodes.insert(id.clone(), (title(&node["text"]), ways));
    }
    Flow {
        name: word(&flow["flow"]),
        start: word(&flow["start"]),
        nodes,
    }
}

/// The title of a text block, which stands in a template; else its first line.
fn title(text: &Value) -> String {
    let text = text.as_str().unwrap_or_default();
    let inside = text.split(":title do %>").nth(1).unwrap_or(text);
    let inside = inside.split("<%").next().unwrap_or_default();
    let line = inside.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("(no title)").to_owned()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The nodes, the start first: a drawing begins with it.
fn ordered(flow: &Flow) -> Vec<&String> {
    let mut ids: Vec<&String> = flow.nodes.keys().collect();
    ids.sort_by_key(|id| **id != flow.start);
    ids
}

fn dot(flow: &Flow) -> String {
    let mut out = String::from("digraph flow {\n");
    for id in ordered(flow) {
        let (text, ways) = &flow.nodes[id];
        let _ = writeln!(out, "  {} [label={}];", quoted(id), quoted(text));
        for (label, next) in ways {
            let _ = writeln!(
                out,
                "  {} -> {} [label={}];",
                quoted(id),
                quoted(next),
                quoted(label)
            );
        }
    }
    out + "}\n"
}

fn mermaid(flow: &Flow) -> String {
    // Ids of Mermaid are plain words; a number stands for each.
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for id in ordered(flow) {
        let number = numbers.len();
        numbers.insert(id, number);
    }
    let escaped = |text: &str| text.replace('"', "#quot;");
    let mut out = String::from("flowchart TD\n");
    for id in ordered(flow) {
        let (text, _) = &flow.nodes[id];
        let _ = writeln!(out, "  n{}[\"{}\"]", numbers[id.as_str()], escaped(text));
    }
    for id in ordered(flow) {
        for (label, next) in &flow.nodes[id].1 {
            let next = numbers
                .get(next.as_str())
                .map_or(format!("lost_{next}"), |number| format!("n{number}"));
            let from = numbers[id.as_str()];
            let _ = writeln!(out, "  n{from} -->|\"{}\"| {next}", escaped(label));
        }
    }
    out
}

fn csv(flow: &Flow) -> String {
    let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut out = String::from("id,question,option,next\n");
    for id in ordered(flow) {
        let (text, ways) = &flow.nodes[id];
        let none = [(String::new(), String::new())];
        let rows = if ways.is_empty() { &none[..] } else { ways };
        for ((label, next), at) in rows.iter().zip(0..) {
            let first = if at == 0 { text.as_str() } else { "" };
            let cells = [id.as_str(), first, label, next].map(cell);
            let _ = writeln!(out, "{}", cells.join(","));
        }
    }
    out
}

/// How many ways were found again, how many nodes a session came to, and what lint says.
fn imported(
    flow: &Flow,
    drawn: String,
    format: ImportFormat,
) -> Result<(usize, usize, String), String> {
    let told = |problems: Vec<tollgate_knowledge::Problem>| {
        let first = problems.first().map(ToString::to_string);
        first.unwrap_or_default()
    };
    let draft = import("flow", drawn.into_bytes(), format).map_err(told)?;
    let base = load_text("flow", &draft.text, Format::Yaml).map_err(told)?;
    let ways: usize = flow.nodes.values().map(|(_, ways)| ways.len()).sum();
    // A drawing has a box also for what is only pointed at.
    let lost: BTreeSet<&String> = flow
        .nodes
        .values()
        .flat_map(|(_, ways)| ways.iter().map(|(_, next)| next))
        .filter(|next| !flow.nodes.contains_key(*next))
        .collect();
    let boxes = match format {
        ImportFormat::Dot | ImportFormat::Mermaid => flow.nodes.len() + lost.len(),
        ImportFormat::Csv | ImportFormat::Workbook => flow.nodes.len(),
    };
    if (base.node_count(), draft.options) != (boxes, ways) {
        return Err(format!(
            "{} nodes and {} ways instead of {boxes} and {ways}",
            base.node_count(),
            draft.options
        ));
    }
    let wanted = reachable(flow);
    let found = linted(flow, &base, wanted.len())?;
    let reached = walked(Library::new(vec![Arc::new(base)]))?;
    let missing: Vec<&&String> = wanted
        .iter()
        .filter(|id| !reached.contains(&flow.nodes[**id].0))
        .collect();
    match missing.is_empty() {
        true => Ok((draft.options, wanted.len(), found)),
        false => Err(format!("no session came to {missing:?}")),
    }
}

/// What lint finds, if that is what is wrong with the flow: nodes that nothing leads to, ways
/// to nowhere (a drawing has an empty box there), and that nobody has written a `fallback`.
fn linted(flow: &Flow, base: &Base, reached: usize) -> Result<String, String> {
    let problems = lint(base);
    let count = |code: ProblemCode| problems.iter().filter(|one| one.code == code).count();
    let ways = flow.nodes.values().flat_map(|(_, ways)| ways);
    let lost = ways.filter(|(_, next)| !flow.nodes.contains_key(next));
    let boxes = base.node_count() - flow.nodes.len();
    let broken = if boxes == 0 { lost.count() } else { 0 };
    let unreached = flow.nodes.len() - reached;
    let known = [
        (ProblemCode::NoFallback, 1..=1),
        (ProblemCode::NoChoose, 0..=1),
        (ProblemCode::BrokenLink, broken..=broken),
        (ProblemCode::Unreachable, unreached..=unreached + boxes),
        (ProblemCode::NoExit, 0..=flow.nodes.len()),
    ];
    let odd = known
        .iter()
        .find(|(code, wanted)| !wanted.contains(&count(*code)));
    if let Some((code, wanted)) = odd {
        let found = count(*code);
        return Err(format!("{found} of {code} instead of {wanted:?}"));
    }
    let other = problems
        .iter()
        .find(|one| known.iter().all(|(code, _)| *code != one.code));
    if let Some(other) = other {
        return Err(other.to_string());
    }
    let found: Vec<String> = known
        .iter()
        .filter(|(code, _)| count(*code) > 0)
        .map(|(code, _)| format!("{} {code}", count(*code)))
        .collect();
    Ok(found.join(", "))
}

fn reachable(flow: &Flow) -> Vec<&String> {
    let mut seen: Vec<&String> = flow.nodes.keys().filter(|id| **id == flow.start).collect();
    let mut at = 0;
    while let Some(id) = seen.get(at).copied() {
        for (_, next) in &flow.nodes[id].1 {
            if let Some((next, _)) = flow.nodes.get_key_value(next)
                && !seen.contains(&next)
            {
                seen.push(next);
            }
        }
        at += 1;
    }
    seen
}

/// Everything a session is told when every option is tried everywhere.
fn walked(library: Library) -> Result<BTreeSet<String>, String> {
    let mut told = BTreeSet::new();
    let (first, view) = library.start("zzzz").map_err(|error| error.to_string())?;
    let mut been: BTreeSet<String> = BTreeSet::new();
    let mut queue = VecDeque::from([(first, view)]);
    while let Some((session, view)) = queue.pop_front() {
        told.extend(view.response.split("\n\n").map(str::to_owned));
        if !been.insert(session.node.clone()) || session.complete {
            continue;
        }
        for option in view.options {
            let next = library.step(&session, &option.id, None);
            queue.push_back(next.map_err(|error| error.to_string())?);
        }
    }
    Ok(told)
}
