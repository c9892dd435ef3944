//! What is known and what is not, and the signals that follow from what is known.

use serde_json::{Map, Value, json};

use super::compact;
use crate::product::Product;

/// Large raw fields whose presence decides what can be said.
const LARGE: [&str; 12] = [
    "csv",
    "stats",
    "images",
    "videos",
    "aPlus",
    "offers",
    "liveOffersOrder",
    "buyBoxSellerIdHistory",
    "couponHistory",
    "monthlySoldHistory",
    "variations",
    "reviews",
];
/// Above this many offers competition is high.
pub(super) const MANY_OFFERS: i64 = 20;

pub(super) fn presence(product: &Product) -> Map<String, Value> {
    LARGE
        .iter()
        .map(|name| ((*name).to_owned(), Value::from(product.has(name))))
        .collect()
}

pub(super) fn data_quality(presence: &Map<String, Value>, view: &Map<String, Value>) -> Value {
    let at =
        |section: &str, name: &str| view.get(section).is_some_and(|one| one.get(name).is_some());
    let is_there = |name: &str| presence.get(name) == Some(&Value::Bool(true));
    let gaps = [
        (
            "pricing.current",
            at("pricing", "current") || at("pricing", "buy_box"),
        ),
        (
            "demand.monthly_sold",
            at("demand", "monthly_sold") || at("demand", "sales_rank_drops"),
        ),
        ("rating.rating", at("rating", "rating")),
        ("offers.offers", is_there("offers")),
        ("aplus", is_there("aPlus")),
        ("history.csv", is_there("csv")),
    ];
    let known = gaps
        .iter()
        .take(3)
        .filter(|(_, is_known)| *is_known)
        .count();
    let mut present: Vec<&str> = LARGE.into_iter().filter(|name| is_there(name)).collect();
    let mut missing: Vec<&str> = LARGE.into_iter().filter(|name| !is_there(name)).collect();
    missing.extend(
        gaps.iter()
            .filter(|(_, is_known)| !is_known)
            .map(|(name, _)| *name),
    );
    present.sort_unstable();
    missing.sort_unstable();
    let evidence = present.len() + known;
    let is_complete = is_there("offers") && is_there("csv");
    let confidence = match evidence {
        7.. if is_complete => "high",
        4.. => "medium",
        _ => "low",
    };
    let mut notes = Vec::new();
    if !missing.is_empty() {
        notes.push("Some fields were not asked for or do not exist; see `missing`.");
    }
    if !is_there("offers") {
        notes.push("Single offers come only when `offers` is asked for, at a price.");
    }
    if !is_there("csv") {
        notes.push("There is no history; ask with `history=1`, which is free.");
    }
    json!({"present": present, "missing": missing, "confidence": confidence, "notes": notes})
}

/// A converted number of a view, such as `pricing.current.new.value`.
pub(super) fn number(view: &Map<String, Value>, path: &[&str]) -> Option<f64> {
    found(view, path)?.as_f64()
}

/// What a view has at a path.
pub(super) fn found<'a>(view: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (section, rest) = path.split_first()?;
    rest.iter()
        .try_fold(view.get(*section)?, |value, name| value.get(name))
}

/// The price of the buy box, from wherever it is known.
pub(super) fn buy_box_price(view: &Map<String, Value>) -> Option<&Value> {
    found(view, &["pricing", "buy_box", "price", "amount"])
        .or_else(|| found(view, &["pricing", "current", "buy_box_shipping", "value"]))
}

/// Figures to choose by; risks join them when they are known.
pub(super) fn selection_signals(view: &Map<String, Value>) -> Value {
    let at = |path: &[&str]| found(view, path).cloned();
    let trend = |series: &str, name: &str| at(&["temporal_features", "series", series, name]);
    json!({
        "demand": compact(json!({
            "monthly_sold": at(&["demand", "monthly_sold"]),
            "sales_rank": at(&["category", "sales_rank_current", "value"]),
            "sales_rank_drops": at(&["demand", "sales_rank_drops"]),
        })),
        "competition": compact(json!({
            "total_offer_count": at(&["offers", "total_offer_count"]),
            "retrieved_offer_count": at(&["offers", "retrieved_offer_count"]),
            "offer_count_fba": at(&["offers", "offer_count_fba"]),
            "offer_count_fbm": at(&["offers", "offer_count_fbm"]),
        })),
        "price_stability": compact(json!({
            "current_new": at(&["pricing", "current", "new", "value"]),
            "current_buy_box": buy_box_price(view),
            "coupon": at(&["pricing", "coupon"]),
            "new_price_change_pct": trend("new", "change_pct"),
            "new_price_volatility_cv": trend("new", "volatility_cv"),
            "new_price_trend": trend("new", "trend_direction"),
            "sales_rank_change_pct": trend("sales_rank", "change_pct"),
            "sales_rank_trend": trend("sales_rank", "trend_direction"),
            "history_series": at(&["history_summary", "series_count"]),
        })),
        "content_quality": compact(json!({
            "image_count": at(&["media", "image_count"]),
            "video_count": at(&["media", "video_count"]),
            "aplus_available": at(&["aplus", "available"]),
            "aplus_module_count": at(&["aplus", "module_count"]),
        })),
        "risk_flags": flags(view),
    })
}

fn flags(view: &Map<String, Value>) -> Vec<&'static str> {
    let rating = number(view, &["rating", "rating", "value"]);
    let offers = number(view, &["offers", "total_offer_count"]);
    let reviews = number(view, &["rating", "review_count", "value"]);
    let has_video = number(view, &["media", "video_count"]).is_some_and(|count| count > 0.0);
    let has_aplus = found(view, &["aplus", "available"]) == Some(&Value::Bool(true));
    let all = [
        (
            "missing_monthly_sold",
            found(view, &["demand", "monthly_sold"]).is_none(),
        ),
        ("missing_rating", rating.is_none()),
        ("rating_below_4", rating.is_some_and(|stars| stars < 4.0)),
        ("missing_review_count", reviews.is_none()),
        ("missing_offer_detail", offers.is_none()),
        (
            "high_offer_competition",
            offers.is_some_and(|count| count > MANY_OFFERS as f64),
        ),
        ("missing_aplus", !has_aplus),
        ("missing_video", !has_video),
    ];
    all.into_iter()
        .filter(|(_, is_set)| *is_set)
        .map(|(name, _)| name)
        .collect()
}
