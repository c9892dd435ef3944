//! Other readings of a text: what escapes, base64, wide, spaced or look-alike letters and split literals spell.
//!
//! A view is made only where a mark says that there is something to decode. What is found in it is replaced in the
//! text itself, so a view knows where each of its bytes comes from. Marks are found by skipping, because every text
//! is searched for them; nothing that is decoded is decoded again.

mod base64;
mod escapes;
mod homoglyphs;
mod joined;
mod spaced;
mod wide;

use std::ops::Range;

pub(crate) use joined::is_dotted_token;

/// A place that may have to be decoded, or a token whose dots are its only sign.
pub(crate) type Mark = Range<usize>;

/// Which findings of a view count: the less it resembles text, the fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// Everything.
    All,
    /// Secrets, also those told by a name beside them.
    Secrets,
    /// Secrets with a form of their own.
    Forms,
    /// The same, where nothing is found in the text as it is written.
    FormsNotFound,
}

/// A part of a text in another reading.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) text: String,
    pub(crate) accepts: Accepts,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    /// Where it begins in the view.
    at: usize,
    origin: Range<usize>,
    /// It reads differently than it is written.
    coded: bool,
}

impl View {
    fn new(accepts: Accepts) -> Self {
        View {
            text: String::new(),
            accepts,
            pieces: Vec::new(),
        }
    }

    /// Adds a part that reads as it is written.
    fn plain(&mut self, text: &str, origin: Range<usize>) {
        if !origin.is_empty() {
            self.piece(origin.clone(), false);
            self.text.push_str(&text[origin]);
        }
    }

    /// Adds what a part reads as.
    fn coded(&mut self, reading: &str, origin: Range<usize>) {
        self.piece(origin, true);
        self.text.push_str(reading);
    }

    fn piece(&mut self, origin: Range<usize>, coded: bool) {
        let at = self.text.len();
        self.pieces.push(Piece { at, origin, coded });
    }

    /// Where a span of the view comes from; nothing if it reads as it is written.
    pub(crate) fn origin(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let first = self
            .pieces
            .partition_point(|piece| piece.at <= span.start)
            .checked_sub(1)?;
        let end = self.pieces.partition_point(|piece| piece.at < span.end);
        let pieces = self.pieces.get(first..end)?;
        // A joint has no length: it counts only where a span reaches across it.
        let differs =
            |piece: &Piece| piece.coded && (piece.at > span.start || !self.is_joint(piece));
        if !pieces.iter().any(differs) {
            return None;
        }
        let bound = |piece: &Piece, at: usize, otherwise: usize| {
            if piece.coded {
                otherwise
            } else {
                piece.origin.start + (at - piece.at)
            }
        };
        let (first, last) = (pieces.first()?, pieces.last()?);
        Some(bound(first, span.start, first.origin.start)..bound(last, span.end, last.origin.end))
    }

    /// Whether nothing stands in its place.
    fn is_joint(&self, piece: &Piece) -> bool {
        let next = self.pieces.partition_point(|other| other.at <= piece.at);
        let last = next.checked_sub(1).and_then(|last| self.pieces.get(last));
        last.is_some_and(|last| !std::ptr::eq(last, piece))
    }
}

/// Where in a text something may have to be decoded, in order.
pub(crate) fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    escapes::marks(text, &mut marks);
    if !text.is_ascii() {
        wide::marks(text, &mut marks);
        homoglyphs::marks(text, &mut marks);
    }
    base64::marks(text, &mut marks);
    spaced::marks(text, &mut marks);
    joined::marks(text, &mut marks);
    marks.sort_unstable_by_key(|mark| (mark.start, mark.end));
    marks
}

/// Every other reading of a text.
pub(crate) fn of(text: &str) -> Vec<View> {
    let mut views = Vec::new();
    escapes::views(text, &mut views);
    wide::views(text, &mut views);
    homoglyphs::views(text, &mut views);
    base64::views(text, &mut views);
    spaced::views(text, &mut views);
    joined::views(text, &mut views);
    views
}

/// How much around a mark is read with it, so that a name beside a value counts.
const AROUND: usize = 96;

/// Marks that are close together, each group with what stands around it.
fn regions(text: &str, marks: &[Mark]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut regions: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (index, mark) in marks.iter().enumerate() {
        let start = text.floor_char_boundary(mark.start.saturating_sub(AROUND));
        let end = text.ceil_char_boundary((mark.end + AROUND).min(text.len()));
        match regions.last_mut() {
            Some((region, members)) if start <= region.end => {
                region.end = region.end.max(end);
                members.end = index + 1;
            }
            _ => regions.push((start..end, index..index + 1)),
        }
    }
    regions
}

/// A view for each group of marks, read with `reading`.
fn decoded(
    text: &str,
    marks: &[Mark],
    accepts: Accepts,
    reading: impl Fn(&str, &mut String),
    views: &mut Vec<View>,
) {
    for (region, members) in regions(text, marks) {
        let mut view = View::new(accepts);
        let mut at = region.start;
        for mark in &marks[members] {
            view.plain(text, at..mark.start);
            let mut read = String::new();
            reading(&text[mark.clone()], &mut read);
            view.coded(&read, mark.clone());
            at = mark.end;
        }
        view.plain(text, at..region.end);
        views.push(view);
    }
}

#[cfg(test)]
mod tests {
    use super::{marks, of};

    /// What a text reads as, in the view that holds `part`.
    fn reads(text: &str, part: &str) -> bool {
        of(text).iter().any(|view| {
            view.text.find(part).is_some_and(|at| {
                let origin = view.origin(&(at..at + part.len()));
                origin.is_some_and(|origin| text.get(origin).is_some())
            })
        })
    }

    #[test]
    fn other_readings_are_read() {
        for (text, part) in [
            ("x=%67%68%70_abc", "ghp_abc"),
            ("x=&#103;&#x68;p_abc", "ghp_abc"),
            (r"x=\x67\u0068p_abc", "ghp_abc"),
            ("ＳＳＮ １２３", "SSN 123"),
            ("a g h p _ a b c d e f g h i j", "ghp_abcdefghij"),
            ("a = \"ghp_abcd\" + \"efgh1234\"", "ghp_abcdefgh1234"),
            ("ghp_abcd1234\nefgh", "ghp_abcd1234efgh"),
            ("\"ghp_abcd\" \\\n    + \"efgh\"", "ghp_abcdefgh"),
            ("(\"ghp_abcd\"\n  \"efgh\")", "ghp_abcdefgh"),
            ("'ghp_abcd' & 'efgh'", "ghp_abcdefgh"),
            ("\\\"ghp_abcd\\\" +\\n \\\"efgh\\\"", "ghp_abcdefgh"),
            ("ｇｈｐ＿ａｂ－１", "ghp_ab-1"),
            ("𝐠𝐡𝐩_𝟏𝟐", "ghp_12"),
            ("x ghр_аbc1", "ghp_abc1"),
            (r"x=\147\150p_\u{61}bc", "ghp_abc"),
            ("0x7365637265742074657874206865726521", "secret text here!"),
            ("7365637265742074657874206865726521", "secret text here!"),
            (
                "c2VjcmV0IHRleHQgaW4gYmFzZTY0IGZvcm0=",
                "secret text in base64 form",
            ),
        ] {
            assert!(!marks(text).is_empty(), "{text}");
            assert!(reads(text, part), "{text}: {:?}", of(text));
        }
    }

    #[test]
    fn plain_text_has_no_other_reading() {
        for text in [
            "a sentence with a few words, 100 % of them plain & simple.",
            "crates/tollgate-sanitize/src/views/mod.rs, internationalization",
            "0af7651916cd43dd8448eb211c80319c 5d41402abc4b2a76b9719d911017c592",
            "let a = b + c;\nlet d = \"e\";\n",
            "Привет, мир: в 5 классе и на 2 этаже, α и β",
            "使用（ABC）：一、二！",
            "[\"a\", \"b\"]\n<a href=\"x\" id=\"y\">",
        ] {
            assert!(marks(text).is_empty(), "{text}: {:?}", marks(text));
        }
    }
}
