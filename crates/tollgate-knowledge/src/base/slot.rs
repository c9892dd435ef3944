//! Slots: what a node can ask for, and how an answer in a user's words becomes a value.

use std::{cmp::Ordering, fmt};

use serde::{Deserialize, Serialize};

use super::{Phrase, Text, number::number};
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

/// Words of somebody who does not know, many of which begin like a no.
const UNSURE: &[&str] = &[
    "not sure",
    "not certain",
    "not clear",
    "unsure",
    "no idea",
    "no clue",
    "don't know",
    "dont know",
    "do not know",
    "can't tell",
    "cannot tell",
    "can't say",
    "cannot say",
    "hard to say",
    "不确定",
    "不太确定",
    "不能确定",
    "不知道",
    "不清楚",
    "不太清楚",
    "不了解",
    "不好说",
    "不记得",
    "没注意",
    "说不准",
    "说不清",
];

/// Yes or no in some words: said outright, or by one of the author's words among others.
fn truth(words: &str, yes_words: &[String], no_words: &[String]) -> Option<bool> {
    let words = words.replace('’', "'");
    let words = words.trim_matches(|c: char| !c.is_alphanumeric());
    let first = words.split([' ', ',', '，', '。', '.', '!', '！']).next()?;
    let is_own = |own: &[String]| own.iter().any(|word| text::fold(word) == words);
    let is_said = |known: &[&str]| known.contains(&words) || known.contains(&first);
    if is_own(no_words) || is_own(yes_words) {
        return Some(is_own(yes_words));
    }
    let is_unsure = |words: &str| {
        // Spaces between Chinese characters mean nothing.
        let close = || words.replace(' ', "");
        let mut known = UNSURE.iter();
        known.any(|one| text::has_word(words, one) || !one.is_ascii() && close().contains(one))
    };
    if is_said(NO) {
        return (!is_unsure(words)).then_some(false);
    }
    if is_said(YES) {
        let clause = words.split([',', '，', '。', '.', '!', '！']).next()?;
        return (!is_unsure(clause)).then_some(true);
    }
    if is_unsure(words) {
        return None;
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
    fn numbers_are_read_whole_or_not_at_all() {
        let minutes = slot(SlotKind::Number {
            min: None,
            max: None,
            units: vec![
                ("minute".to_owned(), 1.0),
                ("hour".to_owned(), 60.0),
                ("分钟".to_owned(), 1.0),
                ("小时".to_owned(), 60.0),
            ],
        });
        let count = slot(SlotKind::Number {
            min: None,
            max: None,
            units: Vec::new(),
        });
        for (words, wanted) in [
            ("5 thousand", Some(5000.0)),
            ("2 million", Some(2e6)),
            ("1.5 million", Some(1.5e6)),
            ("2 hundred thousand", Some(2e5)),
            ("12k", Some(12_000.0)),
            ("3千", Some(3000.0)),
            ("3百", Some(300.0)),
            ("3千5百", Some(3500.0)),
            ("1.5万", Some(15_000.0)),
            ("2万5", Some(25_000.0)),
            ("三点五", Some(3.5)),
            ("三点五万", Some(35_000.0)),
            ("three point five", Some(3.5)),
            ("负三", Some(-3.0)),
            ("零下五", Some(-5.0)),
            ("minus five", Some(-5.0)),
            ("minus 5.5", Some(-5.5)),
            ("-3", Some(-3.0)),
            (".5", Some(0.5)),
            ("一百五", Some(150.0)),
            ("一百零五", Some(105.0)),
            ("一千零五十", Some(1050.0)),
            ("二零二六", Some(2026.0)),
            ("一亿两千万", Some(1.2e8)),
            ("十", Some(10.0)),
            ("二十五", Some(25.0)),
            ("one thousand two hundred and five", Some(1205.0)),
            ("a hundred", Some(100.0)),
            ("two dozen", Some(24.0)),
            ("wifi6, 50", Some(50.0)),
            ("一共50", Some(50.0)),
            ("the small one has 50", Some(50.0)),
            ("1,000,000", Some(1e6)),
            ("50, I think", Some(50.0)),
            ("twenty or thirty", None),
            ("twenty thirty", None),
            ("one hundred and one hundred", None),
            ("5 or six", None),
            ("10-20", None),
            ("1,5", None),
            ("1.2.3", None),
            ("5e3", None),
            ("5:30", None),
            ("2026-05-31", None),
            ("5m", None),
            ("三四百", None),
            ("五六个", None),
            ("十几", None),
            ("几十", None),
            ("三个半", None),
            ("two and a half", None),
            ("千万别", None),
            ("hundred", None),
        ] {
            assert_eq!(count.read(words).ok(), wanted.map(Value::Number), "{words}");
        }
        for (words, wanted) in [
            ("30", Some(30.0)),
            ("2 hours", Some(120.0)),
            ("2hours", Some(120.0)),
            ("1 hour 30 minutes", Some(90.0)),
            ("1 hour and 30 minutes", Some(90.0)),
            ("两小时三十分钟", Some(150.0)),
            ("三个小时", Some(180.0)),
            ("about 20 I think", Some(20.0)),
            ("3 days", None),
            ("3天", None),
            ("三个月", None),
            ("50%", None),
            ("20kg", None),
            ("30 minutes or 40 minutes", None),
            ("30 minutes 1 hour", None),
            ("1 hour 30", None),
            ("half an hour", None),
            ("半小时", None),
        ] {
            let read = minutes.read(words).ok();
            assert_eq!(read, wanted.map(Value::Number), "{words}");
        }
    }

    #[test]
    fn whoever_does_not_know_has_not_said_no() {
        let light = slot(SlotKind::YesNo {
            yes: Phrase::default(),
            no: Phrase::default(),
            yes_words: vec!["blinking".to_owned()],
            no_words: vec!["dark".to_owned()],
        });
        for (words, wanted) in [
            ("not sure", None),
            ("No idea!", None),
            ("no clue, sorry", None),
            ("No, I'm not sure", None),
            ("not certain", None),
            ("I don’t know if it is blinking", None),
            ("sure I don't know", None),
            ("不确定", None),
            ("不，我不知道", None),
            ("没有，不清楚", None),
            ("不 知道", None),
            ("yes, but I don't know why", Some(true)),
            ("not yet", Some(false)),
            ("no, it is not", Some(false)),
            ("不，没有", Some(false)),
        ] {
            assert_eq!(light.read(words).ok(), wanted.map(Value::Truth), "{words}");
        }
    }

    #[test]
    fn what_is_too_long_or_too_late_is_out_of_range() {
        let name = slot(SlotKind::Text { max: 5 });
        assert_eq!(
            name.read("五个字可以"),
            Ok(Value::Text("五个字可以".to_owned()))
        );
        assert_eq!(name.read("six six"), Err(Misfit::OutOfRange));
        let day = slot(SlotKind::Date {
            min: None,
            max: Some("2026-05-31".to_owned()),
        });
        assert_eq!(day.read("2026-06-01"), Err(Misfit::OutOfRange));
        assert!(day.read("2026-05-31").is_ok());
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
