//! What is found in other readings of a text, and tokens that only their dots tell.

use super::{Detector, Finder, Found, Hits, Label, Surroundings, overlaps};
use crate::Kind;
use crate::prefilter::Hit;
use crate::views::{self, Accepts, View};

impl<'r> Finder<'r, '_> {
    /// A place that may have to be decoded.
    pub(super) fn coded(&mut self, hit: Hit) {
        let bytes = self.text.as_bytes();
        if bytes.get(hit.start) == Some(&b'.') && views::is_dotted_token(bytes, hit.start) {
            let is_digit =
                |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'-');
            let number = bytes[..hit.start].iter().rev().take_while(is_digit).count();
            let signature = bytes[hit.start + 8..].iter().take_while(is_digit).count();
            let end = hit.start + 8 + signature;
            self.add(hit.start - number, end, &self.detector.dotted);
        } else {
            self.is_coded = true;
        }
    }

    /// Searches every other reading of the text, once.
    pub(super) fn views(&mut self) {
        if !self.is_coded || self.around.is_view {
            return;
        }
        let known = self.found_so_far();
        for view in views::of(self.text) {
            for found in self.found_in(&view) {
                let Some(origin) = view.origin(&(found.start..found.end)) else {
                    continue;
                };
                let is_known = overlaps(&known, origin.start, origin.end);
                if is_accepted(self.detector, view.accepts, found.label)
                    && !(is_known && view.accepts == Accepts::FormsNotFound)
                {
                    self.add(origin.start, origin.end, found.label);
                }
            }
        }
    }

    /// The spans that are found in the text as it is written, in order and without overlap.
    fn found_so_far(&self) -> Vec<(usize, usize)> {
        let mut spans: Vec<_> = self
            .found
            .iter()
            .map(|found| (found.start, found.end))
            .collect();
        spans.sort_unstable();
        spans.dedup_by(|next, last| {
            let joins = next.0 < last.1;
            if joins {
                last.1 = last.1.max(next.1);
            }
            joins
        });
        spans
    }

    fn found_in(&self, view: &View) -> Vec<Found<'r>> {
        let mut list = Vec::new();
        self.detector.prefilter.scan(&view.text, &mut list);
        let hits = Hits {
            list: &list,
            offset: 0,
        };
        let around = Surroundings {
            is_view: true,
            ..*self.around
        };
        self.detector.find(&view.text, hits, &around).found
    }
}

fn is_accepted(detector: &Detector, accepts: Accepts, label: &Label) -> bool {
    match accepts {
        Accepts::All => true,
        Accepts::Secrets => label.kind == Kind::Secret,
        Accepts::Forms | Accepts::FormsNotFound => {
            label.kind == Kind::Secret && !std::ptr::eq(label, &raw const detector.named)
        }
    }
}
