//! What a history says in a few figures, so that nobody has to read its points.
//!
//! Invariant: only numbers count. Gaps in a history are left out, and of two points in one minute the later one holds.

use serde_json::{Map, Value, json};

use super::{
    compact, figure,
    history::incomplete,
    object,
    stats::{
        deviation, direction, extremes, mean, percent, percentile, percentiles, streaks, swings,
        turns,
    },
};
use crate::{
    Domain, KeepaMinute,
    product::Product,
    series::{Series, decimal, reading, round},
};

/// The histories worth it.
pub(super) const WORTH: &[Series] = &[
    Series::Amazon,
    Series::New,
    Series::SalesRank,
    Series::BuyBoxShipping,
    Series::NewFba,
    Series::NewOfferCount,
    Series::NewFbaOfferCount,
    Series::Rating,
    Series::ReviewCount,
];
/// The histories that risks and signals are worked out from.
pub(super) const JUDGED: &[Series] = &[Series::New, Series::SalesRank];
/// Turns a median absolute deviation into a standard deviation.
const TO_DEVIATION: f64 = 1.4826;
/// Beyond so many deviations a point is an outlier.
const OUTLIER: f64 = 3.0;

/// Features of the histories that are wanted.
pub(super) fn temporal_features(product: &Product, wanted: &[Series], windows: &[i64]) -> Value {
    let mut series = Map::new();
    let mut warnings = Vec::new();
    for one in Series::ALL.into_iter().filter(|one| wanted.contains(one)) {
        let Some(flat) = product.history(one.index()) else {
            continue;
        };
        let left_over = flat.len() % one.layout().width();
        if left_over > 0 {
            warnings.push(incomplete(one.name(), left_over));
        }
        let points = numbers(one, &flat, product.domain());
        if points.len() >= 2 {
            series.insert(one.name().to_owned(), features(one, &points, windows));
        }
    }
    object([
        ("available", json!(!series.is_empty())),
        ("series_count", json!(series.len())),
        ("windows_days", json!(windows)),
        ("series", Value::Object(series)),
        ("warnings", json!(warnings)),
    ])
}

/// The points that are numbers, in time order. They nearly always come that way, so sorting is the exception.
fn numbers(series: Series, flat: &[i64], domain: Domain) -> Vec<(i64, f64)> {
    let mut points = Vec::with_capacity(flat.len() / series.layout().width());
    points.extend(series.points(flat).filter_map(|point| {
        let value = reading(point.value(), series.unit(), domain)?;
        Some((point.at.0, value.number()))
    }));
    if !points.is_sorted_by(|a, b| a.0 < b.0) {
        // A stable sort and a backward look keep the later of two points in one minute.
        points.sort_by_key(|point| point.0);
        points.reverse();
        points.dedup_by_key(|point| point.0);
        points.reverse();
    }
    points
}

fn features(series: Series, points: &[(i64, f64)], windows: &[i64]) -> Value {
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let steps: Vec<f64> = values.windows(2).map(|two| two[1] - two[0]).collect();
    let (first, latest) = (values[0], values[values.len() - 1]);
    let previous = values[values.len() - 2];
    let (low, high) = extremes(&values);
    let middle = mean(&values);
    let spread = deviation(&values, middle);
    let days = span(points[0].0, points[points.len() - 1].0);
    let quartiles = Quartiles::of(&values);
    let not_above = values.iter().filter(|one| **one <= latest).count();
    let mut all = json!({
        "unit": series.unit().name(),
        "name": series.name(),
        "point_count": points.len(),
        "duration_days": decimal(round(days, 3)),
        "sampling": sampling(points, days),
        "first_value": figure(first),
        "latest_value": figure(latest),
        "previous_value": figure(previous),
        "change_abs": figure(latest - first),
        "change_pct": percent(first, latest).map(figure),
        "previous_change_abs": figure(latest - previous),
        "previous_change_pct": percent(previous, latest).map(figure),
        "min_value": figure(low),
        "max_value": figure(high),
        "range_abs": figure(high - low),
        "range_pct_of_mean": (middle != 0.0).then(|| figure((high - low) / middle.abs() * 100.0)),
        "mean_value": figure(middle),
        "median_value": figure(quartiles.median),
        "latest_percentile": figure(not_above as f64 / values.len() as f64),
        "latest_zscore": (spread > 0.0).then(|| figure((latest - middle) / spread)),
        "volatility_cv": (middle != 0.0).then(|| figure(spread / middle.abs())),
        "dispersion": quartiles.json(),
        "change_profile": change_profile(&steps),
        "outliers": quartiles.outliers(),
        "shape": shape(&values, &steps, (low, high)),
        "trend_direction": direction(latest - first),
        "slope_per_day": (days > 0.0).then(|| figure((latest - first) / days)),
    });
    let spans: Map<String, Value> = windows
        .iter()
        .filter_map(|days| window(points, *days))
        .collect();
    for (name, span) in &spans {
        all[name] = span.clone();
    }
    all["windows"] = Value::Object(spans);
    compact(all)
}

fn span(from: i64, to: i64) -> f64 {
    KeepaMinute(to).days_since(KeepaMinute(from))
}

fn sampling(points: &[(i64, f64)], days: f64) -> Value {
    let gaps = points.windows(2).map(|two| span(two[0].0, two[1].0));
    let mut gaps: Vec<f64> = gaps.collect();
    json!({
        "avg_interval_days": figure(mean(&gaps)),
        "max_gap_days": figure(extremes(&gaps).1),
        "median_interval_days": figure(percentile(&mut gaps, 0.5)),
        "points_per_30d": (days > 0.0).then(|| figure(points.len() as f64 / days * 30.0)),
    })
}

/// How values are spread around their median.
struct Quartiles {
    q1: f64,
    median: f64,
    q3: f64,
    /// How far each value is from the median.
    distances: Vec<f64>,
    /// The median of these.
    mad: f64,
}

impl Quartiles {
    fn of(values: &[f64]) -> Self {
        let mut pool = values.to_vec();
        let [q1, median, q3] = percentiles(&mut pool, [0.25, 0.5, 0.75]);
        for one in &mut pool {
            *one = (*one - median).abs();
        }
        Self {
            q1,
            median,
            q3,
            mad: percentile(&mut pool, 0.5),
            distances: pool,
        }
    }

    fn json(&self) -> Value {
        json!({
            "q1": figure(self.q1),
            "median": figure(self.median),
            "q3": figure(self.q3),
            "iqr": figure(self.q3 - self.q1),
            "mad": figure(self.mad),
        })
    }

    /// Points far from the median; with less than four points none is.
    fn outliers(&self) -> Option<Value> {
        let threshold = OUTLIER * TO_DEVIATION * self.mad;
        let count = self.distances.len();
        (count >= 4 && threshold > 0.0).then(|| {
            let is_far = |one: &&f64| **one > threshold;
            let far = self.distances.iter().filter(is_far).count();
            json!({
                "method": "mad",
                "threshold": figure(threshold),
                "count": far,
                "ratio": figure(far as f64 / count as f64),
            })
        })
    }
}

fn change_profile(steps: &[f64]) -> Value {
    let sizes = steps.iter().map(|step| step.abs());
    json!({
        "up_steps": steps.iter().filter(|step| **step > 0.0).count(),
        "down_steps": steps.iter().filter(|step| **step < 0.0).count(),
        "flat_steps": steps.iter().filter(|step| **step == 0.0).count(),
        "direction_change_count": turns(steps),
        "avg_abs_step": figure(sizes.clone().sum::<f64>() / steps.len().max(1) as f64),
        "max_abs_step": figure(sizes.fold(0.0, f64::max)),
        "last_step": figure(steps.last().copied().unwrap_or_default()),
    })
}

fn shape(values: &[f64], steps: &[f64], (low, high): (f64, f64)) -> Value {
    let latest = values[values.len() - 1];
    let (fall, rise) = swings(values);
    let (up, down) = streaks(steps);
    compact(json!({
        "latest_vs_min_pct": percent(low, latest).map(figure),
        "latest_vs_max_pct": percent(high, latest).map(figure),
        "max_drawdown_abs": figure(fall),
        "max_runup_abs": figure(rise),
        "longest_up_streak": up,
        "longest_down_streak": down,
    }))
}

/// The change over the last days: from the first point in them, unless that is also the last.
fn window(points: &[(i64, f64)], days: i64) -> Option<(String, Value)> {
    let latest = points.last()?;
    let since = latest.0.saturating_sub(days.saturating_mul(1440));
    let baseline = points.get(points.partition_point(|point| point.0 < since))?;
    if baseline.0 == latest.0 {
        return None;
    }
    let shown = json!({
        "baseline_value": figure(baseline.1),
        "baseline_timestamp": KeepaMinute(baseline.0).to_string(),
        "latest_value": figure(latest.1),
        "latest_timestamp": KeepaMinute(latest.0).to_string(),
        "observed_days": decimal(round(span(baseline.0, latest.0), 3)),
        "change_abs": figure(latest.1 - baseline.1),
        "change_pct": percent(baseline.1, latest.1).map(figure),
        "trend_direction": direction(latest.1 - baseline.1),
    });
    Some((format!("recent_{days}d"), compact(shown)))
}
