//! Slots: what a node can ask for, and how an answer in a user's words becomes a value.

use std::{cmp::Ordering, fmt};

use serde::{Deserialize, Serialize};

use super::{Phrase, Text};
use crate::text;

/// The most characters of a text that are kept.
pub(crate) const MAX_TEXT: usize = 500;

/// A value that was answered or set. Dates and choices are texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Truth(bool),
    /// A number in the slot's unit.
    Number(f64),
    /// A text, the id of a choice, or a date as `2026-05-31`.
    Text(String),
}

impl Value {
    /// The order of two values of one kind.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Truth(a), Self::Truth(b)) => Some(a.cmp(b)),
            (Self::Number(a), Self::Number(b)) => a.partial_cmp(b),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Truth(_) | Self::Number(_) | Self::Text(_), _) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// What a node can ask for.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) kind: SlotKind,
    /// What stands beside `provide_more_info` when this is asked for.
    pub(crate) description: Phrase,
    /// What is said when an answer does not fit.
    pub(crate) invalid: Phrase,
}

/// What kind of answer fits.
#[derive(Debug)]
pub(crate) enum SlotKind {
    Text {
        max: usize,
    },
    Number {
        min: Option<f64>,
        max: Option<f64>,
        /// The units an answer may be in, with what one of each is worth.
        units: Vec<(String, f64)>,
    },
    Choice(Vec<Pick>),
    Date {
        min: Option<String>,
        max: Option<String>,
    },
    YesNo {
        yes: Phrase,
        no: Phrase,
        yes_words: Vec<String>,
        no_words: Vec<String>,
    },
}

/// One of the answers to a choice.
#[derive(Debug)]
pub(crate) struct Pick {
    pub(crate) id: String,
    pub(crate) description: Phrase,
    pub(crate) keywords: Vec<Text>,
}

/// Why an answer is no value.
#[derive(Debug, PartialEq)]
pub(crate) enum Misfit {
    /// It does not look like one at all.
    Other,
    /// It is one, but not one the author accepts.
    OutOfRange,
}

impl Slot {
    /// The value in a user's words; choices are matched by whoever knows their texts.
    pub(crate) fn read(&self, words: &str) -> Result<Value, Misfit> {
        let said = words.trim();
        let words = text::fold(words);
        match &self.kind {
            SlotKind::Text { .. } if said.is_empty() => Err(Misfit::Other),
            SlotKind::Text { max } if said.chars().count() > *max => Err(Misfit::OutOfRange),
            SlotKind::Text { .. } => Ok(Value::Text(said.to_owned())),
            SlotKind::Number { min, max, units } => {
                let number = number(&words, units).ok_or(Misfit::Other)?;
                let is_low = min.is_some_and(|min| number < min);
                let is_high = max.is_some_and(|max| number > max);
                if is_low || is_high {
                    return Err(Misfit::OutOfRange);
                }
                Ok(Value::Number(number))
            }
            SlotKind::Choice(picks) => {
                let exact = picks.iter().find(|pick| pick.id == said);
                let folded = || {
                    let same = |pick: &&Pick| text::fold(&pick.id).trim() == words.trim();
                    picks.iter().find(same)
                };
                exact
                    .or_else(folded)
                    .map(|pick| Value::Text(pick.id.clone()))
                    .ok_or(Misfit::Other)
            }
            SlotKind::Date { min, max } => {
                let date = date(&words).ok_or(Misfit::Other)?;
                let is_early = min.as_ref().is_some_and(|min| date < *min);
                let is_late = max.as_ref().is_some_and(|max| date > *max);
                if is_early || is_late {
                    return Err(Misfit::OutOfRange);
                }
                Ok(Value::Text(date))
            }
            SlotKind::YesNo {
                yes_words,
                no_words,
                ..
            } => truth(&words, yes_words, no_words)
                .map(Value::Truth)
                .ok_or(Misfit::Other),
        }
    }

    /// A value as an author writes it in a condition.
    pub(crate) fn constant(&self, word: &str) -> Result<Value, String> {
        let wrong = |what: &str| {
            let word = crate::short(word);
            Err(format!(
                "`{}` is {what}, so `{word}` does not fit",
                self.name
            ))
        };
        match &self.kind {
            SlotKind::Text { .. } => Ok(Value::Text(word.to_owned())),
            SlotKind::Number { .. } => match word.parse() {
                Ok(number) => Ok(Value::Number(number)),
                Err(_) => wrong("a number"),
            },
            SlotKind::Choice(picks) => {
                if picks.iter().any(|pick| pick.id == word) {
                    return Ok(Value::Text(word.to_owned()));
                }
                let known: Vec<&str> = picks.iter().map(|pick| pick.id.as_str()).collect();
                wrong(&format!("one of {}", known.join(", ")))
            }
            SlotKind::Date { .. } => match date(word) {
                Some(date) => Ok(Value::Text(date)),
                None => wrong("a date such as 2026-05-31"),
            },
            SlotKind::YesNo { .. } => match word {
                "true" | "yes" => Ok(Value::Truth(true)),
                "false" | "no" => Ok(Value::Truth(false)),
                _ => wrong("yes or no"),
            },
        }
    }
}

/// The one number in some words, in the slot's unit.
fn number(words: &str, units: &[(String, f64)]) -> Option<f64> {
    let is_digit = |c: char| c.is_ascii_digit();
    let plain: String = words.replace([',', '，'], "");
    let Some(start) = plain.find(is_digit) else {
        return english_number(&plain, units).or_else(|| chinese_number(&plain, units));
    };
    let rest = &plain[start..];
    let end = rest
        .find(|c: char| !is_digit(c) && c != '.')
        .unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    if after.contains(is_digit) && !units.iter().any(|(unit, _)| after.contains(unit.as_str())) {
        return None;
    }
    let number: f64 = digits.trim_end_matches('.').parse().ok()?;
    let is_negative = plain[..start].trim_end().ends_with(['-', '负', '−']);
    Some(if is_negative { -number } else { number } * worth(after, units))
}

/// What the unit that follows a number makes of it.
fn worth(after: &str, units: &[(String, f64)]) -> f64 {
    let after = after.trim_start();
    let fits = |unit: &&(String, f64)| after.starts_with(text::fold(&unit.0).trim());
    let longest = units.iter().filter(fits).max_by_key(|unit| unit.0.len());
    if let Some((_, worth)) = longest {
        return *worth;
    }
    match after.chars().next() {
        Some('万') => 1e4,
        Some('亿') => 1e8,
        Some('k') if !after[1..].starts_with(char::is_alphabetic) => 1e3,
        Some(_) | None => 1.0,
    }
}

/// A number in English words, such as `two hundred and fifty`.
fn english_number(words: &str, units: &[(String, f64)]) -> Option<f64> {
    const SMALL: [&str; 20] = [
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
    const TENS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let (mut total, mut section, mut is_begun, mut after) = (0.0, 0.0, false, "");
    let is_border = |c: char| !c.is_ascii_alphabetic();
    let mut rest = words.trim_start_matches(is_border);
    while !rest.is_empty() {
        let length = rest.find(is_border).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(length);
        let place = |list: &[&str]| list.iter().position(|known| *known == word);
        let number = |at: usize| u8::try_from(at).map_or(0.0, f64::from);
        if let Some(at) = place(&SMALL) {
            section += number(at);
        } else if let Some(at) = place(&TENS) {
            section += number(at + 2) * 10.0;
        } else if word == "hundred" && is_begun {
            section *= 100.0;
        } else if word == "thousand" && is_begun {
            total += section * 1000.0;
            section = 0.0;
        } else if is_begun && word != "and" {
            after = rest;
            break;
        } else {
            rest = tail.trim_start_matches(is_border);
            continue;
        }
        is_begun = true;
        rest = tail.trim_start_matches(is_border);
    }
    is_begun.then(|| (total + section) * worth(after, units))
}

fn chinese_number(words: &str, units: &[(String, f64)]) -> Option<f64> {
    const DIGITS: &str = "零一二三四五六七八九";
    let start = words.find(|c| DIGITS.contains(c) || matches!(c, '两' | '十'))?;
    let (mut total, mut section, mut digit, mut end) = (0.0, 0.0, 0.0, words.len());
    for (at, c) in words[start..].char_indices() {
        let place = match c {
            '十' => 10.0,
            '百' => 100.0,
            '千' => 1000.0,
            '万' => {
                total += (section + digit) * 1e4;
                (section, digit) = (0.0, 0.0);
                continue;
            }
            '两' => {
                digit = 2.0;
                continue;
            }
            _ => match DIGITS.chars().position(|known| known == c) {
                Some(found) => {
                    digit = f64::from(u8::try_from(found).ok()?);
                    continue;
                }
                None => {
                    end = start + at;
                    break;
                }
            },
        };
        section += if digit == 0.0 { 1.0 } else { digit } * place;
        digit = 0.0;
    }
    Some((total + section + digit) * worth(&words[end..], units))
}

/// A date with year, month and day, as `2026-05-31`.
pub(crate) fn date(words: &str) -> Option<String> {
    let mut numbers = words
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    let (year, month, day) = (numbers.next()?, numbers.next()?, numbers.next()?);
    if year.len() != 4 || numbers.next().is_some() {
        return None;
    }
    let (year, month, day): (u32, u32, u32) =
        (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return None,
    };
    (1..=days)
        .contains(&day)
        .then(|| format!("{year:04}-{month:02}-{day:02}"))
}

const YES: &[&str] = &[
    "yes", "y", "yeah", "yep", "sure", "true", "correct", "是", "是的", "对", "对的", "有", "好",
    "好的", "可以", "能", "嗯", "没错",
];
const NO: &[&str] = &[
    "no",
    "n",
    "nope",
    "not",
    "false",
    "否",
    "不",
    "不是",
    "没有",
    "没",
    "不对",
    "不能",
    "不行",
    "不可以",
];

/// Yes or no in some words: said outright, or by one of the author's words among others.
fn truth(words: &str, yes_words: &[String], no_words: &[String]) -> Option<bool> {
    let words = words.trim_matches(|c: char| !c.is_alphanumeric());
    let first = words.split([' ', ',', '，', '。', '.', '!', '！']).next()?;
    let is_own = |own: &[String]| own.iter().any(|word| text::fold(word) == words);
    let is_said = |known: &[&str]| known.contains(&words) || known.contains(&first);
    if is_own(no_words) || is_own(yes_words) {
        return Some(is_own(yes_words));
    }
    if is_said(NO) || is_said(YES) {
        return Some(!is_said(NO));
    }
    let has = |own: &[String]| {
        own.iter()
            .any(|word| text::has_word(words, &text::fold(word)))
    };
    let is_denied = NO.iter().any(|word| text::has_word(words, word));
    match (has(yes_words), has(no_words)) {
        // “Not green” and “green or red” are for the user to make clear.
        (true, false) if !is_denied => Some(true),
        (false, true) if !is_denied => Some(false),
        (_, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(kind: SlotKind) -> Slot {
        Slot {
            name: "s".to_owned(),
            kind,
            description: Phrase::default(),
            invalid: Phrase::default(),
        }
    }

    #[test]
    fn numbers_have_units_and_ranges() {
        let speed = slot(SlotKind::Number {
            min: Some(0.0),
            max: Some(10_000.0),
            units: vec![
                ("Mbps".to_owned(), 1.0),
                ("Gbps".to_owned(), 1000.0),
                ("兆".to_owned(), 1.0),
            ],
        });
        for (words, wanted) in [
            ("50", Ok(50.0)),
            ("about 50 Mbps", Ok(50.0)),
            ("1.5Gbps", Ok(1500.0)),
            ("1,000", Ok(1000.0)),
            ("５０兆", Ok(50.0)),
            ("三百兆", Ok(300.0)),
            ("两千五百", Ok(2500.0)),
            ("two hundred and fifty megabits", Ok(250.0)),
            ("about one gbps", Ok(1000.0)),
            ("ninety-four", Ok(94.0)),
            ("-3", Err(Misfit::OutOfRange)),
            ("2万", Err(Misfit::OutOfRange)),
            ("fast", Err(Misfit::Other)),
            ("10 or 20", Err(Misfit::Other)),
        ] {
            assert_eq!(speed.read(words), wanted.map(Value::Number), "{words}");
        }
    }

    #[test]
    fn dates_are_real_days() {
        let day = slot(SlotKind::Date {
            min: Some("2020-01-01".to_owned()),
            max: None,
        });
        for (words, wanted) in [
            ("2026-5-31", Ok("2026-05-31")),
            ("2026年5月31日", Ok("2026-05-31")),
            ("2024/02/29", Ok("2024-02-29")),
            ("2023-02-29", Err(Misfit::Other)),
            ("31.5.2026", Err(Misfit::Other)),
            ("2019-12-31", Err(Misfit::OutOfRange)),
        ] {
            let wanted = wanted.map(|day: &str| Value::Text(day.to_owned()));
            assert_eq!(day.read(words), wanted, "{words}");
        }
    }

    #[test]
    fn yes_and_no_are_words_of_both_languages() {
        let light = slot(SlotKind::YesNo {
            yes: Phrase::default(),
            no: Phrase::default(),
            yes_words: vec!["blinking".to_owned()],
            no_words: vec!["dark".to_owned()],
        });
        for (words, wanted) in [
            ("Yes, it is", Some(true)),
            ("是的。", Some(true)),
            ("没有", Some(false)),
            ("Blinking", Some(true)),
            ("nope!", Some(false)),
            ("it keeps blinking", Some(true)),
            ("it is not blinking", None),
            ("dark", Some(false)),
            ("the box is dark", Some(false)),
            ("blinking or dark", None),
            ("darker", None),
            ("maybe", None),
        ] {
            assert_eq!(light.read(words).ok(), wanted.map(Value::Truth), "{words}");
        }
    }
}
