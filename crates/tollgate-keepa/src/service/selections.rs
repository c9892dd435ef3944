//! Finder and deal queries: a selection goes out, products come back.

use serde_json::{Map, Value, json};

use super::{
    Failure, Outcome, World,
    agent::{About, OUTPUT, PROVENANCE, Place},
    fetch::{fetch, put_body},
};
use crate::{Command, Domain, Params, graph, series::Series};

/// Where a selection is that was too long for an address.
const IN_BODY: Place = (
    "selection",
    "request.json_body_redacted",
    "audit",
    "The selection as it is sent.",
);
const IN_ADDRESS: Place = (
    "selection",
    "request.params_redacted.selection",
    "audit",
    "The selection as it is sent.",
);
const EVIDENCE: &[Place] = &[
    ("body", "body", "summary", "The answer as Keepa sent it."),
    (
        "research_graph",
        "research_graph",
        "summary",
        "The selection, its categories and what it found.",
    ),
    ("deals", "deals", "summary", "Deals in words and money."),
    OUTPUT,
    PROVENANCE,
];
/// How many deals are shown in words.
const SHOWN: usize = 25;

/// `finder.query` and `deals.query`.
pub(super) async fn query<W: World>(
    world: &W,
    command: Command,
    params: &Params,
) -> Result<Outcome, Failure> {
    let fetched = fetch(world, command, params).await?;
    let mut selection = selection_of(&fetched.request);
    // A deal query may name its marketplace itself.
    let named = selection.get("domainId").and_then(Value::as_i64);
    let domain = match named.and_then(Domain::from_id) {
        Some(named) => named,
        None => params.domain()?,
    };
    let given = params.get(&["selection"]).and_then(Value::as_object);
    // The marketplace is added on the way out and is no part of what was selected.
    if given.is_some_and(|given| !given.contains_key("domainId")) {
        selection.shift_remove("domainId");
    }
    let mut data = fetched.base();
    put_body(world, command, params, &fetched, &mut data)?;
    let body = fetched.body()?;
    let name = command.name();
    let price_type = selection.get("priceTypes").and_then(|all| all[0].as_u64());
    let price_type = price_type.and_then(|at| usize::try_from(at).ok());
    let price_type = price_type.unwrap_or(0);
    let is_in_body = fetched.request["json_body_redacted"].is_object();
    let graph = match graph::deals_of(&body) {
        Some((deals, path)) => {
            let shown = deals.iter().take(SHOWN);
            let shown: Vec<Value> = shown.map(|one| deal(one, price_type, domain)).collect();
            data.insert("deals".to_owned(), Value::Array(shown));
            data.insert("deal_count".to_owned(), Value::from(deals.len()));
            graph::of_deals(name, deals, path, price_type)
        }
        None => {
            // A selection in the address is one text, and nothing can be seen inside it by itself.
            let place = |field: &str, at: Option<usize>| match (is_in_body, at) {
                (false, _) => IN_ADDRESS.1.to_owned(),
                (true, None) => format!("{}.{field}", IN_BODY.1),
                (true, Some(at)) => format!("{}.{field}.{at}", IN_BODY.1),
            };
            graph::of_selection(name, &selection, place, &body)
        }
    };
    data.insert("research_graph".to_owned(), graph);
    let mut keys: Vec<&String> = selection.keys().collect();
    keys.sort_unstable();
    let mut present = vec!["request", "selection", "research_graph"];
    if !fetched.is_dry_run() {
        present.push("body");
    }
    let mut evidence = EVIDENCE.to_vec();
    evidence.insert(1, if is_in_body { IN_BODY } else { IN_ADDRESS });
    let found = body["asinList"].as_array().map_or(0, Vec::len);
    let about = About {
        view: &name.replace('.', "_"),
        one_line: match (fetched.is_dry_run(), graph::deals_of(&body)) {
            (true, _) => format!("{name}: what would be asked"),
            (false, Some((deals, _))) => format!("{name}: {} deals", deals.len()),
            (false, None) => format!("{name}: {found} products"),
        },
        key_facts: json!({"selection_keys": keys, "dry_run": fetched.is_dry_run()}),
        present,
        signals: json!({"selection_keys": keys, "selection_size": keys.len()}),
        evidence: &evidence,
        ..About::default()
    };
    about.put(&mut data);
    Ok(fetched.outcome(Value::Object(data)))
}

/// The selection as it is sent: in the address, or as a body where it is long.
fn selection_of(request: &Value) -> Map<String, Value> {
    let text = request["params_redacted"]["selection"].as_str();
    let in_address = text.and_then(|text| serde_json::from_str(text).ok());
    in_address
        .or_else(|| request["json_body_redacted"].as_object().cloned())
        .unwrap_or_default()
}

/// A deal with its prices in money.
fn deal(deal: &Value, price_type: usize, domain: Domain) -> Value {
    let series = Series::at(price_type).unwrap_or(Series::ALL[0]);
    let raw = deal["current"]
        .as_i64()
        .or_else(|| deal["current"].get(price_type)?.as_i64());
    let price = crate::series::reading(raw, series.unit(), domain);
    // Pictures of deals are the letters of their file's name.
    let image: Option<String> = deal["image"].as_array().map(|codes| {
        let letters = codes.iter().filter_map(Value::as_u64);
        letters
            .filter_map(|code| u8::try_from(code).ok())
            .map(char::from)
            .collect()
    });
    crate::view::compact(json!({
        "asin": deal["asin"],
        "title": deal["title"],
        "series": series.name(),
        "price": price.map(crate::series::Reading::json),
        "raw_price": raw,
        "image": image,
        "root_category": deal["rootCat"],
    }))
}
