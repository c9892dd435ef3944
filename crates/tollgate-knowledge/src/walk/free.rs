//! Free text: an option, the answer to what is asked, a node further on, or nothing.

use super::{Matched, settle::Walk};
use crate::{
    base::{Base, Choice, Misfit, NodeId, Phrase, Pick, SlotKind, Target, Text, Value, Word},
    search::{self, Enough, Heard, Query},
    text::Said,
};

/// How much of what was said an option has to account for.
const ENOUGH: f32 = 0.3;
/// The most nodes that fit and are asked whether they lie ahead.
const MOST_AHEAD: usize = 64;
/// The most nodes that are looked at for a way to them.
const MOST_STEPS: usize = 400;

impl Walk<'_> {
    /// Makes the most of the user's words.
    pub(super) fn hear(&mut self, words: &str) {
        let here = self.here();
        let visible = self.visible(here);
        let said = Said::new(words);
        if let Some(choice) = self.named(&visible, &said) {
            self.matched = Some(Matched::Option);
            return self.take(choice, None);
        }
        if let Some((_, slot)) = self.base.asked(self.base.at(here)) {
            let value = match &slot.kind {
                SlotKind::Choice(_) => self.pick(here, &said, words).ok_or(Misfit::Other),
                SlotKind::YesNo { yes, no, .. } => match slot.read(words) {
                    Err(Misfit::Other) if self.is_said(*no, &said) => Ok(Value::Truth(false)),
                    Err(Misfit::Other) if self.is_said(*yes, &said) => Ok(Value::Truth(true)),
                    read => read,
                },
                SlotKind::Text { .. } | SlotKind::Number { .. } | SlotKind::Date { .. } => {
                    slot.read(words)
                }
            };
            match value {
                Ok(value) => {
                    self.matched = Some(Matched::Slot);
                    return self.answer(here, Word::MoreInfo.as_str(), value);
                }
                Err(Misfit::OutOfRange) => return self.does_not_fit(here),
                Err(Misfit::Other) => {}
            }
        }
        if let Some(id) = self.numbered(here, &said)
            && self.choose(here, &id, None)
        {
            self.matched = Some(Matched::Option);
            return;
        }
        let query = Query::new(words);
        if let Some(choice) = self.meant(&visible, &query) {
            self.matched = Some(Matched::Option);
            return self.take(choice, None);
        }
        if let Some(node) = self.ahead(here, &query) {
            self.matched = Some(Matched::Node);
            self.session.leave(Word::MoreInfo.as_str(), words);
            return self.enter(node);
        }
        self.does_not_fit(here);
    }

    /// Whether the words are a phrase, in any language.
    fn is_said(&self, phrase: Phrase, said: &Said<'_>) -> bool {
        let mut spoken = self.base.spoken(phrase).iter();
        spoken.any(|one| said.is(self.base.text(one.text)))
    }

    fn does_not_fit(&mut self, here: NodeId) {
        let asked = self.base.asked(self.base.at(here));
        match asked.map(|(_, slot)| slot.invalid) {
            Some(invalid) if !invalid.is_none() => {
                self.matched = Some(Matched::Nothing);
                self.say(invalid);
            }
            Some(_) | None => self.not_understood(),
        }
    }

    /// The option whose number in the list was said, unless a number is what is asked for.
    fn numbered(&self, here: NodeId, said: &Said<'_>) -> Option<String> {
        let place = number(said)?;
        let asked = self.base.asked(self.base.at(here));
        let has_list = asked.is_none_or(|(_, slot)| {
            matches!(slot.kind, SlotKind::Choice(_) | SlotKind::YesNo { .. })
        });
        let offer = self.offers(here).into_iter().nth(place);
        offer.filter(|_| has_list).map(|offer| offer.id)
    }

    /// The option that is named outright: by id, text or keyword.
    fn named<'c>(&self, visible: &[&'c Choice], said: &Said<'_>) -> Option<&'c Choice> {
        let base = self.base;
        let fits = |choice: &&&Choice| {
            let mut texts = said_by(base, choice.description, choice.words());
            said.is(base.text(choice.id)) || texts.any(|text| said.is(text))
        };
        visible.iter().find(fits).copied()
    }

    /// The one of the answers to a choice that the words have in them.
    fn pick(&self, node: NodeId, said: &Said<'_>, words: &str) -> Option<Value> {
        let (_, slot) = self.base.asked(self.base.at(node))?;
        let SlotKind::Choice(picks) = &slot.kind else {
            return None;
        };
        let base = self.base;
        let is_same = |pick: &Pick| {
            let mut texts = said_by(base, pick.description, &pick.keywords);
            said.is(&pick.id) || texts.any(|text| said.is(text))
        };
        let outright = picks.iter().position(is_same);
        let at = outright.or_else(|| {
            best(&Query::new(words), picks, |pick, heard| {
                heard.text(&pick.id);
                said_by(base, pick.description, &pick.keywords).for_each(|text| heard.text(text));
            })
        })?;
        Some(Value::Text(picks[at].id.clone()))
    }

    /// The option whose words were said, if one stands out.
    fn meant<'c>(&self, visible: &[&'c Choice], query: &Query) -> Option<&'c Choice> {
        let base = self.base;
        let at = best(query, visible, |choice, heard| {
            heard.text(base.text(choice.id));
            said_by(base, choice.description, choice.words()).for_each(|text| heard.text(text));
            if let Target::Node(node) = choice.link.target {
                let node = base.at(node);
                said_by(base, node.title, node.words()).for_each(|text| heard.text(text));
            }
        })?;
        Some(visible[at])
    }

    /// The best node among those that can still be reached.
    fn ahead(&self, here: NodeId, query: &Query) -> Option<NodeId> {
        let enough = match self.base.asked(self.base.at(here)) {
            Some(_) => Enough::INSTEAD,
            None => Enough::ONWARD,
        };
        let ways = self.base.ways();
        let ways_from = self.ways_from(here);
        let mut steps = MOST_STEPS;
        search::first(self.base, query, enough, MOST_AHEAD, |node| {
            let mut leads = |start: NodeId| ways.lead(self.base, start, node, &mut steps);
            (node != here).then(|| match &ways_from {
                None => leads(here),
                Some((open, closed)) => {
                    open.contains(&node)
                        || !closed.contains(&node) && open.iter().any(|it| leads(*it))
                }
            })
        })
    }

    /// Where a step from here can lead now and where only a hidden option leads, if there is
    /// one: words open no way that its author closed.
    fn ways_from(&self, here: NodeId) -> Option<(Vec<NodeId>, Vec<NodeId>)> {
        let (base, facts) = (self.base, self.facts());
        let shows = |choice: &&Choice| choice.when().is_none_or(|when| when.holds(&facts));
        let choices = base.choices(base.at(here)).iter();
        let (open, hidden): (Vec<_>, Vec<_>) = choices.partition(shows);
        if hidden.is_empty() {
            return None;
        }
        let links = open.into_iter().map(|choice| &choice.link);
        let links = links.chain(base.at(here).link());
        let hidden = hidden.into_iter().map(|choice| &choice.link);
        Some((
            links.flat_map(|link| link.nodes(base)).collect(),
            hidden.flat_map(|link| link.nodes(base)).collect(),
        ))
    }
}

/// A phrase in every language, and keywords.
fn said_by<'b>(base: &'b Base, phrase: Phrase, words: &'b [Text]) -> impl Iterator<Item = &'b str> {
    let spoken = base.spoken(phrase).iter();
    let spoken = spoken.map(|one| base.text(one.text));
    spoken.chain(base.keywords(words))
}

/// The place of the one whose texts account for the most of what was said, if it is one.
fn best<T>(query: &Query, all: &[T], texts: impl Fn(&T, &mut Heard<'_>)) -> Option<usize> {
    let mut heard = query.heard();
    let count = |one: &T| {
        heard.clear();
        texts(one, &mut heard);
        heard.concepts()
    };
    let counts: Vec<usize> = all.iter().map(count).collect();
    let most = *counts.iter().max()?;
    let is_only = counts.iter().filter(|count| **count == most).count() == 1;
    let part = most as f32 / query.concepts().len().max(1) as f32;
    let fits = most > 0 && is_only && part >= ENOUGH;
    fits.then(|| counts.iter().position(|count| *count == most))?
}

/// The place in a list that words name by its number, the first being 1.
pub(super) fn number(said: &Said<'_>) -> Option<usize> {
    const HAN: &str = "一二三四五六七八九十";
    let said = said.plain();
    let bare = ["option", "number", "选项", "第"]
        .iter()
        .find_map(|word| said.strip_prefix(word))
        .unwrap_or(said)
        .trim_end_matches(['个', '项']);
    let mut letters = bare.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && let Some(place) = HAN.chars().position(|one| one == letter)
    {
        return Some(place);
    }
    bare.parse::<usize>().ok()?.checked_sub(1)
}
