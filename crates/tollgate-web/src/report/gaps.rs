//! What a report is silent about, or says on little.

use std::collections::{BTreeSet, HashSet};

use super::{Evidence, Source, rank::Ranked};
use crate::offline::OFFLINE_HOST;

/// Something that is missing or rests on little.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gap {
    /// No source says anything about the question.
    Nothing,
    /// All of it comes from one site.
    OneSite(String),
    /// Words of the question that no source has.
    Unanswered(Vec<String>),
    /// Passages that only one source has.
    SaidOnce {
        /// How many.
        once: usize,
        /// Of how many.
        all: usize,
    },
    /// Sources that could not be read.
    NotRead(Vec<usize>),
    /// Sources that were read and say nothing of it.
    Silent(Vec<usize>),
    /// Sources of which only the beginning was read.
    Cut(Vec<usize>),
    /// Sources with text that reads like instructions, which is not quoted.
    Suspect(Vec<usize>),
    /// Sources that are sample pages of ours.
    Sample(Vec<usize>),
}

impl Gap {
    /// Its name for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "no_evidence",
            Self::OneSite(_) => "one_site",
            Self::Unanswered(_) => "unanswered",
            Self::SaidOnce { .. } => "said_once",
            Self::NotRead(_) => "not_read",
            Self::Silent(_) => "silent",
            Self::Cut(_) => "cut",
            Self::Suspect(_) => "suspect",
            Self::Sample(_) => "sample",
        }
    }

    /// Whether a report with it rests on too little.
    pub const fn is_thin(&self) -> bool {
        match self {
            Self::Nothing | Self::OneSite(_) | Self::Unanswered(_) => true,
            Self::SaidOnce { .. }
            | Self::NotRead(_)
            | Self::Silent(_)
            | Self::Cut(_)
            | Self::Suspect(_)
            | Self::Sample(_) => false,
        }
    }
}

pub(super) fn find(ranked: &Ranked<'_>, sources: &[Source], evidence: &[Evidence]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let numbers = |is: &dyn Fn(&Source) -> bool| -> Vec<usize> {
        let fitting = sources.iter().filter(|source| is(source));
        fitting.map(|source| source.number).collect()
    };
    let cited: HashSet<usize> = evidence.iter().map(|one| one.source).collect();
    let sites: BTreeSet<String> = sources
        .iter()
        .filter(|source| cited.contains(&source.number))
        .map(Source::site)
        .collect();
    match (sites.len(), sites.first()) {
        (0, _) => gaps.push(Gap::Nothing),
        (1, Some(site)) => gaps.push(Gap::OneSite(site.clone())),
        _ => {}
    }
    let mut seen = HashSet::new();
    let missing = ranked
        .question
        .iter()
        .filter(|word| !ranked.known.contains(&word.term) && seen.insert(word.term.as_str()));
    let missing: Vec<String> = missing.map(|word| word.term.clone()).collect();
    if !missing.is_empty() && !evidence.is_empty() {
        gaps.push(Gap::Unanswered(missing));
    }
    let once = evidence.iter().filter(|one| one.also.is_empty()).count();
    if once > 0 {
        let all = evidence.len();
        gaps.push(Gap::SaidOnce { once, all });
    }
    let lists = [
        Gap::NotRead(numbers(&|source| !source.is_read())),
        Gap::Silent(numbers(&|source| {
            let speaks =
                |passage: &super::rank::Passage<'_>| passage.source.number == source.number;
            source.is_read() && !ranked.passages.iter().any(speaks)
        })),
        Gap::Cut(numbers(&|source| source.is_read() && source.truncated)),
        Gap::Suspect(numbers(&|source| !source.suspect.is_empty())),
        Gap::Sample(numbers(&|source| {
            source.is_read() && source.site().ends_with(OFFLINE_HOST)
        })),
    ];
    gaps.extend(lists.into_iter().filter(|gap| match gap {
        Gap::NotRead(list)
        | Gap::Silent(list)
        | Gap::Cut(list)
        | Gap::Suspect(list)
        | Gap::Sample(list) => !list.is_empty(),
        Gap::Nothing | Gap::OneSite(_) | Gap::Unanswered(_) | Gap::SaidOnce { .. } => true,
    }));
    gaps
}
