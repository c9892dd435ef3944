//! What a history says in a few figures, so that nobody has to read its points.
//!
//! Invariant: only numbers count. Gaps in a history are left out, and of two points in one minute the later one holds.

use serde_json::{Map, Value, json};

use super::{
    compact, figure,
    stats::{deviation, direction, mean, percent, percentile, sorted, streaks, swings, turns},
};
use crate::{
    Domain, KeepaMinute,
    product::Product,
    series::{Series, decimal, reading, round},
};

/// The histories worth it.
const WORTH: [Series; 9] = [
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
/// Turns a median absolute deviation into a standard deviation.
const TO_DEVIATION: f64 = 1.4826;
/// Beyond so many deviations a point is an outlier.
const OUTLIER: f64 = 3.0;

/// Features of all histories worth it.
pub(super) fn temporal_features(product: &Product, windows: &[i64]) -> Value {
    let mut series = Map::new();
    for (index, flat) in product.histories() {
        let Some(one) = Series::at(index).filter(|one| WORTH.contains(one)) else {
            continue;
        };
        let points = numbers(one, flat, product.domain());
        if points.len() >= 2 {
            series.insert(one.name().to_owned(), features(one, &points, windows));
        }
    }
    let features = json!({
        "available": !series.is_empty(),
        "series_count": series.len(),
        "windows_days": windows,
        "series": series,
    });
    compact(features)
}

/// The points that are numbers, in time order. They nearly always come that way, so sorting is the exception.
fn numbers(series: Series, flat: &[i64], domain: Domain) -> Vec<(i64, f64)> {
    let decoded = series.decode(flat).points.into_iter();
    let mut points: Vec<(i64, f64)> = decoded
        .filter_map(|point| {
            let value = reading(point.value(), series.unit(), domain)?;
            Some((point.at.0, value.number()))
        })
        .collect();
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
    let in_order = sorted(values.iter().copied());
    let (first, latest) = (values[0], values[values.len() - 1]);
    let previous = values[values.len() - 2];
    let (low, high) = (in_order[0], in_order[in_order.len() - 1]);
    let middle = mean(&values);
    let spread = deviation(&values, middle);
    let days = span(points[0].0, points[points.len() - 1].0);
    let spread_of_most = absolute_deviation(&in_order, percentile(&in_order, 0.5));
    let not_above = in_order.partition_point(|one| *one <= latest);
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
        "median_value": figure(percentile(&in_order, 0.5)),
        "latest_percentile": figure(not_above as f64 / values.len() as f64),
        "latest_zscore": (spread > 0.0).then(|| figure((latest - middle) / spread)),
        "volatility_cv": (middle != 0.0).then(|| figure(spread / middle.abs())),
        "dispersion": dispersion(&in_order, spread_of_most),
        "change_profile": change_profile(&steps),
        "outliers": outliers(&in_order, spread_of_most),
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
    let gaps = sorted(gaps);
    json!({
        "avg_interval_days": figure(mean(&gaps)),
        "median_interval_days": figure(percentile(&gaps, 0.5)),
        "max_gap_days": figure(gaps.last().copied().unwrap_or_default()),
        "points_per_30d": (days > 0.0).then(|| figure(points.len() as f64 / days * 30.0)),
    })
}

fn dispersion(in_order: &[f64], mad: f64) -> Value {
    let (q1, q3) = (percentile(in_order, 0.25), percentile(in_order, 0.75));
    let median = percentile(in_order, 0.5);
    json!({
        "q1": figure(q1),
        "median": figure(median),
        "q3": figure(q3),
        "iqr": figure(q3 - q1),
        "mad": figure(mad),
    })
}

fn absolute_deviation(values: &[f64], median: f64) -> f64 {
    percentile(&sorted(values.iter().map(|one| (one - median).abs())), 0.5)
}

fn change_profile(steps: &[f64]) -> Value {
    let sizes: Vec<f64> = steps.iter().map(|step| step.abs()).collect();
    json!({
        "up_steps": steps.iter().filter(|step| **step > 0.0).count(),
        "down_steps": steps.iter().filter(|step| **step < 0.0).count(),
        "flat_steps": steps.iter().filter(|step| **step == 0.0).count(),
        "direction_change_count": turns(steps),
        "avg_abs_step": figure(mean(&sizes)),
        "max_abs_step": figure(sizes.iter().copied().fold(0.0, f64::max)),
        "last_step": figure(steps.last().copied().unwrap_or_default()),
    })
}

/// Points far from the median; four points are too few to have any.
fn outliers(in_order: &[f64], mad: f64) -> Option<Value> {
    let median = percentile(in_order, 0.5);
    let threshold = OUTLIER * TO_DEVIATION * mad;
    (in_order.len() >= 4 && threshold > 0.0).then(|| {
        let far = in_order
            .iter()
            .filter(|one| (**one - median).abs() > threshold)
            .count();
        json!({
            "method": "mad",
            "threshold": figure(threshold),
            "count": far,
            "ratio": figure(far as f64 / in_order.len() as f64),
        })
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
