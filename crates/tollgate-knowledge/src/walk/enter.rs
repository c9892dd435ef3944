//! Where a question enters.

use std::collections::BTreeMap;

use super::{Library, Matched, Offer, Session, StepError, View, session::Candidate, settle::Walk};
use crate::{
    base::{Base, NodeId},
    search::{self, Enough, Hit, Query},
};

/// The most candidates to choose from.
const MOST_CANDIDATES: usize = 5;
/// How near to the best one a candidate has to be.
const CLOSE: f32 = 0.85;

impl Library {
    /// Begins a session with a question.
    pub fn start(&self, query: &str) -> Result<(Session, View), StepError> {
        if query.trim().is_empty() {
            return Err(StepError::EmptyQuery);
        }
        let first = self.bases().first().ok_or(StepError::NoBase)?;
        let bases: Vec<&Base> = self.bases().iter().map(AsRef::as_ref).collect();
        let said = Query::new(query);
        let hits = search::search(&bases, &said, Enough::ENTRY, &|_, _| true, MOST_CANDIDATES);
        let root = || begin(first, first.root, query, Matched::Root);
        match close(&hits) {
            [] if bases.len() > 1 => {
                let roots: Vec<(&Base, NodeId)> =
                    bases.iter().map(|base| (*base, base.root)).collect();
                Ok(choose(&roots, query, Matched::Root).unwrap_or_else(root))
            }
            [] => Ok(root()),
            [only] => Ok(begin(bases[only.base], only.node, query, Matched::Node)),
            several @ [best, ..] => {
                let nodes: Vec<(&Base, NodeId)> = several
                    .iter()
                    .map(|hit| (bases[hit.base], hit.node))
                    .collect();
                let best = || begin(bases[best.base], best.node, query, Matched::Node);
                Ok(choose(&nodes, query, Matched::Several).unwrap_or_else(best))
            }
        }
    }

    /// Moves a session that has not chosen its node yet.
    pub(super) fn choose_candidate(
        &self,
        session: &Session,
        chosen: &str,
        input: Option<&str>,
    ) -> Result<(Session, View), StepError> {
        let by_id = |id: &str| session.candidates.iter().find(|one| one.id == id);
        if let Some(candidate) = by_id(chosen) {
            let gone = || StepError::Gone(candidate.base.clone());
            let base = self.base(&candidate.base).ok_or_else(gone)?;
            let node = base.node(&candidate.node).ok_or_else(gone)?;
            let mut walk = Walk::new(base, fresh(base, &session.language));
            walk.matched = Some(Matched::Option);
            walk.enter(node);
            return Ok(walk.done());
        }
        match (chosen, input.map(str::trim)) {
            ("provide_more_info", Some(words)) if !words.is_empty() => {
                if by_id(words).is_some() {
                    return self.choose_candidate(session, words, None);
                }
                self.start(words)
            }
            ("provide_more_info", _) => Err(StepError::NoInput),
            _ => Err(StepError::UnknownOption {
                chosen: crate::short(chosen),
                valid: session
                    .candidates
                    .iter()
                    .map(|one| one.id.clone())
                    .collect(),
            }),
        }
    }
}

fn close(hits: &[Hit]) -> &[Hit] {
    let Some(best) = hits.first() else {
        return hits;
    };
    let far = hits.iter().position(|hit| hit.score < best.score * CLOSE);
    &hits[..far.unwrap_or(hits.len())]
}

fn fresh(base: &Base, language: &str) -> Session {
    Session {
        base: base.id.clone(),
        version: base.version.clone(),
        language: language.to_owned(),
        node: base.id_of(base.root).to_owned(),
        candidates: Vec::new(),
        returns: Vec::new(),
        slots: BTreeMap::new(),
        trail: Vec::new(),
        complete: false,
    }
}

fn begin(base: &Base, node: NodeId, query: &str, matched: Matched) -> (Session, View) {
    let mut walk = Walk::new(base, fresh(base, base.language_for(query)));
    walk.matched = Some(matched);
    walk.enter(node);
    walk.done()
}

/// Lets the user choose, in the words of the first base that has a sentence for it.
fn choose(nodes: &[(&Base, NodeId)], query: &str, matched: Matched) -> Option<(Session, View)> {
    let has_sentence = |(base, _): &&(&Base, NodeId)| !base.sentences.choose.is_none();
    let (base, _) = *nodes.iter().find(has_sentence)?;
    let language = base.language_for(query);
    let mut session = fresh(base, language);
    let mut options = Vec::new();
    for (from, node) in nodes {
        let own = from.id_of(*node);
        let taken = nodes.iter().filter(|(b, n)| b.id_of(*n) == own).count() > 1;
        let (id, description) = if matched == Matched::Root {
            (from.id.clone(), from.title(language).to_owned())
        } else if taken {
            (format!("{}.{own}", from.id), label(from, *node, language))
        } else {
            (own.to_owned(), label(from, *node, language))
        };
        session.candidates.push(Candidate {
            id: id.clone(),
            base: from.id.clone(),
            node: own.to_owned(),
        });
        options.push(Offer { id, description });
    }
    let view = View {
        response: base.say(base.sentences.choose, language).to_owned(),
        current_step: base.title(language).to_owned(),
        options,
        is_complete: false,
        knowledge_base: base.id.clone(),
        version: base.version.clone(),
        matched: Some(matched),
        path: Vec::new(),
    };
    Some((session, view))
}

/// What a node is called in a list: its title, else the start of what it says.
fn label(base: &Base, node: NodeId, language: &str) -> String {
    let found = base.at(node);
    match base.say(found.title, language) {
        "" => {
            let said = base.say(found.response, language);
            crate::short(said.lines().next().unwrap_or(base.id_of(node)))
        }
        title => title.to_owned(),
    }
}
