//! What somebody means: candidates with scores, from the shape of words, links, samples and evidence.
//!
//! Invariant: nothing is asked. What the caller says (the kind, the marketplace) outweighs what words look like.

mod link;

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::{Shelf, World};
use crate::{Command, Domain, Error, Params, action, resources};
use link::Link;

const VERSION: &str = "2026-05-11.1";
/// How many samples and how much evidence a search shows.
const SAMPLES: usize = 10;
const EVIDENCE: usize = 8;
const MANIFEST_TAIL: usize = 80;
/// What a hint is worth.
const HINT: f64 = 0.12;
/// How many digits the number of a category has.
pub(crate) const CATEGORY_DIGITS: RangeInclusive<usize> = 4..=12;

/// Whether a word can be an ASIN: ten letters and digits, and not just a word of ten letters.
pub fn is_asin(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    word.len() == 10
        && word.bytes().all(is_plain)
        && (word.starts_with("B0") || word.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Whether a word is a number of this many digits.
pub(crate) fn is_number(word: &str, lengths: RangeInclusive<usize>) -> bool {
    lengths.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word can be the id of a seller.
fn is_seller(word: &str) -> bool {
    has_form_of_seller(word) && word.bytes().any(|byte| byte.is_ascii_digit())
}

fn has_form_of_seller(word: &str) -> bool {
    let rest = word.strip_prefix('A').unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    (9..=20).contains(&rest.len()) && rest.bytes().all(is_plain)
}

struct Candidate {
    kind: &'static str,
    id: String,
    score: f64,
    source: &'static str,
    reason: &'static str,
    /// The marketplace of the link that names it.
    domain: Option<Domain>,
}

/// `research.target.resolve`.
pub(super) fn resolve<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let query = params
        .text(&["query", "q"])
        .filter(|text| !text.is_empty())
        .ok_or_else(|| Error::argument("query is required"))?;
    let hint = params.text(&["hint_type"]);
    let hint = hint.as_deref();
    let (words, links) = read(&query);
    let found = candidates(world, &query, (&words, &links), hint);
    let of_links = links.iter().find_map(|link| link.domain);
    let said = params
        .get(&["domain"])
        .map(|_| params.domain())
        .transpose()?;
    let domain = said.or(of_links).unwrap_or_default();
    let place = |one: &Candidate| said.or(one.domain).unwrap_or(domain).code();
    let shown = found.iter().map(|one| shown(one, place(one), hint));
    let shown: Vec<Value> = shown.collect();
    let actions = found.first().and_then(|one| next(one, place(one)));
    let actions: Vec<Value> = actions.into_iter().collect();
    let notes = notes(&links, said);
    Ok(json!({
        "schema_version": VERSION,
        "view": "research_target_resolution",
        "query": query,
        "domain": domain.code(),
        "hint_type": hint,
        "primary": shown.first(),
        "candidates": shown,
        "next_actions": actions,
        "data_quality": {"present": ["query"], "missing": [], "notes": notes},
        "provenance": {"source": "local://research.target.resolve"},
    }))
}

/// Everything a query may mean, the likeliest first.
fn candidates<W: World>(
    world: &W,
    query: &str,
    (words, links): (&[&str], &[Link]),
    hint: Option<&str>,
) -> Vec<Candidate> {
    let mut found = by_link(links);
    by_shape(words, hint, &mut found);
    let asins = found.iter().filter(|one| one.kind == "asin");
    let asins: Vec<String> = asins.map(|one| one.id.clone()).collect();
    samples(world, query, &asins, &mut found);
    evidence(world, query, &mut found);
    keyword(query, words, hint, &mut found);
    for one in found.iter_mut().filter(|one| Some(one.kind) == hint) {
        one.score = (one.score + HINT).min(1.0);
    }
    // Whoever says what is meant is believed; the order of finding decides between equals.
    let is_meant = |one: &Candidate| Some(one.kind) == hint;
    found.sort_by(|a, b| {
        let by_hint = is_meant(b).cmp(&is_meant(a));
        by_hint.then(b.score.total_cmp(&a.score))
    });
    found
}

/// What should be known of how the marketplace was found.
fn notes(links: &[Link], said: Option<Domain>) -> Vec<&'static str> {
    let mut notes = vec!["This was worked out here; nothing was asked."];
    if links.iter().any(|link| link.domain.is_none()) {
        notes.push("A link leads to a marketplace that Keepa does not cover.");
    }
    let of_links = links.iter().find_map(|link| link.domain);
    if said.is_some() && of_links.is_some_and(|of_link| said != Some(of_link)) {
        notes.push("The marketplace that was said is another one than that of the link.");
    }
    notes
}

/// The words of a query without its links, and the links.
fn read(query: &str) -> (Vec<&str>, Vec<Link>) {
    let mut links = Vec::new();
    let mut words = Vec::new();
    for part in query.split_whitespace() {
        match link::read(part.trim_matches(['<', '>', '(', ')', ',', ';', '"'])) {
            Some(link) => links.push(link),
            None => words.extend(words_of(part)),
        }
    }
    (words, links)
}

/// Runs of letters and digits. Chinese and what is written beside it without a space are words of their own.
fn words_of(text: &str) -> Vec<&str> {
    let script = |letter: char| match letter {
        letter if !letter.is_alphanumeric() => None,
        letter => Some(letter >= '\u{2e80}'),
    };
    let mut words = Vec::new();
    let mut began = None;
    for (at, letter) in text.char_indices() {
        let of = script(letter);
        if let Some((from, before)) = began
            && of != Some(before)
        {
            words.extend(text.get(from..at));
            began = None;
        }
        if let (None, Some(of)) = (began, of) {
            began = Some((at, of));
        }
    }
    words.extend(began.and_then(|(from, _)| text.get(from..)));
    words
}

fn by_link(links: &[Link]) -> Vec<Candidate> {
    let named = |link: &Link| {
        let domain = link.domain;
        let names = link.names.clone().into_iter();
        names.map(move |(kind, id)| Candidate {
            kind,
            id,
            score: score(kind),
            source: "query_link",
            reason: "A link names it.",
            domain,
        })
    };
    links.iter().flat_map(named).collect()
}

/// How definite it is that a word of the right shape is this kind of thing.
fn score(kind: &str) -> f64 {
    match kind {
        "asin" => 0.96,
        "code" => 0.82,
        "category" => 0.78,
        "seller" => 0.74,
        _ => 0.55,
    }
}

/// Words that a category is spoken of with.
const OF_CATEGORIES: [&str; 4] = ["category", "类目", "browse", "node"];

/// What the words look like. What the caller says is meant needs to look like it a little less.
fn by_shape(words: &[&str], hint: Option<&str>, found: &mut Vec<Candidate>) {
    let is_meant = |kind: &str| hint == Some(kind);
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let speaks_of_category = lower
        .iter()
        .any(|word| OF_CATEGORIES.iter().any(|one| word.contains(one)));
    let mut add = |kind: &'static str, id: &str, reason| {
        if !found.iter().any(|one| one.kind == kind && one.id == id) {
            found.push(Candidate {
                kind,
                id: id.to_owned(),
                score: score(kind),
                source: "query_shape",
                reason,
                domain: None,
            });
        }
    };
    for word in words {
        let upper = word.to_ascii_uppercase();
        if is_asin(word) || (is_meant("asin") && is_asin(&upper)) {
            add("asin", &upper, "It has the shape of an ASIN.");
        }
    }
    for word in words {
        if is_number(word, 12..=14) || (is_meant("code") && is_number(word, 8..=14)) {
            add("code", word, "It has the shape of a product code.");
        }
        if (speaks_of_category || is_meant("category")) && is_number(word, CATEGORY_DIGITS) {
            add("category", word, "A number, where a category is spoken of.");
        }
        if is_seller(word) || (is_meant("seller") && has_form_of_seller(word)) {
            add("seller", word, "It has the shape of a seller's id.");
        }
    }
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
/// Words that are no keyword by themselves.
const SMALL: &[&str] = &[
    "a", "about", "an", "and", "asin", "at", "best", "between", "browse", "by", "find", "for",
    "from", "get", "in", "is", "it", "its", "me", "node", "of", "on", "or", "please", "see",
    "show", "that", "the", "these", "this", "to", "vs", "versus", "what", "with", "与", "和",
    "比较", "类目", "对比",
];

/// The words that are left once everything definite is taken out; all of them if nothing is.
fn keyword(query: &str, words: &[&str], hint: Option<&str>, found: &mut Vec<Candidate>) {
    let is_id = |word: &str| {
        let definite = ["asin", "code", "category", "seller"];
        let mut definite = found.iter().filter(|one| definite.contains(&one.kind));
        definite.any(|one| one.id.eq_ignore_ascii_case(word))
    };
    let is_small = |word: &str| {
        let lower = word.to_lowercase();
        SMALL.contains(&lower.as_str()) || KINDS.contains(&lower.as_str())
    };
    let left = words.iter().filter(|word| !is_id(word) && !is_small(word));
    let left: Vec<&str> = left.copied().collect();
    let (id, reason) = if found.is_empty() || (hint == Some("keyword") && left.is_empty()) {
        (query.to_owned(), "Nothing more definite was found in it.")
    } else if left.is_empty() {
        return;
    } else {
        (left.join(" "), "Words beside what is definite.")
    };
    if !found.iter().any(|one| one.kind == "keyword") {
        found.push(Candidate {
            kind: "keyword",
            id,
            score: score("keyword"),
            source: "query",
            reason,
            domain: None,
        });
    }
}

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
                domain: None,
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
            domain: None,
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
        let kinds = |query: &str, hint| -> Vec<&str> {
            let mut found = Vec::new();
            by_shape(&read(query).0, hint, &mut found);
            found.into_iter().map(|one| one.kind).collect()
        };
        let plain = |query| kinds(query, None);
        assert_eq!(
            plain("compare B0D8W1YVBX vs B0F7XPYCSJ in category 172282"),
            ["asin", "asin", "category"]
        );
        assert_eq!(plain("172282"), Vec::<&str>::new());
        assert_eq!(plain("4006381333931"), ["code"]);
        assert_eq!(plain("seller A2L77EE7U53NWQ"), ["seller"]);
        assert_eq!(plain("类目172282"), ["category"]);
        assert_eq!(plain("比较B0D8W1YVBX和B0F7XPYCSJ"), ["asin", "asin"]);
        assert_eq!(plain("coffee grinder"), Vec::<&str>::new());
        assert_eq!(kinds("172282", Some("category")), ["category"]);
        assert_eq!(kinds("b0d8w1yvbx", Some("asin")), ["asin"]);
        assert_eq!(kinds("comparison", Some("asin")), Vec::<&str>::new());
    }

    #[test]
    fn keywords_are_what_is_left() {
        let left = |query: &str| {
            let (words, links) = read(query);
            let mut found = by_link(&links);
            by_shape(&words, None, &mut found);
            keyword(query, &words, None, &mut found);
            let keyword = found.into_iter().find(|one| one.kind == "keyword");
            keyword.map(|one| one.id)
        };
        assert_eq!(
            left("compare B0D8W1YVBX vs B0F7XPYCSJ in category 172282"),
            None
        );
        assert_eq!(
            left("steel kettle B0KETTLE01").as_deref(),
            Some("steel kettle")
        );
        assert_eq!(left("比较B0D8W1YVBX和B0F7XPYCSJ"), None);
        assert_eq!(left("Küche 茶壶B0D8W1YVBX").as_deref(), Some("Küche 茶壶"));
        assert_eq!(left("the best").as_deref(), Some("the best"));
        assert_eq!(left("https://www.amazon.de/dp/B0KETTLE01"), None);
        assert_eq!(
            left("https://www.amazon.de/s?k=kettle").as_deref(),
            Some("kettle")
        );
    }
}
