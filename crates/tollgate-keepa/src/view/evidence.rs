//! Where each claim of a view can be checked.
//!
//! Invariant: every path in the index resolves in the product it stands in.

use serde_json::{Map, Value, json};

use super::quality::found;

/// Name, path, the smallest profile that has it, and why to look there.
const PLACES: [(&str, &str, &str, &str); 16] = [
    (
        "decision_brief",
        "agent_brief",
        "summary",
        "The page to read first.",
    ),
    (
        "identity",
        "identity",
        "summary",
        "What the product is and how it is called.",
    ),
    (
        "current_pricing",
        "pricing.current",
        "summary",
        "Today's prices, by history.",
    ),
    (
        "buy_box",
        "pricing.buy_box",
        "summary",
        "Who holds the buy box, and at what price.",
    ),
    (
        "demand",
        "demand",
        "summary",
        "How much is sold and how the rank moves.",
    ),
    (
        "rating",
        "rating",
        "summary",
        "Stars and the number of reviews.",
    ),
    (
        "offer_summary",
        "offers",
        "deal",
        "How many sellers there are, and of which kind.",
    ),
    (
        "content_assets",
        "media",
        "deal",
        "Pictures and videos of the listing.",
    ),
    (
        "aplus",
        "aplus",
        "deal",
        "Whether there is A+ content, and how much.",
    ),
    (
        "selection_signals",
        "selection_signals",
        "summary",
        "Figures to choose by.",
    ),
    (
        "risk_taxonomy",
        "risk_taxonomy",
        "summary",
        "Risks by code, each with its evidence.",
    ),
    (
        "research_graph",
        "research_graph",
        "summary",
        "Makers, categories, sellers and variations.",
    ),
    (
        "temporal_features",
        "temporal_features",
        "audit",
        "What whole histories say, in figures.",
    ),
    (
        "history_samples",
        "history_summary",
        "research",
        "The latest points of every history.",
    ),
    (
        "data_quality",
        "data_quality",
        "summary",
        "What is known, what is missing, how far to trust it.",
    ),
    (
        "raw_presence",
        "raw_field_presence",
        "audit",
        "Which large fields the answer had.",
    ),
];

/// The index of a product that is otherwise finished.
pub(super) fn evidence_index(view: &Map<String, Value>) -> Value {
    let resolves = |path: &str| found(view, &path.split('.').collect::<Vec<_>>()).is_some();
    let places = PLACES.iter().filter(|(_, path, _, _)| resolves(path));
    let index = places.map(|(name, path, section, why)| {
        let hint = format!("--view {section}");
        let place = json!({"path": path, "section": section, "load_hint": hint, "why": why});
        ((*name).to_owned(), place)
    });
    Value::Object(index.collect())
}
