//! The ranked index behind `tools.search`: finds the few tools of a large catalogue that a request is about, in English
//! and Chinese. It holds postings only (no model, no dictionary of the language), is built once per catalogue and never
//! changes afterwards, so any number of callers can search it at once.

mod action;
mod argument;
mod build;
mod corpus;
mod english;
mod lexicon;
mod nearest;
mod postings;
mod query;
mod question;
mod rank;
mod spelling;
mod text;
mod vocabulary;
mod weights;

#[cfg(test)]
mod tests;

pub use corpus::documents_from_corpus;
pub use weights::Weights;

use action::Action;
use postings::Postings;
use spelling::Spelling;
use vocabulary::Vocabulary;

/// What the index knows about one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    pub name: String,
    pub title: String,
    pub description: String,
    /// Names and descriptions of the parameters.
    pub parameters: Vec<(String, String)>,
    /// The toolsets the tool belongs to.
    pub groups: Vec<String>,
    pub provider: String,
    pub provider_description: String,
    /// Whether the user added its provider: a server of theirs comes before our own pack that does the same.
    pub is_users: bool,
}

/// One catalogue, ready to be searched.
#[derive(Debug)]
pub struct Index {
    weights: Weights,
    vocabulary: Vocabulary,
    tools: Postings,
    spelling: Spelling,
    providers: Postings,
    /// The provider of each tool.
    provider_of: Vec<u32>,
    /// How much each tool's name says in all, to tell a full match from a partial one.
    name_rarity: Vec<f32>,
    names: Vec<Box<str>>,
    /// Whether each tool reads or acts.
    actions: Vec<Action>,
    /// The tools whose provider the user added, each with one of ours of the same name.
    users: Vec<(usize, Option<usize>)>,
}

/// One tool that answers a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its position among the documents the index was built from.
    pub document: usize,
    /// Comparable within one answer only.
    pub score: f32,
}

impl Index {
    /// Reads a catalogue; hits refer to `documents` by position.
    pub fn build(documents: &[Document]) -> Self {
        Self::build_with(documents, Weights::default())
    }

    /// The tools that answer `query` best, best first; none where nothing matches.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        rank::search(self, query, limit)
    }

    /// The tools whose names are most like `name`, for "unknown tool" errors; best first.
    pub fn nearest_names(&self, name: &str, limit: usize) -> Vec<usize> {
        nearest::nearest(&self.names, name, limit)
    }
}
