//! The four plans.

use serde_json::{Map, Value, json};

use super::{NAMES, Plan, Step, goal};
use crate::{Command, Error, Params, tool::Profile};

const RESEARCH: &[&str] = &[
    "workflow_policy",
    "fixture",
    "research_cache",
    "research_graph",
    "research_brief",
    "graph_root",
];
const REPORTS: &[&str] = &[
    "workflow_policy",
    "fixture",
    "research_cache",
    "research_graph",
    "research_brief",
    "graph_root",
    "output",
];
const TRACKING: &[&str] = &["workflow_policy", "fixture"];
const BY_KEY: &str = "keepa://research/{cache_key}";
const BY_PATH: &str = "keepa://output/{encoded_path}";

pub(super) fn find(params: &Params) -> Result<Plan, Error> {
    match params.required("name")?.as_str() {
        "category-research" => category(params),
        "product-research" => product(params),
        "report-research" => report(params),
        "tracking-audit" => tracking(params),
        other => {
            Err(Error::argument(format!("there is no plan {other:?}"))
                .with("plans", NAMES.to_vec()))
        }
    }
}

/// Adds something a plan takes: whether or when it has to be there, and what it is.
fn take(
    inputs: &mut Map<String, Value>,
    name: &str,
    (required, value): (Value, Value),
    source: &str,
    about: &str,
) {
    let input =
        json!({"required": required, "value": value, "source": source, "description": about});
    inputs.insert(name.to_owned(), input);
}

/// Something a step hands on, and where it can be read again.
fn artifact(kind: &str, step: &str, templates: &[&str]) -> Value {
    let mut artifact = json!({"kind": kind, "produced_by": step});
    if !templates.is_empty() {
        artifact["resource_templates"] = json!(templates);
    }
    artifact
}

/// What every plan takes.
fn common(params: &Params) -> Result<Map<String, Value>, Error> {
    let domain = params.domain()?.code();
    let mut inputs = Map::new();
    take(
        &mut inputs,
        "domain",
        (json!(true), json!(domain)),
        "params.domain",
        "The marketplace.",
    );
    take(
        &mut inputs,
        "goal",
        (json!(false), json!(goal(params))),
        "params.goal",
        "What the research is for.",
    );
    Ok(inputs)
}

fn category(params: &Params) -> Result<Plan, Error> {
    let term = params.required("term")?;
    let domain = params.domain()?.code();
    let hydrate = params.number("hydrate_top", 0)?.max(0);
    let mut inputs = common(params)?;
    take(
        &mut inputs,
        "term",
        (json!(true), json!(term)),
        "params.term",
        "Words that lead to categories.",
    );
    take(
        &mut inputs,
        "hydrate_top",
        (json!(false), json!(hydrate)),
        "params.hydrate_top",
        "Leading products to read along.",
    );
    take(
        &mut inputs,
        "selected_category_id",
        (
            json!("after_step:search-categories"),
            json!("<CATEGORY_ID>"),
        ),
        "artifacts.category_candidates",
        "The category that is looked at further.",
    );
    let after = &["search-categories"];
    let chosen = &["artifacts.category_candidates.selected_category_id"];
    Ok(Plan {
        name: "category-research",
        toolset: "research",
        profile: Profile::DryRunDefault,
        inputs,
        artifacts: json!({
            "category_candidates": artifact("category_candidates", "search-categories", &["keepa://fixtures/{name}"]),
            "finder_selection": artifact("finder_selection", "scaffold-finder", &[]),
            "category_products": artifact("asin_candidates", "fetch-category-products", &[BY_KEY]),
            "product_comparison": artifact("product_compare", "compare-candidates", &[BY_KEY]),
        }),
        steps: vec![
            Step {
                id: "search-categories",
                title: "Find categories",
                command: Command::CategoriesSearch,
                params: json!({"term": term, "domain": domain}),
                reason: "Categories that fit the words.",
                after: &[],
                group: None,
                sample: Some("category_search.json"),
                takes: &["workflow_inputs.term", "workflow_inputs.domain"],
                makes: &["artifacts.category_candidates"],
            },
            Step {
                id: "scaffold-finder",
                title: "Prepare a finder query",
                command: Command::CategoriesFinderSelection,
                params: json!({"category": "<CATEGORY_ID>", "domain": domain}),
                reason: "A query for the chosen category, made here.",
                after,
                group: Some("category-followups"),
                sample: None,
                takes: chosen,
                makes: &["artifacts.finder_selection"],
            },
            Step {
                id: "fetch-category-products",
                title: "List its products",
                command: Command::CategoriesProducts,
                params: json!({
                    "category": "<CATEGORY_ID>", "domain": domain, "limit": 25, "hydrate_top": hydrate,
                }),
                reason: "Best sellers of the chosen category as candidates.",
                after,
                group: Some("category-followups"),
                sample: Some("bestsellers.json"),
                takes: chosen,
                makes: &[
                    "artifacts.category_products",
                    "artifacts.category_products.cache_key",
                ],
            },
            Step {
                id: "compare-candidates",
                title: "Compare the leading ones",
                command: Command::ProductsCompare,
                params: json!({
                    "asin": ["<ASIN_1>", "<ASIN_2>"], "domain": domain, "full": true, "view": "deal",
                }),
                reason: "The leading candidates side by side.",
                after: &["fetch-category-products"],
                group: None,
                sample: Some("products_compare.json"),
                takes: &["artifacts.category_products.asins"],
                makes: &[
                    "artifacts.product_comparison",
                    "artifacts.product_comparison.cache_key",
                ],
            },
        ],
        templates: RESEARCH,
    })
}

fn product(params: &Params) -> Result<Plan, Error> {
    let asin = params.required("asin")?;
    let domain = params.domain()?.code();
    let view = if goal(params) == "deal" {
        "deal"
    } else {
        "research"
    };
    let mut inputs = common(params)?;
    take(
        &mut inputs,
        "asin",
        (json!(true), json!(asin)),
        "params.asin",
        "The product.",
    );
    Ok(Plan {
        name: "product-research",
        toolset: "research",
        profile: Profile::LiveReadAllowed,
        inputs,
        artifacts: json!({
            "product_summary": artifact("product_agent_view", "get-product-summary", &[BY_KEY]),
            "offer_detail": artifact("product_offer_detail", "optional-offers", &[BY_KEY]),
        }),
        steps: vec![
            Step {
                id: "get-product-summary",
                title: "Read the product",
                command: Command::ProductsGet,
                params: json!({
                    "asin": asin, "domain": domain, "full": true, "agent_view": true, "view": view,
                }),
                reason: "What is known of the product.",
                after: &[],
                group: None,
                sample: Some("product_kettle.json"),
                takes: &[
                    "workflow_inputs.asin",
                    "workflow_inputs.domain",
                    "workflow_inputs.goal",
                ],
                makes: &[
                    "artifacts.product_summary",
                    "artifacts.product_summary.cache_key",
                ],
            },
            Step {
                id: "optional-offers",
                title: "Read its offers, if they matter",
                command: Command::ProductsGet,
                params: json!({
                    "asin": asin, "domain": domain, "full": true, "offers": "20",
                    "agent_view": true, "view": "deal",
                }),
                reason: "Only if offers.offers is missing and it matters who sells.",
                after: &["get-product-summary"],
                group: None,
                sample: None,
                takes: &[
                    "artifacts.product_summary.data_quality",
                    "workflow_inputs.asin",
                ],
                makes: &["artifacts.offer_detail", "artifacts.offer_detail.cache_key"],
            },
        ],
        templates: RESEARCH,
    })
}

fn report(params: &Params) -> Result<Plan, Error> {
    let goal = goal(params);
    let mut letters = goal.chars();
    let titled: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect();
    let titled = if goal == "research" {
        "Keepa Research".to_owned()
    } else {
        format!("Keepa {titled} Research")
    };
    let given = json!(["<CATEGORY_JSON>", "<COMPARE_JSON>", "<SELLER_JSON>"]);
    let mut inputs = common(params)?;
    take(
        &mut inputs,
        "graph_inputs",
        (json!(true), given.clone()),
        "paths or resource_templates.research_graph",
        "Earlier answers whose graphs become one.",
    );
    let after = &["merge-research-graph"];
    let takes = &["artifacts.merged_graph.path"];
    Ok(Plan {
        name: "report-research",
        toolset: "reports",
        profile: Profile::OfflineFixtureOnly,
        inputs,
        artifacts: json!({
            "merged_graph": artifact("research_graph", "merge-research-graph", &["keepa://graphs/{root}", "keepa://research/{cache_key}/graph"]),
            "markdown_report": artifact("markdown_report", "build-graph-report", &[BY_PATH]),
            "agent_brief": artifact("agent_research_brief", "export-agent-brief", &[BY_PATH]),
            "browse_snapshot": artifact("local_html_snapshot", "build-browse-snapshot", &[BY_PATH]),
        }),
        steps: vec![
            Step {
                id: "merge-research-graph",
                title: "Merge the graphs",
                command: Command::ResearchGraphMerge,
                params: json!({"input": given, "root": format!("{goal}-research")}),
                reason: "Everything found so far as one graph.",
                after: &[],
                group: None,
                sample: None,
                takes: &[
                    "workflow_inputs.graph_inputs",
                    "resource_templates.research_cache",
                    "resource_templates.graph_root",
                ],
                makes: &["artifacts.merged_graph", "artifacts.merged_graph.path"],
            },
            Step {
                id: "build-graph-report",
                title: "Build the report",
                command: Command::ReportsBuild,
                params: json!({
                    "input": "<MERGED_GRAPH_JSON>", "format": "markdown", "title": titled,
                }),
                reason: "The graph for people to read.",
                after,
                group: None,
                sample: None,
                takes,
                makes: &["artifacts.markdown_report"],
            },
            Step {
                id: "export-agent-brief",
                title: "Write the brief",
                command: Command::ResearchBriefExport,
                params: json!({"input": ["<MERGED_GRAPH_JSON>"], "title": format!("{titled} Brief")}),
                reason: "The same for whoever goes on with it.",
                after,
                group: Some("report-outputs"),
                sample: None,
                takes,
                makes: &["artifacts.agent_brief"],
            },
            Step {
                id: "build-browse-snapshot",
                title: "Build the page",
                command: Command::BrowseSnapshot,
                params: json!({"input": "<MERGED_GRAPH_JSON>", "title": format!("{titled} Browse")}),
                reason: "The same to look at.",
                after,
                group: Some("report-outputs"),
                sample: None,
                takes,
                makes: &["artifacts.browse_snapshot"],
            },
        ],
        templates: REPORTS,
    })
}

fn tracking(params: &Params) -> Result<Plan, Error> {
    let asin = params
        .text(&["asin"])
        .unwrap_or_else(|| "<ASIN>".to_owned());
    let domain = params.domain()?.code();
    let mut inputs = common(params)?;
    take(
        &mut inputs,
        "asin",
        (json!(false), json!(asin)),
        "params.asin or artifacts.tracking_list",
        "The tracked product; it can be chosen from the list.",
    );
    let after = &["list-tracking"];
    let group = Some("tracking-readonly");
    Ok(Plan {
        name: "tracking-audit",
        toolset: "tracking-readonly",
        profile: Profile::TrackingReadonly,
        inputs,
        artifacts: json!({
            "tracking_list": artifact("tracking_list", "list-tracking", &["keepa://fixtures/{name}"]),
            "tracking_notifications": artifact("tracking_notifications", "read-notifications", &[]),
            "tracking_detail": artifact("tracking_detail", "get-tracking-detail", &[]),
            "tracking_cost_estimate": artifact("budget_estimate", "audit-tracking-cost", &[]),
        }),
        steps: vec![
            Step {
                id: "list-tracking",
                title: "List trackings",
                command: Command::TrackingList,
                params: json!({"domain": domain, "asins_only": true, "dry_run": true}),
                reason: "What is tracked; nothing is changed.",
                after: &[],
                group: None,
                sample: Some("tracking_list.json"),
                takes: &["workflow_inputs.domain"],
                makes: &["artifacts.tracking_list"],
            },
            Step {
                id: "read-notifications",
                title: "Read notifications",
                command: Command::TrackingNotifications,
                params: json!({"domain": domain, "dry_run": true}),
                reason: "What has happened; nothing is marked as read.",
                after,
                group,
                sample: None,
                takes: &["artifacts.tracking_list"],
                makes: &["artifacts.tracking_notifications"],
            },
            Step {
                id: "get-tracking-detail",
                title: "Read one tracking",
                command: Command::TrackingGet,
                params: json!({"asin": asin, "domain": domain, "dry_run": true}),
                reason: "One of them in full.",
                after,
                group,
                sample: None,
                takes: &["workflow_inputs.asin", "artifacts.tracking_list"],
                makes: &["artifacts.tracking_detail"],
            },
            Step {
                id: "audit-tracking-cost",
                title: "Price it",
                command: Command::AuditCost,
                params: json!({
                    "target_command": "tracking.get", "params": {"asin": asin, "domain": domain},
                }),
                reason: "What reading it live would cost.",
                after,
                group,
                sample: None,
                takes: &["workflow_inputs.asin", "workflow_inputs.domain"],
                makes: &["artifacts.tracking_cost_estimate"],
            },
        ],
        templates: TRACKING,
    })
}
