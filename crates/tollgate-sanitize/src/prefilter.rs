//! The one pass over all literals: says where something may be, never whether it is.
//!
//! Each literal is represented by its rarest three bytes. A text is read once, three bytes at a time, against a set of
//! these; the literals behind a member are then compared. No step depends on the one before, which is what makes it fast,
//! and there is no automaton to build.

use std::collections::HashMap;

use crate::rules::Rules;
use crate::views;

/// How the replacements begin; also the literal by which a text that was cleaned before is recognised.
pub(crate) const PLACEHOLDER: &str = "[redacted:";

/// What a literal may be the beginning of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A rule, by index.
    Rule(usize),
    /// A word that tells what the value beside it is.
    Word(Word),
    /// A secret query parameter, up to and including its `=`.
    Parameter,
    /// The word before the pairs of a cookie.
    Cookie,
    /// A URL's `://`.
    Link,
    /// A replacement made earlier.
    Placeholder,
    /// An instruction-like phrase, by index.
    Phrase(usize),
    /// Something that may read differently when it is decoded.
    Coded,
}

/// How much a telling word tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    Weak,
    Key,
    Secret,
    Password,
}

/// A literal found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    literal: u32,
}

impl Hit {
    /// Whether it is a place that may have to be decoded.
    pub(crate) fn is_coded(self) -> bool {
        self.literal == CODED
    }

    /// The same hit in a text that begins `offset` bytes later.
    pub(crate) fn shifted(self, offset: usize) -> Hit {
        Hit {
            start: self.start - offset,
            end: self.end - offset,
            literal: self.literal,
        }
    }

    /// The same hit where what stood at `from` now stands at `to`.
    pub(crate) fn moved(self, from: usize, to: usize) -> Hit {
        Hit {
            start: self.start - from + to,
            end: self.end - from + to,
            literal: self.literal,
        }
    }
}

/// Stands for the literal of a place that may have to be decoded.
const CODED: u32 = u32::MAX;

/// Shorter literals have no three bytes to be found by.
pub(crate) const SHORTEST_LITERAL: usize = 3;

const BITS: u32 = 15;
const BUCKETS: usize = 1 << 11;

#[derive(Debug)]
pub(crate) struct Prefilter {
    seen: Box<[u8; 1 << BITS]>,
    /// Where each bucket's entries begin; one more than there are buckets.
    heads: Vec<u32>,
    entries: Vec<Entry>,
    literals: Vec<Literal>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    gram: u32,
    literal: u32,
    /// Where in the literal the three bytes stand.
    offset: u32,
    length: u32,
    /// The literal's outermost bytes: literals that share three bytes seldom share these.
    first: u8,
    last: u8,
}

#[derive(Debug)]
struct Literal {
    text: Box<[u8]>,
    targets: Vec<Target>,
}

impl Prefilter {
    pub(crate) fn new(rules: &Rules) -> Self {
        let mut builder = Builder::default();
        for (index, rule) in rules.rules.iter().enumerate() {
            builder.add(&rule.literals, Target::Rule(index));
        }
        let names = &rules.names;
        builder.add(&names.password, Target::Word(Word::Password));
        builder.add(&names.secret, Target::Word(Word::Secret));
        builder.add(&names.key, Target::Word(Word::Key));
        builder.add(&names.weak, Target::Word(Word::Weak));
        for name in names.url_parameters.iter() {
            builder.add(&[format!("{name}=")], Target::Parameter);
        }
        builder.add(&["cookie".to_owned()], Target::Cookie);
        builder.add(&["://".to_owned()], Target::Link);
        builder.add(&[PLACEHOLDER.to_owned()], Target::Placeholder);
        for (index, phrase) in rules.phrases.iter().enumerate() {
            builder.add(&phrase.anchors, Target::Phrase(index));
        }
        builder.build()
    }

    /// Lists all hits in place of what the list held, ordered by where they start.
    pub(crate) fn scan(&self, text: &str, hits: &mut Vec<Hit>) {
        self.scan_literals(text, hits);
        self.add_marks(text, hits);
    }

    /// Adds the places that may have to be decoded.
    pub(crate) fn add_marks(&self, text: &str, hits: &mut Vec<Hit>) {
        let marks = views::marks(text);
        if marks.is_empty() {
            return;
        }
        hits.extend(marks.into_iter().map(|mark| Hit {
            start: mark.start,
            end: mark.end,
            literal: CODED,
        }));
        hits.sort_by_key(|hit| (hit.start, hit.end));
    }

    fn scan_literals(&self, text: &str, hits: &mut Vec<Hit>) {
        let bytes = text.as_bytes();
        hits.clear();
        let mut base = 0;
        while let Some(window) = bytes.get(base..).and_then(|rest| rest.first_chunk()) {
            let mask = self.mask(window);
            if mask != 0 {
                self.candidates(bytes, base, mask, hits);
            }
            base += BLOCK;
        }
        // What is left is read from a copy with room behind it; candidates are compared in the text itself.
        while base < bytes.len() {
            let rest = &bytes[base..bytes.len().min(base + WINDOW)];
            let mut window = [0; WINDOW];
            window[..rest.len()].copy_from_slice(rest);
            self.candidates(bytes, base, self.mask(&window), hits);
            base += BLOCK;
        }
    }

    /// One bit for each place in a block whose three bytes may belong to a literal.
    fn mask(&self, window: &[u8; WINDOW]) -> u32 {
        let mut mask = 0;
        for quad in 0..BLOCK / 4 {
            let mut eight = [0; 8];
            eight.copy_from_slice(&window[quad * 4..quad * 4 + 8]);
            let eight = u64::from_le_bytes(eight);
            for place in 0..4 {
                let gram = (eight >> (place * 8)) as u32;
                mask |= u32::from(self.seen[hash(fold(gram)) as usize]) << (quad * 4 + place);
            }
        }
        mask
    }

    #[inline(never)]
    fn candidates(&self, bytes: &[u8], base: usize, mut mask: u32, hits: &mut Vec<Hit>) {
        while mask != 0 {
            let at = base + mask.trailing_zeros() as usize;
            mask &= mask - 1;
            if let Some(&[first, second, third]) =
                bytes.get(at..).and_then(|rest| rest.first_chunk())
            {
                self.compare(
                    bytes,
                    at,
                    fold(u32::from_le_bytes([first, second, third, 0])),
                    hits,
                );
            }
        }
    }

    fn compare(&self, bytes: &[u8], at: usize, gram: u32, hits: &mut Vec<Hit>) {
        let bucket = bucket(gram);
        let range = self.heads[bucket] as usize..self.heads[bucket + 1] as usize;
        for entry in &self.entries[range] {
            if entry.gram != gram {
                continue;
            }
            let Some(start) = at.checked_sub(entry.offset as usize) else {
                continue;
            };
            let end = start + entry.length as usize;
            let Some(found) = bytes.get(start..end) else {
                continue;
            };
            let (Some(first), Some(last)) = (found.first(), found.last()) else {
                continue;
            };
            if first | CASE == entry.first && last | CASE == entry.last && self.is(entry, found) {
                let literal = entry.literal;
                hits.push(Hit {
                    start,
                    end,
                    literal,
                });
                settle(hits);
            }
        }
    }

    fn is(&self, entry: &Entry, found: &[u8]) -> bool {
        self.literals
            .get(entry.literal as usize)
            .is_some_and(|literal| found.eq_ignore_ascii_case(&literal.text))
    }

    /// The hits in a text that are its own wherever it stands; none if a literal may reach across its edges.
    pub(crate) fn own_hits(&self, text: &str) -> Option<Vec<Hit>> {
        let first = text.as_bytes().first()?;
        let last = text.as_bytes().last()?;
        let crosses = self.literals.iter().any(|literal| {
            let literal = &literal.text;
            let into = |byte: &u8| byte.eq_ignore_ascii_case(first);
            let out = |byte: &u8| byte.eq_ignore_ascii_case(last);
            literal[1..].iter().any(into) || literal[..literal.len() - 1].iter().any(out)
        });
        let mut hits = Vec::new();
        self.scan_literals(text, &mut hits);
        (!crosses).then_some(hits)
    }

    pub(crate) fn targets(&self, hit: Hit) -> &[Target] {
        self.literals
            .get(hit.literal as usize)
            .map_or(&[Target::Coded], |literal| literal.targets.as_slice())
    }
}

/// Moves the last hit to where it belongs; literals are found by their middle, so it is never far from there.
fn settle(hits: &mut [Hit]) {
    let mut at = hits.len() - 1;
    while at > 0 && (hits[at].start, hits[at].end) < (hits[at - 1].start, hits[at - 1].end) {
        hits.swap(at, at - 1);
        at -= 1;
    }
}

/// How many places are looked at together, and how many bytes that takes.
const BLOCK: usize = 32;
const WINDOW: usize = BLOCK + 4;

/// The bit that tells upper from lower case.
const CASE: u8 = 0x20;

/// The lower three bytes, without the bit that tells upper from lower case.
fn fold(gram: u32) -> u32 {
    gram & 0xff_ffff | 0x20_2020
}

fn hash(gram: u32) -> u32 {
    gram.wrapping_mul(0x9e37_79b1) >> (32 - BITS)
}

fn bucket(gram: u32) -> usize {
    hash(gram) as usize % BUCKETS
}

#[derive(Default)]
struct Builder {
    literals: Vec<Literal>,
    known: HashMap<String, usize>,
}

impl Builder {
    fn add(&mut self, literals: &[String], target: Target) {
        for text in literals {
            let text = text.to_lowercase();
            if text.len() < SHORTEST_LITERAL {
                continue;
            }
            let index = *self.known.entry(text).or_insert_with_key(|text| {
                self.literals.push(Literal {
                    text: text.as_bytes().into(),
                    targets: Vec::new(),
                });
                self.literals.len() - 1
            });
            if let Some(literal) = self.literals.get_mut(index)
                && !literal.targets.contains(&target)
            {
                literal.targets.push(target);
            }
        }
    }

    fn build(self) -> Prefilter {
        let mut seen = Box::new([0; 1 << BITS]);
        let mut entries: Vec<Entry> = Vec::with_capacity(self.literals.len());
        for (index, literal) in self.literals.iter().enumerate() {
            let (offset, gram) = rarest(&literal.text);
            seen[hash(gram) as usize] = 1;
            let end = |byte: Option<&u8>| byte.map_or(0, |byte| byte | CASE);
            entries.push(Entry {
                gram,
                literal: u32::try_from(index).unwrap_or(u32::MAX),
                offset,
                length: u32::try_from(literal.text.len()).unwrap_or(u32::MAX),
                first: end(literal.text.first()),
                last: end(literal.text.last()),
            });
        }
        entries.sort_by_key(|entry| bucket(entry.gram));
        let heads = (0..=BUCKETS)
            .map(|head| entries.partition_point(|entry| bucket(entry.gram) < head))
            .map(|head| u32::try_from(head).unwrap_or(u32::MAX))
            .collect();
        Prefilter {
            seen,
            heads,
            entries,
            literals: self.literals,
        }
    }
}

/// The three bytes of a literal that are least likely in ordinary text, and where they stand.
fn rarest(literal: &[u8]) -> (u32, u32) {
    let mut best = (u32::MAX, 0, 0);
    for (offset, gram) in (0..).zip(literal.windows(3)) {
        let bytes = gram.iter().map(|byte| commonness(*byte)).sum::<u32>();
        // Most are out of the question by their bytes alone.
        if bytes < best.0
            && let &[first, second, third] = gram
        {
            let is_common = COMMON.iter().any(|common| gram == *common);
            let likeliness = bytes + if is_common { TOGETHER } else { 0 };
            if likeliness < best.0 {
                let gram = u32::from_le_bytes([first, second, third, 0]);
                best = (likeliness, offset, fold(gram));
            }
        }
    }
    (best.1, best.2)
}

/// Bytes that stand together in English far more often than each of them suggests.
const COMMON: &[&[u8; 3]] = &[
    b" a ", b" an", b" co", b" in", b" is", b" of", b" re", b" th", b" to", b"ack", b"ain", b"al ",
    b"all", b"and", b"any", b"ard", b"are", b"at ", b"ate", b"ati", b"but", b"can", b"com", b"con",
    b"cti", b"d t", b"der", b"e t", b"ear", b"ect", b"ed ", b"ell", b"end", b"ent", b"er ", b"ere",
    b"ers", b"es ", b"ess", b"est", b"eve", b"for", b"hat", b"he ", b"her", b"his", b"ica", b"ick",
    b"ill", b"in ", b"ing", b"ink", b"int", b"ion", b"is ", b"ist", b"ith", b"iti", b"ive", b"ll ",
    b"low", b"ly ", b"men", b"n t", b"nce", b"nd ", b"ng ", b"not", b"now", b"nt ", b"ntr", b"ock",
    b"of ", b"on ", b"one", b"ons", b"or ", b"ore", b"our", b"out", b"ove", b"per", b"pro", b"re ",
    b"rea", b"res", b"rev", b"s t", b"st ", b"sta", b"ted", b"ter", b"tha", b"the", b"thi", b"tio",
    b"to ", b"ts ", b"use", b"ut ", b"ver", b"was", b"wit", b"you",
];
/// What that adds to how common the bytes are by themselves.
const TOGETHER: u32 = 10;

/// Roughly how often a byte stands in prose, markup and code.
fn commonness(byte: u8) -> u32 {
    match byte.to_ascii_lowercase() {
        b' ' => 13,
        b'e' => 12,
        b't' | b'a' | b'o' => 9,
        b'i' | b'n' | b's' | b'r' => 8,
        b'h' | b'l' | b'd' => 6,
        b'c' | b'u' | b'm' | b'p' => 5,
        b'f' | b'g' | b'y' | b'b' => 3,
        b'w' | b'v' | b'k' => 2,
        b'0'..=b'9' | b'"' | b',' | b'.' | b':' => 3,
        _ => 1,
    }
}
