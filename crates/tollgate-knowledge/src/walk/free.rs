//! Free text: an option, the answer to what is asked, a node further on, or nothing.

use super::{Matched, settle::Walk};
use crate::{
    base::{
        Ahead, Base, Choice, Misfit, NodeId, Phrase, Pick, SlotKind, Target, Text, Value, Word,
    },
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
        let listed = self.listed(here);
        let is_named = |(word, phrase): &&(Word, Phrase)| {
            said.is(word.as_str()) || self.is_said(*phrase, &said)
        };
        if let Some((word, _)) = listed.iter().find(is_named) {
            return self.obey(here, *word);
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
                    return self.answer(here, Word::MoreInfo.as_str(), value, words);
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
        let meant = self.meant(&visible, &query);
        // An author's option that accounts for all of it goes first, as an author's id does.
        if meant.is_none_or(|(_, part)| part < 1.0)
            && let Some(word) = self.meant_word(&listed, &query)
        {
            return self.obey(here, word);
        }
        if let Some((choice, _)) = meant {
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

    /// The words that always work and are listed here; that one can say more needs no saying.
    fn listed(&self, here: NodeId) -> Vec<(Word, Phrase)> {
        let offers = self.base.sentences.offer;
        let listed = Word::ALL.into_iter().zip(offers);
        let listed = listed.filter(|(word, phrase)| {
            let is_said = *word != Word::MoreInfo && !phrase.is_none();
            is_said && self.makes_sense(*word, here)
        });
        listed.collect()
    }

    /// Does what a word that always works stands for.
    fn obey(&mut self, here: NodeId, word: Word) {
        self.matched = Some(Matched::Option);
        self.choose(here, word.as_str(), None);
    }

    /// The listed word that everything that was said is about: to lose one's place, a part of
    /// it is not enough.
    fn meant_word(&self, listed: &[(Word, Phrase)], query: &Query) -> Option<Word> {
        let mut heard = query.heard(self.base);
        let mut fits = listed.iter().filter(|(_, phrase)| {
            heard.clear();
            said_by(self.base, *phrase, &[]).for_each(|text| heard.text(text));
            heard.concepts() > 0 && heard.concepts() >= heard.total()
        });
        match (fits.next(), fits.next()) {
            (Some((word, _)), None) => Some(*word),
            (_, _) => None,
        }
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
            let (at, _) = best(base, &Query::new(words), picks, |pick, heard| {
                heard.text(&pick.id);
                said_by(base, pick.description, &pick.keywords).for_each(|text| heard.text(text));
            })?;
            Some(at)
        })?;
        Some(Value::Text(picks[at].id.clone()))
    }

    /// The option whose words were said, if one stands out, and the part they are of all words.
    fn meant<'c>(&self, visible: &[&'c Choice], query: &Query) -> Option<(&'c Choice, f32)> {
        let base = self.base;
        let (at, part) = best(base, query, visible, |choice, heard| {
            heard.text(base.text(choice.id));
            said_by(base, choice.description, choice.words()).for_each(|text| heard.text(text));
            if let Target::Node(node) = choice.link.target {
                let node = base.at(node);
                said_by(base, node.title, node.words()).for_each(|text| heard.text(text));
            }
        })?;
        Some((visible[at], part))
    }

    /// The best node among those that can still be reached; one where the session would end
    /// only if it is clearly meant.
    fn ahead(&self, here: NodeId, query: &Query) -> Option<NodeId> {
        let enough = match self.base.asked(self.base.at(here)) {
            Some(_) => Enough::INSTEAD,
            None => Enough::ONWARD,
        };
        let mut ahead = Ahead::new(self.base, here, MOST_STEPS);
        search::first(self.base, query, enough, MOST_AHEAD, |node, fit| {
            let may_enter = || fit.is_clear() || !self.ends_at(node);
            (node != here).then(|| may_enter() && ahead.leads_to(node, &self.facts()))
        })
    }
}

/// A phrase in every language, and keywords.
fn said_by<'b>(base: &'b Base, phrase: Phrase, words: &'b [Text]) -> impl Iterator<Item = &'b str> {
    let spoken = base.spoken(phrase).iter();
    let spoken = spoken.map(|one| base.text(one.text));
    spoken.chain(base.keywords(words))
}

/// The place of the one whose texts account for the most of what was said, if it is one, and
/// how much that is.
pub(super) fn best<T>(
    base: &Base,
    query: &Query,
    all: &[T],
    texts: impl Fn(&T, &mut Heard),
) -> Option<(usize, f32)> {
    let mut heard = query.heard(base);
    let count = |one: &T| {
        heard.clear();
        texts(one, &mut heard);
        heard.concepts()
    };
    let counts: Vec<usize> = all.iter().map(count).collect();
    let most = *counts.iter().max()?;
    let is_only = counts.iter().filter(|count| **count == most).count() == 1;
    let part = most as f32 / heard.total().max(1) as f32;
    let fits = most > 0 && is_only && part >= ENOUGH;
    let place = counts.iter().position(|count| *count == most)?;
    fits.then_some((place, part))
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
