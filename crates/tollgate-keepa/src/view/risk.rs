//! Risks as a closed list of codes, each by a rule that is written here and nowhere else.
//!
//! `high` means that the figure is at least twice what makes it a risk at all, or that nothing to decide by is known.

use serde_json::{Map, Value, json};

use super::{
    compact,
    quality::{MANY_OFFERS, buy_box_price, found, number},
};
use crate::series::decimal;

/// The version of the list.
pub const VERSION: &str = "2026-05-10.1";

const UNSTABLE_CV: f64 = 0.18;
const UNSTABLE_RANGE: f64 = 35.0;
const DECLINE: f64 = 25.0;
const FEW_REVIEWS: f64 = 50.0;
/// Gaps that matter for a decision.
const GRAVE: [&str; 5] = [
    "offers.offers",
    "history.csv",
    "pricing.current",
    "demand.monthly_sold",
    "rating.rating",
];

/// All codes, in the order they are listed.
pub const CODES: [&str; 7] = [
    "data_missing",
    "price_unstable",
    "rank_declining",
    "low_review_count",
    "offer_competition_high",
    "buybox_missing",
    "category_mismatch",
];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Low,
    Medium,
    High,
}

impl Severity {
    const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    fn twice(is_twice: bool) -> Self {
        if is_twice { Self::High } else { Self::Medium }
    }
}

struct Item {
    code: &'static str,
    severity: Severity,
    reason: &'static str,
    field: Option<String>,
    metric: Option<Value>,
    evidence: &'static str,
    follow_up: &'static str,
}

impl Item {
    fn new(
        code: &'static str,
        severity: Severity,
        reason: &'static str,
        evidence: &'static str,
        follow_up: &'static str,
    ) -> Self {
        Self {
            code,
            severity,
            reason,
            field: None,
            metric: None,
            evidence,
            follow_up,
        }
    }

    fn metric(mut self, metric: Value) -> Self {
        self.metric = Some(metric);
        self
    }
}

/// The risks of a product, from its other sections.
pub(super) fn risk_taxonomy(view: &Map<String, Value>) -> Value {
    let items: Vec<Item> = [
        missing(view),
        unstable(view),
        declining(view),
        few_reviews(view),
        competition(view),
        no_buy_box(view),
        misplaced(view),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut codes: Vec<&str> = items.iter().map(|item| item.code).collect();
    codes.sort_unstable();
    let highest = items.iter().map(|item| item.severity).max();
    let shown: Vec<Value> = items
        .iter()
        .map(|item| {
            compact(json!({
                "code": item.code,
                "severity": item.severity.name(),
                "reason": item.reason,
                "field": item.field,
                "metric": item.metric,
                "evidence_path": item.evidence,
                "follow_up": item.follow_up,
            }))
        })
        .collect();
    json!({
        "schema_version": VERSION,
        "known_codes": CODES,
        "codes": codes,
        "highest_severity": highest.map(Severity::name),
        "risk_count": items.len(),
        "items": shown,
    })
}

fn missing(view: &Map<String, Value>) -> Option<Item> {
    let missing = found(view, &["data_quality", "missing"])?.as_array()?;
    let gap = |name: &str| missing.iter().any(|one| one == name);
    if missing.is_empty() {
        return None;
    }
    let grave = GRAVE.into_iter().find(|name| gap(name));
    let severity = if GRAVE[2..].iter().all(|name| gap(name)) {
        Severity::High
    } else if grave.is_some() {
        Severity::Medium
    } else {
        Severity::Low
    };
    let reason = "Fields a decision may need are missing.";
    let follow_up = "Run those of next_actions whose gap matters to the decision.";
    let mut item = Item::new(
        "data_missing",
        severity,
        reason,
        "data_quality.missing",
        follow_up,
    );
    item.field = grave
        .map(str::to_owned)
        .or_else(|| missing.first()?.as_str().map(str::to_owned));
    Some(item)
}

fn unstable(view: &Map<String, Value>) -> Option<Item> {
    let cv = number(
        view,
        &["temporal_features", "series", "new", "volatility_cv"],
    )
    .unwrap_or_default();
    let range = number(
        view,
        &["temporal_features", "series", "new", "range_pct_of_mean"],
    )
    .unwrap_or_default();
    let severity = Severity::twice(cv >= 2.0 * UNSTABLE_CV || range >= 2.0 * UNSTABLE_RANGE);
    let metric = json!({"volatility_cv": decimal(cv), "range_pct_of_mean": decimal(range)});
    let reason = "The new price varies widely over its history.";
    let follow_up = "Look at the windows of the new price before trusting today's.";
    (cv >= UNSTABLE_CV || range >= UNSTABLE_RANGE).then(|| {
        Item::new(
            "price_unstable",
            severity,
            reason,
            "temporal_features.series.new",
            follow_up,
        )
        .metric(metric)
    })
}

/// A higher rank is a weaker one.
fn declining(view: &Map<String, Value>) -> Option<Item> {
    let change = number(
        view,
        &["temporal_features", "series", "sales_rank", "change_pct"],
    )?;
    let severity = Severity::twice(change >= 2.0 * DECLINE);
    let reason = "The product ranks lower than it used to.";
    let follow_up = "Compare the windows of the sales rank with those of its rivals.";
    (change >= DECLINE).then(|| {
        Item::new(
            "rank_declining",
            severity,
            reason,
            "temporal_features.series.sales_rank",
            follow_up,
        )
        .metric(json!({"change_pct": decimal(change)}))
    })
}

fn few_reviews(view: &Map<String, Value>) -> Option<Item> {
    let count = number(view, &["rating", "review_count", "value"])?;
    let severity = Severity::twice(count < FEW_REVIEWS / 2.0);
    let reason = "There are too few reviews to trust the rating.";
    let follow_up = "Treat the rating as weak evidence.";
    (count < FEW_REVIEWS).then(|| {
        Item::new(
            "low_review_count",
            severity,
            reason,
            "rating.review_count",
            follow_up,
        )
        .metric(json!({"review_count": count as i64}))
    })
}

fn competition(view: &Map<String, Value>) -> Option<Item> {
    let count = found(view, &["offers", "total_offer_count"])?.as_i64()?;
    let severity = Severity::twice(count > 2 * MANY_OFFERS);
    let reason = "Many sellers offer the same product.";
    let follow_up = "Ask for offers to see who they are and what they charge.";
    (count > MANY_OFFERS).then(|| {
        Item::new(
            "offer_competition_high",
            severity,
            reason,
            "offers.total_offer_count",
            follow_up,
        )
        .metric(json!({"total_offer_count": count}))
    })
}

fn no_buy_box(view: &Map<String, Value>) -> Option<Item> {
    let has_seller = found(view, &["pricing", "buy_box", "seller_id"]).is_some();
    let reason = "No seller and no price of a buy box is known.";
    let follow_up = "Ask with buybox=1 or offers before comparing prices.";
    (!has_seller && buy_box_price(view).is_none()).then(|| {
        Item::new(
            "buybox_missing",
            Severity::Medium,
            reason,
            "pricing.buy_box",
            follow_up,
        )
    })
}

/// The tree of categories has to begin at the root the product is filed under.
fn misplaced(view: &Map<String, Value>) -> Option<Item> {
    let root = found(view, &["category", "root_category"])?
        .as_i64()
        .filter(|root| *root > 0)?;
    let first = found(view, &["category", "category_tree"])?
        .get(0)?
        .get("id")?
        .as_i64()?;
    let reason = "The tree of categories does not begin at the root category.";
    let follow_up = "Check the category before comparing ranks within it.";
    (root != first).then(|| {
        Item::new(
            "category_mismatch",
            Severity::Medium,
            reason,
            "category.category_tree",
            follow_up,
        )
        .metric(json!({"root_category": root, "tree_root": first}))
    })
}
