//! Where sources seem to differ: other numbers for the same thing, or a yes and a no.
//!
//! It is said as what it is, a guess from the words; both passages are shown, so that people can judge.

use std::collections::HashSet;

use super::{
    quantity::Quantity,
    rank::{Passage, Ranked, likeness},
};

/// How many are shown.
const MOST: usize = 5;
/// How many passages are compared with one another.
const COMPARED: usize = 120;
/// How much of the question both passages must speak of.
const ABOUT: f64 = 0.5;
/// How much alike a yes and a no must be.
const ALIKE: f64 = 0.5;
/// A passage with more numbers of one unit lists them and claims none.
const LISTED: usize = 2;
const NO: &[&str] = &[" not ", "n't ", " never ", " no ", " cannot ", " without "];
const NO_DENSE: &[char] = &['不', '没', '未', '无', '非'];

/// Two passages that do not seem to agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// What is different: the values, or nothing if one says no.
    pub values: Option<[String; 2]>,
    /// The sources.
    pub sources: [usize; 2],
    /// Their words.
    pub quotes: [String; 2],
    /// Where they are in the sources' texts, in characters.
    pub places: [(usize, usize); 2],
}

struct Claim<'a> {
    passage: &'a Passage<'a>,
    says_no: bool,
}

/// What seems to differ, the clearest first.
pub(super) fn find(ranked: &Ranked<'_>) -> Vec<Difference> {
    let about = ranked.passages.iter().take(COMPARED);
    let claims: Vec<Claim<'_>> = about
        .filter(|passage| passage.coverage >= ABOUT)
        .map(|passage| Claim {
            says_no: says_no(passage.quote),
            passage,
        })
        .collect();
    let mut found: Vec<(f64, Difference)> = Vec::new();
    for (place, one) in claims.iter().enumerate() {
        for other in &claims[place + 1..] {
            if one.passage.source.number == other.passage.source.number {
                continue;
            }
            let sure = one.passage.score + other.passage.score;
            if let Some(values) = apart(one, other) {
                found.push((sure + 1.0, difference(one, other, Some(values))));
            } else if one.says_no != other.says_no
                && likeness(&one.passage.terms, &other.passage.terms) >= ALIKE
            {
                found.push((sure, difference(one, other, None)));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mut seen = HashSet::new();
    let each_once = found.into_iter().filter(|(_, difference)| {
        let mut pair = difference.sources;
        pair.sort_unstable();
        seen.insert(pair)
    });
    each_once
        .map(|(_, difference)| difference)
        .take(MOST)
        .collect()
}

fn difference(one: &Claim<'_>, other: &Claim<'_>, values: Option<[String; 2]>) -> Difference {
    let both = [one.passage, other.passage];
    Difference {
        values,
        sources: both.map(|passage| passage.source.number),
        quotes: both.map(|passage| passage.quote.to_owned()),
        places: both.map(|passage| (passage.start, passage.end)),
    }
}

/// The values of a unit that both name and that cannot both be meant.
fn apart(one: &Claim<'_>, other: &Claim<'_>) -> Option<[String; 2]> {
    one.passage.quantities.iter().find_map(|quantity| {
        let of = |claim: &Claim<'_>| -> Vec<Quantity> {
            let all = claim.passage.quantities.iter();
            all.filter(|one| one.unit == quantity.unit)
                .cloned()
                .collect()
        };
        let (mine, theirs) = (of(one), of(other));
        let is_list = mine.len() > LISTED || theirs.len() > LISTED;
        let all_apart = mine
            .iter()
            .all(|my| theirs.iter().all(|their| my.is_apart(their)));
        let (my, their) = (mine.first()?, theirs.first()?);
        (!is_list && all_apart).then(|| {
            let shown = |claim: &Claim<'_>, value: &Quantity| {
                claim.passage.quote[value.start..value.end].to_owned()
            };
            [shown(one, my), shown(other, their)]
        })
    })
}

fn says_no(quote: &str) -> bool {
    let lower = format!(" {} ", quote.to_lowercase());
    NO.iter().any(|word| lower.contains(word)) || quote.contains(NO_DENSE)
}
