//! Finds tools by runs of letters instead of words, so that words meet that are neither forms nor synonyms of one
//! another: "wiki" and "deepwiki", "differ" and "diff". Too blunt to rank by, but a second opinion on who comes next.

use super::Document;
use super::question::{Kind, Token};
use super::text::{self, Piece, Style};

/// How many letters a run has; the edges of a word count as letters.
const RUN: usize = 5;
const EDGE: char = '_';
/// Runs are told apart by a hash of this many bits.
const HASH_BITS: u32 = 16;
/// How much of a description is read: its beginning says what the tool is for.
const DESCRIPTION_CHARS: usize = 100;
/// How much tools with many runs are held back.
const LENGTH: f32 = 0.125;

/// For each run of letters the tools that are described with it.
#[derive(Debug, Default)]
pub(super) struct Spelling {
    /// Where each run's tools end.
    ends: Vec<u32>,
    tools: Vec<u32>,
    /// By how much each tool is held back.
    lengths: Vec<f32>,
}

impl Spelling {
    pub(super) fn read(documents: &[Document]) -> Self {
        let mut ends = vec![0_u32; 1 << HASH_BITS];
        // Which tool had each run last, counted from 1.
        let mut last = ends.clone();
        let mut met = Vec::new();
        let mut lengths = Vec::with_capacity(documents.len());
        for (tool, document) in documents.iter().enumerate() {
            let before = met.len();
            runs_of(document, |run| {
                let at = usize::from(run);
                let (Some(last), Some(count)) = (last.get_mut(at), ends.get_mut(at)) else {
                    return;
                };
                if std::mem::replace(last, tool as u32 + 1) != tool as u32 + 1 {
                    *count += 1;
                    met.push((run, tool as u32));
                }
            });
            let runs = (met.len() - before).max(1);
            lengths.push((runs as f32).powf(LENGTH));
        }
        Self {
            tools: by_run(&met, &mut ends),
            ends,
            lengths,
        }
    }

    /// How much of the question each tool is spelled with, 1 for the one that has most of it; empty where the question
    /// has no letters.
    pub(super) fn ask(&self, tokens: &[Token]) -> Vec<f32> {
        let mut asked = Vec::new();
        for token in tokens {
            if matches!(token.kind, Kind::Word | Kind::Light) {
                each_run(&token.text, |run| asked.push(run));
            }
        }
        if asked.is_empty() {
            return Vec::new();
        }
        asked.sort_unstable();
        asked.dedup();
        let mut shares = vec![0.0; self.lengths.len()];
        for tools in asked.into_iter().map(|run| self.of(run)) {
            let rarity = (shares.len() as f32 / tools.len().max(1) as f32).ln();
            for tool in tools {
                if let Some(share) = shares.get_mut(*tool as usize) {
                    *share += rarity * rarity;
                }
            }
        }
        for (share, length) in shares.iter_mut().zip(&self.lengths) {
            *share /= length;
        }
        let most = shares.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        shares.iter_mut().for_each(|share| *share /= most);
        shares
    }

    fn of(&self, run: u16) -> &[u32] {
        let run = usize::from(run);
        let end = |at: usize| self.ends.get(at).copied().unwrap_or_default() as usize;
        let start = if run == 0 { 0 } else { end(run - 1) };
        self.tools.get(start..end(run)).unwrap_or_default()
    }
}

/// Brings the tools of each run together; turns the counts in `ends` into ends.
fn by_run(met: &[(u16, u32)], ends: &mut [u32]) -> Vec<u32> {
    let mut next = 0;
    for end in ends.iter_mut() {
        // A start for now; filling in the tools moves it to the end.
        next += std::mem::replace(end, next);
    }
    let mut tools = vec![0; met.len()];
    for (run, tool) in met {
        let Some(at) = ends.get_mut(usize::from(*run)) else {
            continue;
        };
        if let Some(slot) = tools.get_mut(*at as usize) {
            *slot = *tool;
        }
        *at += 1;
    }
    tools
}

/// Hands over the runs a tool is described with.
fn runs_of(document: &Document, mut sink: impl FnMut(u16)) {
    let description = text::first_chars(&document.description, DESCRIPTION_CHARS);
    let texts = [
        document.name.as_str(),
        document.title.as_str(),
        document.provider.as_str(),
        description,
    ];
    for text in texts {
        text::pieces(text, Style::Prose, &mut |piece| {
            if let Piece::Word(word) = piece {
                each_run(word, &mut sink);
            }
        });
    }
}

/// Hands over each run of `word`, or all of a word that is shorter.
fn each_run(word: &str, mut sink: impl FnMut(u16)) {
    let mut letters = ['\0'; RUN];
    let mut count = 0;
    for letter in [EDGE].into_iter().chain(word.chars()).chain([EDGE]) {
        letters.rotate_left(1);
        letters[RUN - 1] = letter;
        count += 1;
        if count >= RUN {
            sink(hash(letters));
        }
    }
    if count < RUN {
        sink(hash(letters));
    }
}

fn hash(letters: [char; RUN]) -> u16 {
    let hash = letters.iter().fold(2_166_136_261, |hash: u32, letter| {
        (hash ^ u32::from(*letter)).wrapping_mul(16_777_619)
    });
    (hash >> (u32::BITS - HASH_BITS)) as u16
}
