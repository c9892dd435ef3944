//! Where a question enters.

use std::collections::BTreeMap;

use super::{
    Library, Matched, Offer, Session, StepError, View,
    free::{best, number},
    session::Candidate,
    settle::Walk,
};
use crate::{
    base::{Base, NodeId, Word},
    search::{self, Enough, Fit, Fitting, Hit, Query},
    text::Said,
};

/// How many of the nodes that have some of the words are compared with the question.
const MOST_COMPARED: usize = 64;
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
        let bases: Vec<&Base> = self.bases().iter().map(AsRef::as_ref).collect();
        self.start_among(&bases, query)
    }

    fn start_among(&self, bases: &[&Base], query: &str) -> Result<(Session, View), StepError> {
        let first = *bases.first().ok_or(StepError::NoBase)?;
        let said = Query::new(query);
        let hits = fitting(bases, &said);
        let root = || begin(first, first.root, query, Matched::Root);
        match close(&hits) {
            [] if bases.len() > 1 => {
                let roots: Vec<(&Base, NodeId)> =
                    bases.iter().map(|base| (*base, base.root)).collect();
                // A list of bases alone says less than the beginning of the first one.
                match bases.iter().find(|base| can_ask(base)) {
                    Some(asking) => {
                        let session = choosing(asking, &roots, query, Matched::Root);
                        self.choice(&session, Some(Matched::Root))
                    }
                    None => Ok(root()),
                }
            }
            [] => Ok(root()),
            [(only, fit)] if fit.is_clear() || goes_on(bases[only.base], only.node, query) => {
                Ok(begin(bases[only.base], only.node, query, Matched::Node))
            }
            several => {
                let node = |(hit, fit): &(Hit, Fit)| (bases[hit.base], hit.node, *fit);
                self.offer(several.iter().map(node).collect(), query)
            }
        }
    }

    /// Lets the user choose among nodes that may be meant. Where no base has a sentence for
    /// that, the one that asks something and of whose names the most was said is entered; else
    /// the root's own words ask.
    fn offer(
        &self,
        mut fitting: Vec<(&Base, NodeId, Fit)>,
        query: &str,
    ) -> Result<(Session, View), StepError> {
        let has_sentence = fitting.iter().any(|(base, ..)| can_ask(base));
        if !has_sentence {
            fitting.sort_by(|one, other| other.2.part().total_cmp(&one.2.part()));
            let asks = |(base, node, _): &&(&Base, NodeId, Fit)| goes_on(base, *node, query);
            if let Some((base, node, _)) = fitting.iter().find(asks) {
                return Ok(begin(base, *node, query, Matched::Node));
            }
        }
        let nodes = fitting.iter().map(|(base, node, _)| (*base, *node));
        let mut nodes: Vec<(&Base, NodeId)> = nodes.collect();
        let asking = nodes.iter().find(|(base, _)| can_ask(base));
        let asking = asking.or(nodes.first()).ok_or(StepError::NoBase)?.0;
        if let [(base, node)] = nodes[..]
            && node != base.root
        {
            // One thing to choose from is no choice.
            nodes.push((base, base.root));
        }
        let session = choosing(asking, &nodes, query, Matched::Several);
        self.choice(&session, Some(Matched::Several))
    }

    /// Moves a session that has not chosen its node yet.
    pub(super) fn choose_candidate(
        &self,
        session: &Session,
        chosen: &str,
        input: Option<&str>,
    ) -> Result<(Session, View), StepError> {
        let candidates = &session.candidates;
        let by_id = |id: &str| candidates.iter().find(|one| one.id == id);
        let chosen = chosen.trim();
        if let Some(candidate) = by_id(chosen) {
            return self.enter_candidate(session, candidate);
        }
        let input = input.map(str::trim).filter(|words| !words.is_empty());
        match (Word::of(chosen), input) {
            (Some(Word::MoreInfo), Some(words)) => {
                let (_, view) = self.choice(session, None)?;
                let said = Said::new(words);
                let by_number = number(&said).and_then(|place| candidates.get(place));
                let by_label = || {
                    let mut pairs = view.options.iter().zip(candidates);
                    let same = |offer: &Offer| said.is(&offer.description);
                    pairs.find_map(|(offer, one)| same(offer).then_some(one))
                };
                let meant = || {
                    let asking = self.base_of(session).ok()?;
                    let said = Query::new(words);
                    let (at, part) = best(asking, &said, &view.options, |offer, heard| {
                        heard.text(&offer.description);
                    })?;
                    candidates.get(at).filter(|_| part >= 1.0)
                };
                let outright = by_id(words).or_else(by_label).or(by_number);
                match outright.or_else(meant) {
                    Some(candidate) => self.enter_candidate(session, candidate),
                    // What it was asked in counts on, whatever the files say by now.
                    None => self.start_among(&self.bases_of(session), words),
                }
            }
            (Some(Word::MoreInfo), None) => Err(StepError::NoInput),
            // There is nothing before the choice.
            (Some(Word::Back | Word::Restart | Word::Why), _) => self.choice(session, None),
            (None, _) => Err(StepError::UnknownOption {
                chosen: crate::short(chosen),
                valid: candidates.iter().map(|one| one.id.clone()).collect(),
            }),
        }
    }

    /// The bases there are, each in the version that a session has of it.
    fn bases_of(&self, session: &Session) -> Vec<&Base> {
        let mut bases: Vec<&Base> = self.bases().iter().map(AsRef::as_ref).collect();
        for (id, version) in session.versions() {
            let own = self.version(id, version);
            let Ok(own) = own.map(AsRef::as_ref) else {
                continue;
            };
            match bases.iter_mut().find(|base| base.id == id) {
                Some(base) => *base = own,
                None => bases.push(own),
            }
        }
        bases
    }

    fn enter_candidate(
        &self,
        session: &Session,
        candidate: &Candidate,
    ) -> Result<(Session, View), StepError> {
        let (base, node) = self.place_of(candidate)?;
        let mut walk = Walk::new(base, fresh(base, &session.language));
        walk.session.chosen_from.clone_from(&session.candidates);
        walk.matched = Some(Matched::Option);
        walk.enter(node);
        Ok(walk.done())
    }

    fn place_of(&self, candidate: &Candidate) -> Result<(&Base, NodeId), StepError> {
        let base = self.version(&candidate.base, &candidate.version)?;
        let node = base.node(&candidate.node);
        let node = node.ok_or_else(|| StepError::Gone(candidate.base.clone()))?;
        Ok((base, node))
    }

    /// Shows what is to be chosen from, under the sentence of the base that has one for it.
    pub(super) fn choice(
        &self,
        session: &Session,
        matched: Option<Matched>,
    ) -> Result<(Session, View), StepError> {
        let asking = self.base_of(session)?;
        let language = session.language.as_str();
        let mut options = Vec::new();
        for candidate in &session.candidates {
            let (base, node) = self.place_of(candidate)?;
            // Among bases each goes by its own name, as its beginning does not.
            let is_base = candidate.id == base.id && node == base.root;
            let description = match is_base {
                true => base.title(language).to_owned(),
                false => label(base, node, language),
            };
            options.push(Offer {
                id: candidate.id.clone(),
                description,
            });
        }
        let sentences = &asking.sentences;
        let asks = [sentences.choose, asking.at(asking.root).response];
        let choose = asks.into_iter().find(|phrase| !phrase.is_none());
        let choose = choose.unwrap_or(sentences.fallback);
        let view = View {
            response: asking.say(choose, language).to_owned(),
            current_step: asking.title(language).to_owned(),
            options,
            is_complete: false,
            knowledge_base: asking.id.clone(),
            version: asking.version.clone(),
            matched,
            warning: None,
            path: Vec::new(),
        };
        Ok((session.clone(), view))
    }
}

/// The nodes that a question may be about, best first.
fn fitting(bases: &[&Base], said: &Query) -> Vec<(Hit, Fit)> {
    let mut fitting: Vec<Option<Fitting<'_>>> = bases.iter().map(|_| None).collect();
    let hits = search::search(bases, said, Enough::ENTRY, MOST_COMPARED);
    let fit = |hit: Hit| {
        let base = bases[hit.base];
        let fitting = fitting[hit.base].get_or_insert_with(|| Fitting::new(base, said));
        (hit, fitting.of(&hit))
    };
    search::undominated(hits.into_iter().map(fit).collect())
}

fn close(hits: &[(Hit, Fit)]) -> &[(Hit, Fit)] {
    let Some((best, _)) = hits.first() else {
        return hits;
    };
    let is_far = |(hit, _): &(Hit, Fit)| hit.score < best.score * CLOSE;
    let far = hits.iter().position(is_far).unwrap_or(hits.len());
    &hits[..far.min(MOST_CANDIDATES)]
}

fn fresh(base: &Base, language: &str) -> Session {
    Session {
        base: base.id.clone(),
        version: base.version.clone(),
        language: language.to_owned(),
        node: base.id_of(base.root).to_owned(),
        candidates: Vec::new(),
        chosen_from: Vec::new(),
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

/// Whether a session that enters a node still has something to answer there.
fn goes_on(base: &Base, node: NodeId, query: &str) -> bool {
    !Walk::new(base, fresh(base, base.language_for(query))).ends_at(node)
}

/// Whether a base has a sentence for a choice.
fn can_ask(base: &Base) -> bool {
    !base.sentences.choose.is_none()
}

/// A session that lets the user choose, in the words of one base.
fn choosing(asking: &Base, nodes: &[(&Base, NodeId)], query: &str, matched: Matched) -> Session {
    let mut session = fresh(asking, asking.language_for(query));
    for (from, node) in nodes {
        let own = from.id_of(*node);
        let taken = nodes.iter().filter(|(b, n)| b.id_of(*n) == own).count() > 1;
        let id = match (matched, taken) {
            (Matched::Root, _) => from.id.clone(),
            (_, true) => format!("{}.{own}", from.id),
            (_, false) => own.to_owned(),
        };
        session.candidates.push(Candidate {
            id,
            base: from.id.clone(),
            version: from.version.clone(),
            node: own.to_owned(),
        });
    }
    session
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
