//! Reports of earlier answers: Markdown, JSON and CSV, and a page with charts that needs no network.
//!
//! Invariant: whatever an answer holds, it stands in a report as text; it never becomes markup.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{World, drawable::pictures, made_here, research::read_json, save};
use crate::{
    Command, Error, KeepaMinute, Params, brief::summary, chart::escaped, graph::graphs_in,
};

const ENTITIES: usize = 40;
const RELATIONS: usize = 60;

/// What a report is made of.
struct Source {
    path: String,
    payload: Value,
    rows: Vec<Value>,
    graph: Option<Value>,
}

fn source<W: World>(world: &W, params: &Params) -> Result<Source, Error> {
    let path = params.required("input")?;
    let payload = read_json(world, &path)?;
    let graphs = graphs_in(&payload);
    let largest = graphs
        .iter()
        .rev()
        .max_by_key(|graph| graph["nodes"].as_array().map_or(0, Vec::len));
    Ok(Source {
        rows: rows(&payload, &graphs),
        graph: largest.map(|graph| (**graph).clone()),
        path,
        payload,
    })
}

/// What is counted: tasks, rows, products, or the products of graphs.
fn rows(payload: &Value, graphs: &[&Value]) -> Vec<Value> {
    let places = [
        "/tasks",
        "/rows",
        "/data/rows",
        "/data/tasks",
        "/body/products",
        "/data/body/products",
        "/products",
        "/data/products",
    ];
    let listed = places
        .iter()
        .find_map(|place| payload.pointer(place).and_then(Value::as_array));
    if let Some(all) = listed {
        return all.iter().map(flat).collect();
    }
    let mut seen = std::collections::BTreeSet::new();
    let nodes = graphs
        .iter()
        .flat_map(|graph| graph["nodes"].as_array().into_iter().flatten());
    nodes
        .filter(|node| node["type"] == "product")
        .filter(|node| seen.insert(node["id"].to_string()))
        .map(|node| json!({"asin": node["attributes"]["asin"], "title": node["label"]}))
        .collect()
}

/// A row without what a table cannot hold.
fn flat(row: &Value) -> Value {
    let identity = row["identity"].as_object();
    let own = row.as_object();
    let all = own.into_iter().chain(identity).flatten();
    let kept = all
        .filter(|(name, value)| {
            !["csv", "stats"].contains(&name.as_str()) && (!value.is_object() && !value.is_array())
        })
        .map(|(name, value)| (name.clone(), value.clone()));
    Value::Object(kept.collect())
}

/// `reports.build`.
pub(super) fn build<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let format = params
        .text(&["format"])
        .unwrap_or_else(|| "markdown".to_owned());
    let title = params
        .text(&["title"])
        .unwrap_or_else(|| "Keepa Report".to_owned());
    let source = source(world, params)?;
    let generated = KeepaMinute::from_unix_ms(world.now_ms()).to_string();
    let text = match format.as_str() {
        "markdown" => markdown(&source, &title, &generated),
        "json" => {
            let mut report = json!({
                "title": title,
                "source": source.path,
                "generated_at": generated,
                "rows": source.rows,
            });
            if let Some(graph) = &source.graph {
                report["research_graph_report"] = graph_report(graph);
            }
            serde_json::to_string_pretty(&report).unwrap_or_default()
        }
        "csv" => csv(&columns(&source.rows), &source.rows),
        other => return Err(Error::argument(format!("there is no format {other:?}"))),
    };
    let mut data = json!({
        "format": format,
        "title": title,
        "source": source.path,
        "row_count": source.rows.len(),
        "research_graph": source.graph.as_ref().map(summary),
        "provenance": made_here(Command::ReportsBuild, params),
    });
    match params.text(&["out"]) {
        Some(path) => data["output"] = save(world, Some(&path), "report", text.as_bytes())?,
        None => data["content"] = Value::from(text),
    }
    Ok(data)
}

fn graph_report(graph: &Value) -> Value {
    let picked = |list: &str, names: &[&str]| -> Vec<Value> {
        let all = graph[list].as_array().into_iter().flatten();
        all.map(|one| {
            let kept = names
                .iter()
                .map(|name| ((*name).to_owned(), one[*name].clone()));
            Value::Object(kept.collect())
        })
        .collect()
    };
    json!({
        "summary": summary(graph),
        "node_count": graph["node_count"],
        "edge_count": graph["edge_count"],
        "entity_counts": graph["entity_counts"],
        "nodes": picked("nodes", &["id", "type", "label"]),
        "edges": picked("edges", &["source", "type", "target", "evidence_path"]),
        "sources": graph["sources"],
        "diagnostics": graph["diagnostics"],
        "diff": graph["diff"],
    })
}

/// A text in a cell of a Markdown table.
fn cell(value: &Value) -> String {
    let text = match value.as_str() {
        Some(text) => text.to_owned(),
        None if value.is_null() => String::new(),
        None => value.to_string(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    escaped(&line)
        .replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('`', "\\`")
}

fn markdown(source: &Source, title: &str, generated: &str) -> String {
    let mut text = format!(
        "# {}\n\n- Generated: {generated}\n- Source: {}\n- Rows: {}\n\n",
        cell(&json!(title)),
        cell(&json!(source.path)),
        source.rows.len()
    );
    text.push_str("| # | Command or ASIN | Estimate | Notes |\n|---|---|---|---|\n");
    for (at, row) in source.rows.iter().enumerate() {
        let name = ["command", "asin", "id", "name"]
            .iter()
            .map(|name| &row[*name]);
        let name = name.into_iter().find(|value| !value.is_null());
        let notes = ["title", "notes", "reason", "one_line"]
            .iter()
            .map(|name| &row[*name]);
        let notes = notes.into_iter().find(|value| !value.is_null());
        let estimate = &row["estimated_tokens"];
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            at + 1,
            name.map(cell).unwrap_or_default(),
            cell(estimate),
            notes.map(cell).unwrap_or_default()
        );
    }
    if let Some(graph) = &source.graph {
        graph_section(&mut text, graph);
    }
    text
}

fn graph_section(text: &mut String, graph: &Value) {
    let _ = writeln!(
        text,
        "\n## Research graph\n\n- Root: {}\n- Nodes: {}\n- Edges: {}",
        cell(&graph["root"]),
        cell(&graph["node_count"]),
        cell(&graph["edge_count"])
    );
    for (name, value) in graph["diagnostics"].as_object().into_iter().flatten() {
        if value.is_number() {
            let _ = writeln!(text, "- {}: {value}", name.replace('_', " "));
        }
    }
    let none = Vec::new();
    let nodes = graph["nodes"].as_array().unwrap_or(&none);
    text.push_str("\n### Entities\n\n| Type | Id | Label |\n|---|---|---|\n");
    for node in nodes.iter().take(ENTITIES) {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            cell(&node["type"]),
            cell(&node["id"]),
            cell(&node["label"])
        );
    }
    more(text, nodes.len(), ENTITIES);
    let edges = graph["edges"].as_array().unwrap_or(&none);
    text.push_str(
        "\n### Relationships\n\n| From | Relation | To | Evidence |\n|---|---|---|---|\n",
    );
    for edge in edges.iter().take(RELATIONS) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            cell(&edge["source"]),
            cell(&edge["type"]),
            cell(&edge["target"]),
            cell(&edge["evidence_path"])
        );
    }
    more(text, edges.len(), RELATIONS);
}

fn more(text: &mut String, all: usize, shown: usize) {
    if all > shown {
        let _ = writeln!(text, "\n… {} more", all - shown);
    }
}

fn columns(rows: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = rows
        .iter()
        .flat_map(|row| row.as_object().into_iter().flat_map(Map::keys).cloned())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Rows with a heading, quoted where needed; no cell can be taken for a formula.
pub(super) fn csv(columns: &[String], rows: &[Value]) -> String {
    let quoted = |text: &str| {
        let is_formula = text.starts_with(['=', '+', '@', '\t', '\r'])
            || (text.starts_with('-') && text.parse::<f64>().is_err());
        let text = if is_formula {
            format!("'{text}")
        } else {
            text.to_owned()
        };
        if text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text
        }
    };
    let mut lines = vec![
        columns
            .iter()
            .map(|name| quoted(name))
            .collect::<Vec<_>>()
            .join(","),
    ];
    for row in rows {
        let cells: Vec<String> = columns
            .iter()
            .map(|name| match row[name.as_str()].as_str() {
                Some(text) => quoted(text),
                None if row[name.as_str()].is_null() => String::new(),
                None => quoted(&row[name.as_str()].to_string()),
            })
            .collect();
        lines.push(cells.join(","));
    }
    lines.join("\n") + "\n"
}

/// `browse.snapshot`.
pub(super) fn snapshot<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let title = params
        .text(&["title"])
        .unwrap_or_else(|| "Keepa Local Browse".to_owned());
    let source = source(world, params)?;
    let generated = KeepaMinute::from_unix_ms(world.now_ms()).to_string();
    let page = page(&source, &title, &generated);
    let report = json!({
        "title": title,
        "source": source.path,
        "generated_at": generated,
        "rows": source.rows,
        "research_graph": source.graph,
    });
    let folder = params.text(&["out_dir"]);
    let at = |name: &str| {
        folder
            .as_ref()
            .map(|folder| format!("{}/{name}", folder.trim_end_matches('/')))
    };
    let index = save(
        world,
        at("index.html").as_deref(),
        "browse/index.html",
        page.as_bytes(),
    )?;
    let text = serde_json::to_string_pretty(&report).unwrap_or_default();
    let data = save(
        world,
        at("data.json").as_deref(),
        "browse/data.json",
        text.as_bytes(),
    )?;
    let path = index["path"].as_str().unwrap_or_default();
    let dir = path.rsplit_once('/').map_or(".", |(dir, _)| dir);
    Ok(json!({
        "out_dir": dir,
        "index": index["path"],
        "data": data["path"],
        "output": index,
        "row_count": source.rows.len(),
        "research_graph": source.graph.as_ref().map(summary),
        "provenance": made_here(Command::BrowseSnapshot, params),
    }))
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem;color:#1c1917}\
h1,h2{line-height:1.2}table{border-collapse:collapse;width:100%;margin:1rem 0;font-size:14px}\
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #e7e5e4;vertical-align:top}\
th{position:sticky;top:0;background:#fafaf9}svg{width:100%;height:auto;border:1px solid #e7e5e4;margin:.5rem 0}\
div.wide{overflow-x:auto}p.meta{color:#57534e}input{font:inherit;padding:.3rem .6rem;width:20rem;max-width:100%}";
const SCRIPT: &str = "document.getElementById('q').addEventListener('input',e=>{const q=e.target.value.toLowerCase();\
document.querySelectorAll('tbody tr').forEach(r=>{r.hidden=!r.textContent.toLowerCase().includes(q)})})";

fn page(source: &Source, title: &str, generated: &str) -> String {
    let title = escaped(title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\
         <title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>\
         <p class=\"meta\">{generated} · {} · {} rows</p>\
         <p><label>Filter <input id=\"q\" type=\"search\"></label></p>",
        escaped(&source.path),
        source.rows.len()
    );
    for (name, svg) in pictures(&source.payload) {
        let _ = write!(page, "<h2>{}</h2>{svg}", escaped(&name));
    }
    let mut names = columns(&source.rows);
    // What a row is about stands first; the sort keeps the order of the rest.
    names.sort_by_key(|name| !["asin", "title", "brand"].contains(&name.as_str()));
    table(&mut page, "Rows", &names, &source.rows);
    if let Some(graph) = &source.graph {
        let none = Vec::new();
        let nodes = graph["nodes"].as_array().unwrap_or(&none);
        let names = ["type", "id", "label"].map(str::to_owned);
        table(&mut page, "Entities", &names, nodes);
        let edges = graph["edges"].as_array().unwrap_or(&none);
        let names = ["source", "type", "target", "evidence_path"].map(str::to_owned);
        table(&mut page, "Relationships", &names, edges);
    }
    let _ = writeln!(page, "<script>{SCRIPT}</script></body></html>");
    page
}

fn table(page: &mut String, title: &str, columns: &[String], rows: &[Value]) {
    if rows.is_empty() || columns.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "<h2>{title}</h2><div class=\"wide\"><table><thead><tr>"
    );
    for name in columns {
        let _ = write!(page, "<th>{}</th>", escaped(name));
    }
    page.push_str("</tr></thead><tbody>");
    for row in rows {
        page.push_str("<tr>");
        for name in columns {
            let value = &row[name.as_str()];
            let text = match value.as_str() {
                Some(text) => escaped(text),
                None if value.is_null() => String::new(),
                None => escaped(&value.to_string()),
            };
            let _ = write!(page, "<td>{text}</td>");
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_breaks_out() {
        assert_eq!(cell(&json!("a|b\n<script>`")), "a\\|b &lt;script&gt;\\`");
        let rows = [json!({"a": "=1+1", "b": "x,\"y\"", "c": -5, "d": "-5", "e": null})];
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        assert_eq!(
            csv(&names, &rows),
            "a,b,c,d,e\n'=1+1,\"x,\"\"y\"\"\",-5,-5,\n"
        );
    }

    #[test]
    fn whatever_an_answer_holds_is_text_on_the_page() {
        let evil = "<script>alert(1)</script>\"'&";
        let payload = json!({"products": [{
            "asin": "B0KETTLE01", "title": evil, "csv": [[1, 5, 2, 4], [1, 5]], "brand": evil,
        }], "research_graph": {"nodes": [{"id": evil, "type": "product", "label": evil}],
            "edges": [{"source": evil, "type": evil, "target": evil, "evidence_path": evil}], "entity_counts": {}}});
        let source = Source {
            path: evil.to_owned(),
            rows: rows(&payload, &graphs_in(&payload)),
            graph: graphs_in(&payload).first().map(|graph| (**graph).clone()),
            payload,
        };
        let page = page(&source, evil, "now");
        assert!(page.contains("<svg "), "{page}");
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains("alert(1)</script>"));
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }

    #[test]
    fn rows_come_from_wherever_they_are() {
        let graph = json!({"nodes": [{"id": "product:B0FIXTURE1", "type": "product", "label": "Kettle",
            "attributes": {"asin": "B0FIXTURE1"}}], "edges": [], "entity_counts": {}});
        let count = |payload: &Value| rows(payload, &graphs_in(payload)).len();
        assert_eq!(
            count(&json!({"tasks": [{"command": "a"}, {"command": "b"}]})),
            2
        );
        assert_eq!(count(&json!({"data": {"rows": [{"asin": "a"}]}})), 1);
        assert_eq!(count(&json!({"x": graph, "y": graph})), 1);
        assert_eq!(count(&json!({})), 0);
    }
}
