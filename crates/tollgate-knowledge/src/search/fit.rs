//! How well a node fits a question: whether what it is called was said, or only a part of it.
//!
//! The score of a node tells how much it says about the words of a question; it does not tell
//! that a keyword was said whole. `milk coffee` is about coffee, but whoever asks for a coffee
//! has not asked for it.

use super::{
    Heard, Hit, Query,
    heard::{Share, WORD},
};
use crate::base::{Base, Choice, Phrase, Text};

/// The part of a title, keyword or label that is clear enough.
const CLEAR: f32 = 0.5;
/// The fewest words of an option's label that say by themselves what is meant; `No` or `Other`
/// mean something only below their question.
const LEAST_LABEL: usize = 2;

/// The largest part of any title, keyword or option label of a node that was said.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub(crate) struct Fit {
    part: f32,
    is_whole: bool,
    /// What of the question the names account for that were said whole.
    accounts: u64,
}

impl Fit {
    /// Whether a title, a keyword or a label was said whole.
    pub(crate) fn is_whole(self) -> bool {
        self.is_whole
    }

    /// Whether what was said whole of one node accounts for all that another one has.
    pub(super) fn goes_before(self, own: &Hit, other: &Hit) -> bool {
        self.is_whole
            && match own.base == other.base {
                true => other.has & !self.accounts == 0,
                false => own.covered >= other.covered,
            }
    }

    /// The largest part of a name that was said.
    pub(crate) fn part(self) -> f32 {
        self.part
    }

    /// Whether more than half of one was said.
    pub(crate) fn is_clear(self) -> bool {
        self.part > CLEAR
    }
}

/// Compares the nodes of one base with one question.
pub(crate) struct Fitting<'b> {
    base: &'b Base,
    heard: Heard,
}

impl<'b> Fitting<'b> {
    pub(crate) fn new(base: &'b Base, query: &Query) -> Self {
        Self {
            base,
            heard: query.heard(base),
        }
    }

    /// How well a node fits.
    pub(crate) fn of(&mut self, hit: &Hit) -> Fit {
        let mut fit = Fit::default();
        // What is only mentioned in a text is in no name.
        if !hit.named {
            return fit;
        }
        let (base, node) = (self.base, hit.node);
        let own = base.at(node);
        self.phrase(own.title, 1, &mut fit);
        self.words(own.words(), &mut fit);
        if node == base.root {
            self.phrase(base.sentences.title, 1, &mut fit);
            self.words(&base.keywords, &mut fit);
        }
        for choice in base.index().leads_to(node) {
            let choice: &Choice = &base.choices[choice];
            self.phrase(choice.description, LEAST_LABEL, &mut fit);
            self.words(choice.words(), &mut fit);
        }
        fit
    }

    fn phrase(&mut self, phrase: Phrase, least: usize, fit: &mut Fit) {
        for spoken in self.base.spoken(phrase) {
            self.text(self.base.text(spoken.text), least, fit);
        }
    }

    fn words(&mut self, words: &[Text], fit: &mut Fit) {
        for word in self.base.keywords(words) {
            self.text(word, 1, fit);
        }
    }

    /// A text, and the same without what stands in brackets at its end.
    fn text(&mut self, text: &str, least: usize, fit: &mut Fit) {
        let before = text.split(['(', '（', '[', '［']).next();
        let before = before.filter(|before| before.len() < text.len());
        for text in [Some(text), before].into_iter().flatten() {
            let Share { said, all } = self.heard.share(text);
            #[expect(clippy::cast_precision_loss, reason = "a share need not be exact")]
            let part = said as f32 / all.max(1) as f32;
            fit.part = fit.part.max(part);
            if said == all && said >= least * WORD {
                fit.is_whole = true;
                self.heard.clear();
                self.heard.text(text);
                fit.accounts |= self.heard.which();
            }
        }
    }
}

/// The hits that count: none that was said in part where one that was said whole accounts for
/// the same words of the question.
pub(crate) fn undominated(hits: Vec<(Hit, Fit)>) -> Vec<(Hit, Fit)> {
    let whole = hits.iter().filter(|(_, fit)| fit.is_whole());
    let whole: Vec<(Hit, Fit)> = whole.copied().collect();
    let counts = |(hit, fit): &(Hit, Fit)| {
        let is_behind = |(own, whole): &(Hit, Fit)| whole.goes_before(own, hit);
        fit.is_whole() || !whole.iter().any(is_behind)
    };
    hits.into_iter().filter(counts).collect()
}
