//! Keepa counts minutes from the first of January 2011, UTC.
//!
//! Conversion is exact in both directions and never asks a clock.

use std::fmt;

/// Minutes between the Unix epoch and Keepa's.
const OFFSET: i64 = 21_564_000;
const MINUTES_A_DAY: i64 = 1440;

/// A moment as Keepa writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeepaMinute(pub i64);

impl KeepaMinute {
    /// Milliseconds since 1970.
    pub const fn unix_ms(self) -> i64 {
        self.0.saturating_add(OFFSET).saturating_mul(60_000)
    }

    /// The minute in which a moment falls.
    pub const fn from_unix_ms(ms: i64) -> Self {
        Self(ms.div_euclid(60_000) - OFFSET)
    }

    /// Days from `earlier` to this, with a fraction.
    pub fn days_since(self, earlier: Self) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / MINUTES_A_DAY as f64
    }

    /// Whether it says anything: Keepa writes 0 or -1 for "never".
    pub const fn is_set(self) -> bool {
        self.0 > 0
    }
}

/// RFC 3339 in UTC, to the second.
impl fmt::Display for KeepaMinute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.0.saturating_add(OFFSET);
        let (year, month, day) = civil(minutes.div_euclid(MINUTES_A_DAY));
        let of_day = minutes.rem_euclid(MINUTES_A_DAY);
        let (hour, minute) = (of_day / 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00Z")
    }
}

/// The Gregorian date of a day counted from 1970-01-01.
///
/// Years begin in March here, so that the leap day is the last one and months follow one pattern.
fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_IN_400_YEARS: i64 = 146_097;
    let from_march_of_zero = days + 719_468;
    let era = from_march_of_zero.div_euclid(DAYS_IN_400_YEARS);
    let day_of_era = from_march_of_zero.rem_euclid(DAYS_IN_400_YEARS);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments() {
        let cases = [
            (0, "2011-01-01T00:00:00Z"),
            (8_000_000, "2026-03-18T13:20:00Z"),
            (616_319, "2012-03-03T23:59:00Z"),
            (613_440, "2012-03-02T00:00:00Z"),
            (610_560, "2012-02-29T00:00:00Z"),
            (-OFFSET, "1970-01-01T00:00:00Z"),
        ];
        for (minute, text) in cases {
            assert_eq!(KeepaMinute(minute).to_string(), text, "{minute}");
        }
    }

    #[test]
    fn zero_and_below_mean_never() {
        assert!(!KeepaMinute(0).is_set());
        assert!(!KeepaMinute(-1).is_set());
        assert!(KeepaMinute(1).is_set());
    }

    proptest! {
        #[test]
        fn milliseconds_and_back(minute in -50_000_000_i64..50_000_000) {
            let one = KeepaMinute(minute);
            prop_assert_eq!(KeepaMinute::from_unix_ms(one.unix_ms()), one);
            prop_assert_eq!(KeepaMinute::from_unix_ms(one.unix_ms() + 59_999), one);
        }

        #[test]
        fn texts_sort_as_their_moments(a in 0_i64..50_000_000, b in 0_i64..50_000_000) {
            let (a, b) = (KeepaMinute(a), KeepaMinute(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }
    }
}
