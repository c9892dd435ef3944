//! Results that are made up: for trying things out without a network.

use super::Raw;

/// Results for a question, the same each time. Their addresses are of a domain that is nobody's.
pub(super) fn answer(query: &str, most: usize) -> Vec<Raw> {
    let word: String = query
        .to_lowercase()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    let result = |number: usize| Raw {
        title: format!("Sample result {number} for {query}"),
        url: format!("https://stub.example/{word}/{number}"),
        snippet: format!(
            "A prepared answer, not a search. Set up a search engine to find pages about {query}."
        ),
    };
    (1..=most).map(result).collect()
}
