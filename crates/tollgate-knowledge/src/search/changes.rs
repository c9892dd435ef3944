//! Which nodes say the same in two versions of a base.
//!
//! Texts themselves are compared, so it does not matter which file a node came from, what
//! stands around it or how it is written. A node counts as the same only if the options that
//! speak for it are the same as well, and if it kept its place among the others: then its
//! words need not be gathered again.

use super::gather::spoken_for;
use crate::base::{Base, NodeId, Phrase, Text};

/// No node.
pub(super) const NONE: NodeId = NodeId::MAX;

/// For every node its number in the version before, or [`NONE`] if it does not say the same.
pub(super) fn same_nodes(now: &Base, before: &Base) -> Vec<NodeId> {
    let mut numbers = by_id(now, before);
    keep_ascending(&mut numbers);
    let mut touched = vec![false; now.nodes.len()];
    let mut unchanged = vec![false; before.nodes.len()];
    for (node, &old) in (0..).zip(&numbers) {
        if old != NONE && say_the_same(now, node, before, old, &numbers) {
            unchanged[old as usize] = true;
            continue;
        }
        touched[node as usize] = true;
        let choices = now.choices(now.at(node)).iter();
        for target in choices.filter_map(spoken_for) {
            touched[target as usize] = true;
        }
    }
    let mut numbers_now = vec![NONE; before.nodes.len()];
    for (node, &old) in (0..).zip(&numbers) {
        if old != NONE {
            numbers_now[old as usize] = node;
        }
    }
    let mut touch = |old: NodeId| {
        if let Some(touched) = touched.get_mut(numbers_now[old as usize] as usize) {
            *touched = true;
        }
    };
    for (node, _) in before
        .nodes
        .iter()
        .zip(&unchanged)
        .filter(|(_, same)| !**same)
    {
        let choices = before.choices(node).iter();
        choices.filter_map(spoken_for).for_each(&mut touch);
    }
    let is_same_root = numbers[now.root as usize] == before.root;
    let (title, title_before) = (now.sentences.title, before.sentences.title);
    if !is_same_root
        || !same_phrase(now, title, before, title_before)
        || !same_words(now, &now.keywords, before, &before.keywords)
    {
        touch(before.root);
        touched[now.root as usize] = true;
    }
    for (number, _) in numbers
        .iter_mut()
        .zip(&touched)
        .filter(|(_, touched)| **touched)
    {
        *number = NONE;
    }
    numbers
}

/// The number that each id had before; mostly the next one.
fn by_id(now: &Base, before: &Base) -> Vec<NodeId> {
    let mut expected: NodeId = 0;
    let number = |id: &str| {
        let is_next = (expected as usize) < before.nodes.len() && before.id_of(expected) == id;
        let old = if is_next {
            expected
        } else {
            before.node(id).unwrap_or(NONE)
        };
        if old != NONE {
            expected = old + 1;
        }
        old
    };
    now.node_ids().map(number).collect()
}

/// Takes out the fewest numbers such that those that stay ascend.
fn keep_ascending(numbers: &mut [NodeId]) {
    let known = numbers.iter().filter(|number| **number != NONE);
    if known.is_sorted() {
        return;
    }
    // The place of the smallest number that ends an ascending row of each length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; numbers.len()];
    for at in 0..numbers.len() {
        if numbers[at] == NONE {
            continue;
        }
        let length = ends.partition_point(|&end| numbers[end] < numbers[at]);
        if let Some(shorter) = length.checked_sub(1) {
            before[at] = ends[shorter];
        }
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut stays = vec![false; numbers.len()];
    let mut at = ends.last().copied().unwrap_or(usize::MAX);
    while let Some(stay) = stays.get_mut(at) {
        *stay = true;
        at = before[at];
    }
    for (number, _) in numbers.iter_mut().zip(&stays).filter(|(_, stays)| !**stays) {
        *number = NONE;
    }
}

/// Whether two nodes have the same words, and options that speak for the same nodes.
fn say_the_same(now: &Base, node: NodeId, before: &Base, old: NodeId, numbers: &[NodeId]) -> bool {
    let (one, other) = (now.at(node), before.at(old));
    let (choices, others) = (now.choices(one), before.choices(other));
    same_phrase(now, one.title, before, other.title)
        && same_phrase(now, one.response, before, other.response)
        && same_words(now, one.words(), before, other.words())
        && choices.len() == others.len()
        && choices.iter().zip(others).all(|(choice, other)| {
            let target = spoken_for(choice).map(|target| numbers[target as usize]);
            target == spoken_for(other)
                && same_phrase(now, choice.description, before, other.description)
                && same_words(now, choice.words(), before, other.words())
        })
}

fn same_phrase(now: &Base, phrase: Phrase, before: &Base, other: Phrase) -> bool {
    let (phrase, other) = (now.spoken(phrase), before.spoken(other));
    let texts = phrase.iter().map(|one| now.text(one.text));
    texts.eq(other.iter().map(|one| before.text(one.text)))
}

fn same_words(now: &Base, words: &[Text], before: &Base, others: &[Text]) -> bool {
    now.keywords(words).eq(before.keywords(others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_are_taken_out_of_a_row() {
        for (row, wanted) in [
            (vec![0, 1, 2], vec![0, 1, 2]),
            (vec![4, 0, 1, 2, 3], vec![NONE, 0, 1, 2, 3]),
            (vec![1, 2, 3, 0, 4], vec![1, 2, 3, NONE, 4]),
            (vec![NONE, 2, NONE, 0, 1], vec![NONE, NONE, NONE, 0, 1]),
            (vec![], vec![]),
        ] {
            let mut kept = row.clone();
            keep_ascending(&mut kept);
            assert_eq!(kept, wanted, "{row:?}");
        }
    }
}
