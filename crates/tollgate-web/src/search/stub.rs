//! Results from the sample pages: for trying things out without a network.

use super::Raw;
use crate::offline;

/// Results for a question, the same each time; their addresses can be read offline too.
pub(super) fn answer(query: &str, most: usize) -> Vec<Raw> {
    let found = offline::find(query).into_iter().take(most);
    let results = found.map(|sample| Raw {
        title: sample.title.clone(),
        url: sample.url.clone(),
        snippet: sample.snippet.clone(),
    });
    results.collect()
}
