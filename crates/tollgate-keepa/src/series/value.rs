//! Turns raw numbers into what people read: prices with the decimals of their currency, stars, ranks and counts.
//!
//! Invariant: the raw number always stays beside the converted one, so nothing is lost to rounding.

use serde_json::{Map, Number, Value, json};

use super::Unit;
use crate::Domain;

/// A raw number that exists, with its meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// As it came.
    pub raw: i64,
    /// What it counts.
    pub unit: Unit,
    domain: Domain,
}

/// What a raw number says; absent and negative ones say nothing.
pub fn reading(raw: Option<i64>, unit: Unit, domain: Domain) -> Option<Reading> {
    let raw = raw.filter(|raw| *raw >= 0)?;
    Some(Reading { raw, unit, domain })
}

impl Reading {
    /// Converted, as a number to compute with.
    pub fn number(self) -> f64 {
        match self.unit {
            Unit::Currency => self.raw as f64 / self.domain.minor_units() as f64,
            Unit::Rating => self.raw as f64 / 10.0,
            Unit::Rank | Unit::Count => self.raw as f64,
        }
    }

    /// Converted, as JSON: whole things stay whole numbers.
    pub fn json(self) -> Value {
        let is_whole = match self.unit {
            Unit::Currency => self.domain.minor_units() == 1,
            Unit::Rating => false,
            Unit::Rank | Unit::Count => true,
        };
        if is_whole {
            Value::from(self.raw)
        } else {
            decimal(self.number())
        }
    }

    /// The object views show.
    pub fn object(self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("value".to_owned(), self.json());
        object.insert("raw_value".to_owned(), Value::from(self.raw));
        object.insert("unit".to_owned(), Value::from(self.unit.name()));
        if self.unit == Unit::Currency {
            object.insert("amount".to_owned(), self.json());
            object.insert("currency_value".to_owned(), self.json());
        }
        object
    }

    /// A price outside the `csv` positions, such as that of the buy box.
    pub fn amount(self) -> Value {
        json!({"amount": self.json(), "raw_value": self.raw, "unit": self.unit.name()})
    }
}

/// A number with a fraction; what is not finite is null.
pub fn decimal(number: f64) -> Value {
    // Minus zero would be shown as such.
    let number = if number == 0.0 { 0.0 } else { number };
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// Rounds to `places` decimals as they would be printed, half to even on the exact value.
pub fn round(number: f64, places: usize) -> f64 {
    let factor = i32::try_from(places).map_or(f64::NAN, |places| 10_f64.powi(places));
    let scaled = number * factor;
    // Away from a tie, and while scaling loses less than that, arithmetic gives what printing would.
    let is_plain = scaled.abs() < 1e9 && (scaled.fract().abs() - 0.5).abs() > 1e-6;
    if is_plain {
        return scaled.round() / factor;
    }
    format!("{number:.places$}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn yen_have_no_decimals() {
        let price = |domain| reading(Some(1499), Unit::Currency, domain).unwrap().json();
        assert_eq!(price(Domain::Jp), json!(1499));
        assert_eq!(price(Domain::Us), json!(14.99));
    }

    #[test]
    fn stars_are_tenths_and_ranks_are_whole() {
        let json = |unit| {
            reading(Some(43), unit, Domain::Us)
                .unwrap()
                .json()
                .to_string()
        };
        assert_eq!(json(Unit::Rating), "4.3");
        assert_eq!(json(Unit::Rank), "43");
        assert_eq!(json(Unit::Count), "43");
    }

    #[test]
    fn absent_is_absent() {
        for raw in [None, Some(-1), Some(-2)] {
            assert_eq!(reading(raw, Unit::Currency, Domain::Us), None);
        }
    }

    #[test]
    fn rounding_is_that_of_printing() {
        assert_eq!(round(-12.507_817, 4), -12.5078);
        assert_eq!(round(2.5, 0), 2.0);
        assert_eq!(decimal(-0.0).to_string(), "0.0");
        assert_eq!(decimal(f64::NAN), Value::Null);
    }

    proptest! {
        #[test]
        fn the_short_way_to_round_is_the_long_one(number in -1e6_f64..1e6, ties in -1_000_000_i64..1_000_000) {
            for one in [number, number / 1e5, ties as f64 / 20_000.0] {
                prop_assert_eq!(round(one, 4), format!("{one:.4}").parse::<f64>().unwrap());
            }
        }

        #[test]
        fn prices_keep_both_decimals(raw in 0_i64..2_000_000_000) {
            let shown = reading(Some(raw), Unit::Currency, Domain::De).unwrap().number();
            prop_assert_eq!((shown * 100.0).round() as i64, raw);
        }
    }
}
