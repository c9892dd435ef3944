//! What an agent should read of an answer: sections that are small, checked and say what is missing.
//!
//! Invariants: nothing that is null or empty is shown, the raw number stands beside every converted one, and the same
//! answer always gives the same view.

mod brief;
mod content;
mod evidence;
mod facts;
mod history;
mod quality;
mod risk;
mod stats;
mod temporal;

use serde_json::{Map, Value, json};

pub(crate) use brief::one_line;
pub use risk::{CODES as RISK_CODES, VERSION as RISK_VERSION};

use crate::{
    Command,
    action::action,
    graph::{Graph, of_product},
    product::Product,
    series::{Series, decimal, round},
};

/// The version of the view's shape.
pub const VERSION: &str = "2026-05-10.7";
const GRAPH_VERSION: &str = "2026-05-10.1";

/// How much of a product is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Everything.
    #[default]
    Research,
    /// What a first look needs.
    Summary,
    /// A first look, and what a buyer compares.
    Deal,
    /// What it takes to check the others.
    Audit,
}

const SUMMARY: &[&str] = &[
    "agent_brief",
    "identity",
    "pricing",
    "demand",
    "rating",
    "selection_signals",
    "risk_taxonomy",
    "research_graph",
    "evidence_index",
    "data_quality",
    "next_actions",
];
const DEAL: &[&str] = &[
    "category",
    "offers",
    "media",
    "aplus",
    "temporal_features",
    "raw_field_presence",
];
const AUDIT: &[&str] = &[
    "agent_brief",
    "identity",
    "data_quality",
    "next_actions",
    "temporal_features",
    "selection_signals",
    "risk_taxonomy",
    "research_graph",
    "evidence_index",
    "raw_field_presence",
];

impl Profile {
    /// The profile with this name; an unknown one shows everything.
    pub fn named(name: &str) -> Self {
        match name {
            "summary" => Self::Summary,
            "deal" => Self::Deal,
            "audit" => Self::Audit,
            _ => Self::Research,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Research => "research",
            Self::Summary => "summary",
            Self::Deal => "deal",
            Self::Audit => "audit",
        }
    }

    fn shows(self, section: &str) -> bool {
        match self {
            Self::Research => true,
            Self::Summary => SUMMARY.contains(&section),
            Self::Deal => SUMMARY.contains(&section) || DEAL.contains(&section),
            Self::Audit => AUDIT.contains(&section),
        }
    }
}

/// How a view is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How much is shown.
    pub profile: Profile,
    /// Sections to show instead of the profile's.
    pub fields: Vec<String>,
    /// Points of each history; none at 0.
    pub history_limit: usize,
    /// Windows of change, in days.
    pub windows: Vec<i64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            fields: Vec::new(),
            history_limit: 10,
            windows: vec![7, 30, 90, 180, 365],
        }
    }
}

impl Options {
    fn shows(&self, section: &str) -> bool {
        let is_named = self.fields.iter().any(|field| field == section);
        section == "identity"
            || if self.fields.is_empty() {
                self.profile.shows(section)
            } else {
                is_named
            }
    }

    /// The histories that something shown is worked out from.
    fn histories(&self) -> &'static [Series] {
        if self.shows("temporal_features") {
            temporal::WORTH
        } else if self.shows("agent_brief") {
            &brief::HISTORIES
        } else {
            temporal::JUDGED
        }
    }
}

/// The view of a whole answer.
pub fn products(all: &[Product], options: &Options) -> Value {
    let shown: Value = all.iter().map(|one| product(one, options)).collect();
    let mut view = json!({
        "view": "agent_product",
        "profile": options.profile.name(),
        "schema_version": VERSION,
        "product_count": all.len(),
        "products": null,
        "field_notes": [
            "The raw answer is left out here; it can be written to a file.",
            "Histories and statistics carry the names of Keepa's series.",
            "A price has its raw integer beside it; where the currency has no decimals both are equal.",
        ],
    });
    view["products"] = shown;
    view
}

/// The view of one product.
pub fn product(product: &Product, options: &Options) -> Value {
    Value::Object(with_graph(product, options).0)
}

/// The view of one product, and its graph to go on with.
pub(crate) fn with_graph(product: &Product, options: &Options) -> (Map<String, Value>, Graph) {
    let mut windows = options.windows.clone();
    windows.retain(|days| *days > 0);
    windows.sort_unstable();
    windows.dedup();
    let mut view = Map::new();
    let mut put = |name: &str, value: Value| {
        view.insert(name.to_owned(), value);
    };
    put("identity", facts::identity(product));
    put("category", facts::category(product));
    put("pricing", facts::pricing(product, options.history_limit));
    put("demand", facts::demand(product, options.history_limit));
    put("rating", facts::rating(product));
    put("offers", facts::offers(product));
    put("media", content::media(product));
    put("aplus", content::aplus(product));
    put("content", content::content(product));
    put("compliance_and_logistics", content::logistics(product));
    put("variations", content::variations(product));
    // Where samples are not shown, only their number is needed, by the signals.
    if options.shows("history_summary") {
        let samples = history::history_summary(product, options.history_limit);
        put("history_summary", samples);
    } else {
        let count = product.history_count();
        put("history_summary", json!({"series_count": count}));
    }
    put(
        "temporal_features",
        temporal::temporal_features(product, options.histories(), &windows),
    );
    if options.shows("stats_summary") {
        put("stats_summary", facts::stats_summary(product));
    }
    let presence = quality::presence(product);
    let data_quality = quality::data_quality(&presence, &view);
    view.insert("raw_field_presence".to_owned(), Value::Object(presence));
    view.insert(
        "next_actions".to_owned(),
        next_actions(product, &data_quality),
    );
    view.insert("data_quality".to_owned(), data_quality);
    let risks = risk::risk_taxonomy(&view);
    let mut signals = quality::selection_signals(&view);
    signals["risk_codes"] = risks["codes"].clone();
    signals["risk_taxonomy"] = compact(json!({
        "codes": risks["codes"],
        "highest_severity": risks["highest_severity"],
    }));
    view.insert("risk_taxonomy".to_owned(), risks);
    view.insert("selection_signals".to_owned(), signals);
    let graph = of_product(product);
    let entities = json!(graph.entity_counts());
    view.insert("research_graph".to_owned(), graph.json(GRAPH_VERSION));
    if options.shows("agent_brief") {
        let brief = brief::agent_brief(&view, entities);
        view.insert("agent_brief".to_owned(), brief);
    }
    view.retain(|section, value| options.shows(section) && !is_empty(value));
    if options.shows("evidence_index") {
        let index = evidence::evidence_index(&view);
        view.insert("evidence_index".to_owned(), index);
    }
    (view, graph)
}

/// What would fill the gaps, each at its price.
fn next_actions(product: &Product, quality: &Value) -> Value {
    let missing = quality["missing"].as_array();
    let lacks = |name: &str| missing.is_some_and(|all| all.iter().any(|one| one == name));
    let base = json!({"asin": product.asin(), "domain": product.domain().code()});
    let with = |extra: Value| {
        let mut params = base.clone();
        for (name, value) in extra.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        params["agent_view"] = Value::Bool(true);
        params
    };
    let gaps = [
        (
            "offers.offers",
            with(json!({"full": true, "offers": "20", "view": "deal"})),
            "Single offers are missing; worth their price only if it matters who the sellers are.",
        ),
        (
            "rating.rating",
            with(json!({"rating": "1", "view": "summary"})),
            "There is no rating.",
        ),
        (
            "aplus",
            with(json!({"aplus": "1", "view": "deal"})),
            "A+ content was not asked for, or there is none.",
        ),
        (
            "history.csv",
            with(json!({"history": "1", "stats": "180", "view": "research"})),
            "There is no history to judge stability by.",
        ),
    ];
    let actions = gaps.iter().filter(|(gap, _, _)| lacks(gap));
    actions
        .map(|(_, params, reason)| action(Command::ProductsGet, params, reason))
        .collect()
}

/// A figure, to four places.
fn figure(number: f64) -> Value {
    decimal(round(number, 4))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// An object of values that are moved into it, where `json!` would copy them. Those that say nothing are left out.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.into_iter().filter(|(_, value)| !is_empty(value));
    Value::Object(
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// Without the names that say nothing. Zero, `false` and an empty text say something.
pub(crate) fn compact(mut value: Value) -> Value {
    if let Some(map) = value.as_object_mut() {
        map.retain(|_, value| !is_empty(value));
    }
    value
}
