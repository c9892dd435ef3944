//! Numbers in Chinese characters, alone or behind digits, such as `三千五` and `1.5万`.

use super::{Read, Scan};

impl Scan<'_> {
    /// A number in Chinese, or a number in digits that goes on so; nothing if it is not one.
    pub(super) fn dense(&mut self, literal: Option<f64>) -> Option<Option<Read>> {
        if self.text[..self.at].ends_with(['几', '数']) {
            return None;
        }
        if literal.is_none() && self.rest().starts_with("零下") {
            self.at += "零下".len();
            return Some(None);
        }
        let start = self.at;
        let (mut total, mut section) = (0.0, 0.0);
        let (mut atom, mut last, mut is_small): (Option<f64>, f64, bool) =
            (literal, f64::MAX, false);
        while let Some(c) = self.rest().chars().next() {
            if atom.is_none() && dense_digit(c).is_some() {
                let (value, is_single) = self.dense_digits(last < f64::MAX)?;
                atom = Some(value);
                is_small = is_single;
                continue;
            }
            if let Some(place) = place(c) {
                let ten = (place == 10.0).then_some(1.0);
                let value = atom.take().filter(|value| *value > 0.0).or(ten)?;
                if place >= last {
                    return None;
                }
                section += value * place;
                last = place;
            } else if matches!(c, '万' | '亿') {
                let own = section + atom.take().unwrap_or(0.0);
                total = match c {
                    '万' => total + own * 1e4,
                    _ => (total + own) * 1e8,
                };
                section = 0.0;
                last = if c == '万' { 1e4 } else { 1e8 };
                if total == 0.0 {
                    return None;
                }
            } else if c == '点' && literal.is_none() && self.has_dense_fraction() {
                self.at += c.len_utf8();
                let value = total + section + atom.unwrap_or(0.0) + self.dense_fraction()?;
                return Some(Some((self.dense_scaled(value), false)));
            } else if c.is_ascii_digit() && atom.is_none() && last < f64::MAX {
                let digits = self.rest();
                let end = digits.find(|c: char| !c.is_ascii_digit());
                let digits = &digits[..end.unwrap_or(digits.len())];
                atom = digits.parse().ok();
                is_small = digits.len() == 1;
                self.at += digits.len();
                continue;
            } else {
                break;
            }
            is_small = false;
            self.at += c.len_utf8();
        }
        if self.rest().starts_with('几') {
            return None;
        }
        // 一百五 is a hundred and fifty, 一百零五 a hundred and five.
        let tail = match atom {
            Some(value) if is_small && last < f64::MAX => value * last / 10.0,
            Some(value) => value,
            None => 0.0,
        };
        let is_one = &self.text[start..self.at] == "一";
        Some(Some((total + section + tail, is_one)))
    }

    /// One digit, a zero and one digit, or a number that is told digit by digit; whether it is
    /// a single one that stands for the next place.
    fn dense_digits(&mut self, has_place: bool) -> Option<(f64, bool)> {
        let rest = self.rest();
        let digits: Vec<u8> = rest.chars().map_while(dense_digit).collect();
        let length: usize = rest.chars().take(digits.len()).map(char::len_utf8).sum();
        self.at += length;
        let is_placed = self
            .rest()
            .starts_with(|c| place(c).is_some() || c == '万' || c == '亿');
        let whole = || {
            digits
                .iter()
                .fold(0.0, |sum, digit| sum * 10.0 + f64::from(*digit))
        };
        match digits.as_slice() {
            [one] => Some((f64::from(*one), *one > 0)),
            [0, one] if has_place => Some((f64::from(*one), false)),
            // Three or four hundred, five or six.
            _ if is_placed || has_place => None,
            [_, _] if !digits.contains(&0) => None,
            _ => Some((whole(), false)),
        }
    }

    fn has_dense_fraction(&self) -> bool {
        let mut next = self.rest().chars().skip(1);
        next.next().is_some_and(|c| dense_digit(c).is_some())
    }

    fn dense_fraction(&mut self) -> Option<f64> {
        let mut digits = String::from("0.");
        while let Some(digit) = self.rest().chars().next().and_then(dense_digit) {
            digits.push(char::from(b'0' + digit));
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        }
        digits.parse().ok()
    }

    fn dense_scaled(&mut self, mut value: f64) -> f64 {
        while let Some(c) = self.rest().chars().next() {
            value *= match c {
                '万' => 1e4,
                '亿' => 1e8,
                c => match place(c) {
                    Some(place) => place,
                    None => break,
                },
            };
            self.at += c.len_utf8();
        }
        value
    }
}

pub(super) fn dense_digit(c: char) -> Option<u8> {
    match c {
        '零' | '〇' => Some(0),
        '两' => Some(2),
        _ => {
            let at = "一二三四五六七八九".chars().position(|known| known == c)?;
            u8::try_from(at + 1).ok()
        }
    }
}

pub(super) fn place(c: char) -> Option<f64> {
    match c {
        '十' => Some(10.0),
        '百' => Some(100.0),
        '千' => Some(1000.0),
        _ => None,
    }
}
