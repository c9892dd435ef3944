//! The part to read first: facts, risks, gaps and what to do next, on one page.

use serde_json::{Map, Value, json};

use super::{
    compact,
    content::shortened,
    object,
    quality::{buy_box_price, found},
};
use crate::series::Series;

/// What to read, in this order.
const READ_ORDER: [&str; 5] = [
    "agent_brief",
    "selection_signals",
    "data_quality",
    "next_actions",
    "evidence_index",
];
const MISSING: usize = 8;
const ACTIONS: usize = 3;
/// Histories with a takeaway: which, its label, and the prefix of their signals.
const TAKEAWAYS: [(Series, &str, &str); 6] = [
    (Series::New, "New price", "new_price"),
    (Series::BuyBoxShipping, "Buy box", "buy_box"),
    (Series::SalesRank, "Sales rank", "sales_rank"),
    (Series::ReviewCount, "Reviews", "review_count"),
    (Series::Rating, "Rating", "rating"),
    (Series::NewOfferCount, "New offers", "new_offer_count"),
];
/// Only which.
pub(super) const HISTORIES: [Series; 6] = {
    let mut all = [Series::New; 6];
    let mut at = 0;
    while at < all.len() {
        all[at] = TAKEAWAYS[at].0;
        at += 1;
    }
    all
};

pub(super) fn agent_brief(view: &Map<String, Value>, entities: Value) -> Value {
    let at = |path: &[&str]| found(view, path).cloned();
    let title = found(view, &["identity", "title"]).and_then(Value::as_str);
    let facts = compact(json!({
        "asin": at(&["identity", "asin"]),
        "title": title.map(|title| shortened(title, 120)),
        "brand": at(&["identity", "brand"]),
        "current_new_price": at(&["pricing", "current", "new", "value"]),
        "current_buy_box_price": buy_box_price(view),
        "monthly_sold": at(&["demand", "monthly_sold"]),
        "rating": at(&["rating", "rating", "value"]),
        "review_count": at(&["rating", "review_count", "value"]),
    }));
    let flags = at(&["selection_signals", "risk_flags"]);
    let missing = found(view, &["data_quality", "missing"]).and_then(Value::as_array);
    let missing: Value = missing
        .into_iter()
        .flatten()
        .take(MISSING)
        .cloned()
        .collect();
    let actions = view.get("next_actions").and_then(Value::as_array);
    let actions: Value = actions
        .into_iter()
        .flatten()
        .take(ACTIONS)
        .cloned()
        .collect();
    let takeaways: Value = TAKEAWAYS
        .iter()
        .filter_map(|one| takeaway(view, *one))
        .collect();
    let or_null = Option::unwrap_or_default;
    object([
        ("read_order", json!(READ_ORDER)),
        ("one_line", Value::String(one_line(&facts, flags.as_ref()))),
        ("key_facts", facts),
        ("decision_context", decision_context(view)),
        ("temporal_takeaways", takeaways),
        ("temporal_by_window", by_window(view)),
        ("risk_flags", or_null(flags)),
        ("risk_codes", or_null(at(&["risk_taxonomy", "codes"]))),
        (
            "highest_risk_severity",
            or_null(at(&["risk_taxonomy", "highest_severity"])),
        ),
        ("research_graph_entities", entities),
        ("missing_data", missing),
        ("confidence", or_null(at(&["data_quality", "confidence"]))),
        ("recommended_next_actions", actions),
    ])
}

/// A product in a line: what it is, its figures and its risks.
pub(crate) fn one_line(facts: &Value, flags: Option<&Value>) -> String {
    let text = |name: &str| facts[name].as_str().unwrap_or_default();
    let figures = [
        ("new", "current_new_price"),
        ("buybox", "current_buy_box_price"),
        ("sold/mo", "monthly_sold"),
        ("rating", "rating"),
        ("reviews", "review_count"),
    ];
    let figures = figures.iter().filter(|(_, name)| !facts[*name].is_null());
    let mut figures: Vec<String> = figures
        .map(|(label, name)| format!("{label}={}", facts[*name]))
        .collect();
    let flags = flags.and_then(Value::as_array).into_iter().flatten();
    let flags: Vec<&str> = flags.filter_map(Value::as_str).collect();
    if !flags.is_empty() {
        figures.push(format!("risks={}", flags.join(",")));
    }
    format!(
        "{} | {} | {}",
        text("asin"),
        text("title"),
        figures.join("; ")
    )
}

fn decision_context(view: &Map<String, Value>) -> Value {
    let at = |path: &[&str]| found(view, path).cloned();
    let count = |name: &str| {
        found(view, &["data_quality", name])
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
    };
    compact(json!({
        "demand": at(&["selection_signals", "demand"]),
        "competition": at(&["selection_signals", "competition"]),
        "price_stability": at(&["selection_signals", "price_stability"]),
        "content_quality": at(&["selection_signals", "content_quality"]),
        "risk_taxonomy": compact(json!({
            "codes": at(&["risk_taxonomy", "codes"]),
            "highest_severity": at(&["risk_taxonomy", "highest_severity"]),
            "risk_count": at(&["risk_taxonomy", "risk_count"]),
        })),
        "data_quality": compact(json!({
            "confidence": at(&["data_quality", "confidence"]),
            "present_count": count("present"),
            "missing_count": count("missing"),
            "notes": at(&["data_quality", "notes"]),
        })),
    }))
}

/// Fields of an object under other names.
fn picked(from: &Value, names: &[(&str, &str)]) -> Value {
    let found = names
        .iter()
        .filter_map(|(ours, theirs)| Some(((*ours).to_owned(), from.get(theirs)?.clone())));
    Value::Object(found.collect())
}

fn same(from: &Value, names: &[&str]) -> Value {
    let pairs: Vec<(&str, &str)> = names.iter().map(|name| (*name, *name)).collect();
    picked(from, &pairs)
}

fn short_window(window: &Value) -> Value {
    picked(
        window,
        &[
            ("baseline", "baseline_value"),
            ("latest", "latest_value"),
            ("observed_days", "observed_days"),
            ("change_abs", "change_abs"),
            ("change_pct", "change_pct"),
            ("direction", "trend_direction"),
        ],
    )
}

fn takeaway(view: &Map<String, Value>, (series, label, _): (Series, &str, &str)) -> Option<Value> {
    let series = series.name();
    let all = found(view, &["temporal_features", "series", series])?;
    let windows = all["windows"].as_object().into_iter().flatten();
    let windows: Map<String, Value> = windows
        .map(|(name, one)| (name.clone(), short_window(one)))
        .collect();
    let mut coverage = same(
        &all["sampling"],
        &[
            "avg_interval_days",
            "median_interval_days",
            "max_gap_days",
            "points_per_30d",
        ],
    );
    coverage["point_count"] = all["point_count"].clone();
    coverage["duration_days"] = all["duration_days"].clone();
    let mut volatility = same(all, &["range_abs", "range_pct_of_mean", "volatility_cv"]);
    for name in ["q1", "q3", "iqr", "mad"] {
        volatility[name] = all["dispersion"][name].clone();
    }
    let level = [
        ("first", "first_value"),
        ("latest", "latest_value"),
        ("previous", "previous_value"),
        ("min", "min_value"),
        ("max", "max_value"),
        ("mean", "mean_value"),
        ("median", "median_value"),
        ("latest_percentile", "latest_percentile"),
        ("latest_zscore", "latest_zscore"),
    ];
    let all_time = [
        ("change_abs", "change_abs"),
        ("change_pct", "change_pct"),
        ("direction", "trend_direction"),
        ("previous_change_abs", "previous_change_abs"),
        ("previous_change_pct", "previous_change_pct"),
        ("slope_per_day", "slope_per_day"),
    ];
    Some(object([
        ("series", Value::from(series)),
        ("label", Value::from(label)),
        ("coverage", coverage),
        ("level", picked(all, &level)),
        ("all_time", picked(all, &all_time)),
        ("windows", Value::Object(windows)),
        ("volatility", volatility),
        ("momentum", all["change_profile"].clone()),
        ("shape", all["shape"].clone()),
        ("outliers", all["outliers"].clone()),
    ]))
}

/// The same changes again, by window: what happened lately, across histories.
fn by_window(view: &Map<String, Value>) -> Value {
    let windows = found(view, &["temporal_features", "windows_days"]).and_then(Value::as_array);
    let mut all = Map::new();
    for days in windows.into_iter().flatten().filter_map(Value::as_i64) {
        let name = format!("recent_{days}d");
        let mut series = Map::new();
        let mut signals = Map::new();
        for (series_of, _, prefix) in TAKEAWAYS {
            let one = series_of.name();
            let Some(window) = found(
                view,
                &["temporal_features", "series", one, "windows", &name],
            ) else {
                continue;
            };
            let short = short_window(window);
            if let Some(change) = short.get("change_pct") {
                signals.insert(format!("{prefix}_change_pct"), change.clone());
            }
            signals.insert(format!("{prefix}_direction"), short["direction"].clone());
            if one == "sales_rank" {
                signals.insert(
                    "rank_improved".to_owned(),
                    json!(short["direction"] == "down"),
                );
            }
            series.insert(one.to_owned(), short);
        }
        if !series.is_empty() {
            let count = series.len();
            let window = object([
                ("series", Value::Object(series)),
                ("series_count", Value::from(count)),
                ("signal_summary", Value::Object(signals)),
            ]);
            all.insert(name, window);
        }
    }
    Value::Object(all)
}
