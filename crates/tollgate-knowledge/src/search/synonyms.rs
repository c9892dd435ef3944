//! Words that mean the same, found by how they begin: a large base may have very many, and
//! a question has only a few words.

use crate::{
    base::hash,
    text::{self, Run},
};

/// The beginning of what begins with a sign; every question could have it.
const ANY: u64 = 0;

/// Groups of words that mean the same, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Synonyms {
    groups: Vec<Vec<String>>,
    /// How the words of each group begin, in order.
    beginnings: Vec<(u64, u32)>,
}

impl Synonyms {
    /// Groups of folded words.
    pub(crate) fn new(groups: Vec<Vec<String>>) -> Self {
        let words = groups.iter().zip(0..);
        let words = words.flat_map(|(group, number)| group.iter().map(move |word| (word, number)));
        let mut beginnings: Vec<(u64, u32)> = words
            .map(|(word, number)| (beginning(word), number))
            .collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        Self { groups, beginnings }
    }

    /// The groups of which a word stands in a folded text.
    pub(super) fn said(&self, folded: &str) -> Vec<&[String]> {
        if self.groups.is_empty() {
            return Vec::new();
        }
        let mut numbers = Vec::new();
        let mut look = |key: u64| {
            let from = self.beginnings.partition_point(|one| one.0 < key);
            let same = self.beginnings[from..].iter();
            numbers.extend(same.take_while(|one| one.0 == key).map(|one| one.1));
        };
        look(ANY);
        for run in text::runs(folded) {
            match run {
                Run::Word(word) => look(hash(word)),
                Run::Dense(run) => run.chars().for_each(|c| look(text::pair_key(c, None))),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        let groups = numbers.into_iter().map(|at| &self.groups[at as usize][..]);
        groups
            .filter(|group| group.iter().any(|word| text::has_word(folded, word)))
            .collect()
    }
}

/// What a text must have where a word begins.
fn beginning(word: &str) -> u64 {
    match (word.chars().next(), text::runs(word).next()) {
        (Some(first), Some(Run::Dense(_))) if text::is_dense(first) => text::pair_key(first, None),
        (Some(first), Some(Run::Word(run))) if first.is_alphanumeric() => hash(run),
        (_, _) => ANY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_as_if_every_word_were_looked_for() {
        let words = [
            "gpu",
            "gpu卡",
            "显卡",
            "显",
            "power line",
            "power",
            "wi-fi",
            "+1",
            "c++",
            "卡 2",
            "",
        ];
        let group = |word: &&str| vec![(*word).to_owned(), "other words".to_owned()];
        let all: Vec<Vec<String>> = words.iter().map(group).collect();
        let synonyms = Synonyms::new(all.clone());
        for text in [
            "",
            "gpu",
            "my gpus",
            "我的显卡和gpu卡",
            "gpu卡 2",
            "the power line, please",
            "powerline",
            "over wi-fi 6",
            "wifi",
            "a +1 c++ b",
            "other words",
        ] {
            let has = |group: &&Vec<String>| group.iter().any(|word| text::has_word(text, word));
            let wanted: Vec<&[String]> = all.iter().filter(has).map(Vec::as_slice).collect();
            assert_eq!(synonyms.said(text), wanted, "{text}");
        }
    }
}
