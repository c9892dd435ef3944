//! Which elements answer to words.

use serde::Serialize;

use super::element::Element;

/// How many candidates are named.
const MOST: usize = 5;

/// An element that answers to words.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Its id.
    pub id: String,
    /// Its name.
    pub label: String,
    /// What it is.
    pub r#type: &'static str,
    /// How well it answers, from 0 to 1.
    pub score: f64,
    /// Why it answers.
    pub match_reason: &'static str,
}

/// Words for kinds of elements, in the languages our users write.
const ALIASES: &[(&str, &[&str])] = &[
    ("搜索框", &["searchbox", "textbox"]),
    ("search box", &["searchbox", "textbox"]),
    ("search field", &["searchbox", "textbox"]),
    ("输入框", &["textbox", "searchbox"]),
    ("文本框", &["textbox"]),
    ("text field", &["textbox"]),
    ("input", &["textbox", "searchbox"]),
    ("按钮", &["button"]),
    ("链接", &["link"]),
    ("下拉", &["combobox"]),
    ("dropdown", &["combobox"]),
    ("复选框", &["checkbox"]),
    ("单选", &["radio"]),
    ("菜单", &["menuitem"]),
    ("标签页", &["tab"]),
    ("上传", &["file"]),
    ("upload", &["file"]),
];

/// The elements that answer best to a query.
pub fn find(elements: &[Element], query: &str) -> Vec<Candidate> {
    let query = normal(query);
    if query.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(f64, Candidate)> = elements
        .iter()
        .filter_map(|element| {
            let (points, match_reason) = score(element, &query)?;
            // What cannot be seen or used answers a little less.
            let is_usable = element.state.visible && element.state.enabled;
            let part = if is_usable { 1.0 } else { 0.9 };
            let candidate = Candidate {
                id: element.id.clone(),
                label: element.label.clone(),
                r#type: element.r#type,
                score: (points.min(1.0) * part * 100.0).round() / 100.0,
                match_reason,
            };
            Some((points * part, candidate))
        })
        .collect();
    // Several reasons together count for more than is shown: a score ends at 1.
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.truncate(MOST);
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

fn score(element: &Element, query: &str) -> Option<(f64, &'static str)> {
    let id = element.id.to_lowercase();
    if id == query.replace(' ', "_") || id == query {
        return Some((f64::INFINITY, "exact_id_match"));
    }
    let label = normal(&element.label);
    let mut score = 0.0;
    let mut reason = None;
    let mut add = |points: f64, why: &'static str| {
        score += points;
        reason.get_or_insert(why);
    };
    if label == query {
        add(0.9, "exact_label_match");
    } else if label.contains(query) {
        add(0.6, "label_contains");
    }
    if id.contains(&query.replace(' ', "_")) {
        add(0.8, "id_contains");
    }
    if !label.contains(query) {
        if label.chars().count() > 2 && query.contains(&label) {
            add(0.4, "partial_match");
        } else {
            let shared = shared_words(&label, query);
            if shared > 0.0 {
                add(0.35 * shared, "partial_match");
            }
        }
    }
    if element.r#type.contains(query) || query.contains(element.r#type) {
        add(0.3, "partial_match");
    }
    let is_alias =
        |(word, types): &(&str, &[&str])| query.contains(word) && types.contains(&element.r#type);
    if ALIASES.iter().any(is_alias) {
        add(0.5, "partial_match");
    }
    reason.map(|reason| (score, reason))
}

/// The part of the query's words that a label has.
fn shared_words(label: &str, query: &str) -> f64 {
    let words: Vec<&str> = query
        .split(' ')
        .filter(|word| word.chars().count() > 1)
        .collect();
    let shared = words
        .iter()
        .filter(|word| label.split(' ').any(|it| it == **word))
        .count();
    if words.is_empty() {
        0.0
    } else {
        shared as f64 / words.len() as f64
    }
}

fn normal(text: &str) -> String {
    text.to_lowercase()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::element::{Bounds, State};

    fn element(r#type: &'static str, label: &str, node: i64) -> Element {
        Element {
            id: crate::page::element::id("x", label, None, node),
            r#type,
            label: label.to_owned(),
            actions: &[],
            state: State {
                visible: true,
                enabled: true,
                focused: false,
                checked: None,
                value: None,
            },
            region: "main",
            bounds: Bounds::default(),
            session: String::new(),
            node,
        }
    }

    #[test]
    fn the_best_answer_comes_first() {
        let all = [
            element("link", "Help", 1),
            element("button", "Add to cart", 2),
            element("button", "Add", 3),
            element("searchbox", "Search products", 4),
        ];
        let best = |query: &str| find(&all, query).first().map(|it| it.label.clone());
        assert_eq!(best("add").as_deref(), Some("Add"));
        assert_eq!(best("add to cart button").as_deref(), Some("Add to cart"));
        assert_eq!(best("搜索框").as_deref(), Some("Search products"));
        assert_eq!(best("x_Help_1").as_deref(), Some("Help"));
        assert_eq!(best("zzz"), None);
        let found = find(&all, "x_sear");
        assert_eq!(
            (found[0].score, found[0].match_reason),
            (0.8, "id_contains")
        );
        let found = find(&all, "products");
        assert_eq!(
            (found[0].score, found[0].match_reason),
            (1.0, "label_contains")
        );
        assert_eq!(best("  "), None);
    }
}
