//! Finding one's way: what may be done here, what can be read here, and what somebody means.

use serde_json::{Value, json};

use super::{Place, Shelf, World};
use crate::{
    Command, Error, Params, action,
    resources::{self, Reader},
    tool::Profile,
};

const VERSION: &str = "2026-05-11.1";
/// How many samples and how much evidence a search shows.
const SAMPLES: usize = 10;
const EVIDENCE: usize = 8;
const MANIFEST_TAIL: usize = 80;
/// What a hint is worth.
const HINT: f64 = 0.12;
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
        "live_keepa": {
            "allowed_by_default": false,
            "requires_api_key": true,
            "api_key_configured": world.has_key(),
            "requires_confirmation_for_high_cost": true,
            "safe_defaults": ["fixture", "dry_run", "from_cache"],
        },
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

/// Whether a word can be an ASIN: ten letters and digits, and not just a word of ten letters.
pub fn is_asin(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    word.len() == 10
        && word.bytes().all(is_plain)
        && (word.starts_with("B0") || word.bytes().any(|byte| byte.is_ascii_digit()))
}

fn is_number(word: &str, lengths: std::ops::RangeInclusive<usize>) -> bool {
    lengths.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_seller(word: &str) -> bool {
    let rest = word.strip_prefix('A').unwrap_or_default();
    (9..=20).contains(&rest.len())
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && rest.bytes().any(|byte| byte.is_ascii_digit())
}

struct Candidate {
    kind: &'static str,
    id: String,
    score: f64,
    source: &'static str,
    reason: &'static str,
}

/// `research.target.resolve`.
pub(super) fn resolve<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let query = params
        .text(&["query", "q"])
        .filter(|text| !text.is_empty())
        .ok_or_else(|| Error::argument("query is required"))?;
    let domain = params.domain()?.code();
    let hint = params.text(&["hint_type"]);
    let mut found = by_shape(&query);
    let asins: Vec<String> = found
        .iter()
        .filter(|one| one.kind == "asin")
        .map(|one| one.id.clone())
        .collect();
    samples(world, &query, &asins, &mut found);
    evidence(world, &query, &mut found);
    if found.is_empty() {
        found.push(Candidate {
            kind: "keyword",
            id: query.clone(),
            score: 0.55,
            source: "query",
            reason: "Nothing more definite was found in it.",
        });
    }
    for one in &mut found {
        if Some(one.kind) == hint.as_deref() {
            one.score = (one.score + HINT).min(1.0);
        }
    }
    // The order of finding decides between equals.
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    let candidates: Vec<Value> = found
        .iter()
        .map(|one| shown(one, domain, hint.as_deref()))
        .collect();
    let actions: Vec<Value> = found
        .iter()
        .take(1)
        .filter_map(|one| next(one, domain))
        .collect();
    Ok(json!({
        "schema_version": VERSION,
        "view": "research_target_resolution",
        "query": query,
        "domain": domain,
        "hint_type": hint,
        "primary": candidates.first(),
        "candidates": candidates,
        "next_actions": actions,
        "data_quality": {
            "present": ["query"], "missing": [],
            "notes": ["This was worked out here; nothing was asked."],
        },
        "provenance": {"source": "local://research.target.resolve"},
    }))
}

fn by_shape(query: &str) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let lower = query.to_lowercase();
    let speaks_of_category = ["category", "类目", "browse", "node"]
        .iter()
        .any(|word| lower.contains(word));
    let words: Vec<&str> = query
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut add = |kind, id: &str, score, reason| {
        if !found.iter().any(|one| one.kind == kind && one.id == id) {
            found.push(Candidate {
                kind,
                id: id.to_owned(),
                score,
                source: "query_shape",
                reason,
            });
        }
    };
    for word in &words {
        if is_asin(word) {
            add("asin", word, 0.96, "It has the shape of an ASIN.");
        }
    }
    for word in &words {
        if is_number(word, 12..=14) {
            add("code", word, 0.82, "It has the shape of a product code.");
        }
        if speaks_of_category && is_number(word, 4..=12) {
            add(
                "category",
                word,
                0.78,
                "A number, where a category is spoken of.",
            );
        }
        if is_seller(word) {
            add("seller", word, 0.74, "It has the shape of a seller's id.");
        }
    }
    found
}

/// Words that say what kind of thing is meant, and so no sample in particular.
const KINDS: [&str; 10] = [
    "category",
    "categories",
    "compare",
    "deals",
    "history",
    "product",
    "products",
    "search",
    "seller",
    "sellers",
];

fn samples<W: World>(world: &W, query: &str, asins: &[String], found: &mut Vec<Candidate>) {
    let lower = query.to_lowercase();
    let mut matches: Vec<(String, f64)> = Vec::new();
    for name in world.names(Shelf::Fixtures) {
        let stem = name.trim_end_matches(".json").to_lowercase();
        let named = asins.iter().any(|asin| stem.contains(&asin.to_lowercase()));
        let is_part = lower.contains(&stem)
            || lower
                .split_whitespace()
                .any(|word| word.len() > 4 && !KINDS.contains(&word) && stem.contains(word));
        if named {
            matches.push((name, 0.90));
        } else if is_part {
            matches.push((name, 0.68));
        }
    }
    matches.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.extend(
        matches
            .into_iter()
            .take(SAMPLES)
            .map(|(id, score)| Candidate {
                kind: "fixture",
                id,
                score,
                source: "fixtures",
                reason: "There is a sample of this name.",
            }),
    );
}

fn evidence<W: World>(world: &W, query: &str, found: &mut Vec<Candidate>) {
    let lower = query.to_lowercase();
    let rows = resources::manifest_rows(world);
    let tail = rows.iter().rev().take(MANIFEST_TAIL);
    let matching = tail.filter(|row| {
        row.values()
            .filter_map(Value::as_str)
            .any(|text| !text.is_empty() && text.to_lowercase().contains(&lower))
    });
    found.extend(matching.take(EVIDENCE).filter_map(|row| {
        Some(Candidate {
            kind: "evidence",
            id: row.get("logical_path")?.as_str()?.to_owned(),
            score: 0.62,
            source: "manifest",
            reason: "The list of evidence speaks of it.",
        })
    }));
}

fn shown(one: &Candidate, domain: &str, hint: Option<&str>) -> Value {
    let mut shown = json!({
        "type": one.kind,
        "id": one.id,
        "domain": domain,
        "score": (one.score * 100.0).round() / 100.0,
        "source": one.source,
        "reason": one.reason,
    });
    if Some(one.kind) == hint {
        shown["hint_matched"] = Value::Bool(true);
    }
    let address = match one.kind {
        "fixture" => Some(format!("keepa://fixtures/{}", one.id)),
        "evidence" => Some(format!("keepa://evidence/{}", resources::encode(&one.id))),
        _ => None,
    };
    if let Some(address) = address {
        shown["resource_uri"] = Value::from(address);
    }
    shown
}

fn next(one: &Candidate, domain: &str) -> Option<Value> {
    let read = |name: &str| {
        let mut params = json!({"domain": domain, "view": "summary", "agent_view": true});
        params[name] = Value::from(one.id.as_str());
        (Command::ProductsGet, params, "To read the product.")
    };
    let (command, params, reason) = match one.kind {
        "asin" => read("asin"),
        "code" => read("code"),
        "category" => (
            Command::CategoriesFinderSelection,
            json!({"category": one.id, "domain": domain}),
            "To prepare a query for the category.",
        ),
        "seller" => (
            Command::SellersGet,
            json!({"seller": one.id, "domain": domain, "dry_run": true}),
            "To see what reading the seller would cost.",
        ),
        "keyword" => (
            Command::CategoriesSearch,
            json!({"term": one.id, "domain": domain}),
            "To find categories that fit.",
        ),
        "fixture" | "evidence" => (
            Command::ResearchContextQuery,
            json!({"target_type": one.kind, "target_id": one.id}),
            "To see what can be read about it.",
        ),
        _ => return None,
    };
    let mut action = action(command, &params, reason);
    action["tool"] = action["mcp_tool"].clone();
    Some(action)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_ten_letters_are_no_products() {
        for asin in ["B0D8W1YVBX", "B0ABCDEFGH", "0306406152"] {
            assert!(is_asin(asin), "{asin}");
        }
        for word in ["COMPARISON", "comparison", "B0SHORT", "b0d8w1yvbx"] {
            assert!(!is_asin(word), "{word}");
        }
    }

    #[test]
    fn shapes_are_told_apart() {
        let kinds = |query: &str| -> Vec<&str> {
            by_shape(query).into_iter().map(|one| one.kind).collect()
        };
        assert_eq!(
            kinds("compare B0D8W1YVBX vs B0F7XPYCSJ in category 172282"),
            ["asin", "asin", "category"]
        );
        assert_eq!(kinds("172282"), Vec::<&str>::new());
        assert_eq!(kinds("4006381333931"), ["code"]);
        assert_eq!(kinds("seller A2L77EE7U53NWQ"), ["seller"]);
        assert_eq!(kinds("coffee grinder"), Vec::<&str>::new());
    }
}
