//! Marks text that reads like an instruction to a model. Nothing is altered; spans are only listed.

use crate::TaintSpan;
use crate::detect::Detector;
use crate::prefilter::{Hit, Target};

const BEFORE: usize = 120;
const AFTER: usize = 240;
const MOST_SPANS: usize = 64;

/// Lists the instruction-like places of a clean text.
pub(crate) fn mark(detector: &Detector, text: &str, pointer: &dyn Fn() -> String, spans: &mut Vec<TaintSpan>) {
    let first = spans.len();
    let folded = unfold_wide(text);
    let searched = folded.as_deref().unwrap_or(text);
    for hit in detector.prefilter.hits(searched) {
        for target in detector.prefilter.targets(hit) {
            let Target::Phrase(index) = *target else {
                continue;
            };
            let Some(phrase) = detector.rules.phrases.get(index) else {
                continue;
            };
            let known = spans[first..]
                .iter()
                .any(|span| span.rule == phrase.id && span.start <= hit.start && hit.start < span.end);
            if known || spans.len() - first >= MOST_SPANS {
                continue;
            }
            let window = Window::around(searched, hit);
            let Some(found) = phrase.regex().and_then(|regex| regex.find(window.text.as_bytes())) else {
                continue;
            };
            let (start, end) = (window.origin(found.start()), window.origin_end(found.end()));
            let repeated = spans[first..].iter().any(|span| span.rule == phrase.id && span.start == start);
            if !repeated {
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

/// Replaces full-width letters by as many bytes of plain ones, so that offsets stay; none if there are no such letters.
fn unfold_wide(text: &str) -> Option<String> {
    let wide = |c: char| matches!(c, '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}');
    if text.is_ascii() || !text.contains(wide) {
        return None;
    }
    // The letter comes first and two invisible fillers follow, which the window drops again.
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match char::from_u32(u32::from(c).wrapping_sub(0xfee0)) {
            Some(plain) if wide(c) => out.push(plain),
            _ => out.push(c),
        }
        if wide(c) {
            out.push_str("\u{1}\u{1}");
        }
    }
    Some(out)
}

/// The surroundings of a hit in lower case, whitespace folded and markup dropped, with the way back.
struct Window {
    text: String,
    origins: Vec<usize>,
    end: usize,
}

impl Window {
    fn around(text: &str, hit: Hit) -> Self {
        let from = text.ceil_char_boundary(hit.start.saturating_sub(BEFORE));
        let to = text.floor_char_boundary((hit.end + AFTER).min(text.len()));
        let mut window = Window {
            text: String::with_capacity(to - from),
            origins: Vec::with_capacity(to - from),
            end: to,
        };
        let mut space = false;
        for (offset, c) in text[from..to].char_indices() {
            match c {
                '*' | '`' | '~' | '\u{1}' => continue,
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

    /// A span ends where the next character of the window begins, so folded whitespace stays outside.
    fn origin_end(&self, at: usize) -> usize {
        self.origin(at)
    }
}
