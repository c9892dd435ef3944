//! Graphs of answers that are not products: searches, lists, selections, deals and sellers.

use serde_json::{Map, Value, json};

use super::{Graph, VERSION, id_part};

/// How many products of a list become nodes.
const LISTED: usize = 25;

/// Words and the categories that fit them.
pub fn of_categories(term: &str, found: &[&Value], is_matched: impl Fn(&Value) -> bool) -> Value {
    let root = format!("search:{}", id_part(term));
    let mut graph = Graph::rooted(root.as_str());
    graph.node(&root, "search_term", term, json!({"term": term}));
    for (at, one) in found.iter().enumerate() {
        let number = one["catId"].as_i64().unwrap_or_default().to_string();
        let id = format!("category:{number}");
        let evidence = format!("category_candidates.{at}");
        if let Some(parent) = one["parent"].as_i64().filter(|parent| *parent > 0) {
            let above = format!("category:{parent}");
            let parent = parent.to_string();
            graph.node_if_absent(&above, "category", &parent, json!({"category_id": parent}));
            graph.edge(&above, "parent_of", &id, &evidence);
        }
        let attributes = json!({"category_id": number, "matched": is_matched(one)});
        graph.node(
            &id,
            "category",
            one["name"].as_str().unwrap_or(&number),
            attributes,
        );
        graph.edge(&root, "matched_category", &id, &evidence);
    }
    graph.json(VERSION)
}

/// A category and the products of its list, with the path that list has in the answer.
pub fn of_best_sellers(category: &str, asins: &[&str], path: &str) -> Value {
    let root = format!("category:{category}");
    let mut graph = Graph::rooted(root.as_str());
    graph.node(
        &root,
        "category",
        category,
        json!({"category_id": category}),
    );
    for (at, asin) in asins.iter().take(LISTED).enumerate() {
        let id = format!("product:{asin}");
        graph.node(&id, "product", asin, json!({"asin": asin, "rank": at + 1}));
        graph.edge(&root, "has_candidate", &id, &format!("{path}.{at}"));
    }
    graph.json(VERSION)
}

/// A selection, the categories it names and the products it found; `place` is where a field of it can be seen, and an
/// entry of a field that is a list.
pub fn of_selection(
    command: &str,
    selection: &Map<String, Value>,
    place: impl Fn(&str, Option<usize>) -> String,
    body: &Value,
) -> Value {
    let root = format!("selection:{command}");
    let mut graph = Graph::rooted(root.as_str());
    let mut keys: Vec<&String> = selection.keys().collect();
    keys.sort_unstable();
    graph.node(
        &root,
        "selection",
        command,
        json!({"selection_keys": keys, "command": command}),
    );
    let categories = keys
        .iter()
        .filter(|name| {
            let name = name.to_lowercase();
            name.contains("categor") && !name.contains("exclude")
        })
        .flat_map(|name| {
            let value = &selection[*name];
            let all: Vec<(Option<usize>, &Value)> = match value.as_array() {
                Some(all) => (0..).map(Some).zip(all).collect(),
                None => vec![(None, value)],
            };
            all.into_iter().map(move |(at, one)| (*name, at, one))
        });
    for (name, at, one) in categories {
        let number = one.as_str().map_or_else(|| one.to_string(), str::to_owned);
        let id = format!("category:{number}");
        graph.node(&id, "category", &number, json!({"category_id": number}));
        graph.edge(&root, "filters_category", &id, &place(name, at));
    }
    for list in ["asinList", "asins", "products"] {
        let all = body[list].as_array().into_iter().flatten();
        for (at, one) in all.take(LISTED).enumerate() {
            let Some(asin) = one.as_str().or_else(|| one["asin"].as_str()) else {
                continue;
            };
            let id = format!("product:{asin}");
            let label = one["title"].as_str().unwrap_or(asin);
            graph.node(&id, "product", label, json!({"asin": asin}));
            graph.edge(&root, "returns_product", &id, &format!("body.{list}.{at}"));
        }
    }
    graph.json(VERSION)
}

/// Deals as Keepa sends them, below `dr`, or as a plain list.
pub fn deals_of(body: &Value) -> Option<(&Vec<Value>, &'static str)> {
    let below = body["deals"]["dr"]
        .as_array()
        .map(|all| (all, "body.deals.dr"));
    below.or_else(|| body["deals"].as_array().map(|all| (all, "body.deals")))
}

/// Deals and their products; `price_type` is the history the deal is about.
pub fn of_deals(command: &str, deals: &[Value], path: &str, price_type: usize) -> Value {
    let root = format!("deal_set:{command}");
    let mut graph = Graph::rooted(root.as_str());
    graph.node(
        &root,
        "deal_set",
        command,
        json!({"deal_count": deals.len()}),
    );
    for (at, deal) in deals.iter().take(LISTED).enumerate() {
        let Some(asin) = deal["asin"].as_str() else {
            continue;
        };
        let title = deal["title"].as_str().unwrap_or(asin);
        let id = format!("deal:{asin}:{}", at + 1);
        let attributes = json!({
            "asin": asin,
            "current": figure(&deal["current"], price_type),
            "delta_percent": figure(&deal["deltaPercent"], price_type),
        });
        graph.node(&id, "deal", title, attributes);
        graph.edge(&root, "contains_deal", &id, &format!("{path}.{at}"));
        let product = format!("product:{asin}");
        graph.node(&product, "product", title, json!({"asin": asin}));
        graph.edge(&id, "for_product", &product, &format!("{path}.{at}.asin"));
    }
    graph.json(VERSION)
}

/// A figure of a deal: a plain number, or one of its histories, of the last day where there are several spans.
fn figure(value: &Value, price_type: usize) -> Option<i64> {
    let value = match value.get(0) {
        Some(first) if first.is_array() => first,
        _ => value,
    };
    let number = value.as_i64().or_else(|| value.get(price_type)?.as_i64());
    number.filter(|number| *number != -1 && *number != -2)
}

/// Sellers and what they sell.
pub fn of_sellers(asked: &[String], body: &Value) -> Value {
    let root = "seller_request";
    let mut graph = Graph::rooted(root);
    graph.node(
        root,
        "seller_request",
        &asked.join(","),
        json!({"seller_count": asked.len()}),
    );
    let sellers = body["sellers"].as_object().into_iter().flatten();
    for (key, seller) in sellers {
        let id = format!("seller:{key}");
        let name = seller["sellerName"].as_str().unwrap_or(key);
        let asins = seller["asinList"].as_array();
        let attributes = json!({
            "seller_id": key,
            "rating": rating(seller),
            "rating_count": rating_count(seller),
            "has_storefront": seller["hasStorefront"].as_bool().unwrap_or(asins.is_some()),
        });
        graph.node(&id, "seller", name, attributes);
        graph.edge(
            root,
            "requests_seller",
            &id,
            "request.params_redacted.seller",
        );
        for (at, asin) in asins.into_iter().flatten().take(LISTED).enumerate() {
            let Some(asin) = asin.as_str() else { continue };
            let product = format!("product:{asin}");
            graph.node(&product, "product", asin, json!({"asin": asin}));
            let evidence = format!("body.sellers.{key}.asinList.{at}");
            graph.edge(&id, "sells_product", &product, &evidence);
        }
    }
    graph.json(VERSION)
}

/// The share of good ratings, from wherever it is: its own field, or the last point of its history.
fn rating(seller: &Value) -> Option<i64> {
    let plain = seller["currentRating"]
        .as_i64()
        .or(seller["rating"].as_i64());
    plain.or_else(|| seller["csv"][0].as_array()?.last()?.as_i64())
}

/// The number of ratings, which Keepa sends for four spans, all time last.
fn rating_count(seller: &Value) -> Option<i64> {
    let count = &seller["ratingCount"];
    let plain = seller["currentRatingCount"].as_i64().or(count.as_i64());
    let last = || count.as_array()?.last()?.as_i64();
    plain
        .or_else(last)
        .or_else(|| seller["csv"][1].as_array()?.last()?.as_i64())
}

/// A list of the largest sellers: Keepa sends numbers; objects with more are understood too.
pub fn of_top_sellers(category: Option<&str>, body: &Value) -> (Value, usize) {
    let root = format!("top_sellers:{}", category.unwrap_or("all"));
    let ids = body["sellerIdList"].as_array();
    let (all, path) = match ids {
        Some(ids) => (Some(ids), "body.sellerIdList"),
        None => (body["topSellers"].as_array(), "body.topSellers"),
    };
    let count = all.map_or(0, Vec::len);
    let mut graph = Graph::rooted(root.as_str());
    let attributes = json!({"category_id": category, "seller_count": count});
    graph.node(&root, "seller_ranking", &root, attributes);
    for (at, one) in all.into_iter().flatten().take(LISTED).enumerate() {
        let Some(seller) = one.as_str().or_else(|| one["sellerId"].as_str()) else {
            continue;
        };
        let id = format!("seller:{seller}");
        let evidence = format!("{path}.{at}");
        let number = one["categoryId"].as_i64().map(|number| number.to_string());
        let attributes = json!({
            "seller_id": seller,
            "rating_count": one["ratingCount"].as_i64(),
            "category_id": number,
            "rank": ids.map(|_| at + 1),
        });
        graph.node(
            &id,
            "seller",
            one["sellerName"].as_str().unwrap_or(seller),
            attributes,
        );
        graph.edge(&root, "contains_seller", &id, &evidence);
        if let Some(number) = number {
            let category = format!("category:{number}");
            graph.node(
                &category,
                "category",
                &number,
                json!({"category_id": number}),
            );
            let evidence = format!("{evidence}.categoryId");
            graph.edge(&id, "ranked_in_category", &category, &evidence);
        }
    }
    (graph.json(VERSION), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deals_are_read_as_keepa_sends_them() {
        let body = json!({"deals": {"dr": [
            {"asin": "B0DEAL0001", "title": "Kettle", "current": [1999, 1899, -1], "deltaPercent": [[20, 25], [1, 2]]},
        ]}});
        let (deals, path) = deals_of(&body).unwrap();
        let graph = of_deals("deals.query", deals, path, 1);
        let deal = &graph["nodes"][0];
        assert_eq!(
            deal["attributes"],
            json!({"asin": "B0DEAL0001", "current": 1899, "delta_percent": 25})
        );
        assert_eq!(graph["edges"][0]["evidence_path"], "body.deals.dr.0.asin");
        let plain = json!({"deals": [{"asin": "B0DEAL0001", "current": 5}]});
        let (deals, path) = deals_of(&plain).unwrap();
        let graph = of_deals("deals.query", deals, path, 0);
        assert_eq!(graph["nodes"][0]["attributes"]["current"], 5);
    }

    #[test]
    fn top_sellers_are_a_list_of_numbers() {
        let (graph, count) =
            of_top_sellers(None, &json!({"sellerIdList": ["A1SELLER01", "A2SELLER02"]}));
        assert_eq!((count, &graph["entity_counts"]["seller"]), (2, &json!(2)));
    }

    #[test]
    fn ratings_come_in_several_shapes() {
        let official =
            json!({"csv": [[1, 90, 2, 96], [1, 5, 2, 1240]], "ratingCount": [3, 9, 40, 1240]});
        assert_eq!(
            (rating(&official), rating_count(&official)),
            (Some(96), Some(1240))
        );
        assert_eq!(rating(&json!({"currentRating": 88})), Some(88));
        assert_eq!(rating(&json!({})), None);
    }
}
