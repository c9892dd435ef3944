//! Categories: found by words, filled with products, turned into a finder query.

use serde_json::{Map, Value, json};

use super::{
    Failure, Outcome, World,
    agent::About,
    fetch::{fetch, put_body},
    products, save,
};
use crate::{
    Command, Error, Params, Product, action,
    graph::{self, Graph},
    view::{self, Options, Profile},
};

/// How many candidates lend their actions to the whole answer.
const LEADING: usize = 3;
/// How many candidates are compared at once.
const COMPARED: usize = 10;
/// Points of each history of a product that is read along.
const POINTS: usize = 3;

const SEARCH_EVIDENCE: &[(&str, &str, &str, &str)] = &[
    (
        "category_candidates",
        "category_candidates",
        "summary",
        "Categories that fit the words.",
    ),
    (
        "next_actions",
        "next_actions",
        "summary",
        "What could be done with them.",
    ),
    (
        "provenance",
        "cache_provenance",
        "audit",
        "Where the answer came from.",
    ),
    (
        "raw_categories",
        "body.categories",
        "audit",
        "The categories as Keepa sent them.",
    ),
    (
        "research_graph",
        "research_graph",
        "summary",
        "The words, the categories and their parents.",
    ),
];
const PRODUCTS_EVIDENCE: &[(&str, &str, &str, &str)] = &[
    (
        "candidates",
        "candidates",
        "summary",
        "Products by their place in the list.",
    ),
    (
        "asins",
        "asins",
        "summary",
        "Their numbers, for the next call.",
    ),
    (
        "hydration",
        "hydration",
        "summary",
        "Whether products were read along.",
    ),
    (
        "next_actions",
        "next_actions",
        "summary",
        "What could be done with them.",
    ),
    (
        "raw_bestsellers",
        "body.bestSellersList",
        "audit",
        "The list as Keepa sent it.",
    ),
    ("request", "request", "audit", "What is sent to Keepa."),
    (
        "provenance",
        "cache_provenance",
        "audit",
        "Where the answer came from.",
    ),
    (
        "research_graph",
        "research_graph",
        "summary",
        "The category and its products.",
    ),
];
const SCAFFOLD_EVIDENCE: &[(&str, &str, &str, &str)] = &[
    (
        "selection",
        "selection",
        "summary",
        "The query, ready to be sent.",
    ),
    (
        "next_actions",
        "next_actions",
        "summary",
        "What could be done with it.",
    ),
    (
        "field_notes",
        "field_notes",
        "audit",
        "What to know about its fields.",
    ),
    ("output", "output", "audit", "The file it was written to."),
    (
        "research_graph",
        "research_graph",
        "summary",
        "The category it is about.",
    ),
];

/// `categories.search`.
pub(super) async fn search<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let term = params.required("term")?;
    let domain = params.domain()?;
    let fetched = fetch(world, Command::CategoriesSearch, params).await?;
    let mut data = fetched.base();
    put_body(
        world,
        Command::CategoriesSearch,
        params,
        &fetched,
        &mut data,
    )?;
    let body = fetched.body()?;
    let mut found: Vec<&Value> = body["categories"]
        .as_object()
        .into_iter()
        .flat_map(Map::values)
        .collect();
    let key = |one: &Value| {
        (
            !is_matched(one, &term),
            one["name"].as_str().unwrap_or_default().to_owned(),
            one["catId"].as_i64(),
        )
    };
    found.sort_by_key(|one| key(one));
    let matched = found.iter().filter(|one| is_matched(one, &term)).count();
    let graph = graph::of_categories(&term, &found, |one| is_matched(one, &term));
    let candidates: Vec<Value> = found
        .iter()
        .map(|one| candidate(one, &term, domain.code()))
        .collect();
    let actions: Vec<Value> = candidates
        .iter()
        .take(LEADING)
        .flat_map(|one| one["next_actions"].as_array().into_iter().flatten())
        .cloned()
        .collect();
    let count = candidates.len();
    let top = candidates.first().map(|one| one["category_id"].clone());
    let about = About {
        view: "category_search",
        one_line: format!("{count} categories for {term}"),
        key_facts: json!({"term": term, "candidate_count": count, "top_category_id": top}),
        present: if count > 0 {
            vec!["categories", "category_candidates", "next_actions"]
        } else {
            vec!["request"]
        },
        missing: if count > 0 {
            vec![]
        } else {
            vec!["categories"]
        },
        signals: json!({"candidate_count": count, "matched_count": matched}),
        evidence: SEARCH_EVIDENCE,
        ..About::default()
    };
    data.insert("view".to_owned(), Value::from("category_search"));
    data.insert("term".to_owned(), Value::from(term));
    data.insert("category_candidate_count".to_owned(), Value::from(count));
    data.insert("category_candidates".to_owned(), Value::Array(candidates));
    data.insert("research_graph".to_owned(), graph);
    data.insert("next_actions".to_owned(), Value::Array(actions));
    about.put(&mut data);
    Ok(fetched.outcome(Value::Object(data)))
}

/// Keepa's own word for it where there is one; otherwise all words have to be in the name.
fn is_matched(category: &Value, term: &str) -> bool {
    if let Some(said) = category["matched"].as_bool() {
        return said;
    }
    let name = category["name"].as_str().unwrap_or_default().to_lowercase();
    term.split_whitespace()
        .all(|word| name.contains(&word.to_lowercase()))
}

fn candidate(category: &Value, term: &str, domain: &str) -> Value {
    let id = category["catId"].as_i64().unwrap_or_default().to_string();
    let preview = json!({"category": id, "domain": domain, "limit": 25, "dry_run": true});
    let scaffold = json!({"category": id, "domain": domain});
    json!({
        "category_id": id,
        "name": category["name"],
        "parent": category["parent"],
        "children_count": category["children"].as_array().map_or(0, Vec::len),
        "matched": is_matched(category, term),
        "next_actions": [
            action(
                Command::CategoriesProducts,
                &preview,
                "To see what its list of best sellers would cost before it is asked for.",
            ),
            action(
                Command::CategoriesFinderSelection,
                &scaffold,
                "To prepare a finder query for it, which costs nothing.",
            ),
        ],
    })
}

/// `categories.products`.
pub(super) async fn products<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let category = params.required("category")?;
    let limit = at_least(params, "limit", 25, 1)?;
    let hydrate = at_least(params, "hydrate_top", 0, 0)?;
    let options = hydrated_as(params)?;
    let fetched = fetch(world, Command::CategoriesProducts, params).await?;
    let mut data = fetched.base();
    data.insert("view".to_owned(), Value::from("category_products"));
    data.insert("source".to_owned(), Value::from("bestsellers"));
    data.insert("category_id".to_owned(), Value::from(category.as_str()));
    if fetched.is_dry_run() {
        planned(params, &category, limit, hydrate, &mut data)?;
        return Ok(fetched.outcome(Value::Object(data)));
    }
    put_body(
        world,
        Command::CategoriesProducts,
        params,
        &fetched,
        &mut data,
    )?;
    let body = fetched.body()?;
    let (asins, last_update) = best_sellers(&body);
    let asins: Vec<&str> = asins.into_iter().take(limit).collect();
    let graph = graph::of_best_sellers(&category, &asins, "candidates");
    let candidates: Vec<Value> = asins
        .iter()
        .enumerate()
        .map(|(at, asin)| {
            json!({"rank": at + 1, "asin": asin, "source": "bestsellers", "category_id": category})
        })
        .collect();
    let domain = params.domain()?.code();
    let mut actions = Vec::new();
    if asins.len() > 1 {
        let top: Vec<&&str> = asins.iter().take(COMPARED).collect();
        let params = json!({"asin": top, "domain": domain, "full": true, "view": "deal"});
        let reason = "To see the leading products side by side.";
        actions.push(action(Command::ProductsCompare, &params, reason));
    }
    if let Some(top) = asins.first() {
        let params = json!({"asin": top, "domain": domain, "full": true, "agent_view": true, "view": "summary"});
        let reason = "To look at the leading product.";
        actions.push(action(Command::ProductsGet, &params, reason));
    }
    let hydration = hydrated(world, params, &asins, (hydrate, &options)).await?;
    let count = asins.len();
    let is_hydrated = hydration["enabled"] == true;
    let about = About {
        view: "category_products",
        one_line: format!("{count} products of category {category}"),
        key_facts: json!({
            "category_id": category, "candidate_count": count, "source": "bestsellers",
        }),
        present: if count > 0 {
            vec!["asins", "candidates", "body"]
        } else {
            vec!["body"]
        },
        missing: if count > 0 { vec![] } else { vec!["asins"] },
        signals: json!({
            "candidate_count": count, "source": "bestsellers", "hydrated": is_hydrated,
        }),
        evidence: PRODUCTS_EVIDENCE,
        ..About::default()
    };
    data.insert("last_update".to_owned(), last_update);
    data.insert("candidate_count".to_owned(), Value::from(count));
    data.insert("asins".to_owned(), json!(asins));
    data.insert("candidates".to_owned(), Value::Array(candidates));
    data.insert("research_graph".to_owned(), graph);
    data.insert("next_actions".to_owned(), Value::Array(actions));
    data.insert("hydration".to_owned(), hydration);
    about.put(&mut data);
    Ok(fetched.outcome(Value::Object(data)))
}

/// The numbers of a list of best sellers, wherever in the answer it is.
pub(super) fn best_sellers(body: &Value) -> (Vec<&str>, Value) {
    let list = &body["bestSellersList"];
    let asins = list["asinList"]
        .as_array()
        .or_else(|| body["asinList"].as_array());
    let asins = asins.into_iter().flatten().filter_map(Value::as_str);
    (asins.collect(), list["lastUpdate"].clone())
}

fn at_least(params: &Params, name: &str, usual: i64, least: i64) -> Result<usize, Error> {
    let number = params.number(name, usual)?;
    usize::try_from(number)
        .ok()
        .filter(|_| number >= least)
        .ok_or_else(|| Error::argument(format!("{name} must be at least {least}")))
}

/// What a dry run shows instead of products.
fn planned(
    params: &Params,
    category: &str,
    limit: usize,
    hydrate: usize,
    data: &mut Map<String, Value>,
) -> Result<(), Error> {
    let domain = params.domain()?.code();
    let call = json!({"category": category, "domain": domain, "limit": limit, "yes": true});
    let reason = "To fetch the list, once its price is agreed to.";
    let mut actions = vec![action(Command::CategoriesProducts, &call, reason)];
    if hydrate > 0 {
        let mut call = call;
        call["hydrate_top"] = Value::from(hydrate);
        let reason = "To fetch the list and read its leading products along.";
        actions.push(action(Command::CategoriesProducts, &call, reason));
    }
    data.insert("limit".to_owned(), Value::from(limit));
    data.insert(
        "hydration".to_owned(),
        json!({"enabled": false, "requested": hydrate, "reason": "A dry run reads no products."}),
    );
    data.insert(
        "research_graph".to_owned(),
        graph::of_best_sellers(category, &[], ""),
    );
    data.insert("next_actions".to_owned(), Value::Array(actions));
    let about = About {
        view: "category_products",
        one_line: format!("What the products of category {category} would cost"),
        key_facts: json!({"category_id": category, "limit": limit, "source": "bestsellers"}),
        present: vec!["next_actions", "request"],
        missing: vec!["asins"],
        signals: json!({"estimated_candidate_limit": limit, "source": "bestsellers"}),
        evidence: PRODUCTS_EVIDENCE,
        ..About::default()
    };
    about.put(data);
    Ok(())
}

/// How products that are read along are shown.
fn hydrated_as(params: &Params) -> Result<Options, Error> {
    let usual = Options {
        profile: Profile::Summary,
        history_limit: POINTS,
        ..Options::default()
    };
    let mut of_view = params.canonical().clone();
    of_view.shift_remove("view");
    products::options(&of_view.into(), usual)
}

/// Reads the leading products along, if that is wanted.
async fn hydrated<W: World>(
    world: &W,
    params: &Params,
    asins: &[&str],
    (wanted, options): (usize, &Options),
) -> Result<Value, Failure> {
    let top: Vec<&&str> = asins.iter().take(wanted).collect();
    if top.is_empty() {
        let reason = "Products are read along only when hydrate_top says how many.";
        return Ok(json!({"enabled": false, "requested": wanted, "reason": reason}));
    }
    let mut inner = json!({"asin": top, "domain": params.domain()?.code(), "full": true});
    let sample = params.text(&["product_fixture"]);
    match (&sample, params.text(&["fixture"])) {
        (Some(name), _) => inner["fixture"] = Value::from(name.as_str()),
        // A sample of the list must not lead to a live call.
        (None, Some(_)) => {
            let reason = "A list from a sample needs product_fixture for its products.";
            return Ok(json!({"enabled": false, "requested": wanted, "reason": reason}));
        }
        (None, None) => {}
    }
    let fetched = match fetch(world, Command::ProductsGet, &Params::of(&inner)).await {
        Ok(fetched) => fetched,
        Err(failure) => return Ok(unread(&top, &failure)),
    };
    let all = match fetched.products() {
        Ok(all) => all,
        Err(failure) => return Ok(unread(&top, &failure)),
    };
    let shown = view::products(&all, options);
    let read: Vec<&str> = all.iter().map(Product::asin).collect();
    let errors: Vec<Value> = top
        .iter()
        .filter(|asin| !read.contains(&***asin))
        .map(|asin| json!({"kind": "product_not_found", "asin": asin}))
        .collect();
    Ok(json!({
        "enabled": true,
        "requested": wanted,
        "hydrated_count": all.len(),
        "asins": read,
        "view": "agent_product",
        "profile": options.profile.name(),
        "products": shown["products"],
        "errors": errors,
        "token_bucket": fetched.token_bucket,
    }))
}

/// The list is there; that its products are not is told beside it.
fn unread(asked: &[&&str], failure: &Failure) -> Value {
    json!({
        "enabled": true,
        "requested": asked.len(),
        "hydrated_count": 0,
        "asins": asked,
        "products": [],
        "errors": [{"kind": failure.error.kind.name(), "message": failure.error.message}],
        "token_bucket": failure.token_bucket,
    })
}

/// `categories.finder-selection`.
pub(super) fn finder_selection<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let category = params.required("category")?;
    let number: i64 = category
        .parse()
        .map_err(|_| Error::argument("category must be a category's number"))?;
    let domain = params.domain()?.code();
    let per_page = at_least(params, "per_page", 50, 1)?;
    let rank = at_least(params, "sales_rank_max", 20_000, 1)?;
    let reviews = at_least(params, "min_reviews", 50, 0)?;
    let selection = json!({
        "categories_include": [number],
        "current_SALES_gte": 1,
        "current_SALES_lte": rank,
        "current_COUNT_REVIEWS_gte": reviews,
        "sort": [["current_SALES", "asc"]],
        "perPage": per_page,
        "page": 0,
    });
    // The finder sends pages of at least fifty.
    let mut sent = selection.clone();
    sent["perPage"] = Value::from(per_page.max(50));
    let query = json!({"selection": sent, "domain": domain, "dry_run": true, "max_tokens": 25});
    let list = json!({"category": category, "domain": domain, "limit": 25, "dry_run": true});
    let mut graph = Graph::rooted(format!("category:{category}").as_str());
    let attributes = json!({"category_id": category});
    graph.node(
        &format!("category:{category}"),
        "category",
        &category,
        attributes,
    );
    let mut data = Map::new();
    let mut put = |name: &str, value: Value| data.insert(name.to_owned(), value);
    put("view", Value::from("finder_selection_scaffold"));
    put("category_id", Value::from(category.as_str()));
    put("domain", Value::from(domain));
    put("selection", selection.clone());
    put("research_graph", graph.json(graph::VERSION));
    put(
        "field_notes",
        json!([
            "Every field here is one the finder knows; perPage below 50 is sent as 50.",
            "This was made here and cost nothing.",
        ]),
    );
    put(
        "next_actions",
        json!([
            action(
                Command::FinderQuery,
                &query,
                "To see what the query would cost."
            ),
            action(
                Command::CategoriesProducts,
                &list,
                "To see what its best sellers would cost."
            ),
        ]),
    );
    if let Some(path) = params.text(&["out"]) {
        let text = serde_json::to_string_pretty(&selection).unwrap_or_default();
        let saved = save(world, Some(&path), "selection.json", text.as_bytes())?;
        data.insert("output".to_owned(), saved);
    }
    let about = About {
        view: "finder_selection_scaffold",
        one_line: format!("A finder query for category {category}"),
        key_facts: json!({"category_id": category, "domain": domain, "per_page": per_page}),
        present: vec!["selection", "next_actions"],
        notes: vec!["Made here; nothing was sent."],
        signals: json!({
            "category_id": category, "sales_rank_max": rank, "min_reviews": reviews,
        }),
        evidence: SCAFFOLD_EVIDENCE,
        ..About::default()
    };
    about.put(&mut data);
    let mut outcome = Outcome::local(Value::Object(data));
    outcome.request = json!({"transport": "service", "dry_run": true});
    outcome.token_bucket = json!({"estimated": crate::cost::Budget::default()});
    Ok(outcome)
}
