//! Full-width letters and digits, as in `１２３`.

use memchr::memchr_iter;

use super::{Accepts, Mark, View, decoded};

/// How far a full-width character is from the one it stands for.
const DISTANCE: u32 = 0xfee0;

pub(super) fn marks(text: &str, marks: &mut Vec<Mark>) {
    let bytes = text.as_bytes();
    for at in memchr_iter(0xef, bytes) {
        let is_wide = matches!(
            bytes.get(at + 1..at + 3),
            Some([0xbc, 0x90..=0x99 | 0xa1..=0xba] | [0xbd, 0x81..=0x9a])
        );
        if is_wide {
            match marks.last_mut() {
                Some(last) if last.end == at => last.end = at + 3,
                _ => marks.push(at..at + 3),
            }
        }
    }
}

pub(super) fn views(text: &str, views: &mut Vec<View>) {
    let mut found = Vec::new();
    marks(text, &mut found);
    // One character at a time, so that what is found in the middle of a run is replaced alone.
    let single: Vec<Mark> = found
        .iter()
        .flat_map(|mark| mark.clone().step_by(3).map(|at| at..at + 3))
        .collect();
    let read = |wide: &str, read: &mut String| {
        read.extend(
            wide.chars()
                .filter_map(|c| char::from_u32(u32::from(c).wrapping_sub(DISTANCE))),
        );
    };
    decoded(text, &single, Accepts::All, read, views);
}
