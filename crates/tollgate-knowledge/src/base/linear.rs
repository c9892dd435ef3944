//! What a number can be compared with: `paid * 0.8 - 5`, worked out from other answers.

use super::{Base, Facts, Slot, SlotKind, Value};

/// Answers times numbers, added up.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Linear {
    constant: f64,
    parts: Vec<(u16, f64)>,
}

impl Linear {
    /// The number it comes to; nothing while one of the answers is missing.
    pub(crate) fn value(&self, facts: &dyn Facts) -> Option<f64> {
        let mut sum = self.constant;
        for (slot, factor) in &self.parts {
            match facts.slot(*slot)? {
                Value::Number(number) => sum += number * factor,
                Value::Truth(_) | Value::Text(_) => return None,
            }
        }
        Some(sum)
    }

    /// The number, if it needs no answer.
    pub(super) fn constant(&self) -> Option<f64> {
        self.parts.is_empty().then_some(self.constant)
    }

    /// In the words of an author.
    pub(super) fn show(&self, base: &Base) -> String {
        let mut shown: Vec<String> = self
            .parts
            .iter()
            .map(|(slot, factor)| {
                let name = base
                    .slots
                    .get(usize::from(*slot))
                    .map_or("?", |slot| slot.name.as_str());
                if (*factor - 1.0).abs() < f64::EPSILON {
                    name.to_owned()
                } else {
                    format!("{name} * {factor}")
                }
            })
            .collect();
        if self.constant != 0.0 || shown.is_empty() {
            shown.push(self.constant.to_string());
        }
        shown.join(" + ")
    }

    /// Reads such a sum; the error says what is wrong with it.
    pub(super) fn parse(text: &str, slots: &[Slot]) -> Result<Self, String> {
        let mut sum = Self::default();
        let mut rest = text.trim();
        let mut sign = 1.0;
        if rest.is_empty() {
            return Err("a value is missing".to_owned());
        }
        loop {
            let (product, after) = product(rest, slots)?;
            sum.constant += sign * product.constant;
            sum.parts.extend(
                product
                    .parts
                    .iter()
                    .map(|(slot, factor)| (*slot, sign * factor)),
            );
            rest = after.trim_start();
            match rest.chars().next() {
                None => return Ok(sum),
                Some('+') => sign = 1.0,
                Some('-') => sign = -1.0,
                Some(_) => return Err(format!("`{}` is not expected here", crate::short(rest))),
            }
            rest = &rest[1..];
        }
    }
}

/// Factors with `*` or `/` between them, only one of which may be an answer.
fn product<'t>(text: &'t str, slots: &[Slot]) -> Result<(Linear, &'t str), String> {
    let (mut whole, mut rest) = factor(text, slots)?;
    loop {
        let after = rest.trim_start();
        let Some(operator) = after.chars().next().filter(|c| "*/".contains(*c)) else {
            return Ok((whole, after));
        };
        let (next, tail) = factor(&after[1..], slots)?;
        rest = tail;
        let (left, right) = (whole.constant(), next.constant());
        whole = match (operator, left, right) {
            ('*', _, Some(number)) => scaled(whole, number),
            ('*', Some(number), None) => scaled(next, number),
            ('/', _, Some(number)) if number != 0.0 => scaled(whole, 1.0 / number),
            ('/', _, Some(_)) => return Err("nothing can be divided by 0".to_owned()),
            (_, _, _) => return Err("answers can be multiplied with numbers only".to_owned()),
        };
    }
}

fn scaled(mut sum: Linear, by: f64) -> Linear {
    sum.constant *= by;
    for (_, factor) in &mut sum.parts {
        *factor *= by;
    }
    sum
}

fn factor<'t>(text: &'t str, slots: &[Slot]) -> Result<(Linear, &'t str), String> {
    let text = text.trim_start();
    let (sign, text) = match text.strip_prefix('-') {
        Some(after) => (-1.0, after.trim_start()),
        None => (1.0, text),
    };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(length);
    if word.is_empty() {
        return Err("a value is missing".to_owned());
    }
    if let Ok(number) = word.parse::<f64>() {
        let constant = sign * number;
        return Ok((
            Linear {
                constant,
                parts: Vec::new(),
            },
            rest,
        ));
    }
    let found = slots.iter().position(|slot| slot.name == word);
    match found.map(|at| (at, &slots[at].kind)) {
        Some((at, SlotKind::Number { .. })) => {
            let slot = u16::try_from(at).map_err(|_| "there are too many slots".to_owned())?;
            let parts = vec![(slot, sign)];
            Ok((
                Linear {
                    constant: 0.0,
                    parts,
                },
                rest,
            ))
        }
        Some(_) => Err(format!("`{word}` is no number")),
        None => Err(format!(
            "`{}` is neither a number nor a slot",
            crate::short(word)
        )),
    }
}
