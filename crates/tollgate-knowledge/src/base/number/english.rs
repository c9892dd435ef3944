//! Numbers in English words, such as `two hundred and fifty`, and what makes others larger.

use super::{Read, Scan, letters};

impl Scan<'_> {
    /// What follows a number and makes it larger: `thousand`, `million`, `k`.
    pub(super) fn scaled(&mut self, mut value: f64) -> Option<f64> {
        loop {
            let rest = self.rest().trim_start();
            let word = letters(rest);
            if self.named(rest).is_some() {
                return Some(value);
            }
            let Some(scale) = scale(word) else {
                return Some(value);
            };
            value *= scale;
            self.at = self.text.len() - rest.len() + word.len();
        }
    }

    /// A number in English words, or a word that is none; a name such as `wifi6` is passed.
    pub(super) fn word(&mut self) -> Option<Option<Read>> {
        let rest = self.rest();
        let name = rest.find(|c: char| !c.is_ascii_alphanumeric());
        let name = &rest[..name.unwrap_or(rest.len())];
        let first = letters(rest);
        let after = rest[name.len()..].strip_prefix('-').unwrap_or_default();
        let is_unit = self.units.iter().any(|(unit, _)| unit == first);
        if first.len() < name.len() && !is_unit {
            self.at += name.len();
            return Some(None);
        }
        if small(first).is_none() && tens(first).is_none() && !self.is_article(first) {
            self.at += first.len();
            // A name such as `wifi-6`.
            if after.starts_with(|c: char| c.is_ascii_digit()) && !matches!(first, "minus") {
                let digits = after.find(|c: char| !c.is_ascii_digit());
                self.at += 1 + digits.unwrap_or(after.len());
            }
            // A scale without a number before it is none.
            return (scale(first).is_none() || first == "k").then_some(None);
        }
        self.english().map(Some)
    }

    /// Whether it is the `a` of `a hundred`.
    fn is_article(&self, word: &str) -> bool {
        let next = self.rest()[word.len()..].trim_start();
        let next = letters(next);
        matches!(word, "a" | "an") && next.len() > 1 && scale(next).is_some()
    }

    fn english(&mut self) -> Option<Read> {
        let (mut total, mut section, mut least) = (0.0, 0.0, f64::INFINITY);
        // What may still be added to the section, and the number of words so far.
        let (mut room, mut count, mut can_join) = (1000.0, 0, false);
        let mut is_one = false;
        loop {
            let rest = self.rest();
            let bare = match count {
                0 => rest,
                _ => rest.trim_start_matches([' ', '-']),
            };
            let mut word = letters(bare);
            let mut from = bare;
            if can_join && word == "and" {
                from = bare[word.len()..].trim_start();
                word = letters(from);
                if small(word).is_none() && tens(word).is_none() {
                    break;
                }
            }
            if matches!(word, "a" | "an") && count == 0 {
                section = 1.0;
                room = 0.0;
            } else if let Some(value) = small(word).filter(|value| *value < room) {
                section += value;
                room = 0.0;
                is_one = count == 0 && value == 1.0;
            } else if let Some(value) = tens(word).filter(|value| *value < room) {
                section += value;
                room = 10.0;
            } else if word == "point" && count > 0 {
                self.at = self.text.len() - from.len() + word.len();
                let value = total + section + self.english_fraction()?;
                return Some((self.scaled(value)?, false));
            } else if let Some(scale) = scale(word).filter(|_| count > 0 && word != "k") {
                if scale < 1000.0 && section < 100.0 && section > 0.0 {
                    section *= scale;
                    room = 100.0;
                } else if scale >= 1000.0 && scale < least && section > 0.0 {
                    total += section * scale;
                    (section, least, room) = (0.0, scale, 1000.0);
                } else {
                    return None;
                }
                can_join = true;
                is_one = false;
                count += 1;
                self.at = self.text.len() - from.len() + word.len();
                continue;
            } else {
                break;
            }
            can_join = false;
            count += 1;
            self.at = self.text.len() - from.len() + word.len();
        }
        Some((total + section, is_one && count == 1))
    }

    /// The digits behind `point`, one word each.
    fn english_fraction(&mut self) -> Option<f64> {
        let mut digits = String::from("0.");
        loop {
            let rest = self.rest().trim_start();
            let word = letters(rest);
            let Some(value) = small(word).filter(|value| *value < 10.0) else {
                break;
            };
            digits.push_str(&value.to_string());
            self.at = self.text.len() - rest.len() + word.len();
        }
        digits.parse().ok().filter(|_| digits.len() > 2)
    }
}

fn small(word: &str) -> Option<f64> {
    const WORDS: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    value_in(&WORDS, word)
}

fn tens(word: &str) -> Option<f64> {
    const WORDS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    Some((value_in(&WORDS, word)? + 2.0) * 10.0)
}

fn value_in(words: &[&str], word: &str) -> Option<f64> {
    let at = words.iter().position(|known| *known == word)?;
    u8::try_from(at).ok().map(f64::from)
}

fn scale(word: &str) -> Option<f64> {
    match word {
        "dozen" => Some(12.0),
        "hundred" => Some(100.0),
        "k" | "thousand" => Some(1e3),
        "million" => Some(1e6),
        "billion" => Some(1e9),
        _ => None,
    }
}
