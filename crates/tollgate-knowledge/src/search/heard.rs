//! Which words of a question other texts have.
//!
//! Most words of most texts are none of the question, and a look at how they begin says so.

use super::Query;
use crate::text::{self, Run, Stems};

/// Hears texts, one after the other, and knows which words of the question were in them.
pub(crate) struct Heard<'q> {
    query: &'q Query,
    stems: Stems,
    folded: String,
    /// For each key of the question.
    has: Vec<bool>,
    has_any: bool,
}

impl<'q> Heard<'q> {
    pub(super) fn new(query: &'q Query) -> Self {
        Self {
            query,
            stems: Stems::new(),
            folded: String::new(),
            has: vec![false; query.keys.len()],
            has_any: false,
        }
    }

    /// Forgets what was heard.
    pub(crate) fn clear(&mut self) {
        self.has.fill(false);
        self.has_any = false;
    }

    /// Hears the words of a text, as far as the question could have them too.
    pub(crate) fn text(&mut self, words: &str) {
        let mut folded = std::mem::take(&mut self.folded);
        text::fold_into(&mut folded, words);
        for run in text::runs(&folded) {
            match run {
                Run::Word(word) => {
                    if self.query.begins.can_begin(word) {
                        self.key(self.stems.key(word));
                    }
                }
                Run::Dense(run) => self.dense(run),
            }
        }
        self.folded = folded;
    }

    fn dense(&mut self, run: &str) {
        let mut characters = run.chars().peekable();
        while let Some(first) = characters.next() {
            if !self.query.begins.can_have(first) {
                continue;
            }
            self.key(text::pair_key(first, None));
            if let Some(&second) = characters.peek() {
                self.key(text::pair_key(first, Some(second)));
            }
        }
    }

    fn key(&mut self, key: u64) {
        if let Ok(at) = self.query.keys.binary_search(&key) {
            self.has[at] = true;
            self.has_any = true;
        }
    }

    /// How many concepts were heard whole.
    pub(crate) fn concepts(&self) -> usize {
        if !self.has_any {
            return 0;
        }
        let has = |key: &u64| {
            let at = self.query.keys.binary_search(key);
            at.is_ok_and(|at| self.has[at])
        };
        let concepts = self.query.concepts().iter();
        concepts.filter(|keys| keys.iter().all(has)).count()
    }
}

/// How the words of a question begin.
#[derive(Default)]
pub(super) struct Beginnings {
    /// The ASCII letters and digits that its words between spaces begin with.
    ascii: u128,
    /// The other ones.
    others: Vec<char>,
    /// Its characters without spaces between them, those of every 64th number together.
    dense: u64,
}

impl Beginnings {
    pub(super) fn of(folded: &str) -> Self {
        let mut begins = Self::default();
        for run in text::runs(folded) {
            match run {
                Run::Word(word) => match word.chars().next() {
                    Some(first) if first.is_ascii() => begins.ascii |= 1 << u32::from(first),
                    first => begins.others.extend(first),
                },
                Run::Dense(run) => {
                    for character in run.chars() {
                        begins.dense |= bit(character);
                    }
                }
            }
        }
        begins
    }

    /// Whether a word can have the stem of one of the question: stemming leaves the beginning.
    fn can_begin(&self, word: &str) -> bool {
        match word.chars().next() {
            Some(first) if first.is_ascii() => self.ascii >> u32::from(first) & 1 == 1,
            Some(first) => self.others.contains(&first),
            None => false,
        }
    }

    /// Whether a character can be one of those without spaces between them.
    fn can_have(&self, character: char) -> bool {
        self.dense & bit(character) != 0
    }
}

fn bit(character: char) -> u64 {
    1 << (u32::from(character) % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left out early could not have been heard.
    #[test]
    fn texts_are_heard_as_if_every_word_were_stemmed() {
        const TEXTS: [&str; 12] = [
            "",
            "How do I invest in clouds, and why?",
            "Investing: cloudy investments",
            "硬件投资",
            "GPU卡和硬件 invested",
            "硬",
            "卡 GPU",
            "Ｃloud é école",
            "École, élan",
            "skies dying only",
            "sky die",
            "カードの投資 2 b",
        ];
        for said in TEXTS {
            let query = Query::new(said);
            let mut heard = Heard::new(&query);
            for words in TEXTS {
                heard.clear();
                heard.text(words);
                let keys = every_key(words);
                let has = |concept: &&Vec<u64>| concept.iter().all(|key| keys.contains(key));
                let wanted = query.concepts().iter().filter(has).count();
                assert_eq!(heard.concepts(), wanted, "{said} / {words}");
            }
        }
    }

    fn every_key(words: &str) -> Vec<u64> {
        let (stems, mut keys) = (Stems::new(), Vec::new());
        for run in text::runs(&text::fold(words)) {
            match run {
                Run::Word(word) => keys.push(stems.key(word)),
                Run::Dense(run) => {
                    keys.extend(text::pairs(run));
                    keys.extend(run.chars().map(|one| text::pair_key(one, None)));
                }
            }
        }
        keys
    }
}
