//! Products with histories in earlier answers, whatever their shape, so that they can be drawn again.
//!
//! What can be drawn: products as Keepa sends them, rows of a comparison that kept their points, and views that show the
//! ends of their histories.

use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    Product,
    chart::{self, MOST_COMPARED},
    series::Series,
};

/// The products of a payload whose histories can be drawn, each once, wherever they stand in it.
pub(super) fn products_in(payload: &Value) -> Vec<Product> {
    let mut products = Vec::new();
    collect(payload, &mut products);
    let mut seen = BTreeSet::new();
    products.retain(|product| product.has_histories() && seen.insert(product.asin().to_owned()));
    products
}

/// Whether something in a payload can be drawn.
pub(crate) fn has_histories(payload: &Value) -> bool {
    !products_in(payload).is_empty()
}

/// The pictures of a payload, by heading: its products side by side if they can be, then each by itself.
pub(super) fn pictures(payload: &Value) -> Vec<(String, String)> {
    let products = products_in(payload);
    let mut drawn = Vec::new();
    if products.len() > 1 {
        let first = &products[..products.len().min(MOST_COMPARED)];
        // What cannot share a picture is still shown by itself.
        if let Ok(Some(together)) = chart::compared(first, &[]) {
            let name = match products.len() - first.len() {
                0 => format!("{} products side by side", first.len()),
                _ => format!("The first {} of {} products", first.len(), products.len()),
            };
            drawn.push((name, together.svg));
        }
    }
    for product in &products {
        let title = product.field("title").and_then(Value::as_str);
        let name = format!("{} {}", product.asin(), title.unwrap_or_default());
        if let Some(chart) = chart::charts(product, &[]) {
            drawn.push((name, chart.svg));
        }
    }
    drawn
}

fn collect(value: &Value, found: &mut Vec<Product>) {
    // What is no product after all does not keep the others from being drawn.
    let mut add = |value: Value| found.extend(Product::deserialize(value));
    let parts = match value {
        Value::Array(all) => all.iter().collect(),
        Value::Object(map) if value["asin"].is_string() && value["csv"].is_array() => {
            let plain =
                |name: &&String| ["asin", "title", "domainId", "csv"].contains(&name.as_str());
            let kept = map.iter().filter(|(name, _)| plain(name));
            add(kept
                .map(|(name, one)| (name.clone(), one.clone()))
                .collect());
            Vec::new()
        }
        Value::Object(_) if value["history_points"]["series"].is_object() => {
            add(from_row(value));
            Vec::new()
        }
        Value::Object(_) if value["history_summary"]["series"].is_object() => {
            add(from_view(value));
            Vec::new()
        }
        Value::Object(map) => map.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for part in parts {
        collect(part, found);
    }
}

/// The product of a row that kept its points.
fn from_row(row: &Value) -> Value {
    let kept = &row["history_points"];
    let mut csv = vec![Value::Null; Series::ALL.len()];
    for (name, flat) in kept["series"].as_object().into_iter().flatten() {
        let slot = Series::named(name).and_then(|one| csv.get_mut(one.index()));
        if let Some(slot) = slot.filter(|_| flat.is_array()) {
            *slot = flat.clone();
        }
    }
    json!({
        "asin": row["asin"],
        "title": row["title"],
        "domainId": kept["domain_id"],
        "csv": csv,
    })
}

/// A product with the histories that its view shows: their latest points.
fn from_view(view: &Value) -> Value {
    let mut csv = vec![Value::Null; Series::ALL.len()];
    let series = view["history_summary"]["series"].as_object();
    for one in series.into_iter().flatten().map(|(_, one)| one) {
        let at = one["index"]
            .as_u64()
            .and_then(|at| usize::try_from(at).ok());
        let Some(slot) = at.and_then(|at| csv.get_mut(at)) else {
            continue;
        };
        let points = one["last_points"].as_array().into_iter().flatten();
        let numbers = points.flat_map(|point| {
            let names = ["keepa_minute", "raw_value", "raw_shipping"];
            names
                .into_iter()
                .filter_map(|name| point.get(name).cloned())
        });
        *slot = numbers.collect();
    }
    let identity = &view["identity"];
    let asin = identity["asin"].as_str().or(view["asin"].as_str());
    json!({
        "asin": asin,
        "title": identity["title"],
        "domainId": identity["domain_id"],
        "csv": csv,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compare, compare_options, compare_with_points};

    #[test]
    fn histories_are_drawn_wherever_they_are() {
        let raw = crate::fixtures::find("product_kettle.json").unwrap();
        let raw: Value = serde_json::from_str(raw).unwrap();
        let products = Product::read_all(&raw.to_string()).unwrap();
        let options = crate::view::Options {
            history_limit: 50,
            ..Default::default()
        };
        let shown = crate::view::products(&products, &options);
        for payload in [
            raw.clone(),
            json!({"data": {"body": raw}}),
            json!({"data": shown}),
            json!([{"results": [{"data": shown}, {"data": shown}]}]),
        ] {
            let drawn = pictures(&payload);
            assert_eq!(drawn.len(), 1);
            assert!(drawn[0].0.starts_with("B0KETTLE01 "));
            assert!(drawn[0].1.contains("Sales rank"));
        }
        assert!(pictures(&json!({"rows": [{"asin": "B0KETTLE01"}]})).is_empty());
        // What cannot be read is left out, and nothing else.
        let broken = json!({"asin": "B0BROKEN01", "csv": [["1", 2.5]]});
        assert_eq!(pictures(&json!([broken, raw])).len(), 1);
    }

    fn compared() -> Vec<Product> {
        let text = crate::fixtures::find("products_compare.json").unwrap();
        Product::read_all(text).unwrap()
    }

    #[test]
    fn rows_of_a_comparison_are_drawn_as_their_products_are() {
        let products = compared();
        let rows = compare_with_points(&products, &compare_options(), usize::MAX);
        let found = products_in(&json!({"data": rows}));
        let asins = |all: &[Product]| all.iter().map(|one| one.asin().to_owned()).collect();
        let (from_rows, from_keepa): (Vec<String>, Vec<String>) = (asins(&found), asins(&products));
        assert_eq!(from_rows, from_keepa);
        for (row, whole) in found.iter().zip(&products) {
            assert_eq!(chart::charts(row, &[]), chart::charts(whole, &[]));
        }
        let together = chart::compared(&found, &[]).unwrap().unwrap();
        assert_eq!(Some(together), chart::compared(&products, &[]).unwrap());
        let page = pictures(&rows);
        assert_eq!(page.len(), 1 + products.len());
        assert_eq!(page[0].0, "3 products side by side");
        // Rows that kept nothing have nothing to draw.
        let plain = compare(&products, &compare_options());
        assert!(products_in(&plain).is_empty());
    }

    #[test]
    fn a_row_keeps_as_many_points_as_are_asked_for() {
        let rows = compare_with_points(&compared(), &compare_options(), 2);
        let kept = rows["rows"][0]["history_points"]["series"].as_object();
        let kept = kept.unwrap();
        assert!(!kept.is_empty());
        for (name, flat) in kept {
            let width = Series::named(name).unwrap().layout().width();
            assert!(flat.as_array().unwrap().len() <= 2 * width, "{name}");
        }
    }
}
