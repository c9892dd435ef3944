//! Where something stands, in eight bytes: every node and every option has one.
//!
//! A file has less than 2^29 characters, so a line and a column are not both large; whichever
//! is gets the 29 bits, and the other 24. Only a file of millions of lines with a line of
//! millions of characters has places whose smaller part is not exact.

use std::sync::Arc;

use crate::problem::Place;

/// A file by its number, a line and a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spot(u64);

const FILE_BITS: u32 = 10;
const LARGE_BITS: u32 = 29;
const SMALL_BITS: u32 = 24;

/// The lowest bits of a number.
const fn most(bits: u32) -> u64 {
    (1 << bits) - 1
}

impl Spot {
    pub(super) fn new(file: usize, place: Place) -> Self {
        let file = u64::try_from(file).unwrap_or(u64::MAX).min(most(FILE_BITS));
        let (line, column) = (u64::from(place.line), u64::from(place.column));
        let is_wide = column > most(SMALL_BITS);
        let (large, small) = if is_wide {
            (column, line)
        } else {
            (line, column)
        };
        let large = large.min(most(LARGE_BITS));
        let small = small.min(most(SMALL_BITS));
        let places = large << SMALL_BITS | small;
        Self((places << 1 | u64::from(is_wide)) << FILE_BITS | file)
    }

    fn place(self) -> Place {
        let bits = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let rest = self.0 >> FILE_BITS;
        let (is_wide, places) = (rest & 1 == 1, rest >> 1);
        let (large, small) = (bits(places >> SMALL_BITS), bits(places & most(SMALL_BITS)));
        match is_wide {
            true => Place {
                line: small,
                column: large,
            },
            false => Place {
                line: large,
                column: small,
            },
        }
    }

    /// Whether it is a place at all.
    pub(crate) fn is_somewhere(self) -> bool {
        self.place().line > 0
    }

    /// The name of the file, and the place in it.
    pub(super) fn named(self, files: &[Arc<str>]) -> (Arc<str>, Place) {
        let file = usize::try_from(self.0 & most(FILE_BITS)).unwrap_or(usize::MAX);
        let file = files.get(file).cloned();
        (file.unwrap_or_else(|| Arc::from("")), self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_file_is_kept() {
        assert_eq!(size_of::<Spot>(), 8);
        let files: Vec<Arc<str>> = (0..1000).map(|at| Arc::from(at.to_string())).collect();
        for (file, line, column) in [
            (0, 0, 0),
            (999, 1, 70_000),
            (7, 1, 500_000_000),
            (7, 500_000_000, 1),
            (999, 16_777_215, 16_777_215),
            (1, 16_777_215, 16_777_216),
        ] {
            let place = Place { line, column };
            let (name, found) = Spot::new(file, place).named(&files);
            assert_eq!((&*name, found), (file.to_string().as_str(), place));
        }
    }
}
