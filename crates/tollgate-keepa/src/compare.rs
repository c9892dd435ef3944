//! Products side by side: one row each, and what they share.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    Product,
    chart::drawn_series,
    graph::Graph,
    view::{self, Options, Profile, RISK_CODES},
};

/// The version of the graph of several products.
const GRAPH_VERSION: &str = "2026-05-10.1";

/// How a row is called, and where the view of its product has it.
const COLUMNS: [(&str, &str); 14] = [
    ("asin", "/identity/asin"),
    ("title", "/identity/title"),
    ("brand", "/identity/brand"),
    ("new_price", "/pricing/current/new/value"),
    (
        "buy_box_price",
        "/selection_signals/price_stability/current_buy_box",
    ),
    ("sales_rank", "/selection_signals/demand/sales_rank"),
    ("monthly_sold", "/demand/monthly_sold"),
    ("rating", "/rating/rating/value"),
    ("review_count", "/rating/review_count/value"),
    ("coupon", "/pricing/coupon"),
    (
        "total_offer_count",
        "/selection_signals/competition/total_offer_count",
    ),
    (
        "video_count",
        "/selection_signals/content_quality/video_count",
    ),
    (
        "aplus_available",
        "/selection_signals/content_quality/aplus_available",
    ),
    ("risk_flags", "/selection_signals/risk_flags"),
];
/// Sections a row takes over whole.
const WHOLE: [&str; 5] = [
    "selection_signals",
    "risk_taxonomy",
    "research_graph",
    "next_actions",
    "data_quality",
];

/// How a comparison is made unless asked otherwise.
pub fn default_options() -> Options {
    Options {
        profile: Profile::Deal,
        history_limit: 5,
        ..Options::default()
    }
}

/// As many points as all rows of a comparison may keep together: a few megabytes, so that an answer that was paid for is
/// never too large to be given.
const POINTS_KEPT: usize = 200_000;

/// Compares products; rows keep the last points of the histories that can be drawn, at most so many of each.
pub fn compare_with_points(products: &[Product], options: &Options, most: usize) -> Value {
    let mut compared = compare(products, options);
    let histories = drawn_series().count() * products.len().max(1);
    let most = most.min(POINTS_KEPT / histories);
    let rows = compared["rows"].as_array_mut().into_iter().flatten();
    for (row, product) in rows.zip(products) {
        row["history_points"] = history_points(product, most);
    }
    compared
}

/// The ends of the histories that can be drawn, as flat as Keepa sends them, and how many points are not there.
fn history_points(product: &Product, most: usize) -> Value {
    let mut omitted = 0;
    let series = drawn_series().filter_map(|series| {
        let flat = product.history(series.index())?;
        let width = series.layout().width();
        let points = flat.len() / width;
        let from = points.saturating_sub(most);
        omitted += from;
        let kept = flat.get(from * width..points * width)?;
        Some((series.name().to_owned(), json!(kept)))
    });
    let series: Map<String, Value> = series.collect();
    json!({"domain_id": product.domain().id(), "series": series, "omitted_points": omitted})
}

/// Compares products.
pub fn compare(products: &[Product], options: &Options) -> Value {
    // A row needs these sections whatever else is shown.
    let options = Options {
        profile: options.profile,
        fields: ["pricing", "demand", "rating"]
            .into_iter()
            .chain(WHOLE)
            .map(str::to_owned)
            .collect(),
        ..options.clone()
    };
    let mut graph = Graph::default();
    let mut rows = Vec::with_capacity(products.len());
    for product in products {
        let (view, own) = view::with_graph(product, &options);
        rows.push(row(view));
        graph.absorb(own);
    }
    json!({
        "view": "products_compare",
        "schema_version": view::VERSION,
        "product_count": rows.len(),
        "risk_summary": risk_summary(&rows),
        "rows": rows,
        "research_graph": graph.json(GRAPH_VERSION),
        "source_view": {"profile": options.profile.name()},
    })
}

/// Takes a row out of a view; long sections are moved, not copied.
fn row(view: Map<String, Value>) -> Value {
    let mut view = Value::Object(view);
    let columns = COLUMNS
        .iter()
        .filter_map(|(name, path)| Some(((*name).to_owned(), view.pointer(path)?.clone())));
    let mut row: Map<String, Value> = columns.collect();
    for name in WHOLE {
        if let Some(section) = view.get_mut(name) {
            row.insert(name.to_owned(), section.take());
        }
    }
    view::compact(Value::Object(row))
}

/// What is compared at a glance: a name, its column, and whether less of it is better.
const BEST: [(&str, &str, bool); 5] = [
    ("lowest_new_price", "new_price", true),
    ("best_sales_rank", "sales_rank", true),
    ("most_sold", "monthly_sold", false),
    ("best_rating", "rating", false),
    ("fewest_offers", "total_offer_count", true),
];

/// The facts of a comparison: who is best in what, and the gravest risk.
pub(crate) fn key_facts(compared: &Value) -> Value {
    let none = Vec::new();
    let rows = compared["rows"].as_array().unwrap_or(&none);
    let mut facts = json!({
        "product_count": rows.len(),
        "asins": rows.iter().map(|row| &row["asin"]).collect::<Vec<_>>(),
        "highest_risk_severity": compared["risk_summary"]["highest_severity"],
    });
    for (name, column, is_less) in BEST {
        let known = rows
            .iter()
            .filter_map(|row| Some((row, row[column].as_f64()?)));
        // Of equals the first counts.
        let best = known.reduce(|best, one| {
            let is_better = if is_less {
                one.1 < best.1
            } else {
                one.1 > best.1
            };
            if is_better { one } else { best }
        });
        if let Some((row, _)) = best {
            facts[name] = json!({"asin": row["asin"], "value": row[column]});
        }
    }
    view::compact(facts)
}

/// The facts of a comparison in a line.
pub(crate) fn one_line(facts: &Value) -> String {
    let mut parts = vec![format!("{} products", facts["product_count"])];
    for (name, _, _) in BEST {
        let best = &facts[name];
        if let Some(asin) = best["asin"].as_str() {
            let words = name.replace('_', " ");
            parts.push(format!("{words}={} ({asin})", best["value"]));
        }
    }
    if let Some(severity) = facts["highest_risk_severity"].as_str() {
        parts.push(format!("highest risk={severity}"));
    }
    parts.join("; ")
}

/// A row as the facts of a product and a line about it.
pub(crate) fn row_facts(row: &Value) -> (Value, String) {
    let facts = view::compact(json!({
        "asin": row["asin"],
        "title": row["title"],
        "brand": row["brand"],
        "current_new_price": row["new_price"],
        "current_buy_box_price": row["buy_box_price"],
        "monthly_sold": row["monthly_sold"],
        "rating": row["rating"],
        "review_count": row["review_count"],
    }));
    let line = view::one_line(&facts, row.get("risk_flags"));
    (facts, line)
}

/// How often each risk occurs, and the gravest.
fn risk_summary(rows: &[Value]) -> Value {
    let (mut by_code, mut by_severity) = (BTreeMap::new(), BTreeMap::new());
    for row in rows {
        for item in row["risk_taxonomy"]["items"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let text = |name: &str| item[name].as_str().unwrap_or_default();
            *by_code.entry(text("code")).or_insert(0_u64) += 1;
            *by_severity.entry(text("severity")).or_insert(0_u64) += 1;
        }
    }
    let highest = ["high", "medium", "low"]
        .into_iter()
        .find(|one| by_severity.contains_key(one));
    json!({
        "schema_version": view::RISK_VERSION,
        "known_codes": RISK_CODES,
        "product_count": rows.len(),
        "by_code": by_code,
        "by_severity": by_severity,
        "highest_severity": highest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_the_order_and_the_graph_is_shared() {
        let one = |asin: &str| {
            format!(
                r#"{{"asin":"{asin}","title":"Tea","brand":"Hill","stats":{{"current":[-1,999],"totalOfferCount":25}}}}"#
            )
        };
        let body = format!(
            r#"{{"products":[{},{}]}}"#,
            one("B0FIXTURE2"),
            one("B0FIXTURE1")
        );
        let products = Product::read_all(&body).unwrap();
        let compared = compare(&products, &default_options());
        assert_eq!(compared["rows"][0]["asin"], "B0FIXTURE2");
        assert_eq!(compared["rows"][1]["new_price"], 9.99);
        assert_eq!(compared["rows"][1].get("rating"), None);
        assert_eq!(
            compared["research_graph"]["entity_counts"],
            json!({"brand": 1, "product": 2})
        );
        assert_eq!(compared["research_graph"].get("root"), None);
        assert_eq!(
            compared["risk_summary"]["by_code"]["offer_competition_high"],
            2
        );
        assert_eq!(compared["source_view"]["profile"], "deal");
        let facts = key_facts(&compared);
        // Of equals the first counts; what no row has is not told.
        let first = json!({"asin": "B0FIXTURE2", "value": 9.99});
        assert_eq!(facts["lowest_new_price"], first);
        assert_eq!(facts.get("best_rating"), None);
        let line = one_line(&facts);
        assert!(
            line.starts_with("2 products; lowest new price=9.99 (B0FIXTURE2); "),
            "{line}"
        );
        assert_eq!(
            compare(&[], &default_options())["risk_summary"]["highest_severity"],
            Value::Null
        );
    }

    #[test]
    fn rows_keep_no_more_points_than_an_answer_can_hold() {
        let long: Vec<i64> = (0..1000).flat_map(|at| [at, at % 900]).collect();
        let product = json!({"asin": "B0FIXTURE1", "csv": vec![long; 4]});
        let kept = |count: usize, most: usize| {
            let body = json!({"products": vec![&product; count]}).to_string();
            let products = Product::read_all(&body).unwrap();
            let compared = compare_with_points(&products, &default_options(), most);
            let rows = compared["rows"].as_array().unwrap().clone();
            let points: usize = rows
                .iter()
                .flat_map(|row| {
                    row["history_points"]["series"]
                        .as_object()
                        .unwrap()
                        .values()
                })
                .map(|flat| flat.as_array().unwrap().len() / 2)
                .sum();
            let left_out = rows
                .iter()
                .map(|row| &row["history_points"]["omitted_points"]);
            let left_out: u64 = left_out.map(|count| count.as_u64().unwrap()).sum();
            (points, left_out)
        };
        // Three of the four histories can be drawn.
        assert_eq!(kept(2, usize::MAX), (2 * 3 * 1000, 0));
        assert_eq!(kept(2, 10), (2 * 3 * 10, 2 * 3 * 990));
        let (points, left_out) = kept(100, usize::MAX);
        assert!(points <= POINTS_KEPT, "{points}");
        assert_eq!(points as u64 + left_out, 100 * 3 * 1000);
    }
}
