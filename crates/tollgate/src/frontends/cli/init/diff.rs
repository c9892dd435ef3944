//! The difference between a file as it is and as it will be, for people to read.
//!
//! One hunk is enough, because one spot is edited: what both texts begin and end with is left
//! out. That takes time in proportion to the file, which may be large.

use tollgate_sanitize::{Sanitizer, Scope};

/// Unchanged lines shown on either side.
const CONTEXT: usize = 3;

/// Characters of a line that are shown; some clients write whole files on one line.
const MAX_WIDTH: usize = 300;

/// A unified difference without secrets; nothing if the texts are equal.
///
/// A client's file holds the keys of its other servers, and this may be read by an agent.
pub(in super::super) fn unified(name: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let text = hunk(name, before, after);
    let clean = Sanitizer::shipped().text(&text, &Scope::trusted());
    clean.text.into_owned()
}

fn hunk(name: &str, before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = ends.take_while(same).count();

    let start = head.saturating_sub(CONTEXT);
    let old_end = (old.len() - tail + CONTEXT).min(old.len());
    let new_end = (new.len() - tail + CONTEXT).min(new.len());
    let from = if before.is_empty() { "/dev/null" } else { name };
    let mut text = format!(
        "--- {from}\n+++ {name}\n@@ -{} +{} @@\n",
        range(start, old_end),
        range(start, new_end)
    );
    let parts = [
        (' ', &old[start..head]),
        ('-', &old[head..old.len() - tail]),
        ('+', &new[head..new.len() - tail]),
        (' ', &old[old.len() - tail..old_end]),
    ];
    for (mark, lines) in parts {
        for line in lines {
            push(&mut text, mark, line);
        }
    }
    text
}

/// Line numbers as unified differences write them.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => "0,0".to_owned(),
        count => format!("{},{count}", start + 1),
    }
}

fn push(text: &mut String, mark: char, line: &str) {
    let body = line.trim_end_matches(['\n', '\r']);
    text.push(mark);
    match body.char_indices().nth(MAX_WIDTH) {
        Some((at, _)) => {
            text.push_str(&body[..at]);
            text.push('…');
        }
        None => text.push_str(body),
    }
    text.push('\n');
    if !line.ends_with('\n') {
        text.push_str("\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn one_hunk_shows_what_changes_and_three_lines_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni\n";
        let after = "a\nb\nc\nd\ne!\nnew\nf\ng\nh\ni\n";
        assert_snapshot!(unified("file", before, after), @"
        --- file
        +++ file
        @@ -2,7 +2,8 @@
         b
         c
         d
        -e
        +e!
        +new
         f
         g
         h
        ");
    }

    #[test]
    fn a_fresh_file_and_a_missing_newline_are_said() {
        assert_snapshot!(unified("file", "", "a\n"), @"
        --- /dev/null
        +++ file
        @@ -0,0 +1,1 @@
        +a
        ");
        assert_snapshot!(unified("file", "a", "a\n"), @r"
        --- file
        +++ file
        @@ -1,1 +1,1 @@
        -a
        \ No newline at end of file
        +a
        ");
        assert_eq!(unified("file", "a\n", "a\n"), "");
    }

    #[test]
    fn lines_that_repeat_are_counted_once() {
        assert_snapshot!(unified("file", "a\na\n", "a\na\na\n"), @"
        --- file
        +++ file
        @@ -1,2 +1,3 @@
         a
         a
        +a
        ");
    }

    #[test]
    fn keys_of_other_servers_are_not_shown() {
        let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let before = format!("\"GITHUB_TOKEN\": \"{key}\"\n");
        let shown = unified("file", &before, &format!("{before}more\n"));
        assert!(shown.contains("+more") && !shown.contains(&key), "{shown}");
    }
}
