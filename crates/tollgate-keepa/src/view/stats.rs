//! Arithmetic over histories: pure functions of numbers, so that laws can be tested.

/// The values below which rising shares of numbers lie, between neighbours in proportion.
///
/// It puts the numbers into another order, which is all the sorting it does: histories are long, and a whole order is
/// not needed. What lies below one share is not looked at for the next.
pub(super) fn percentiles<const N: usize>(values: &mut [f64], shares: [f64; N]) -> [f64; N] {
    let Some(last) = values.len().checked_sub(1) else {
        return [0.0; N];
    };
    let mut done = 0;
    shares.map(|share| {
        let place = last as f64 * share;
        let (below, part) = (place.floor() as usize, place.fract());
        let rest = &mut values[done..];
        let (_, low, above) = rest.select_nth_unstable_by(below - done, f64::total_cmp);
        done = below;
        let next = above.iter().copied().min_by(f64::total_cmp);
        next.map_or(*low, |high| *low + (high - *low) * part)
    })
}

/// The value below which one share lies.
pub(super) fn percentile(values: &mut [f64], share: f64) -> f64 {
    let [value] = percentiles(values, [share]);
    value
}

/// The lowest and the highest.
pub(super) fn extremes(values: &[f64]) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    values
        .iter()
        .fold(start, |(low, high), one| (low.min(*one), high.max(*one)))
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / (values.len().max(1)) as f64
}

/// The standard deviation of all there is, not of a sample.
pub(super) fn deviation(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|one| (one - mean).powi(2)).sum();
    (squares / (values.len().max(1)) as f64).sqrt()
}

/// The change from one number to another in percent of the first; nothing where that is zero.
pub(super) fn percent(from: f64, to: f64) -> Option<f64> {
    (from != 0.0).then(|| (to - from) / from.abs() * 100.0)
}

/// The deepest fall from a high and the highest rise from a low.
pub(super) fn swings(values: &[f64]) -> (f64, f64) {
    let (mut high, mut low) = (f64::MIN, f64::MAX);
    let (mut fall, mut rise) = (0.0_f64, 0.0_f64);
    for one in values {
        (high, low) = (high.max(*one), low.min(*one));
        (fall, rise) = (fall.min(one - high), rise.max(one - low));
    }
    (fall, rise)
}

/// The longest runs of steps up and of steps down.
pub(super) fn streaks(steps: &[f64]) -> (u64, u64) {
    let (mut best_up, mut best_down, mut up, mut down) = (0, 0, 0, 0);
    for step in steps {
        up = if *step > 0.0 { up + 1 } else { 0 };
        down = if *step < 0.0 { down + 1 } else { 0 };
        (best_up, best_down) = (u64::max(best_up, up), u64::max(best_down, down));
    }
    (best_up, best_down)
}

/// How often steps change from up to down or back, level ones not counted.
pub(super) fn turns(steps: &[f64]) -> usize {
    let mut last = None;
    let mut count = 0;
    for step in steps.iter().filter(|step| **step != 0.0) {
        let is_up = *step > 0.0;
        count += usize::from(last.is_some_and(|last| last != is_up));
        last = Some(is_up);
    }
    count
}

pub(super) fn direction(change: f64) -> &'static str {
    if change > 0.0 {
        "up"
    } else if change < 0.0 {
        "down"
    } else {
        "flat"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_figures() {
        let values = [15.99, 14.99, 13.99];
        assert!((percentile(&mut values.clone(), 0.25) - 14.49).abs() < 1e-9);
        assert_eq!(extremes(&values), (13.99, 15.99));
        assert_eq!(percentile(&mut [], 0.5), 0.0);
        assert!((deviation(&values, mean(&values)) - 0.816_496_58).abs() < 1e-6);
        let (fall, rise) = swings(&values);
        assert!((fall + 2.0).abs() < 1e-9 && rise == 0.0);
        assert_eq!(streaks(&[1.0, 1.0, 0.0, -1.0, 1.0]), (2, 1));
        assert_eq!(turns(&[1.0, 0.0, -1.0, -1.0, 2.0]), 2);
        assert_eq!(percent(0.0, 5.0), None);
    }

    proptest! {
        #[test]
        fn percentiles_lie_within_and_rise(values in proptest::collection::vec(0.0_f64..1e6, 1..60), a in 0.0_f64..1.0, b in 0.0_f64..1.0) {
            let mut all = values;
            let (low, high) = (percentile(&mut all, a.min(b)), percentile(&mut all, a.max(b)));
            let (least, most) = extremes(&all);
            prop_assert!(low <= high + 1e-6);
            prop_assert!(low >= least - 1e-6 && high <= most + 1e-6);
        }

        #[test]
        fn no_whole_order_is_needed(values in proptest::collection::vec(-1e6_f64..1e6, 1..60), share in 0.0_f64..=1.0) {
            let mut in_order = values.clone();
            in_order.sort_unstable_by(f64::total_cmp);
            let place = (in_order.len() - 1) as f64 * share;
            let (low, high) = (in_order[place.floor() as usize], in_order[place.ceil() as usize]);
            let expected = low + (high - low) * place.fract();
            prop_assert!((percentile(&mut values.clone(), share) - expected).abs() < 1e-9);
            let shares = [share / 2.0, share, share, 1.0];
            let each = shares.map(|one| percentile(&mut values.clone(), one));
            prop_assert_eq!(percentiles(&mut values.clone(), shares), each);
        }
    }
}
