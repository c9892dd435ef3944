//! Numbers with a unit, as texts write them.

/// What a text says of how much.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) unit: &'static str,
    /// Where it stands, in bytes.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Quantity {
    /// Whether two of the same unit cannot both be meant; what is nearly the same is.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        let slack = 0.02 * self.high.abs().max(other.high.abs());
        self.high + slack < other.low || other.high + slack < self.low
    }
}

impl Quantity {
    /// Whether both say the same, each narrowly enough to say something.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let is_narrow = |one: &Self| one.high - one.low <= 0.25 * one.high.abs();
        self.unit == other.unit && is_narrow(self) && is_narrow(other) && !self.is_apart(other)
    }
}

/// Spellings of units; the longer ones of a beginning come first.
const UNITS: &[(&str, &str)] = &[
    ("degrees celsius", "°C"),
    ("degrees fahrenheit", "°F"),
    ("degrees c", "°C"),
    ("degrees f", "°F"),
    ("°c", "°C"),
    ("° c", "°C"),
    ("°f", "°F"),
    ("℃", "°C"),
    ("摄氏度", "°C"),
    ("percent", "%"),
    ("per cent", "%"),
    ("%", "%"),
    ("％", "%"),
    ("minutes", "min"),
    ("minute", "min"),
    ("mins", "min"),
    ("min", "min"),
    ("分钟", "min"),
    ("seconds", "s"),
    ("second", "s"),
    ("秒", "s"),
    ("hours", "h"),
    ("hour", "h"),
    ("小时", "h"),
    ("个小时", "h"),
    ("days", "d"),
    ("day", "d"),
    ("天", "d"),
    ("weeks", "week"),
    ("week", "week"),
    ("周", "week"),
    ("months", "month"),
    ("month", "month"),
    ("个月", "month"),
    ("years", "year"),
    ("year", "year"),
    ("年", "year"),
    ("kilometres", "km"),
    ("kilometers", "km"),
    ("km", "km"),
    ("公里", "km"),
    ("metres", "m"),
    ("meters", "m"),
    ("m", "m"),
    ("米", "m"),
    ("cm", "cm"),
    ("厘米", "cm"),
    ("mm", "mm"),
    ("毫米", "mm"),
    ("kilograms", "kg"),
    ("kg", "kg"),
    ("公斤", "kg"),
    ("千克", "kg"),
    ("grams", "g"),
    ("g", "g"),
    ("克", "g"),
    ("litres", "l"),
    ("liters", "l"),
    ("l", "l"),
    ("升", "l"),
    ("ml", "ml"),
    ("毫升", "ml"),
    ("kwh", "kWh"),
    ("千瓦时", "kWh"),
    ("kw", "kW"),
    ("watts", "W"),
    ("w", "W"),
    ("瓦", "W"),
    ("usd", "$"),
    ("dollars", "$"),
    ("美元", "$"),
    ("euros", "€"),
    ("eur", "€"),
    ("€", "€"),
    ("欧元", "€"),
    ("yuan", "¥"),
    ("元", "¥"),
];
/// Words after a quantity that make it a distance from another one.
const MORE_OR_LESS: &[&str] = &[
    "above", "below", "cooler", "fewer", "higher", "hotter", "less", "longer", "lower", "more",
    "shorter", "warmer",
];
const BETWEEN: &[&str] = &["–", "—", "-", "~", "～", "至", "到", " to ", " and ", " – "];

/// Every quantity of a text, in order.
pub(super) fn quantities(text: &str) -> Vec<Quantity> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find(|c: char| c.is_ascii_digit()) {
        let start = at + offset;
        let (first, end) = number(text, start);
        at = end;
        let is_part = text[..start].ends_with(|c: char| c.is_ascii_alphabetic());
        if is_part {
            continue;
        }
        if is_distance(&text[unit(text, end).map_or(end, |(_, behind)| behind)..]) {
            continue;
        }
        if let Some((second, range_end)) = range(text, start, end)
            && let Some((unit, unit_end)) = unit(text, range_end)
        {
            found.extend(quantity([first, second], unit, start, unit_end));
            at = unit_end;
        } else if let Some((unit, unit_end)) = unit(text, end) {
            found.extend(quantity([first, first], unit, start, unit_end));
            at = unit_end;
        }
    }
    found
}

/// Whether what follows a quantity says that it is so much more or less than another.
fn is_distance(rest: &str) -> bool {
    let word = rest.trim_start().split(|c: char| !c.is_alphabetic()).next();
    word.is_some_and(|word| MORE_OR_LESS.contains(&word.to_lowercase().as_str()))
}

fn quantity(
    [one, other]: [f64; 2],
    unit: &'static str,
    start: usize,
    end: usize,
) -> Option<Quantity> {
    let (low, high) = (one.min(other), one.max(other));
    // A year of the calendar is a date and no length of time.
    if unit == "year" && low >= 1000.0 {
        return None;
    }
    let (low, high, unit) = match unit {
        "°F" => ((low - 32.0) / 1.8, (high - 32.0) / 1.8, "°C"),
        "s" => (low / 60.0, high / 60.0, "min"),
        unit => (low, high, unit),
    };
    Some(Quantity {
        low,
        high,
        unit,
        start,
        end,
    })
}

/// A number, and where it ends; a comma between groups of three digits is no decimal point.
fn number(text: &str, start: usize) -> (f64, usize) {
    let bytes = text.as_bytes();
    let mut digits = String::new();
    let mut at = start;
    let mut has_point = false;
    while let Some(byte) = bytes.get(at) {
        let digits_behind = bytes[at + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        match byte {
            b'0'..=b'9' => digits.push(char::from(*byte)),
            b',' if digits_behind == 3 && !has_point => {}
            b'.' if !has_point && digits_behind > 0 => {
                has_point = true;
                digits.push('.');
            }
            _ => break,
        }
        at += 1;
    }
    (digits.parse().unwrap_or(0.0), at)
}

/// The second number of a range that begins before `end`.
fn range(text: &str, start: usize, end: usize) -> Option<(f64, usize)> {
    let mut rest = end;
    // The unit may stand behind both numbers.
    if let Some((_, unit_end)) = unit(text, end) {
        rest = unit_end;
    }
    let link = BETWEEN
        .iter()
        .find(|link| text[rest..].starts_with(**link))?;
    if *link == " and " && !text[..start].to_ascii_lowercase().ends_with("between ") {
        return None;
    }
    let second = rest + link.len();
    let is_number = text[second..].starts_with(|c: char| c.is_ascii_digit());
    is_number.then(|| number(text, second))
}

fn unit(text: &str, end: usize) -> Option<(&'static str, usize)> {
    let rest = &text[end..];
    let bare = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let skipped = rest.len() - bare.len();
    if skipped > 3 {
        return None;
    }
    let mut best: Option<(&'static str, usize)> = None;
    for (spelling, unit) in UNITS {
        let Some(head) = bare.get(..spelling.len()) else {
            continue;
        };
        if !head.eq_ignore_ascii_case(spelling) && head.to_lowercase() != *spelling {
            continue;
        }
        let after = bare[spelling.len()..].chars().next();
        let goes_on = after.is_some_and(|c| c.is_ascii_alphanumeric());
        let is_word = spelling.ends_with(|c: char| c.is_ascii_alphabetic());
        let is_longer = best.is_none_or(|(_, length)| spelling.len() > length);
        if !(is_word && goes_on) && is_longer {
            best = Some((unit, spelling.len()));
        }
    }
    best.map(|(unit, length)| (unit, end + skipped + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(f64, f64, &'static str)> {
        let found = quantities(text).into_iter();
        found.map(|one| (one.low, one.high, one.unit)).collect()
    }

    #[test]
    fn quantities_are_read_in_many_spellings() {
        assert_eq!(
            read("at 80 °C, not 95℃"),
            [(80.0, 80.0, "°C"), (95.0, 95.0, "°C")]
        );
        assert_eq!(
            read("between 70 and 80 degrees Celsius"),
            [(70.0, 80.0, "°C")]
        );
        assert_eq!(
            read("75到85℃，2分钟"),
            [(75.0, 85.0, "°C"), (2.0, 2.0, "min")]
        );
        assert_eq!(
            read("1,500 W for 90 seconds"),
            [(1500.0, 1500.0, "W"), (1.5, 1.5, "min")]
        );
        assert_eq!(read("70°C–80°C"), [(70.0, 80.0, "°C")]);
        assert_eq!(read("212 °F"), [(100.0, 100.0, "°C")]);
        assert_eq!(
            read("12.5 % of 3 litres"),
            [(12.5, 12.5, "%"), (3.0, 3.0, "l")]
        );
    }

    #[test]
    fn other_numbers_are_none() {
        for text in [
            "in 2026年",
            "KT-2 kettle",
            "90 and 5 pots",
            "3 lamps",
            "no number",
            "x80 m2",
            "2 °C lower than shown",
            "",
        ] {
            assert_eq!(read(text), [], "{text}");
        }
        assert_eq!(read("90 and 100 °C"), [(100.0, 100.0, "°C")]);
    }

    #[test]
    fn what_is_nearly_the_same_is_not_apart() {
        let one = |text: &str| quantities(text).remove(0);
        assert!(!one("80 °C").is_apart(&one("81 °C")));
        assert!(!one("70 to 80 °C").is_apart(&one("75 °C")));
        assert!(one("70 to 80 °C").is_apart(&one("95 °C")));
        assert!(one("95 °C").is_apart(&one("70 to 80 °C")));
        assert!(one("80 °C").agrees(&one("75 to 85 °C")));
        assert!(
            !one("80 °C").agrees(&one("40 to 100 °C")),
            "that says next to nothing"
        );
        assert!(!one("80 °C").agrees(&one("80 %")));
    }
}
