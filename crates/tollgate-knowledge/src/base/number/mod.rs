//! Numbers as people say them: digits, English and Chinese words, with a unit behind them.
//!
//! A wrong number is worse than none: what is not one whole quantity is not read at all, so
//! that the user is asked again.

mod dense;
mod english;

use dense::{dense_digit, place};

use crate::text;

/// Units that an author may have left out and that are not to be taken for the slot's own.
const LATIN_UNITS: &str = "am bit byte c cent cm day decade degree dollar euro f feet ft g gb gbit \
    gbps ghz gib gigabit gigabyte gram h hour hr hz inch inches kb kbit kbps kg khz kilo kilobit \
    kilobyte kilogram kilometer kilometre km kw kwh l lb liter litre mb mbit mbps megabyte meter \
    metre mg mhz mib mile min minute ml mm mo month ms mw oz percent pm pound rmb s sec second tb \
    ton tonne usd w watt week wk year yr";
const DENSE_UNITS: &str = "% ‰ ° ℃ ℉ 年 岁 月 周 星期 礼拜 天 日 小时 钟头 分钟 秒 毫秒 点 时 公里 千米 里 米 \
    厘米 毫米 英寸 英尺 公斤 千克 斤 克 吨 升 毫升 元 美元 欧元 度 瓦 千瓦";
/// What may mean a million or a billion as well as a unit.
const UNCLEAR: &[&str] = &["b", "bn", "m", "mn"];
/// Words that make less or more of a number than it says.
const VAGUE: &str = "half quarter quarters dozens hundreds thousands millions";

/// The one quantity in some folded words, in the slot's unit.
pub(super) fn number(words: &str, units: &[(String, f64)]) -> Option<f64> {
    if words.contains('半') || VAGUE.split(' ').any(|word| text::has_word(words, word)) {
        return None;
    }
    let units: Vec<(String, f64)> = units
        .iter()
        .map(|(unit, worth)| (text::fold(unit).trim().to_owned(), *worth))
        .filter(|(unit, _)| !unit.is_empty())
        .collect();
    let mut scan = Scan {
        text: words,
        at: 0,
        units: &units,
    };
    let mut found = Vec::new();
    while let Some(quantity) = scan.next_quantity()? {
        found.push(quantity);
    }
    // “The small one has 50” and “一共50” are about one number.
    if found.len() > 1 {
        found.retain(|one| !one.is_filler());
    }
    match found.as_slice() {
        [] => None,
        [only] => match only.unit {
            Unit::Own => Some(only.value),
            Unit::Named(worth) => Some(only.value * worth),
            Unit::Foreign => None,
        },
        several => sum(words, several),
    }
}

/// One after the other, as in `1 hour 30 minutes`; anything else is two quantities.
fn sum(words: &str, several: &[Quantity]) -> Option<f64> {
    let (mut total, mut before): (f64, Option<(f64, usize)>) = (0.0, None);
    for one in several {
        let Unit::Named(worth) = one.unit else {
            return None;
        };
        if let Some((larger, end)) = before {
            let between = words.get(end..one.start)?.trim();
            let is_joined = matches!(between, "" | "and" | "," | ", and" | "又" | "零");
            if !is_joined || worth >= larger || one.value < 0.0 {
                return None;
            }
        }
        total += one.value * worth;
        before = Some((worth, one.end));
    }
    Some(total)
}

/// A number with what stands behind it.
#[derive(Debug)]
struct Quantity {
    value: f64,
    unit: Unit,
    /// From the sign to the end of the unit.
    start: usize,
    end: usize,
    /// Whether it is the word `one` alone, which is more often no number.
    is_one: bool,
}

#[derive(Debug, Clone, Copy)]
enum Unit {
    /// None that is known.
    Own,
    /// One of the author's.
    Named(f64),
    /// One that the author has not named.
    Foreign,
}

impl Quantity {
    fn is_filler(&self) -> bool {
        self.is_one && matches!(self.unit, Unit::Own)
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    units: &'a [(String, f64)],
}

/// A value, and whether it is the word `one` alone.
type Read = (f64, bool);

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next quantity, if there is one; nothing at all if it cannot be read whole.
    fn next_quantity(&mut self) -> Option<Option<Quantity>> {
        while let Some(first) = self.rest().chars().next() {
            let start = self.at;
            let read = if first.is_ascii_digit() || self.is_point(first) {
                Some(self.digits()?)
            } else if first.is_ascii_alphabetic() {
                self.word()?
            } else if dense_digit(first).is_some() || first == '十' {
                self.dense(None)?
            } else {
                self.at += first.len_utf8();
                None
            };
            let Some((value, is_one)) = read else {
                continue;
            };
            let before = &self.text[..start];
            // The third of them is no quantity.
            if before.trim_end().ends_with('第') {
                continue;
            }
            let (sign, begins) = signed(before);
            let (unit, end) = self.unit(before);
            self.at = end;
            return Some(Some(Quantity {
                value: value * sign,
                unit,
                start: begins,
                end,
                is_one,
            }));
        }
        Some(None)
    }

    /// Whether a point begins a number, as in `.5`.
    fn is_point(&self, first: char) -> bool {
        let mut next = self.rest().chars().skip(1);
        first == '.' && next.next().is_some_and(|c| c.is_ascii_digit())
    }

    /// A number in digits, with what makes it larger.
    fn digits(&mut self) -> Option<Read> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
            .unwrap_or(rest.len());
        let literal = rest[..end].trim_end_matches([',', '.']);
        self.at += literal.len();
        let value: f64 = grouped(literal)?.parse().ok()?;
        let is_place = |c: char| place(c).is_some() || matches!(c, '万' | '亿');
        let bare = self.rest().trim_start();
        if bare.starts_with(is_place) {
            self.at = self.text.len() - bare.len();
            return self.dense(Some(value)).flatten();
        }
        Some((self.scaled(value)?, false))
    }

    /// The unit behind a number, or right before it, and where it ends.
    fn unit(&self, before: &str) -> (Unit, usize) {
        let rest = self.rest();
        let bare = rest.trim_start_matches([' ', '-']);
        let counted = bare.strip_prefix('个').unwrap_or(bare);
        for after in [bare, counted] {
            if let Some((length, worth)) = self.named(after) {
                return (Unit::Named(worth), self.text.len() - after.len() + length);
            }
        }
        let before = before.trim_end();
        let is_before = |unit: &&(String, f64)| {
            before.strip_suffix(unit.0.as_str()).is_some_and(|head| {
                let is_letter = |c: char| c.is_ascii_alphanumeric();
                !(unit.0.starts_with(is_letter) && head.ends_with(is_letter))
            })
        };
        if let Some((_, worth)) = self.units.iter().find(is_before) {
            return (Unit::Named(*worth), self.at);
        }
        let word = letters(bare);
        let is_glued = !letters(rest).is_empty();
        let has_digits = bare[word.len()..].starts_with(|c: char| c.is_ascii_digit());
        let is_known = |word: &str| LATIN_UNITS.split(' ').any(|unit| unit == word);
        let is_unit = is_known(word) || word.strip_suffix('s').is_some_and(is_known);
        let is_dense = DENSE_UNITS.split(' ').any(|unit| counted.starts_with(unit));
        let is_foreign = UNCLEAR.contains(&word)
            || is_glued && has_digits
            || !self.units.is_empty() && (is_glued || is_unit || is_dense);
        match is_foreign {
            true => (Unit::Foreign, self.at),
            false => (Unit::Own, self.at),
        }
    }

    /// The author's unit that a text begins with, the longest there is: its length and worth.
    fn named(&self, text: &str) -> Option<(usize, f64)> {
        let length = |unit: &str| {
            let rest = text.strip_prefix(unit)?;
            if !unit.ends_with(|c: char| c.is_ascii_alphabetic()) {
                return Some(unit.len());
            }
            match letters(rest) {
                "" => Some(unit.len()),
                "s" => Some(unit.len() + 1),
                _ => None,
            }
        };
        let fits = self.units.iter();
        let fits = fits.filter_map(|(unit, worth)| Some((length(unit)?, *worth)));
        fits.max_by_key(|(length, _)| *length)
    }
}

/// The sign before a number, and where it begins.
fn signed(before: &str) -> (f64, usize) {
    let bare = before.trim_end();
    for sign in ["minus", "negative", "零下", "负", "−", "-"] {
        let Some(head) = bare.strip_suffix(sign) else {
            continue;
        };
        // The line of `10-20` and of `wifi-6` is no sign.
        if !head.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            return (-1.0, head.len());
        }
    }
    (1.0, before.len())
}

/// Digits without the signs between thousands; none if these stand elsewhere.
fn grouped(literal: &str) -> Option<String> {
    let mut groups = literal.split(',');
    let first = groups.next()?;
    let mut whole = first.to_owned();
    for group in groups {
        let digits = group.split('.').next()?;
        if first.is_empty() || first.len() > 3 || digits.len() != 3 || whole.contains('.') {
            return None;
        }
        whole.push_str(group);
    }
    Some(whole)
}

fn letters(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing that is said makes the reading fail, end or slow.
    #[test]
    fn odd_words_are_no_numbers() {
        let units = [("".to_owned(), 2.0), ("km".to_owned(), 1.0)];
        let long = "9".repeat(4000) + &"零".repeat(2000) + &" and hundred".repeat(300);
        for words in [
            "",
            "-",
            ".",
            "..",
            "零",
            "点",
            "十点",
            "零点五",
            "一万万",
            "百",
            "k",
            "a",
            "第三",
            "-.-",
            "minus",
            "负",
            "１",
            "and",
            "point five",
            "十十",
            &long,
        ] {
            let read = number(&text::fold(words), &units);
            assert!(read.is_none_or(|value| !value.is_nan()), "{words}");
        }
    }
}
