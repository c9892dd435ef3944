//! The difference between two versions of a file, as people and programs read it.
//!
//! Which lines differ is known from the edits, so nothing is searched for: writing it down
//! takes time in proportion to the file, whatever the file holds.

use std::{fmt::Write as _, ops::Range};

use serde::{Deserialize, Serialize};

/// Unchanged lines shown on either side.
const CONTEXT: usize = 3;

/// Lines of one version that stand where lines of the other stood, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lines {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

impl Lines {
    /// What differs between two passages; nothing if they are equal.
    pub(super) fn between(old: &str, new: &str, old_at: usize, new_at: usize) -> Option<Self> {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let ends = old[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = ends.take_while(|(a, b)| a == b).count();
        let range = |at: usize, count: usize| at + head..at + count - tail;
        let lines = Self {
            old: range(old_at, old.len()),
            new: range(new_at, new.len()),
        };
        (!lines.old.is_empty() || !lines.new.is_empty()).then_some(lines)
    }

    /// The way back.
    pub(super) fn reversed(&self) -> Self {
        Self {
            old: self.new.clone(),
            new: self.old.clone(),
        }
    }
}

/// One version of a file; nothing where there is no file.
pub(super) type Version<'a> = Option<&'a str>;

/// The unified difference between two versions.
pub(super) fn unified(name: &str, old: Version<'_>, new: Version<'_>, lines: &[Lines]) -> String {
    let old_lines: Vec<&str> = old.unwrap_or_default().split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.unwrap_or_default().split_inclusive('\n').collect();
    let title = |side: char, version: Version<'_>| match version {
        Some(_) => format!("{side}/{name}"),
        None => "/dev/null".to_owned(),
    };
    let mut text = format!("--- {}\n+++ {}\n", title('a', old), title('b', new));
    let mut rest = lines;
    while let Some((first, _)) = rest.split_first() {
        let near = |pair: &[Lines]| pair[1].old.start - pair[0].old.end <= 2 * CONTEXT;
        let count = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
        let (hunk, after) = rest.split_at(count);
        let last = hunk.last().unwrap_or(first);
        let before = first.old.start.min(CONTEXT);
        let behind = (old_lines.len() - last.old.end).min(CONTEXT);
        let old_range = first.old.start - before..last.old.end + behind;
        let new_range = first.new.start - before..last.new.end + behind;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "@@ -{} +{} @@", span(&old_range), span(&new_range));
        let mut at = old_range.start;
        for change in hunk {
            push(&mut text, ' ', &old_lines[at..change.old.start]);
            push(&mut text, '-', &old_lines[change.old.clone()]);
            push(&mut text, '+', &new_lines[change.new.clone()]);
            at = change.old.end;
        }
        push(&mut text, ' ', &old_lines[at..old_range.end]);
        rest = after;
    }
    text
}

/// Line numbers as unified differences write them.
fn span(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        count => format!("{},{count}", range.start + 1),
    }
}

fn push(text: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(old: Range<usize>, new: Range<usize>) -> Lines {
        Lines { old, new }
    }

    #[test]
    fn changes_far_apart_are_hunks_of_their_own() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("2\n3\n", "two\n3\n").replace("19\n", "");
        let lines = [changed(1..2, 1..2), changed(18..19, 18..18)];
        let text = unified("guide.md", Some(&old), Some(&new), &lines);
        assert_eq!(
            text,
            "--- a/guide.md\n+++ b/guide.md\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n\
             @@ -16,5 +16,4 @@\n 16\n 17\n 18\n-19\n 20\n"
        );
        let back: Vec<Lines> = lines.iter().map(Lines::reversed).collect();
        let text = unified("guide.md", Some(&new), Some(&old), &back);
        assert!(
            text.contains("-two\n+2\n") && text.contains("+19\n"),
            "{text}"
        );
    }

    #[test]
    fn a_fresh_file_and_a_missing_line_end_are_said() {
        let text = unified("a", None, Some("x\ny"), &[changed(0..0, 0..2)]);
        assert_eq!(
            text,
            "--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn what_both_begin_and_end_with_is_left_out() {
        let lines = Lines::between("a\nb\nc\n", "a\nB\nc\n", 10, 20);
        assert_eq!(lines, Some(changed(11..12, 21..22)));
        assert_eq!(Lines::between("a\n", "a\n", 0, 0), None);
        assert_eq!(
            Lines::between("a\na\n", "a\na\na\n", 0, 0),
            Some(changed(2..2, 2..3))
        );
    }
}
