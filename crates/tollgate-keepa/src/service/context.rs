//! Finding one's way: what may be done here and what can be read here.

use serde_json::{Value, json};

use super::{Place, Shelf, World};
use crate::{
    Error, Params,
    resources::{self, Reader},
    tool::{Leave, Profile, Tool},
};

const VERSION: &str = "2026-05-11.1";
const READ_FIRST: usize = 8;

/// The profiles, for people and programs.
pub(super) fn profiles() -> Value {
    let all = Profile::ALL.map(|one| json!({"name": one.name(), "description": one.about()}));
    json!(all)
}

/// `context.policy`.
pub fn policy<W: World>(world: &W) -> Value {
    let mut roots = json!(world.roots());
    roots["never_commit"] = json!(["keys", "raw live answers"]);
    json!({
        "schema_version": VERSION,
        "view": "context_policy",
        "mode": "offline_first",
        "default_toolset": "research",
        "recommended_start_order": [
            "keepa.context_policy",
            "keepa.resolve_research_target",
            "keepa.query_research_context",
            "keepa.workflow_plan",
        ],
        "live_keepa": live(world),
        "session_profiles": profiles(),
        "roots": roots,
        "tool_policy": {
            "default_allowed_toolsets": ["research"],
            "explicit_toolsets": ["docs", "audit", "reports", "tracking-readonly"],
            "toolsets": super::local::toolsets(),
            "write_tools_exposed_by_default": false,
            "supports_allow_tools_filter": true,
            "supports_exclude_tools_filter": true,
            "supports_profile_gating": true,
            "profile_behavior": "A tool that a profile turns off answers inactive_tool before anything runs; \
                in offline_fixture_only and dry_run_default a question needs a fixture or a dry run.",
        },
        "provenance": {"source": "local://context.policy"},
    })
}

/// What a question to Keepa meets, in the profile in force.
fn live<W: World>(world: &W) -> Value {
    let (has_key, profile) = (world.has_key(), world.profile());
    let leave = |name: &str| match (Tool::named(name), profile) {
        (Some(tool), Some(profile)) => tool.leave(profile),
        (_, _) => Leave::Runs,
    };
    let met = |leave: Leave, runs: &str| match leave {
        Leave::Off => "off in this profile".to_owned(),
        Leave::OnSamples => "need a fixture or a dry run".to_owned(),
        Leave::Runs if has_key => runs.to_owned(),
        Leave::Runs => "need a key, a fixture or a dry run".to_owned(),
    };
    let research = leave("products_get");
    json!({
        "allowed_by_default": has_key && research == Leave::Runs,
        "requires_api_key": true,
        "api_key_configured": has_key,
        "requires_confirmation_for_high_cost": true,
        "profile": profile.map(Profile::name),
        "low_cost_reads": met(research, "run"),
        "high_cost_reads": met(research, "need yes=true"),
        "tracking_reads": met(leave("tracking_list"), "run"),
        "safe_defaults": ["fixture", "dry_run", "from_cache"],
        "note": "The operator's own rules may ask for more.",
    })
}

/// `docs.index`.
pub(super) fn index<W: World>(world: &W) -> Value {
    let statics: Vec<Value> = resources::STATIC
        .iter()
        .map(|(uri, name, about, mime)| {
            json!({"uri": uri, "name": name, "description": about, "mime_type": mime})
        })
        .collect();
    let templates: Vec<Value> = resources::TEMPLATES
        .iter()
        .map(|(uri, name, about)| json!({"uri_template": uri, "name": name, "description": about}))
        .collect();
    json!({
        "schema_version": VERSION,
        "view": "docs_index",
        "summary": {
            "resource_count": statics.len(),
            "template_count": templates.len(),
            "fixture_count": world.names(Shelf::Fixtures).len(),
            "page_count": world.names(Shelf::Pages).len(),
        },
        "stable_entrypoints": ["keepa://context/policy", "keepa://tools/index", "keepa://zread/wiki/pages"],
        "resources": statics,
        "resource_templates": templates,
        "recommended_read_order": [
            "keepa://context/policy", "keepa://tools/index", "keepa://prompts/index",
            "keepa://fixtures/manifest", "keepa://evidence/recent", "keepa://zread/wiki/pages",
        ],
    })
}

/// `docs.read`.
pub(super) fn read<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let uri = match (params.text(&["uri"]), params.text(&["page"])) {
        (Some(uri), _) => uri,
        (None, Some(page)) => format!("keepa://zread/wiki/page/{page}"),
        (None, None) => "keepa://zread/wiki/current".to_owned(),
    };
    let content = Reader::new(world).read(&uri)?;
    let parsed: Value = if content.mime_type == "application/json" {
        serde_json::from_str(&content.text).unwrap_or_default()
    } else {
        Value::Null
    };
    Ok(json!({
        "uri": uri,
        "mime_type": content.mime_type,
        "size_bytes": content.text.len(),
        "text": content.text,
        "json": parsed,
    }))
}

/// Words that lead to documents.
const TRIGGERS: &[(&[&str], &str, &str)] = &[
    (
        &["schema", "agent"],
        "keepa://schema/products-agent-view",
        "schema",
    ),
    (
        &["risk", "taxonomy", "风险"],
        "keepa://schema/risk-taxonomy",
        "schema",
    ),
    (
        &["workflow", "runtime"],
        "keepa://workflow/runtime-contract",
        "contract",
    ),
    (&["tool", "mcp"], "keepa://tools/index", "tools"),
    (&["prompt"], "keepa://prompts/index", "prompts"),
    (
        &["cassette", "promote"],
        "keepa://guides/cassette-promotion",
        "guide",
    ),
    (
        &["fixture", "sample"],
        "keepa://fixtures/manifest",
        "fixtures",
    ),
    (
        &["evidence", "recent"],
        "keepa://evidence/recent",
        "evidence",
    ),
];

/// `research.context.query`.
pub(super) fn query<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let question = params.text(&["query", "question"]).unwrap_or_default();
    let target = params.get(&["target"]);
    let of = |name: &str, plain: &str| {
        let inner = target.and_then(|target| target[name].as_str());
        inner.map(str::to_owned).or_else(|| params.text(&[plain]))
    };
    let (kind, id) = (of("type", "target_type"), of("id", "target_id"));
    let mut resources: Vec<Value> = Vec::new();
    let mut add = |uri: String, kind: &str| {
        if !resources.iter().any(|one| one["uri"] == uri) {
            resources.push(json!({"uri": uri, "kind": kind}));
        }
    };
    match (kind.as_deref(), id.as_deref()) {
        (Some("asin"), Some(id)) => add(format!("keepa://asin/{id}/fixture"), "fixture_lookup"),
        (Some("fixture"), Some(id)) => add(format!("keepa://fixtures/{id}"), "fixture"),
        (Some("evidence"), Some(id)) => {
            add(
                format!("keepa://evidence/{}", resources::encode(id)),
                "evidence",
            );
        }
        _ => {}
    }
    add("keepa://context/policy".to_owned(), "policy");
    add("keepa://tools/index".to_owned(), "tools");
    add("keepa://evidence/recent".to_owned(), "evidence");
    let lower = question.to_lowercase();
    for (words, uri, kind) in TRIGGERS {
        if words.iter().any(|word| lower.contains(word)) {
            add((*uri).to_owned(), kind);
        }
    }
    for key in world.recalled().iter().rev().take(3) {
        add(format!("keepa://research/{key}"), "session");
    }
    let order: Vec<&Value> = resources
        .iter()
        .map(|one| &one["uri"])
        .take(READ_FIRST)
        .collect();
    Ok(json!({
        "schema_version": VERSION,
        "view": "research_context_query",
        "target": {"type": kind, "id": id},
        "question": question,
        "recommended_read_order": order,
        "resources": resources,
        "notes": ["Everything listed can be read here; nothing was asked."],
        "provenance": {"source": "local://research.context.query"},
    }))
}

/// The list of evidence, if there is one.
pub(crate) fn manifest<W: World>(world: &W) -> Option<String> {
    world.load(Place::Manifest).ok()
}
