//! Products: one or several to read, several side by side.

use serde_json::{Map, Value, json};

use super::{
    Failure, Outcome, World,
    agent::{About, PROVENANCE, Place},
    fetch::{Fetched, fetch, put_body},
    save,
};
use crate::{
    Command, Error, Kind, Params, compare as compare_products,
    compare::{key_facts, one_line},
    compare_options, compare_with_points,
    cost::estimate,
    params::whole_numbers,
    view::{self, Options, Profile, compact},
};

/// What one request may hold; more are asked for in turn.
const BATCH: usize = 100;
const BATCH_WITH_OFFERS: usize = 20;
/// Sections that become files of their own.
const CHUNKS: [&str; 14] = [
    "agent_brief",
    "identity",
    "pricing",
    "demand",
    "rating",
    "offers",
    "media",
    "aplus",
    "selection_signals",
    "risk_taxonomy",
    "research_graph",
    "evidence_index",
    "history_summary",
    "temporal_features",
];

/// `products.get`.
pub(super) async fn get<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let options = options(params, Options::default())?;
    let fetched = fetch(world, Command::ProductsGet, params).await?;
    let view = params.text(&["view"]);
    let wants_view = params.is_on("agent_view") || view.as_deref().is_some_and(|one| one != "raw");
    let is_raw = view.as_deref() == Some("raw") && !params.is_on("agent_view");
    let Some(text) = fetched.text.as_deref().filter(|_| wants_view && !is_raw) else {
        let mut data = fetched.base();
        put_body(world, Command::ProductsGet, params, &fetched, &mut data)?;
        return Ok(fetched.outcome(Value::Object(data)));
    };
    let products = fetched.products()?;
    if products.is_empty() {
        return Err(fetched.failed(none(params)));
    }
    let mut data = view::products(&products, &options);
    data["cache_provenance"] = fetched.provenance.clone();
    data["raw"] = raw(world, params, &fetched, text)?;
    if let Some(folder) = params.text(&["chunks_dir"]) {
        data["chunks"] = chunks(world, &folder, &data)?;
    }
    Ok(fetched.outcome(data))
}

/// `products.compare`.
pub(super) async fn compare<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let asins = params.asins();
    if asins.is_empty() {
        return Err(Error::argument("asin is required").into());
    }
    let options = options(params, compare_options())?;
    let most = if params.number("offers", 0)? > 0 {
        BATCH_WITH_OFFERS
    } else {
        BATCH
    };
    let mut all = Vec::with_capacity(asins.len());
    let mut first: Option<Fetched> = None;
    let total = asins.len() as u64;
    for part in asins.chunks(most) {
        let mut one = params.canonical().clone();
        one.insert("asin".to_owned(), json!(part));
        let fetched = fetch(world, Command::ProductsCompare, &one.into()).await?;
        all.extend(fetched.products()?);
        world.progress(all.len() as u64, total, "products read");
        first = Some(match first {
            None => fetched,
            Some(mut before) => {
                before.token_bucket = fetched.token_bucket;
                before
            }
        });
    }
    let Some(mut fetched) = first else {
        return Err(Error::argument("asin is required").into());
    };
    fetched.token_bucket["estimated"] = json!(estimate(Command::ProductsCompare, params)?);
    if fetched.is_dry_run() {
        let data = Value::Object(fetched.base());
        return Ok(fetched.outcome(data));
    }
    if all.is_empty() {
        return Err(fetched.failed(none(params)));
    }
    let mut data = if params.is_on("keep_history_points") {
        let most = match params.get(&["history_limit"]) {
            Some(_) => options.history_limit,
            None => usize::MAX,
        };
        compare_with_points(&all, &options, most)
    } else {
        compare_products(&all, &options)
    };
    data["cache_provenance"] = fetched.provenance.clone();
    put_about(&mut data);
    data["source_view"]["raw"] = compact(json!({
        "body_omitted": true,
        "offline": fetched.fixture.is_some(),
        "fixture": fetched.fixture,
    }));
    if let Some(folder) = params.text(&["chunks_dir"]) {
        data["source_view"]["chunks"] = chunks(world, &folder, &view::products(&all, &options))?;
    }
    Ok(fetched.outcome(data))
}

/// What a decision about a product asks for first.
const DECIDING: [&str; 7] = [
    "new_price",
    "buy_box_price",
    "sales_rank",
    "monthly_sold",
    "rating",
    "review_count",
    "total_offer_count",
];
const EVIDENCE: &[Place] = &[
    ("rows", "rows", "summary", "The products side by side."),
    (
        "risk_summary",
        "risk_summary",
        "summary",
        "Risks of all products, counted.",
    ),
    (
        "research_graph",
        "research_graph",
        "summary",
        "What the products share.",
    ),
    PROVENANCE,
];
/// How many things to do next a comparison names; its rows have the rest.
const ACTIONS: usize = 3;

/// Adds the page to read first.
fn put_about(data: &mut Value) {
    let facts = key_facts(data);
    let none = Vec::new();
    let rows = data["rows"].as_array().unwrap_or(&none);
    let is_known = |name: &&str| rows.iter().all(|row| row.get(*name).is_some());
    let (present, missing): (Vec<&str>, Vec<&str>) = DECIDING.into_iter().partition(is_known);
    let firsts = rows.iter().filter_map(|row| row["next_actions"].get(0));
    let actions: Vec<Value> = firsts.take(ACTIONS).cloned().collect();
    let about = About {
        view: "products_compare",
        one_line: one_line(&facts),
        signals: facts.clone(),
        key_facts: facts,
        present,
        missing,
        notes: Vec::new(),
        evidence: EVIDENCE,
    };
    if let Some(map) = data.as_object_mut() {
        map.insert("next_actions".to_owned(), Value::Array(actions));
        about.put(map);
    }
}

fn none(params: &Params) -> Error {
    let asked = params.list(&["asin", "code"]).join(", ");
    let message = format!("Keepa knows no product for {asked}");
    Error::new(Kind::ProductNotFound, message)
}

/// How a view is wanted.
pub(super) fn options(params: &Params, usual: Options) -> Result<Options, Error> {
    let profile = params.text(&["view"]).map(|name| Profile::named(&name));
    let limit = params.number("history_limit", usual.history_limit as i64)?;
    let windows = params.list(&["temporal_windows", "temporal_window_days"]);
    Ok(Options {
        profile: profile.unwrap_or(usual.profile),
        fields: params.list(&["fields"]),
        history_limit: usize::try_from(limit)
            .map_err(|_| Error::argument("history_limit cannot be negative"))?,
        windows: if windows.is_empty() {
            usual.windows
        } else {
            whole_numbers("temporal_window_days", &windows)?
        },
    })
}

fn raw<W: World>(
    world: &W,
    params: &Params,
    fetched: &Fetched,
    text: &str,
) -> Result<Value, Error> {
    let mut raw = Map::new();
    raw.insert("body_omitted".to_owned(), Value::Bool(true));
    raw.insert("offline".to_owned(), Value::Bool(fetched.fixture.is_some()));
    if let Some(fixture) = &fetched.fixture {
        raw.insert("fixture".to_owned(), Value::from(fixture.as_str()));
    }
    if let Some(path) = params.text(&["out"]) {
        let saved = save(world, Some(&path), "products.json", text.as_bytes())?;
        raw.insert("output".to_owned(), saved);
    }
    Ok(Value::Object(raw))
}

/// Writes each section of each product to a file of its own.
fn chunks<W: World>(world: &W, folder: &str, data: &Value) -> Result<Value, Error> {
    let mut written = Vec::new();
    let products = data["products"].as_array().into_iter().flatten();
    for product in products {
        let asin = product["identity"]["asin"].as_str().unwrap_or("unknown");
        let plain = asin.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !plain {
            return Err(Error::argument("a product's number cannot name a file"));
        }
        for section in CHUNKS {
            let Some(content) = product.get(section) else {
                continue;
            };
            let chunk = json!({
                "asin": asin,
                "section": section,
                "schema_version": view::VERSION,
                "data": content,
            });
            let path = format!("{}/{asin}-{section}.json", folder.trim_end_matches('/'));
            let saved = save(world, Some(&path), section, chunk.to_string().as_bytes())?;
            written.push(json!({
                "asin": asin,
                "name": section,
                "path": saved["path"],
                "format": "json",
                "size_bytes": saved["size_bytes"],
            }));
        }
    }
    Ok(Value::Array(written))
}
