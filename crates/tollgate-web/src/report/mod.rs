//! A report from sources: what they say about a question, in their own words.
//!
//! Nothing is written that a source did not write. Every statement is a passage of a source's text, with its place in
//! it, so that anybody can check it; the same sources and question always give the same report.

mod difference;
mod gaps;
mod html;
mod labels;
mod markdown;
mod passage;
mod quantity;
mod rank;

use std::ops::Range;

use reqwest::Url;
use sha2::{Digest, Sha256};

pub use difference::Difference;
pub use gaps::Gap;

use crate::words::is_dense;
use labels::Labels;

/// The most passages one report quotes.
pub const MAX_EVIDENCE: usize = 40;

/// What a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The question.
    pub question: &'a str,
    /// The sources, as they were found.
    pub sources: &'a [Source],
    /// How many passages are quoted at most.
    pub most: usize,
}

/// A source.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The number it is cited by.
    pub number: usize,
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// Its text; passages are places in it.
    pub text: String,
    /// When it was read.
    pub fetched_at: Option<String>,
    /// Whether it was longer than was read.
    pub truncated: bool,
    /// Why it could not be read.
    pub failure: Option<String>,
    /// Bytes of the text that read like instructions; they are not quoted.
    pub suspect: Vec<Range<usize>>,
}

impl Source {
    fn is_read(&self) -> bool {
        self.failure.is_none() && !self.text.trim().is_empty()
    }

    fn site(&self) -> String {
        let url = link(&self.url);
        let host = url.as_ref().and_then(Url::host_str).unwrap_or(&self.url);
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    }
}

/// A passage of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The number it is referred to by, from 1.
    pub number: usize,
    /// The source.
    pub source: usize,
    /// Its words, exactly.
    pub quote: String,
    /// Where it begins in the source's text, in characters.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// How well it answers the question; the best is 1.
    pub score: f64,
    /// Other sources that say much the same.
    pub also: Vec<usize>,
}

/// What became of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceNote {
    /// Its number.
    pub number: usize,
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// When it was read.
    pub fetched_at: Option<String>,
    /// The SHA-256 of its text, if it was read.
    pub digest: Option<String>,
    /// How many characters its text has.
    pub characters: usize,
    /// How many of its passages are quoted.
    pub quoted: usize,
    /// Why it could not be read.
    pub failure: Option<String>,
    /// Whether it was longer than was read.
    pub truncated: bool,
    /// Whether it holds text that reads like instructions.
    pub is_suspect: bool,
}

/// A report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// For programs and people.
    pub markdown: String,
    /// One page with all it needs.
    pub html: String,
    /// The passages, best first.
    pub evidence: Vec<Evidence>,
    /// What became of each source.
    pub sources: Vec<SourceNote>,
    /// Where sources seem to differ.
    pub differences: Vec<Difference>,
    /// What is missing or rests on little.
    pub gaps: Vec<Gap>,
    /// What is missing or rests on little, in sentences.
    pub cautions: Vec<String>,
    /// Whether it rests on too little to be relied on.
    pub is_thin: bool,
}

/// What both kinds of report are written from.
struct Content<'a> {
    question: String,
    evidence: &'a [Evidence],
    sources: &'a [SourceNote],
    differences: &'a [Difference],
    cautions: &'a [String],
    labels: &'a Labels,
}

/// How many passages the summary shows.
const IN_SHORT: usize = 4;

impl Content<'_> {
    fn in_short(&self) -> &[Evidence] {
        &self.evidence[..self.evidence.len().min(IN_SHORT)]
    }

    fn source(&self, number: usize) -> Option<&SourceNote> {
        self.sources.iter().find(|source| source.number == number)
    }
}

impl SourceNote {
    /// The name it goes by: its title, or its address.
    fn name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.url)
    }
}

/// An address, if it is one of the web.
fn link(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// Writes a report.
pub fn report(request: Request<'_>) -> Report {
    let question = request.question.split_whitespace().collect::<Vec<_>>();
    let question = question.join(" ");
    let ranked = rank::rank(&question, request.sources);
    let evidence = rank::select(&ranked, request.most.clamp(1, MAX_EVIDENCE));
    let differences = difference::find(&ranked);
    let sources: Vec<SourceNote> = request
        .sources
        .iter()
        .map(|source| noted(source, &evidence))
        .collect();
    let gaps = gaps::find(&ranked, request.sources, &evidence);
    let labels = labels::of(question.chars().any(is_dense));
    let cautions: Vec<String> = gaps.iter().map(|gap| labels.gap(gap)).collect();
    let content = Content {
        question,
        evidence: &evidence,
        sources: &sources,
        differences: &differences,
        cautions: &cautions,
        labels,
    };
    let (markdown, html) = (markdown::write(&content), html::write(&content));
    Report {
        markdown,
        html,
        is_thin: gaps.iter().any(Gap::is_thin),
        evidence,
        sources,
        differences,
        gaps,
        cautions,
    }
}

fn noted(source: &Source, evidence: &[Evidence]) -> SourceNote {
    let quoted = evidence.iter().filter(|one| one.source == source.number);
    let title = source.title.as_deref().map(str::trim);
    SourceNote {
        number: source.number,
        // As browsers send it, so that a look-alike shows what it is.
        url: link(&source.url).map_or_else(|| source.url.clone(), String::from),
        title: title.filter(|text| !text.is_empty()).map(str::to_owned),
        fetched_at: source.fetched_at.clone(),
        digest: source.is_read().then(|| digest(&source.text)),
        characters: source.text.chars().count(),
        quoted: quoted.count(),
        failure: source.failure.clone().or_else(|| {
            let is_empty = source.text.trim().is_empty();
            is_empty.then(|| "it has no text".to_owned())
        }),
        truncated: source.truncated,
        is_suspect: !source.suspect.is_empty(),
    }
}

/// The SHA-256 of a text, in hexadecimal.
fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
