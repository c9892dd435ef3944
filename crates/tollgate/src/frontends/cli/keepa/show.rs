//! Answers of the pack for people: what matters first, in lines and tables; the rest is in `--json`.

use serde_json::{Map, Value};
use tollgate_core::Envelope;
use tollgate_engine::Outcome;

use super::super::{Scene, Stop, call, console::Paint};

/// Columns of a comparison.
const ROWS: [&str; 8] = [
    "asin",
    "brand",
    "new_price",
    "buy_box_price",
    "sales_rank",
    "monthly_sold",
    "rating",
    "review_count",
];

pub(super) fn outcome(outcome: &Outcome, scene: &Scene<'_>) -> Result<(), Stop> {
    let envelope = outcome.envelope.get();
    let Some(data) = envelope.data.as_ref().filter(|_| envelope.ok) else {
        return call::show(outcome, scene);
    };
    let data = data.value();
    let console = scene.console;
    call::head(envelope, scene);
    if data["dry_run"] == true && data["verdict"].is_string() {
        dry_run(envelope, data, scene)?;
    } else if let Some(products) = data["products"]
        .as_array()
        .filter(|_| data["view"] == "agent_product")
    {
        for product in products {
            about_product(product, scene)?;
        }
    } else if let Some(rows) = data["rows"]
        .as_array()
        .filter(|_| data["view"] == "products_compare")
    {
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| ROWS.map(|name| cell(&row[name])).to_vec())
            .collect();
        console.table(&ROWS, &rows)?;
        best(&data["agent_brief"]["key_facts"], scene)?;
        counts(&data["risk_summary"]["by_code"], "risks", scene)?;
    } else if data["analysis"]["series"].is_object() {
        trends(data, scene)?;
    } else if data["view"] == "workflow_plan" {
        plan(data, scene)?;
    } else if data["agent_brief"].is_object() {
        let line = cell(&data["agent_brief"]["one_line"]);
        console.line(&console.paint(Paint::Strong, &line))?;
        listed(data, scene)?;
        missing(&data["data_quality"], scene)?;
    } else if let Some(content) = data["content"].as_str().or(data["text"].as_str()) {
        console.line(content)?;
        return Ok(());
    } else if envelope.command.as_deref() == Some("tokens.status") {
        facts(envelope.token_bucket.as_ref().unwrap_or(data), scene)?;
    } else if LISTS.iter().any(|name| is_table(&data[*name])) {
        facts(data, scene)?;
        listed(data, scene)?;
    } else if is_flat(data) {
        facts(data, scene)?;
    } else {
        console.readable(&own(data))?;
    }
    actions(data, scene)?;
    if let Some(path) = data["output"]["path"].as_str() {
        console.line(&format!("written to {path}"))?;
    }
    call::tail(envelope, scene);
    Ok(())
}

/// How each history went, whole and by window.
fn trends(data: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let mut rows = Vec::new();
    for (name, one) in data["analysis"]["series"].as_object().into_iter().flatten() {
        let windows = one["windows"].as_object().into_iter().flatten();
        let windows = windows.map(|(days, figures)| (format!("{days} days"), figures));
        for (span, figures) in windows.chain([("all".to_owned(), &one["all_time"])]) {
            let mut row = vec![name.replace('_', " "), span, cell(&figures["points"])];
            row.extend(["oldest", "latest", "min", "max"].map(|at| cell(&figures[at]["value"])));
            row.push(cell(&figures["average"]));
            row.push(cell(&figures["change"]["percent"]));
            rows.push(row);
        }
    }
    let heads = [
        "history", "span", "points", "oldest", "latest", "min", "max", "average", "change %",
    ];
    scene.console.line(&cell(&data["asin"]))?;
    scene.console.table(&heads, &rows)?;
    Ok(())
}

/// Who is best in what.
fn best(facts: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let all = facts.as_object().into_iter().flatten();
    let best: Vec<String> = all
        .filter(|(_, one)| one["asin"].is_string())
        .map(|(name, one)| format!("{} {}", name.replace('_', " "), cell(&one["asin"])))
        .collect();
    if !best.is_empty() {
        scene.console.line(&best.join(", "))?;
    }
    Ok(())
}

/// Fields that hold what an answer lists.
const LISTS: [&str; 11] = [
    "category_candidates",
    "candidates",
    "deals",
    "steps",
    "domains",
    "templates",
    "entries",
    "items",
    "tasks",
    "resources",
    "commands",
];
/// Facts about the answer rather than of it.
const ASIDE: [&str; 6] = [
    "output",
    "view",
    "provenance",
    "cache_provenance",
    "evidence_index",
    "schema_version",
];

/// The account of tokens that Keepa sends beside every answer.
const BUCKET: [&str; 7] = [
    "timestamp",
    "tokensLeft",
    "refillIn",
    "refillRate",
    "tokenFlowReduction",
    "tokensConsumed",
    "processingTimeInMs",
];

fn is_table(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_object))
}

/// Whether everything but what stands aside fits on a line.
fn is_flat(data: &Value) -> bool {
    let fits = |value: &Value| {
        value.as_array().is_none_or(|all| is_short(all))
            && value
                .as_object()
                .is_none_or(|map| map.len() <= 6 && !map.values().any(is_nested))
    };
    data.as_object().is_some_and(|map| {
        map.iter()
            .all(|(name, value)| ASIDE.contains(&name.as_str()) || fits(value))
    })
}

/// Whether a value has parts of its own.
fn is_nested(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Whether a list is a few words.
fn is_short(all: &[Value]) -> bool {
    all.len() <= 8 && all.iter().all(Value::is_string)
}

/// What fits on a line, a line each.
fn facts(data: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let all = data.as_object().into_iter().flatten();
    let own = all.filter(|(name, _)| !ASIDE.contains(&name.as_str()));
    let rows: Vec<Vec<String>> = own
        .filter_map(|(name, value)| {
            let shown = match value.as_object() {
                Some(map) if map.is_empty() || map.values().any(is_nested) => return None,
                Some(map) => map
                    .iter()
                    .map(|(name, value)| format!("{} {}", name.replace('_', " "), cell(value)))
                    .collect::<Vec<_>>()
                    .join(", "),
                None => match value.as_array() {
                    Some(all) if !all.is_empty() && is_short(all) => {
                        all.iter().map(cell).collect::<Vec<_>>().join(", ")
                    }
                    Some(_) => return None,
                    None if value.is_null() => return None,
                    None => cell(value),
                },
            };
            Some(vec![name.replace('_', " "), shown])
        })
        .collect();
    if !rows.is_empty() {
        scene.console.table(&["", ""], &rows)?;
    }
    Ok(())
}

/// What would be sent, at what price, and whether it may.
fn dry_run(envelope: &Envelope, data: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let console = scene.console;
    console.line(&console.paint(Paint::Strong, "dry run: nothing was sent"))?;
    let mut rows = Vec::new();
    if let Some(request) = &envelope.request {
        let sent = request["params_redacted"].as_object().into_iter().flatten();
        let sent: Vec<String> = sent
            .map(|(name, value)| format!("{name}={}", cell(value)))
            .collect();
        let line = format!(
            "{} {} {}",
            cell(&request["method"]),
            cell(&request["endpoint"]),
            sent.join(" ")
        );
        rows.push(vec!["request".to_owned(), line]);
    }
    let price = format!(
        "{} tokens, {} at the most",
        cell(&data["estimated_tokens"]),
        cell(&data["worst_case_tokens"])
    );
    rows.push(vec!["price".to_owned(), price]);
    let verdict = format!("{} ({})", cell(&data["verdict"]), cell(&data["rule"]));
    rows.push(vec!["verdict".to_owned(), verdict]);
    console.table(&["", ""], &rows)?;
    Ok(())
}

fn about_product(product: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let console = scene.console;
    let facts = &product["agent_brief"]["key_facts"];
    let title = format!(
        "{}  {}",
        cell(&product["identity"]["asin"]),
        cell(&product["identity"]["title"])
    );
    console.line(&console.paint(Paint::Strong, &title))?;
    let names = [
        ("brand", "brand"),
        ("new price", "current_new_price"),
        ("buy box", "current_buy_box_price"),
        ("sold a month", "monthly_sold"),
        ("rating", "rating"),
        ("reviews", "review_count"),
    ];
    let rows: Vec<Vec<String>> = names
        .iter()
        .filter(|(_, name)| !facts[*name].is_null())
        .map(|(label, name)| vec![(*label).to_owned(), cell(&facts[*name])])
        .collect();
    if !rows.is_empty() {
        console.table(&["", ""], &rows)?;
    }
    for risk in product["risk_taxonomy"]["items"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let line = format!(
            "{}  {}  {}",
            cell(&risk["severity"]),
            cell(&risk["code"]),
            cell(&risk["reason"])
        );
        console.line(&console.paint(Paint::Warn, &line))?;
    }
    missing(&product["data_quality"], scene)?;
    actions(product, scene)
}

fn plan(data: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let console = scene.console;
    let line = cell(&data["agent_brief"]["one_line"]);
    console.line(&console.paint(Paint::Strong, &line))?;
    let steps = data["steps"].as_array().into_iter().flatten();
    let rows: Vec<Vec<String>> = steps
        .map(|step| {
            let after: Vec<String> = step["depends_on"]
                .as_array()
                .into_iter()
                .flatten()
                .map(cell)
                .collect();
            let asks = if step["requires_confirmation"] == true {
                "yes"
            } else {
                ""
            };
            vec![
                cell(&step["id"]),
                cell(&step["command"]),
                cell(&step["estimated_tokens"]),
                asks.to_owned(),
                after.join(", "),
            ]
        })
        .collect();
    console.table(&["step", "command", "tokens", "asks", "after"], &rows)?;
    Ok(())
}

/// The first list an answer has, as a table.
fn listed(data: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    for name in LISTS {
        let Some(all) = data[name].as_array().filter(|_| is_table(&data[name])) else {
            continue;
        };
        let columns: Vec<&str> = all[0]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, value)| !is_nested(value))
            .map(|(name, _)| name.as_str())
            .collect();
        let rows: Vec<Vec<String>> = all
            .iter()
            .map(|one| columns.iter().map(|name| cell(&one[*name])).collect())
            .collect();
        scene.console.table(&columns, &rows)?;
        return Ok(());
    }
    if let Some(body) = answered(data) {
        scene.console.readable(&body)?;
        return Ok(());
    }
    let counts = &data["research_graph"]["entity_counts"];
    self::counts(counts, "found", scene)
}

/// What Keepa answered, without its account of tokens.
fn answered(data: &Value) -> Option<Value> {
    let body = data["body"].as_object()?.iter();
    let kept = body.filter(|(name, _)| !BUCKET.contains(&name.as_str()));
    let kept: Map<String, Value> = kept
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    (!kept.is_empty()).then_some(Value::Object(kept))
}

/// An answer without facts about it.
fn own(data: &Value) -> Value {
    let mut shown = data.clone();
    if let Some(fields) = shown.as_object_mut() {
        fields.retain(|name, _| !ASIDE.contains(&name.as_str()));
        if let Some(body) = answered(data) {
            fields.insert("body".to_owned(), body);
        }
    }
    shown
}

fn counts(counts: &Value, label: &str, scene: &Scene<'_>) -> Result<(), Stop> {
    let all: Vec<String> = counts
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    if !all.is_empty() {
        scene
            .console
            .line(&format!("{label}: {}", all.join(", ")))?;
    }
    Ok(())
}

fn missing(quality: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let all: Vec<String> = quality["missing"]
        .as_array()
        .into_iter()
        .flatten()
        .map(cell)
        .collect();
    if !all.is_empty() {
        scene
            .console
            .paragraph(&format!("missing: {}", all.join(", ")))?;
    }
    Ok(())
}

fn actions(data: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    for action in data["next_actions"].as_array().into_iter().flatten() {
        let cost = match action["estimated_tokens"].as_u64().unwrap_or(0) {
            0 => "free".to_owned(),
            1 => "1 token".to_owned(),
            more => format!("{more} tokens"),
        };
        let console = scene.console;
        console.paragraph(&format!("next ({cost}): {}", cell(&action["reason"])))?;
        console.command(&format!("tollgate keepa {}", cell(&action["cli"])))?;
    }
    Ok(())
}

fn cell(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None if value.is_null() => String::new(),
        None => value.to_string(),
    }
}
