//! Lists and people: best sellers of a category, the largest sellers, sellers by number.

use serde_json::{Value, json};

use super::{
    Failure, Outcome, World,
    agent::{About, OUTPUT, PROVENANCE, Place},
    categories::best_sellers,
    fetch::{fetch, put_body},
};
use crate::{Command, Params, graph};

const SELLERS: &[Place] = &[
    (
        "seller_ids",
        "request.params_redacted.seller",
        "summary",
        "The sellers that were asked for.",
    ),
    (
        "body",
        "body.sellers",
        "summary",
        "The sellers as Keepa sent them.",
    ),
    (
        "research_graph",
        "research_graph",
        "summary",
        "Sellers and the products of their storefronts.",
    ),
    OUTPUT,
    PROVENANCE,
];
const BEST: &[Place] = &[
    (
        "body",
        "body.bestSellersList",
        "summary",
        "The list as Keepa sent it.",
    ),
    (
        "research_graph",
        "research_graph",
        "summary",
        "The category and its leading products.",
    ),
    ("request", "request", "audit", "What is sent to Keepa."),
    OUTPUT,
    PROVENANCE,
];
const TOP: &[Place] = &[
    ("body", "body", "summary", "The list as Keepa sent it."),
    (
        "research_graph",
        "research_graph",
        "summary",
        "The list and its sellers.",
    ),
    ("request", "request", "audit", "What is sent to Keepa."),
    OUTPUT,
    PROVENANCE,
];

/// `sellers.get`.
pub(super) async fn sellers<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let asked = params.list(&["seller"]);
    let fetched = fetch(world, Command::SellersGet, params).await?;
    let mut data = fetched.base();
    put_body(world, Command::SellersGet, params, &fetched, &mut data)?;
    let body = fetched.body()?;
    data.insert(
        "research_graph".to_owned(),
        graph::of_sellers(&asked, &body),
    );
    let known = body["sellers"].as_object().map_or(0, serde_json::Map::len);
    let about = About {
        view: "sellers_get",
        one_line: format!("{} seller(s) asked for, {known} known", asked.len()),
        key_facts: json!({"seller_count": asked.len(), "storefront": params.is_on("storefront")}),
        present: if fetched.is_dry_run() {
            vec!["request"]
        } else {
            vec!["request", "body"]
        },
        missing: if fetched.is_dry_run() || known > 0 {
            vec![]
        } else {
            vec!["sellers"]
        },
        signals: json!({
            "seller_count": asked.len(), "storefront_requested": params.is_on("storefront"),
        }),
        evidence: SELLERS,
        ..About::default()
    };
    about.put(&mut data);
    Ok(fetched.outcome(Value::Object(data)))
}

/// `bestsellers.get`.
pub(super) async fn bestsellers<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let category = params.required("category")?;
    let fetched = fetch(world, Command::BestsellersGet, params).await?;
    let mut data = fetched.base();
    put_body(world, Command::BestsellersGet, params, &fetched, &mut data)?;
    let body = fetched.body()?;
    let (asins, _) = best_sellers(&body);
    let is_nested = body["bestSellersList"]["asinList"].is_array();
    let path = if is_nested {
        "body.bestSellersList.asinList"
    } else {
        "body.asinList"
    };
    let graph = graph::of_best_sellers(&category, &asins, path);
    data.insert("research_graph".to_owned(), graph);
    let about = About {
        view: "bestsellers_get",
        one_line: format!("{} best sellers of category {category}", asins.len()),
        key_facts: json!({"category_id": category, "source": "bestsellers"}),
        present: if fetched.is_dry_run() {
            vec!["request"]
        } else {
            vec!["request", "body"]
        },
        missing: if fetched.is_dry_run() || !asins.is_empty() {
            vec![]
        } else {
            vec!["asins"]
        },
        signals: json!({
            "candidate_count": asins.len(), "category_id": category, "source": "bestsellers",
        }),
        evidence: BEST,
        ..About::default()
    };
    about.put(&mut data);
    Ok(fetched.outcome(Value::Object(data)))
}

/// `topsellers.list`.
pub(super) async fn topsellers<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let category = params.text(&["category"]);
    let fetched = fetch(world, Command::TopsellersList, params).await?;
    let mut data = fetched.base();
    put_body(world, Command::TopsellersList, params, &fetched, &mut data)?;
    let body = fetched.body()?;
    let (graph, count) = graph::of_top_sellers(category.as_deref(), &body);
    data.insert("research_graph".to_owned(), graph);
    let about = About {
        view: "topsellers_list",
        one_line: format!("{count} of the largest sellers"),
        key_facts: json!({"category_id": category, "seller_count": count}),
        present: if fetched.is_dry_run() {
            vec!["request"]
        } else {
            vec!["request", "body"]
        },
        missing: if fetched.is_dry_run() || count > 0 {
            vec![]
        } else {
            vec!["sellers"]
        },
        notes: fetched.warnings.clone(),
        signals: json!({"seller_count": count, "category_id": category, "source": "topseller"}),
        evidence: TOP,
    };
    about.put(&mut data);
    Ok(fetched.outcome(Value::Object(data)))
}
