//! Cuts the flat arrays of an answer into points.
//!
//! Keepa appends, so points come in time order; we keep whatever order arrives, and a rest that is no whole point is
//! reported rather than guessed at.

use super::{Layout, Series};
use crate::KeepaMinute;

/// A moment of a history and what held from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Since when.
    pub at: KeepaMinute,
    /// As it came: negative means that there was no value.
    pub raw: i64,
    /// As it came, in series that have it.
    pub raw_shipping: Option<i64>,
}

impl Point {
    /// The value, unless there was none: -1 is "no offer", -2 "not known".
    pub fn value(&self) -> Option<i64> {
        (self.raw >= 0).then_some(self.raw)
    }

    /// Shipping, unless it is not known.
    pub fn shipping(&self) -> Option<i64> {
        self.raw_shipping.filter(|raw| *raw >= 0)
    }
}

/// A history in points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// In the order they came.
    pub points: Vec<Point>,
    /// Numbers at the end that made no whole point.
    pub left_over: usize,
}

/// Points of two numbers.
pub fn pairs(flat: &[i64]) -> Decoded {
    cut(flat, Layout::Pairs)
}

/// Points of three numbers.
pub fn triples(flat: &[i64]) -> Decoded {
    cut(flat, Layout::Triples)
}

impl Series {
    /// Cuts the array at this series' position.
    pub fn decode(self, flat: &[i64]) -> Decoded {
        cut(flat, self.layout())
    }

    /// The whole points of the array at this series' position, one by one.
    pub(crate) fn points(self, flat: &[i64]) -> impl Iterator<Item = Point> {
        points(flat, self.layout())
    }
}

fn cut(flat: &[i64], layout: Layout) -> Decoded {
    let left_over = flat.len() % layout.width();
    let points = points(flat, layout).collect();
    Decoded { points, left_over }
}

fn points(flat: &[i64], layout: Layout) -> impl Iterator<Item = Point> {
    flat.chunks_exact(layout.width()).filter_map(|numbers| {
        let (at, rest) = numbers.split_first()?;
        let (raw, rest) = rest.split_first()?;
        Some(Point {
            at: KeepaMinute(*at),
            raw: *raw,
            raw_shipping: rest.first().copied(),
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn absent_values_are_absent() {
        let decoded = Series::BuyBoxShipping.decode(&[10, -1, -1, 20, -2, -2, 30, 1499, 0]);
        let read: Vec<_> = decoded
            .points
            .iter()
            .map(|point| (point.at.0, point.value(), point.shipping()))
            .collect();
        let expected = [
            (10, None, None),
            (20, None, None),
            (30, Some(1499), Some(0)),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_broken_end_is_counted() {
        assert_eq!(pairs(&[1, 2, 3]).left_over, 1);
        assert_eq!(triples(&[1, 2, 3, 4, 5]).left_over, 2);
        assert_eq!(pairs(&[]), Decoded::default());
    }

    fn flatten(points: &[Point]) -> Vec<i64> {
        let numbers = |point: &Point| {
            let shipping = point.raw_shipping.into_iter();
            [point.at.0, point.raw]
                .into_iter()
                .chain(shipping)
                .collect()
        };
        points
            .iter()
            .flat_map(|point| -> Vec<i64> { numbers(point) })
            .collect()
    }

    proptest! {
        #[test]
        fn every_series_decodes_without_loss(
            index in 0_usize..36,
            flat in proptest::collection::vec(any::<i64>(), 0..200),
        ) {
            let series = Series::ALL[index];
            let decoded = series.decode(&flat);
            let whole = flat.len() - decoded.left_over;
            prop_assert!(decoded.left_over < series.layout().width());
            prop_assert_eq!(flatten(&decoded.points), flat[..whole].to_vec());
            for point in &decoded.points {
                prop_assert_eq!(point.raw_shipping.is_some(), series.layout() == Layout::Triples);
                prop_assert_eq!(point.value().is_none(), point.raw < 0);
            }
        }
    }
}
