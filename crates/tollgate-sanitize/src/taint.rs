//! Marks text that reads like an instruction to a model. Nothing is altered; spans are only listed.

use std::collections::HashSet;

use crate::TaintSpan;
use crate::detect::Detector;
use crate::prefilter::{Hit, Target};

const BEFORE: usize = 120;
const AFTER: usize = 440;
/// How far behind an anchor a window without a match counts as searched; no phrase is longer than what remains.
const SEARCHED: usize = 200;
/// How many places of one text are listed for people to see.
pub(crate) const MOST_SPANS: usize = 64;

/// Lists the instruction-like places of a clean text, up to a number.
pub(crate) fn mark(
    detector: &Detector,
    text: &str,
    most: usize,
    pointer: &dyn Fn() -> String,
    spans: &mut Vec<TaintSpan>,
) {
    let first = spans.len();
    let mut known = HashSet::new();
    let folded = has_wide_letters(text).then(|| Folded::of(text));
    let searched = folded.as_ref().map_or(text, |folded| folded.text.as_str());
    // Where each phrase has been looked for already, so that a flood of anchors costs no more than the text is long.
    let mut reached = vec![0; detector.rules.phrases.len()];
    // Where its last match ended, so that a match close behind another is not taken for it.
    let mut matched = vec![0; detector.rules.phrases.len()];
    let mut hits = Vec::new();
    detector.prefilter.scan(searched, &mut hits);
    for hit in hits {
        for target in detector.prefilter.targets(hit) {
            let Target::Phrase(index) = *target else {
                continue;
            };
            let Some(phrase) = detector.rules.phrases.get(index) else {
                continue;
            };
            let searched_until = reached.get(index).copied().unwrap_or(0);
            if spans.len() - first >= most || hit.start < searched_until {
                continue;
            }
            let window = Window::around(searched, hit, matched.get(index).copied().unwrap_or(0));
            let found = phrase
                .regex()
                .and_then(|regex| regex.find(window.text.as_bytes()));
            let until = found.map_or(hit.end + SEARCHED, |found| window.origin(found.end()));
            if let Some(reached) = reached.get_mut(index) {
                *reached = until.max(hit.end);
            }
            let Some(found) = found else {
                continue;
            };
            if let Some(matched) = matched.get_mut(index) {
                *matched = window.origin(found.end());
            }
            let origin = |at: usize| {
                let at = window.origin(at);
                folded.as_ref().map_or(at, |folded| folded.origin(at))
            };
            let (start, end) = (origin(found.start()), origin(found.end()));
            if start < end && known.insert((index, start)) {
                spans.push(TaintSpan {
                    pointer: pointer(),
                    start,
                    end,
                    rule: phrase.id.clone(),
                });
            }
        }
    }
}

/// Whether a text spells with full-width letters, in which no plain word is found.
pub(crate) fn has_wide_letters(text: &str) -> bool {
    !text.is_ascii() && text.contains(is_wide)
}

fn is_wide(c: char) -> bool {
    matches!(c, '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}')
}

/// A text with plain letters for full-width ones, with the way back.
struct Folded {
    text: String,
    origins: Vec<usize>,
    end: usize,
}

impl Folded {
    fn of(text: &str) -> Self {
        let mut folded = Folded {
            text: String::with_capacity(text.len()),
            origins: Vec::with_capacity(text.len()),
            end: text.len(),
        };
        for (at, c) in text.char_indices() {
            let plain = char::from_u32(u32::from(c).wrapping_sub(0xfee0)).filter(|_| is_wide(c));
            folded.text.push(plain.unwrap_or(c));
            folded.origins.resize(folded.text.len(), at);
        }
        folded
    }

    fn origin(&self, at: usize) -> usize {
        self.origins.get(at).copied().unwrap_or(self.end)
    }
}

/// The surroundings of a hit in lower case, whitespace folded and markup dropped, with the way back.
struct Window {
    text: String,
    origins: Vec<usize>,
    end: usize,
}

impl Window {
    fn around(text: &str, hit: Hit, after: usize) -> Self {
        let from = hit.start.saturating_sub(BEFORE).max(after).min(hit.start);
        let from = text.ceil_char_boundary(from);
        let to = text.floor_char_boundary((hit.end + AFTER).min(text.len()));
        let mut window = Window {
            text: String::with_capacity(to - from),
            origins: Vec::with_capacity(to - from),
            end: to,
        };
        let mut space = false;
        for (offset, c) in text[from..to].char_indices() {
            match c {
                '*' | '`' | '~' => continue,
                c if c.is_whitespace() => {
                    if !space {
                        window.push(if c == '\n' { '\n' } else { ' ' }, from + offset);
                    }
                    space = true;
                    continue;
                }
                c => window.push(c.to_ascii_lowercase(), from + offset),
            }
            space = false;
        }
        window
    }

    fn push(&mut self, c: char, origin: usize) {
        self.text.push(c);
        self.origins.resize(self.text.len(), origin);
    }

    fn origin(&self, at: usize) -> usize {
        self.origins.get(at).copied().unwrap_or(self.end)
    }
}
