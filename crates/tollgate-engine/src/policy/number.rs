//! JSON numbers as Cedar can hold them, read from their spelling.
//!
//! Invariant: two spellings of one number give one value (`1`, `1.0` and `1e0`
//! are the same Long), so a rule cannot be slipped past by spelling it another way,
//! and nothing is ever rounded.

/// The most characters a number that fits nowhere is written out with.
const PLAIN_LENGTH: i64 = 64;
/// The fraction digits a Cedar decimal has.
const DECIMAL_DIGITS: i64 = 4;

/// A number in the only types Cedar has for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Number {
    /// An integer of 64 bits.
    Long(i64),
    /// A decimal with up to four fraction digits, as Cedar spells it.
    Decimal(String),
    /// Anything else, in one canonical spelling.
    Text(String),
}

impl Number {
    /// Reads a JSON number as it was spelled.
    pub(super) fn of(spelling: &str) -> Self {
        match Exact::parse(spelling) {
            Some(exact) => exact.number(),
            None => Self::Text(spelling.to_owned()),
        }
    }
}

/// `digits * 10^-scale`, without zeros at either end of the digits.
struct Exact<'a> {
    sign: &'a str,
    digits: String,
    scale: i64,
}

impl<'a> Exact<'a> {
    /// `None` only for an exponent beyond anything that could be written out.
    fn parse(spelling: &'a str) -> Option<Self> {
        let (sign, magnitude) = match spelling.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", spelling),
        };
        let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let kept = all.trim_end_matches('0');
        let digits = kept.trim_start_matches('0').to_owned();
        let exponent: i64 = match exponent.parse::<i32>() {
            Ok(exponent) => exponent.into(),
            Err(_) if digits.is_empty() => 0,
            Err(_) => return None,
        };
        let dropped = i64::try_from(all.len() - kept.len()).ok()?;
        let places = i64::try_from(fraction.len()).ok()?;
        Some(Self {
            sign,
            digits,
            scale: places - dropped - exponent,
        })
    }

    fn number(&self) -> Number {
        if self.digits.is_empty() {
            return Number::Long(0);
        }
        let fits = match self.scale {
            ..=0 => self.shifted(-self.scale).map(Number::Long),
            1..=DECIMAL_DIGITS => self
                .shifted(DECIMAL_DIGITS - self.scale)
                .map(|ten_thousandths| Number::Decimal(decimal(ten_thousandths))),
            _ => None,
        };
        fits.unwrap_or_else(|| Number::Text(self.spelled()))
    }

    /// The digits with zeros behind them, as an integer of 64 bits.
    fn shifted(&self, zeros: i64) -> Option<i64> {
        // Nothing with twenty zeros behind it fits.
        let zeros = usize::try_from(zeros).ok().filter(|zeros| *zeros < 20)?;
        format!("{}{}{}", self.sign, self.digits, "0".repeat(zeros))
            .parse()
            .ok()
    }

    fn spelled(&self) -> String {
        let Self {
            sign,
            digits,
            scale,
        } = self;
        let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let length = count.max(*scale) + (-scale).max(0);
        if length > PLAIN_LENGTH {
            return format!("{sign}{digits}e{}", -scale);
        }
        let width = usize::try_from(length).unwrap_or(0);
        if *scale <= 0 {
            return format!("{sign}{digits:0<width$}");
        }
        let point = digits
            .len()
            .saturating_sub(usize::try_from(*scale).unwrap_or(0));
        let (whole, fraction) = digits.split_at(point);
        let whole = if whole.is_empty() { "0" } else { whole };
        let places = usize::try_from(*scale).unwrap_or(0);
        format!("{sign}{whole}.{fraction:0>places$}")
    }
}

/// Ten-thousandths as Cedar's `decimal` reads them.
fn decimal(ten_thousandths: i64) -> String {
    let magnitude = ten_thousandths.unsigned_abs();
    let sign = if ten_thousandths < 0 { "-" } else { "" };
    format!("{sign}{}.{:04}", magnitude / 10_000, magnitude % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(value: i64) -> Number {
        Number::Long(value)
    }

    fn decimal(text: &str) -> Number {
        Number::Decimal(text.to_owned())
    }

    fn text(text: &str) -> Number {
        Number::Text(text.to_owned())
    }

    #[test]
    fn numbers_take_the_narrowest_type_that_is_exact() {
        let cases = [
            ("0", long(0)),
            ("-0", long(0)),
            ("-0.0e5", long(0)),
            ("0e99999999999999999999", long(0)),
            ("12", long(12)),
            ("1.0", long(1)),
            ("1e2", long(100)),
            ("1500E-2", long(15)),
            ("9223372036854775807", long(i64::MAX)),
            ("-9223372036854775808", long(i64::MIN)),
            ("9223372036854775808", text("9223372036854775808")),
            ("1.5", decimal("1.5000")),
            ("-0.0001", decimal("-0.0001")),
            ("12.3450", decimal("12.3450")),
            ("922337203685477.5807", decimal("922337203685477.5807")),
            ("-922337203685477.5808", decimal("-922337203685477.5808")),
            ("922337203685477.5808", text("922337203685477.5808")),
            ("0.12345", text("0.12345")),
            ("1e400", text("1e400")),
            ("1e99999999999999999999", text("1e99999999999999999999")),
        ];
        for (spelling, number) in cases {
            assert_eq!(Number::of(spelling), number, "{spelling}");
        }
    }

    #[test]
    fn two_spellings_of_one_number_are_one_value() {
        let cases = [
            ("1.2345e-1", "0.12345"),
            ("1.2345678901234567890123e22", "12345678901234567890123"),
            ("10e19", "100000000000000000000"),
            ("0.000000012e1", "1.2e-7"),
            ("10e399", "1e400"),
            ("0.10e-399", "1e-400"),
        ];
        for (one, other) in cases {
            assert_eq!(Number::of(one), Number::of(other), "{one} and {other}");
        }
    }
}
