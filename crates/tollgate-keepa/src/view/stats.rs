//! Arithmetic over histories: pure functions of numbers, so that laws can be tested.

/// The value below which a share of sorted numbers lies, between neighbours in proportion.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len().saturating_sub(1)) as f64 * share;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    match (sorted.get(below), sorted.get(above)) {
        (Some(low), Some(high)) => low + (high - low) * (place - place.floor()),
        _ => 0.0,
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / (values.len().max(1)) as f64
}

/// The standard deviation of all there is, not of a sample.
pub(super) fn deviation(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|one| (one - mean).powi(2)).sum();
    (squares / (values.len().max(1)) as f64).sqrt()
}

pub(super) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = values.into_iter().collect();
    all.sort_unstable_by(f64::total_cmp);
    all
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
    let moves: Vec<bool> = steps
        .iter()
        .filter(|step| **step != 0.0)
        .map(|step| *step > 0.0)
        .collect();
    moves
        .windows(2)
        .filter(|two| two.first() != two.last())
        .count()
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
        let in_order = sorted(values);
        assert!((percentile(&in_order, 0.25) - 14.49).abs() < 1e-9);
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
            let all = sorted(values);
            let (low, high) = (percentile(&all, a.min(b)), percentile(&all, a.max(b)));
            prop_assert!(low <= high + 1e-6);
            prop_assert!(low >= all[0] - 1e-6 && high <= all[all.len() - 1] + 1e-6);
        }
    }
}
