//! What each tool answers, as a schema of its `data`.
//!
//! Invariants: a schema says what is always there and of which type it is, and names everything that can be there; what
//! comes from Keepa is described by its place only, because its shape is Keepa's. A test holds every sample against it.

mod here;
mod parts;

use serde_json::{Map, Value, json};

use crate::Command;
use here::{
    context, document, index, policy, prices, promoted, report, sanitized, snapshot, target,
    verified,
};
use parts::{
    action, any, brief, count, evidence, file, flag, graph, list, loose_graph, map, object,
    provenance, quality, risks, text, texts, view_provenance, word,
};

/// The fields of an answer: those that are always there, and those that may be.
struct Shape {
    always: Vec<(&'static str, Value)>,
    sometimes: Vec<(&'static str, Value)>,
}

impl Shape {
    fn new(always: Vec<(&'static str, Value)>) -> Self {
        Self {
            always,
            sometimes: Vec::new(),
        }
    }

    fn or(mut self, sometimes: Vec<(&'static str, Value)>) -> Self {
        self.sometimes.extend(sometimes);
        self
    }

    /// An answer to a question: where it came from, the body or where that was written.
    fn asked(self) -> Self {
        self.or(vec![
            ("offline", flag()),
            ("fixture", text()),
            ("warnings", texts()),
            ("body", any("The answer as Keepa sent it.")),
            ("body_omitted", flag()),
            ("output", file()),
            ("cache_provenance", provenance()),
        ])
    }

    /// The page to read first.
    fn with_page(mut self) -> Self {
        self.always.extend([
            ("agent_brief", brief()),
            ("data_quality", quality()),
            ("selection_signals", map()),
            ("evidence_index", evidence()),
        ]);
        self
    }

    fn schema(self) -> Value {
        let required: Vec<&str> = self.always.iter().map(|(name, _)| *name).collect();
        // Every answer says who gave it, and where what was handed on came from.
        let common = [
            ("provenance", view_provenance()),
            ("workflow_resolution", parts::resolution()),
        ];
        let mut properties = Map::new();
        for (name, schema) in common.into_iter().chain(self.sometimes).chain(self.always) {
            properties.insert(name.to_owned(), schema);
        }
        json!({"type": "object", "required": required, "properties": properties})
    }
}

/// A value that is Keepa's own.
fn said() -> Value {
    any("As Keepa says it.")
}

/// The schema of what a command answers; of commands that agents have no tool for only that it is an object.
pub fn output(command: Command) -> Value {
    let shape = match command {
        Command::ProductsGet => products(),
        Command::ProductsCompare => compare(),
        Command::CategoriesSearch => category_search(),
        Command::CategoriesProducts => category_products(),
        Command::CategoriesFinderSelection => scaffold(),
        Command::FinderQuery => graphed(),
        Command::DealsQuery => deals(),
        Command::SellersGet | Command::BestsellersGet | Command::TopsellersList => graphed(),
        Command::WorkflowPlan => plan(),
        Command::ResearchGraphMerge => merged(),
        Command::ResearchBriefExport => exported(),
        Command::DocsIndex => index(),
        Command::DocsRead => document(),
        Command::ContextPolicy => policy(),
        Command::ResearchTargetResolve => target(),
        Command::ResearchContextQuery => context(),
        Command::AuditCost => prices(),
        Command::CassettesSanitize => sanitized(),
        Command::CassettesPromote => promoted(),
        Command::CassettesPromoteAndVerify => verified(),
        Command::ReportsBuild => report(),
        Command::BrowseSnapshot => snapshot(),
        Command::TrackingList
        | Command::TrackingListNames
        | Command::TrackingGet
        | Command::TrackingNotifications => {
            Shape::new(vec![("cache_provenance", provenance())]).asked()
        }
        Command::ProductsSearch
        | Command::CategoriesGet
        | Command::LightningdealsList
        | Command::GraphsImage
        | Command::HistoryExport
        | Command::HistoryTrend
        | Command::TokensStatus
        | Command::ChartsRender
        | Command::RequestGet
        | Command::TrackingAdd
        | Command::TrackingRemove
        | Command::TrackingRemoveAll
        | Command::TrackingWebhook
        | Command::TokensPlan
        | Command::BatchAsins
        | Command::TemplatesList
        | Command::TemplatesShow
        | Command::SchemaGenerate
        | Command::Capabilities
        | Command::DomainsList
        | Command::CacheExplainKey
        | Command::CacheStats
        | Command::CacheClear
        | Command::CacheExplain
        | Command::CacheInspect
        | Command::CachePruneExpired => return json!({"type": "object"}),
    };
    shape.schema()
}

fn products() -> Shape {
    let section = |name: &'static str| (name, map());
    let product = object(
        vec![("identity", map())],
        vec![
            section("category"),
            section("pricing"),
            section("demand"),
            section("rating"),
            section("offers"),
            section("media"),
            section("aplus"),
            section("content"),
            section("compliance_and_logistics"),
            section("variations"),
            section("stats_summary"),
            section("history_summary"),
            section("temporal_features"),
            section("raw_field_presence"),
            section("selection_signals"),
            ("agent_brief", brief()),
            ("data_quality", quality()),
            ("risk_taxonomy", risks()),
            ("research_graph", graph()),
            ("evidence_index", evidence()),
            ("next_actions", list(action())),
        ],
    );
    Shape::new(vec![("cache_provenance", provenance())])
        .asked()
        .or(vec![
            ("view", word(&["agent_product"])),
            ("profile", word(&["research", "summary", "deal", "audit"])),
            ("schema_version", text()),
            ("product_count", count()),
            ("products", list(product)),
            ("raw", map()),
            ("field_notes", texts()),
            ("chunks", list(parts::chunk())),
        ])
}

fn compare() -> Shape {
    let row = object(
        vec![
            ("selection_signals", map()),
            ("risk_taxonomy", risks()),
            ("research_graph", graph()),
            ("data_quality", quality()),
        ],
        vec![
            ("asin", text()),
            ("title", said()),
            ("brand", said()),
            ("new_price", json!({"type": "number"})),
            ("buy_box_price", json!({"type": "number"})),
            ("sales_rank", count()),
            ("monthly_sold", said()),
            (
                "rating",
                json!({"type": "number", "minimum": 0, "maximum": 5}),
            ),
            ("review_count", count()),
            ("coupon", said()),
            ("total_offer_count", said()),
            ("video_count", count()),
            ("aplus_available", flag()),
            ("risk_flags", texts()),
            ("next_actions", list(action())),
            ("history_points", map()),
        ],
    );
    let risk_summary = object(
        vec![
            ("known_codes", texts()),
            ("product_count", count()),
            ("by_code", parts::counts()),
            ("by_severity", parts::counts()),
            (
                "highest_severity",
                json!({"enum": ["low", "medium", "high", null]}),
            ),
        ],
        vec![("schema_version", text())],
    );
    Shape::new(vec![
        ("view", word(&["products_compare"])),
        ("schema_version", text()),
        ("product_count", count()),
        ("rows", list(row)),
        ("risk_summary", risk_summary),
        ("research_graph", graph()),
        ("source_view", map()),
        ("cache_provenance", provenance()),
    ])
    .with_page()
    .or(vec![("next_actions", list(action()))])
}

fn category_search() -> Shape {
    let candidate = object(
        vec![
            ("category_id", text()),
            ("matched", flag()),
            ("children_count", count()),
            ("next_actions", list(action())),
        ],
        vec![("name", said()), ("parent", said())],
    );
    Shape::new(vec![
        ("view", word(&["category_search"])),
        ("term", text()),
        ("category_candidate_count", count()),
        ("category_candidates", list(candidate)),
        ("research_graph", graph()),
        ("next_actions", list(action())),
    ])
    .asked()
    .with_page()
}

fn category_products() -> Shape {
    let candidate = object(
        vec![
            ("rank", count()),
            ("asin", text()),
            ("source", text()),
            ("category_id", text()),
        ],
        vec![],
    );
    let hydration = object(
        vec![("enabled", flag()), ("requested", count())],
        vec![
            ("reason", text()),
            ("hydrated_count", count()),
            ("asins", texts()),
            ("view", text()),
            ("profile", text()),
            ("products", list(map())),
            ("errors", list(map())),
            ("token_bucket", map()),
        ],
    );
    Shape::new(vec![
        ("view", word(&["category_products"])),
        ("source", word(&["bestsellers"])),
        ("category_id", text()),
        ("candidate_count", count()),
        ("asins", texts()),
        ("candidates", list(candidate)),
        ("research_graph", graph()),
        ("next_actions", list(action())),
        ("hydration", hydration),
    ])
    .asked()
    .or(vec![("last_update", said())])
    .with_page()
}

fn scaffold() -> Shape {
    Shape::new(vec![
        ("view", word(&["finder_selection_scaffold"])),
        ("category_id", text()),
        ("domain", text()),
        ("selection", map()),
        ("research_graph", graph()),
        ("field_notes", texts()),
        ("next_actions", list(action())),
    ])
    .or(vec![("output", file())])
    .with_page()
}

fn graphed() -> Shape {
    Shape::new(vec![("research_graph", graph())])
        .asked()
        .with_page()
}

fn deals() -> Shape {
    let deal = object(
        vec![],
        vec![
            ("asin", said()),
            ("title", said()),
            ("series", text()),
            ("price", json!({"type": "number"})),
            ("raw_price", json!({"type": "integer"})),
            ("image", text()),
            ("root_category", said()),
        ],
    );
    graphed().or(vec![("deals", list(deal)), ("deal_count", count())])
}

fn plan() -> Shape {
    let step = object(
        vec![
            ("id", text()),
            ("tool", text()),
            ("mcp_tool", text()),
            ("params", map()),
            ("depends_on", texts()),
            ("estimated_tokens", count()),
            ("worst_case_tokens", count()),
            ("requires_confirmation", flag()),
            ("input_refs", texts()),
            ("artifact_refs", texts()),
            ("mcp", map()),
            ("execution", map()),
        ],
        vec![
            ("title", text()),
            ("cli", text()),
            ("command", text()),
            ("reason", text()),
            ("parallel_group", json!({"type": ["string", "null"]})),
            ("fixture_replay", json!({"type": ["string", "null"]})),
        ],
    );
    Shape::new(vec![
        ("view", word(&["workflow_plan"])),
        ("name", word(&crate::plan::NAMES)),
        ("domain", text()),
        ("goal", text()),
        ("workflow_inputs", map()),
        ("artifacts", map()),
        ("resource_templates", list(map())),
        ("steps", list(step)),
        ("totals", parts::totals()),
        ("parallel_groups", texts()),
        ("workflow_policy", map()),
        ("next_actions", list(action())),
    ])
    .with_page()
}

fn merged() -> Shape {
    Shape::new(vec![
        ("view", word(&["research_graph_merge"])),
        ("graph", loose_graph()),
        ("summary", map()),
        ("diagnostics", map()),
        ("diff", map()),
        ("input_graph_count", count()),
        ("sources", list(map())),
        ("agent_brief", brief()),
        ("data_quality", quality()),
        ("evidence_index", evidence()),
    ])
    .or(vec![("output", file())])
}

fn exported() -> Shape {
    let brief_itself = object(
        vec![
            ("id", text()),
            ("title", text()),
            ("decision_summary", map()),
            ("risk_summary", map()),
            ("input_summary", map()),
            ("follow_up_plan", map()),
            ("evidence_links", list(map())),
            ("data_quality", quality()),
            ("recommended_read_order", texts()),
        ],
        vec![
            ("schema_version", text()),
            ("view", text()),
            ("entity_graph_summary", json!({"type": ["object", "null"]})),
            ("provenance", view_provenance()),
        ],
    );
    Shape::new(vec![
        ("view", word(&["research_brief_export"])),
        ("brief", brief_itself),
        ("agent_brief", map()),
        ("data_quality", quality()),
        ("evidence_index", evidence()),
    ])
    .or(vec![("output", file())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_says_what_it_answers() {
        for tool in crate::tool::TOOLS {
            let schema = output(tool.command);
            let required = schema["required"].as_array().unwrap();
            assert!(!required.is_empty(), "{}", tool.name());
            for name in required {
                let name = name.as_str().unwrap();
                assert!(!schema["properties"][name].is_null(), "{name}");
            }
        }
    }
}
