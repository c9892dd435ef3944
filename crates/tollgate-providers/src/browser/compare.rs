//! What differs between pages that were read: titles, numbers of elements, first sections.
//!
//! The first page that could be read is the one the others are compared with. Texts are the
//! same if only letter case and space differ; what was redacted by the same rule is the same.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tollgate_core::{CallContext, ProviderError, toolset::bounds};
use tollgate_sanitize::placeholder::without_ids;

use super::desk::Desk;

/// How many sections are compared if nobody says how many.
const SECTIONS: usize = 3;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct CompareArgs {
    /// What was read of each page.
    #[schemars(length(min = 1, max = 10))]
    pages: Vec<Seen>,
    /// What is compared; all if unset.
    #[serde(default)]
    #[schemars(length(max = bounds::ITEMS))]
    fields: Option<Vec<Field>>,
    /// How many sections, 3 if unset.
    #[serde(default)]
    #[schemars(range(min = 1, max = 20))]
    top_sections: Option<usize>,
    /// How far numbers may be apart and still be the same.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    numeric_tolerance: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Seen {
    #[schemars(length(max = bounds::URL))]
    url: String,
    #[serde(default)]
    #[schemars(length(max = bounds::TITLE))]
    title: Option<String>,
    #[serde(default)]
    element_count: Option<u64>,
    #[serde(default)]
    #[schemars(length(max = bounds::ITEMS))]
    sections: Option<Vec<Text>>,
    #[serde(default = "yes")]
    success: bool,
    #[serde(default)]
    skipped: bool,
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    error: Option<Value>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    #[schemars(length(max = bounds::TEXT))]
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Field {
    Title,
    ElementCount,
    TopSections,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Compared {
    snapshots: Vec<Snapshot>,
    /// Only what differs.
    diffs: Vec<Diff>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Snapshot {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    element_count: Option<u64>,
    top_sections: Vec<String>,
    success: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    skipped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Diff {
    field: Field,
    /// Always false.
    same: bool,
    /// By address; a second page of the same address has ` (2)` behind it.
    values: Map<String, Value>,
    /// For numbers: how far they are apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<u64>,
    /// For sections: which differ, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_positions: Option<Vec<usize>>,
}

pub(super) async fn compare_pages(
    _: Arc<Desk>,
    args: CompareArgs,
    _: CallContext,
) -> Result<Compared, ProviderError> {
    let most = args.top_sections.unwrap_or(SECTIONS);
    let fields = args
        .fields
        .unwrap_or_else(|| vec![Field::Title, Field::ElementCount, Field::TopSections]);
    let snapshots: Vec<Snapshot> = args.pages.into_iter().map(|it| it.shown(most)).collect();
    let good: Vec<&Snapshot> = snapshots.iter().filter(|it| it.success).collect();
    let diffs = match good.as_slice() {
        [] | [_] => Vec::new(),
        pages => fields
            .into_iter()
            .filter_map(|field| diff(field, pages, args.numeric_tolerance))
            .collect(),
    };
    Ok(Compared { snapshots, diffs })
}

impl Seen {
    fn shown(self, most: usize) -> Snapshot {
        let sections = self.sections.unwrap_or_default();
        Snapshot {
            url: self.url,
            title: self.title,
            element_count: self.element_count,
            top_sections: sections.into_iter().take(most).map(|it| it.text).collect(),
            success: self.success,
            skipped: self.skipped,
            error: self.error,
        }
    }
}

/// How a field differs; nothing if it does not.
fn diff(field: Field, pages: &[&Snapshot], tolerance: f64) -> Option<Diff> {
    let (first, others) = pages.split_first()?;
    let (mut delta, mut changed_positions) = (None, None);
    match field {
        Field::Title => {
            let title = |page: &Snapshot| page.title.as_deref().map(plain);
            if others.iter().all(|page| title(page) == title(first)) {
                return None;
            }
        }
        Field::ElementCount => {
            let counts = || pages.iter().filter_map(|page| page.element_count);
            let apart = counts().max()? - counts().min()?;
            if apart as f64 <= tolerance {
                return None;
            }
            delta = Some(apart);
        }
        Field::TopSections => {
            let at = |page: &Snapshot, at: usize| page.top_sections.get(at).map(|it| plain(it));
            let longest = pages.iter().map(|it| it.top_sections.len()).max()?;
            let changed: Vec<usize> = (0..longest)
                .filter(|&place| others.iter().any(|it| at(it, place) != at(first, place)))
                .map(|place| place + 1)
                .collect();
            if changed.is_empty() {
                return None;
            }
            changed_positions = Some(changed);
        }
    }
    Some(Diff {
        field,
        same: false,
        values: values(field, pages),
        delta,
        changed_positions,
    })
}

fn values(field: Field, pages: &[&Snapshot]) -> Map<String, Value> {
    let mut values = Map::new();
    for page in pages {
        let value = match field {
            Field::Title => json!(page.title),
            Field::ElementCount => json!(page.element_count),
            Field::TopSections => json!(page.top_sections),
        };
        let mut name = page.url.clone();
        let mut number = 1;
        while values.contains_key(&name) {
            number += 1;
            name = format!("{} ({number})", page.url);
        }
        values.insert(name, value);
    }
    values
}

/// Without letter case, superfluous space and the ids of placeholders: equal values of two pages have two ids.
fn plain(text: &str) -> String {
    let text = without_ids(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str, title: &str, count: u64, sections: &[&str]) -> Snapshot {
        Snapshot {
            url: url.to_owned(),
            title: Some(title.to_owned()),
            element_count: Some(count),
            top_sections: sections.iter().map(|&it| it.to_owned()).collect(),
            success: true,
            skipped: false,
            error: None,
        }
    }

    #[test]
    fn only_what_differs_is_named() {
        let one = page("a", "The  Shop", 10, &["Lamps", "From 5"]);
        let two = page("b", "the shop ", 13, &["lamps", "From 6", "New"]);
        assert!(diff(Field::Title, &[&one, &two], 0.0).is_none());
        assert!(diff(Field::ElementCount, &[&one, &two], 3.0).is_none());
        let count = diff(Field::ElementCount, &[&one, &two], 2.5).unwrap();
        assert_eq!((count.delta, &count.values["b"]), (Some(3), &json!(13)));
        let sections = diff(Field::TopSections, &[&one, &two], 0.0).unwrap();
        assert_eq!(sections.changed_positions, Some(vec![2, 3]));
        assert_eq!(sections.values["a"], json!(["Lamps", "From 5"]));
    }

    #[test]
    fn what_was_redacted_by_the_same_rule_is_no_difference() {
        let one = page("a", "Kim [REDACTED:email#aaaaaaaaaaaa]", 1, &[]);
        let two = page("b", "Kim [REDACTED:email#bbbbbbbbbbbb]", 1, &[]);
        let other = page("c", "Kim [REDACTED:phone#bbbbbbbbbbbb]", 1, &[]);
        assert!(diff(Field::Title, &[&one, &two], 0.0).is_none());
        assert!(diff(Field::Title, &[&one, &other], 0.0).is_some());
    }

    #[test]
    fn the_same_address_twice_is_two_pages() {
        let (one, two) = (page("a", "x", 1, &[]), page("a", "y", 1, &[]));
        let title = diff(Field::Title, &[&one, &two], 0.0).unwrap();
        assert_eq!(json!(title.values), json!({"a": "x", "a (2)": "y"}));
    }
}
