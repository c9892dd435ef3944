//! Edits of a text, worked out without touching anything.
//!
//! Invariant: every edit speaks of the text as it is and not of what another edit makes of
//! it. So their order means nothing, and two that touch the same place are a conflict.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::diff::Lines;

/// The most places of an ambiguous text that are named.
const MAX_NAMED: usize = 10;

/// One change: a text that stands in the file, or some of its lines, and what takes their place.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = one_of()))]
pub(super) struct Edit {
    /// Text of the file, exactly as it stands there and there only once; it is replaced.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1_000_000))]
    pub(super) old: Option<String>,
    /// What takes its place; nothing, to delete it.
    #[schemars(length(max = 1_000_000))]
    pub(super) new: String,
    /// Replaces `old` wherever it stands.
    #[serde(default)]
    pub(super) all: bool,
    /// Instead of `old`: the first line that is replaced, counted from 1.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub(super) start_line: Option<usize>,
    /// The last line that is replaced; one less than `start_line` inserts before that line.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000_000))]
    pub(super) end_line: Option<usize>,
}

fn one_of() -> Value {
    json!([{"required": ["old"]}, {"required": ["start_line", "end_line"]}])
}

/// Why an edit cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Conflict {
    /// The edit, counted from 0; absent if it is about the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) edit: Option<usize>,
    /// What is wrong.
    pub(super) reason: Reason,
    /// The same for people.
    pub(super) message: String,
    /// Lines it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) lines: Vec<usize>,
}

/// What can be wrong with an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reason {
    /// `old` does not stand in the file.
    NotFound,
    /// `old` stands in it more than once.
    Ambiguous,
    /// The file has no such lines.
    OutOfRange,
    /// Another edit touches the same place.
    Overlap,
    /// The file is not the one whose digest was given.
    FileChanged,
}

/// A text after all edits, and which of its lines are different.
pub(super) struct Edited {
    pub(super) text: String,
    pub(super) lines: Vec<Lines>,
}

/// Why a text cannot be edited.
pub(super) enum Refused {
    /// The edits do not fit it.
    Conflicts(Vec<Conflict>),
    /// It would be too large.
    TooLarge,
}

/// A place of the text, and the edit that replaces it.
struct Span {
    range: Range<usize>,
    edit: usize,
}

/// Makes every edit, or none.
pub(super) fn apply(text: &str, edits: &[Edit], most: usize) -> Result<Edited, Refused> {
    let edits = spelled(text, edits);
    let starts = line_starts(text);
    let (mut spans, mut conflicts) = (Vec::new(), Vec::new());
    for (at, edit) in edits.iter().enumerate() {
        match places(text, &starts, edit, at) {
            Ok(found) => spans.extend(found),
            Err(conflict) => conflicts.push(conflict),
        }
    }
    spans.sort_by_key(|span| (span.range.start, span.range.end));
    conflicts.extend(overlaps(&starts, &spans));
    if !conflicts.is_empty() {
        return Err(Refused::Conflicts(conflicts));
    }
    let taken: usize = spans.iter().map(|span| span.range.len()).sum();
    let added = spans
        .iter()
        .map(|span| replacement(text, &edits[span.edit], span).len());
    if (text.len() - taken).saturating_add(added.fold(0, usize::saturating_add)) > most {
        return Err(Refused::TooLarge);
    }
    Ok(composed(text, &starts, &edits, &spans))
}

/// The edits with the line ends of the file, where it has but one kind.
fn spelled(text: &str, edits: &[Edit]) -> Vec<Edit> {
    let ends = text.matches('\n').count();
    if ends == 0 || text.matches("\r\n").count() != ends {
        return edits.to_vec();
    }
    let spell = |text: &String| text.replace("\r\n", "\n").replace('\n', "\r\n");
    let spelled = |edit: &Edit| Edit {
        old: edit.old.as_ref().map(spell),
        new: spell(&edit.new),
        ..edit.clone()
    };
    edits.iter().map(spelled).collect()
}

/// Where each line begins; a text that ends with a line end has no empty line after it.
fn line_starts(text: &str) -> Vec<usize> {
    let mut starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    if starts.last() == Some(&text.len()) {
        starts.pop();
    }
    if !text.is_empty() {
        starts.insert(0, 0);
    }
    starts
}

/// The line, counted from 1, that a place is in.
fn line_of(starts: &[usize], at: usize) -> usize {
    starts.partition_point(|start| *start <= at).max(1)
}

fn places(text: &str, starts: &[usize], edit: &Edit, at: usize) -> Result<Vec<Span>, Conflict> {
    let conflict = |reason, message: String, lines| Conflict {
        edit: Some(at),
        reason,
        message,
        lines,
    };
    let span = |range| Span { range, edit: at };
    let Some(old) = edit.old.as_deref().filter(|old| !old.is_empty()) else {
        let (first, last) = (
            edit.start_line.unwrap_or_default(),
            edit.end_line.unwrap_or_default(),
        );
        let count = starts.len();
        if first == 0 || first > count + 1 || last > count || last + 1 < first {
            let message = format!("there are no lines {first} to {last}: the file has {count}");
            return Err(conflict(Reason::OutOfRange, message, Vec::new()));
        }
        let begin = |line: usize| starts.get(line - 1).copied().unwrap_or(text.len());
        return Ok(vec![span(begin(first)..begin(last + 1))]);
    };
    let hits: Vec<usize> = if edit.all {
        text.match_indices(old).map(|(at, _)| at).collect()
    } else {
        every(text, old).take(MAX_NAMED).collect()
    };
    match hits.as_slice() {
        [] => {
            let message = "`old` does not stand in the file; read it again".to_owned();
            Err(conflict(Reason::NotFound, message, Vec::new()))
        }
        [_, _, ..] if !edit.all => {
            let lines = hits.iter().map(|at| line_of(starts, *at)).collect();
            let message =
                "`old` stands in the file more than once; give more of it, or set `all`".to_owned();
            Err(conflict(Reason::Ambiguous, message, lines))
        }
        hits => Ok(hits.iter().map(|at| span(*at..at + old.len())).collect()),
    }
}

/// Every place where a text stands, also where one reaches into the next.
fn every<'a>(text: &'a str, old: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(old)?;
        from = at + step;
        Some(at)
    })
}

/// Edits that touch the same place.
fn overlaps(starts: &[usize], spans: &[Span]) -> Vec<Conflict> {
    let mut conflicts: Vec<Conflict> = Vec::new();
    for (one, next) in spans.iter().zip(spans.iter().skip(1)) {
        let both_insert = one.range == next.range;
        if one.range.end > next.range.start || both_insert {
            let (first, second) = (one.edit.min(next.edit), one.edit.max(next.edit));
            if conflicts.iter().any(|known| known.edit == Some(second)) {
                continue;
            }
            conflicts.push(Conflict {
                edit: Some(second),
                reason: Reason::Overlap,
                message: format!("edits {first} and {second} touch the same place"),
                lines: vec![line_of(starts, next.range.start)],
            });
        }
    }
    conflicts
}

/// What takes the place of a span. Whole lines stay whole lines.
fn replacement<'a>(text: &str, edit: &'a Edit, span: &Span) -> std::borrow::Cow<'a, str> {
    let is_lines = edit.old.is_none();
    let follows = span.range.end < text.len();
    let ended = span.range.is_empty() || text[span.range.clone()].ends_with('\n');
    if !is_lines || edit.new.is_empty() {
        return edit.new.as_str().into();
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    // The line before an addition at the very end may lack its line end.
    let joins = span.range.is_empty() && !follows && !text.is_empty() && !text.ends_with('\n');
    let before = if joins { end } else { "" };
    let after = if (follows || (ended && !joins)) && !edit.new.ends_with('\n') {
        end
    } else {
        ""
    };
    if before.is_empty() && after.is_empty() {
        edit.new.as_str().into()
    } else {
        format!("{before}{}{after}", edit.new).into()
    }
}

/// Puts the new text together, and sees which lines it changes.
fn composed(text: &str, starts: &[usize], edits: &[Edit], spans: &[Span]) -> Edited {
    let mut edited = Edited {
        text: String::with_capacity(text.len()),
        lines: Vec::new(),
    };
    let (mut done, mut new_lines) = (0, 0);
    let mut rest = spans
        .iter()
        .map(|span| {
            let with = replacement(text, &edits[span.edit], span);
            let lines = whole_lines(text, starts, &span.range, &with);
            (span, with, lines)
        })
        .peekable();
    while let Some((first, with, mut group)) = rest.next() {
        let mut new = String::from(&text[group.start..first.range.start]);
        new.push_str(&with);
        let mut inside = first.range.end;
        // Changes of the same lines are one.
        while let Some((next, with, lines)) = rest.next_if(|(_, _, lines)| lines.start < group.end)
        {
            new.push_str(&text[inside..next.range.start]);
            new.push_str(&with);
            inside = next.range.end;
            group.end = group.end.max(lines.end);
        }
        new.push_str(&text[inside..group.end]);
        edited.text.push_str(&text[done..group.start]);
        new_lines += count(&text[done..group.start]);
        let old_at = starts.partition_point(|start| *start < group.start);
        let lines = Lines::between(&text[group.clone()], &new, old_at, new_lines);
        edited.lines.extend(lines);
        edited.text.push_str(&new);
        new_lines += count(&new);
        done = group.end;
    }
    edited.text.push_str(&text[done..]);
    edited
}

fn count(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// The whole lines that a change touches.
fn whole_lines(text: &str, starts: &[usize], range: &Range<usize>, with: &str) -> Range<usize> {
    let is_start = |at: usize| {
        starts.binary_search(&at).is_ok() || (at == text.len() && (at == 0 || text.ends_with('\n')))
    };
    let start = if is_start(range.start) {
        range.start
    } else {
        starts[line_of(starts, range.start) - 1]
    };
    let is_whole = is_start(range.end)
        && (with.ends_with('\n')
            || range.end == text.len()
            || (with.is_empty() && is_start(range.start)));
    let end = if is_whole {
        range.end
    } else {
        let next = starts.partition_point(|start| *start <= range.end);
        starts.get(next).copied().unwrap_or(text.len())
    };
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(old: &str, new: &str) -> Edit {
        Edit {
            old: Some(old.to_owned()),
            new: new.to_owned(),
            ..Edit::default()
        }
    }

    fn lines(first: usize, last: usize, new: &str) -> Edit {
        Edit {
            new: new.to_owned(),
            start_line: Some(first),
            end_line: Some(last),
            ..Edit::default()
        }
    }

    fn made(text: &str, edits: &[Edit]) -> String {
        match apply(text, edits, 1 << 20) {
            Ok(edited) => {
                // Whatever was edited, the differing lines lead from the old text to the new.
                assert_eq!(patched(text, &edited), edited.text);
                edited.text
            }
            Err(Refused::Conflicts(conflicts)) => conflicts
                .iter()
                .map(|it| format!("{:?}:{:?}{:?};", it.edit.unwrap(), it.reason, it.lines))
                .collect(),
            Err(Refused::TooLarge) => "too large".to_owned(),
        }
    }

    fn patched(text: &str, edited: &Edited) -> String {
        let old: Vec<&str> = text.split_inclusive('\n').collect();
        let new: Vec<&str> = edited.text.split_inclusive('\n').collect();
        let (mut out, mut at) = (String::new(), 0);
        for lines in &edited.lines {
            out.extend(old[at..lines.old.start].iter().copied());
            out.extend(new[lines.new.clone()].iter().copied());
            at = lines.old.end;
        }
        out.extend(old[at..].iter().copied());
        out
    }

    #[test]
    fn texts_and_lines_are_replaced_inserted_and_deleted() {
        let text = "one\ntwo\nthree\n";
        assert_eq!(made(text, &[swap("two", "2")]), "one\n2\nthree\n");
        assert_eq!(made(text, &[swap("two\n", "")]), "one\nthree\n");
        assert_eq!(made(text, &[swap("one\ntwo", "1 2")]), "1 2\nthree\n");
        assert_eq!(
            made(text, &[swap("e\n", "e "), swap("three", "3")]),
            "0:Ambiguous[1, 3];"
        );
        assert_eq!(made(text, &[lines(2, 2, "2")]), "one\n2\nthree\n");
        assert_eq!(made(text, &[lines(1, 3, "")]), "");
        assert_eq!(
            made(text, &[lines(1, 0, "zero")]),
            "zero\none\ntwo\nthree\n"
        );
        assert_eq!(
            made(text, &[lines(4, 3, "four")]),
            "one\ntwo\nthree\nfour\n"
        );
        let all = Edit {
            all: true,
            ..swap("e", "E")
        };
        assert_eq!(made(text, &[all]), "onE\ntwo\nthrEE\n");
    }

    #[test]
    fn the_last_line_may_lack_its_end() {
        assert_eq!(made("a\nb", &[lines(2, 2, "c")]), "a\nc");
        assert_eq!(made("a\nb", &[lines(3, 2, "c")]), "a\nb\nc");
        assert_eq!(made("a\nb", &[lines(1, 1, "c")]), "c\nb");
        assert_eq!(made("", &[lines(1, 0, "new\n")]), "new\n");
        assert_eq!(made("a\nb", &[swap("b", "b\n")]), "a\nb\n");
        let both = [swap("b", "B"), lines(3, 2, "c")];
        assert_eq!(made("a\nb", &both), "a\nB\nc");
    }

    #[test]
    fn line_ends_of_the_file_are_kept() {
        let text = "a\r\nb\r\nc\r\n";
        assert_eq!(made(text, &[swap("a\nb", "x\ny")]), "x\r\ny\r\nc\r\n");
        assert_eq!(
            made(text, &[lines(2, 2, "two\nmore")]),
            "a\r\ntwo\r\nmore\r\nc\r\n"
        );
    }

    #[test]
    fn what_does_not_fit_is_a_conflict_each() {
        let text = "a\nb\nb\n";
        assert_eq!(made(text, &[swap("z", "")]), "0:NotFound[];");
        assert_eq!(made(text, &[swap("b", "c")]), "0:Ambiguous[2, 3];");
        assert_eq!(made("aaa", &[swap("aa", "b")]), "0:Ambiguous[1, 1];");
        assert_eq!(made(text, &[lines(9, 9, "c")]), "0:OutOfRange[];");
        assert_eq!(made(text, &[lines(3, 1, "c")]), "0:OutOfRange[];");
        assert_eq!(
            made(text, &[lines(1, 2, "c"), lines(2, 3, "d")]),
            "1:Overlap[2];"
        );
        assert_eq!(
            made(text, &[lines(1, 0, "c"), lines(1, 0, "d")]),
            "1:Overlap[1];"
        );
        assert_eq!(
            made(text, &[swap("a\nb", "x"), lines(1, 1, "y")]),
            "1:Overlap[1];"
        );
    }

    #[test]
    fn edits_side_by_side_are_no_conflict() {
        let text = "a\nb\nc\n";
        assert_eq!(
            made(text, &[lines(2, 2, "B"), lines(1, 1, "A")]),
            "A\nB\nc\n"
        );
        assert_eq!(
            made(text, &[swap("a", "x"), lines(2, 1, "between")]),
            "x\nbetween\nb\nc\n"
        );
        assert_eq!(
            made("abc", &[swap("a", "1"), swap("b", "2"), swap("c", "")]),
            "12"
        );
    }

    #[test]
    fn a_text_that_would_burst_is_not_made() {
        let all = Edit {
            all: true,
            ..swap("a", &"b".repeat(1 << 16))
        };
        assert_eq!(made(&"a".repeat(1 << 16), &[all]), "too large");
    }
}
