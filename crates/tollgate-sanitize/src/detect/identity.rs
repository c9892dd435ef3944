//! Numbers of identity papers that only the words around them tell from other numbers.

use super::checks::{is_my_number, is_ssn};
use super::context::{contains_word, has_word_before};
use super::{Finder, Label};
use crate::rules::Words;

/// How far before a number its name may stand.
const REACH: usize = 40;

impl<'r> Finder<'r, '_> {
    /// A social security number without dashes, an individual number, or a passport number of digits alone.
    pub(super) fn identity_number(
        &self,
        (start, end): (usize, usize),
        groups: &[u8],
        digits: &[u8],
    ) -> Option<(usize, usize, &'r Label)> {
        let names = &self.detector.rules.names;
        let personal = &self.detector.personal;
        let label = match (groups, digits) {
            ([9] | [3, 2, 4], _)
                if is_ssn(&digits[..3], &digits[3..5], &digits[5..])
                    && self.is_named(start, &names.ssn) =>
            {
                &personal.ssn
            }
            ([12] | [4, 4, 4], _)
                if is_my_number(digits)
                    && (self.is_named(start, &names.my_number)
                        || self.is_my_number_in_words(start)) =>
            {
                &personal.my_number
            }
            ([7..=9], _) if self.is_named(start, &names.passport) => &personal.passport,
            _ => return None,
        };
        Some((start, end, label))
    }

    /// A passport number whose digits begin at `at`, behind one or two letters.
    pub(super) fn passport(&mut self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let letters = bytes[..at]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_uppercase())
            .count();
        let start = at - letters;
        let digits = bytes[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let letter = usize::from(bytes.get(at + digits).is_some_and(u8::is_ascii_uppercase));
        let end = at + digits + letter;
        let alone =
            |at: Option<&u8>| !at.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let fits = (1..=2).contains(&letters)
            && (6..=9).contains(&digits)
            && alone(bytes.get(start.wrapping_sub(1)))
            && alone(bytes.get(end));
        if !fits || !self.is_named(start, &self.detector.rules.names.passport) {
            return None;
        }
        self.add(start, end, &self.detector.personal.passport);
        Some(end)
    }

    /// Whether one of the words stands before a place, or names the JSON field.
    fn is_named(&self, start: usize, words: &Words) -> bool {
        has_word_before(&self.text[..start], REACH, words)
            || self
                .around
                .field
                .is_some_and(|field| contains_word(field, words) || words.has(&letters_of(field)))
    }

    fn is_my_number_in_words(&self, start: usize) -> bool {
        let from = self.text.ceil_char_boundary(start.saturating_sub(REACH));
        let is_name = |text: &str| letters_of(text).to_ascii_lowercase().contains("mynumber");
        is_name(&self.text[from..start]) || self.around.field.is_some_and(is_name)
    }
}

/// A text without what separates its words.
fn letters_of(field: &str) -> String {
    field.chars().filter(char::is_ascii_alphabetic).collect()
}
