//! A text as passages: a few sentences each, at their place.

use crate::words::is_dense;

/// Shorter is no statement, a passage of this width is enough, and longer is cut. A character of a script without
/// spaces is as wide as two letters.
const LEAST: usize = 20;
const ENOUGH: usize = 90;
const MOST: usize = 600;
/// Marks that may follow the end of a sentence and belong to it.
const CLOSING: &[char] = &['"', '\'', '”', '’', '」', '』', ')', '）', ']'];
/// What a full stop after it does not end.
const SHORT_FORMS: &[&str] = &[
    "approx", "ca", "cf", "dr", "e.g", "eg", "etc", "fig", "i.e", "ie", "mr", "mrs", "ms", "no",
    "prof", "st", "vs",
];

/// A piece of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// How much room a text takes on a page.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|c| 1 + usize::from(is_dense(c))).sum()
}

/// The passages of a text; questions and headings are none.
pub(super) fn passages(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let mut open: Option<Span> = None;
        for sentence in sentences(line, start) {
            let words = &text[sentence.start..sentence.end];
            let bare = words.trim_end_matches(CLOSING);
            if bare.ends_with(['?', '？']) {
                found.extend(open.take());
                continue;
            }
            let grown = Span {
                start: open.map_or(sentence.start, |span| span.start),
                end: sentence.end,
            };
            if width(&text[grown.start..grown.end]) >= ENOUGH {
                found.push(grown);
                open = None;
            } else {
                open = Some(grown);
            }
        }
        found.extend(open);
        start += line.len();
    }
    found.retain(|span| is_statement(&text[span.start..span.end]));
    for span in &mut found {
        span.end = cut(text, *span);
    }
    found
}

fn is_statement(words: &str) -> bool {
    let bare = words.trim_end_matches(CLOSING);
    let is_closed = bare.ends_with(['.', '!', '。', '！', '…', ';', '；']);
    let width = width(words);
    width >= LEAST && (is_closed || words.contains(|c: char| c.is_ascii_digit()) || width >= ENOUGH)
}

/// Where a passage ends that may not be longer than the limit.
fn cut(text: &str, span: Span) -> usize {
    let mut room = MOST;
    let mut gap = None;
    for (at, c) in text[span.start..span.end].char_indices() {
        let needed = 1 + usize::from(is_dense(c));
        let here = span.start + at;
        if needed > room {
            return gap.unwrap_or(here);
        }
        room -= needed;
        if c.is_whitespace() {
            gap = Some(here);
        } else if is_dense(c) {
            gap = Some(here + c.len_utf8());
        }
    }
    span.end
}

/// The sentences of a line that begins at `from`.
fn sentences(line: &str, from: usize) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut characters = line.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let mut end = at + c.len_utf8();
        let is_end = match c {
            '。' | '！' | '？' | '；' | '…' => true,
            '.' | '!' | '?' => {
                let rest = line[end..].trim_start_matches(CLOSING);
                let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
                ends && !(c == '.' && is_short_form(&line[start..at]))
            }
            _ => false,
        };
        if !is_end {
            continue;
        }
        while let Some((next, closing)) = characters.next_if(|(_, c)| CLOSING.contains(c)) {
            end = next + closing.len_utf8();
        }
        found.extend(trimmed(line, start, end, from));
        start = end;
    }
    found.extend(trimmed(line, start, line.len(), from));
    found
}

fn is_short_form(before: &str) -> bool {
    let word = before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    let word = word.trim_start_matches(['(', '"', '“']).to_lowercase();
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    is_initial || SHORT_FORMS.contains(&word.as_str())
}

fn trimmed(line: &str, start: usize, end: usize, from: usize) -> Option<Span> {
    let piece = &line[start..end];
    let rest = piece.trim_start();
    let start = from + start + (piece.len() - rest.len());
    let length = rest.trim_end().len();
    (length > 0).then_some(Span {
        start,
        end: start + length,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> Vec<&str> {
        let spans = passages(text).into_iter();
        spans.map(|span| &text[span.start..span.end]).collect()
    }

    #[test]
    fn sentences_are_kept_whole() {
        let text = "What is it? It is 3.5 cm wide, e.g. as wide as a thumb, and it weighs about as much as a letter does.\n\
                    Short words.\nA heading without an end\n  \"He said so!\" And then the rest of it followed, which took them quite a while to tell.";
        assert_eq!(
            quoted(text),
            [
                "It is 3.5 cm wide, e.g. as wide as a thumb, and it weighs about as much as a letter does.",
                "\"He said so!\" And then the rest of it followed, which took them quite a while to tell.",
            ]
        );
    }

    #[test]
    fn chinese_sentences_end_without_spaces() {
        let text = "水温多少合适？评测小组认为，冲泡绿茶的水温以八十度为宜。“沸水太烫了。”他们这样说。\n表格 80℃ 两分钟浸泡时间";
        assert_eq!(
            quoted(text),
            [
                "评测小组认为，冲泡绿茶的水温以八十度为宜。“沸水太烫了。”他们这样说。",
                "表格 80℃ 两分钟浸泡时间",
            ]
        );
    }

    #[test]
    fn endless_sentences_are_cut_between_words() {
        let long = "word ".repeat(500);
        let found = passages(&long);
        assert_eq!(found.len(), 1);
        let words = &long[found[0].start..found[0].end];
        assert!(width(words) <= MOST && words.ends_with("word"), "{words}");
        let dense = "水".repeat(1000);
        let found = passages(&dense);
        assert!(width(&dense[found[0].start..found[0].end]) <= MOST);
        assert!(passages("").is_empty() && passages("\n \n").is_empty());
    }
}
