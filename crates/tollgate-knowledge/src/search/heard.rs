//! Which words of a question other texts have.
//!
//! Most words of most texts are none of the question, and a look at how they begin says so.

use crate::text::{self, Run, Stems};

/// How much a word between spaces counts; a character without spaces counts as one.
pub(super) const WORD: usize = 2;

/// How much of a text was said, of how much.
pub(super) struct Share {
    pub(super) said: usize,
    pub(super) all: usize,
}

/// Hears texts, one after the other, and knows which concepts of the question were in them.
pub(crate) struct Heard {
    /// How many concepts the question itself has.
    total: usize,
    /// Ways to say each concept, each a list of keys that belong together.
    concepts: Vec<Vec<Vec<u64>>>,
    /// All keys of them, in order.
    keys: Vec<u64>,
    begins: Beginnings,
    stems: Stems,
    folded: String,
    /// For each key.
    has: Vec<bool>,
    has_any: bool,
}

impl Heard {
    pub(super) fn new(total: usize, concepts: Vec<Vec<Vec<u64>>>, begins: Beginnings) -> Self {
        let mut keys: Vec<u64> = concepts.iter().flatten().flatten().copied().collect();
        keys.sort_unstable();
        keys.dedup();
        Self {
            has: vec![false; keys.len()],
            total,
            concepts,
            keys,
            begins,
            stems: Stems::new(),
            folded: String::new(),
            has_any: false,
        }
    }

    /// How many concepts the question has in its own words; other ways to say them are no
    /// more of them.
    pub(crate) fn total(&self) -> usize {
        self.total
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
                    if self.begins.can_begin(word) {
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
            if !self.begins.can_have(first) {
                continue;
            }
            self.key(text::pair_key(first, None));
            if let Some(&second) = characters.peek() {
                self.key(text::pair_key(first, Some(second)));
            }
        }
    }

    /// The part of a text that was said, by its words that say something; a word of a script
    /// without spaces counts by its characters.
    pub(super) fn share(&mut self, words: &str) -> Share {
        let mut folded = std::mem::take(&mut self.folded);
        text::fold_into(&mut folded, words);
        let (mut said, mut all) = (0_usize, 0_usize);
        for run in text::runs(&folded) {
            match run {
                Run::Word(word) if text::is_empty_word(word) => {}
                Run::Word(word) => {
                    let is_said = self.begins.can_begin(word) && self.has(self.stems.key(word));
                    said += if is_said { WORD } else { 0 };
                    all += WORD;
                }
                Run::Dense(run) => {
                    let (some, of) = self.dense_share(run);
                    said += some;
                    all += of;
                }
            }
        }
        self.folded = folded;
        Share { said, all }
    }

    /// How many characters of a stretch were said, and how many say something.
    fn dense_share(&self, run: &str) -> (usize, usize) {
        let characters: Vec<char> = run.chars().collect();
        let mut said = vec![false; characters.len()];
        for (at, &first) in characters.iter().enumerate() {
            if !self.begins.can_have(first) {
                continue;
            }
            said[at] |= self.has(text::pair_key(first, None));
            let second = characters.get(at + 1).copied();
            if second.is_some() && self.has(text::pair_key(first, second)) {
                said[at] = true;
                said[at + 1] = true;
            }
        }
        let count = said.iter().filter(|is_said| **is_said).count();
        if count == 0 || count == said.len() {
            return (count, said.len());
        }
        let (mut at, mut all) = (0, 0);
        for word in text::words(run) {
            let length = word.chars().count();
            let is_silent = said[at..at + length].iter().all(|is_said| !is_said);
            all += match is_silent && text::is_empty_word(word) {
                true => 0,
                false => length,
            };
            at += length;
        }
        (count, all)
    }

    fn has(&self, key: u64) -> bool {
        self.keys.binary_search(&key).is_ok()
    }

    fn key(&mut self, key: u64) {
        if let Ok(at) = self.keys.binary_search(&key) {
            self.has[at] = true;
            self.has_any = true;
        }
    }

    /// How many concepts were heard whole.
    pub(crate) fn concepts(&self) -> usize {
        self.whole().count()
    }

    /// Which concepts were heard whole, a bit for each in the order of the question.
    pub(super) fn which(&self) -> u64 {
        self.whole().fold(0, |bits, at| bits | super::bit(at))
    }

    /// The places of the concepts that were heard whole.
    fn whole(&self) -> impl Iterator<Item = usize> {
        let has = move |key: &u64| {
            let at = self.keys.binary_search(key);
            at.is_ok_and(|at| self.has[at])
        };
        let is_heard = move |ways: &Vec<Vec<u64>>| {
            self.has_any && ways.iter().any(|keys| keys.iter().all(has))
        };
        let all = self.concepts.iter().enumerate();
        all.filter(move |(_, ways)| is_heard(ways))
            .map(|(at, _)| at)
    }
}

/// How the words of a question begin.
#[derive(Clone, Default)]
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
        begins.add(folded);
        begins
    }

    /// Takes in the words of one more text.
    pub(super) fn add(&mut self, folded: &str) {
        for run in text::runs(folded) {
            match run {
                Run::Word(word) => match word.chars().next() {
                    Some(first) if first.is_ascii() => self.ascii |= 1 << u32::from(first),
                    first => self.others.extend(first),
                },
                Run::Dense(run) => {
                    for character in run.chars() {
                        self.dense |= bit(character);
                    }
                }
            }
        }
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
    use super::{super::Query, *};
    use crate::{Format, load_text};

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
        let base = load_text("k", r#"{"nodes": {"root": {}}}"#, Format::Json).unwrap();
        for said in TEXTS {
            let query = Query::new(said);
            let mut heard = query.heard(&base);
            for words in TEXTS {
                heard.clear();
                heard.text(words);
                let keys = every_key(words);
                let has = |ways: &&Vec<Vec<u64>>| ways[0].iter().all(|key| keys.contains(key));
                let wanted = heard.concepts.iter().filter(has).count();
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
