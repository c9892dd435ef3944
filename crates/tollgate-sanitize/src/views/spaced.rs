//! Letters with something between them, as in `g h p _ 1 2`.

use super::{Accepts, Mark, View};

/// The fewest letters that are read together.
const FEWEST: usize = 12;
/// A run of so many bytes covers one of these places.
const STEP: usize = FEWEST * 2 - 4;

fn separates(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'-'
            | b'.'
            | b'_'
            | b'|'
            | b'*'
            | b','
            | b'/'
            | b':'
            | b';'
            | b'+'
            | b'~'
            | b'\t'
            | b'\n'
    )
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_graphic()
}

pub(super) fn marks(text: &str, marks: &mut Vec<Mark>) {
    let bytes = text.as_bytes();
    let mut at = STEP;
    let mut done = 0;
    while at + 3 < bytes.len() {
        let run = [at, at + 1]
            .into_iter()
            .find_map(|place| run(bytes, place, done));
        match run {
            Some(run) => {
                at = run.end + STEP;
                done = run.end;
                marks.push(run);
            }
            None => at += STEP,
        }
    }
}

/// The run around the separator at `place`.
fn run(bytes: &[u8], place: usize, done: usize) -> Option<Mark> {
    let separator = bytes[place];
    if !separates(separator) || bytes.get(place + 2) != Some(&separator) {
        return None;
    }
    let single = |at: usize| is_letter(bytes[at]) && bytes[at] != separator;
    let mut start = place;
    while start >= done + 2 && single(start - 1) && bytes[start - 2] == separator {
        start -= 2;
    }
    // `start` is the separator before the first letter, or the one behind a longer word.
    let mut end = place;
    while end + 2 < bytes.len()
        && bytes[end] == separator
        && is_letter(bytes[end + 1])
        && bytes[end + 2] == separator
    {
        end += 2;
    }
    let first = if start > 0
        && is_letter(bytes[start - 1])
        && (start < 2 || !is_letter(bytes[start - 2]))
    {
        start - 1
    } else {
        start + 1
    };
    let ends_alone = end + 1 < bytes.len()
        && is_letter(bytes[end + 1])
        && !bytes.get(end + 2).is_some_and(|&byte| is_letter(byte));
    let last = if ends_alone { end + 2 } else { end };
    (last > first && last - first >= FEWEST * 2 - 1).then_some(first..last)
}

pub(super) fn views(text: &str, views: &mut Vec<View>) {
    let mut found = Vec::new();
    marks(text, &mut found);
    for mark in found {
        let mut view = View::new(Accepts::Forms);
        for at in mark.step_by(2) {
            view.coded(&text[at..=at], at..at + 1);
        }
        views.push(view);
    }
}
