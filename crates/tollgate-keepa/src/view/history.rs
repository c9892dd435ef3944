//! Bounded samples of histories, for looking at.

use serde_json::{Map, Value, json};

use super::compact;
use crate::{
    Domain, KeepaMinute,
    product::Product,
    series::{Point, Reading, Series, Unit, pairs, reading},
};

/// The end of every history, with what the rest was like.
pub(super) fn history_summary(product: &Product, limit: usize) -> Value {
    let mut series = Map::new();
    let mut warnings = Vec::new();
    for (index, flat) in product.histories() {
        let known = Series::at(index);
        let name = known.map_or_else(|| format!("unknown_{index}"), |one| one.name().to_owned());
        let decoded = known.map_or_else(|| pairs(&flat), |one| one.decode(&flat));
        if decoded.left_over > 0 {
            warnings.push(incomplete(&name, decoded.left_over));
        }
        let show = |point: &Point| shown(point, known.map(Series::unit), product.domain());
        let points = &decoded.points;
        let present = points.iter().filter(|point| point.raw >= 0);
        let low = present.clone().min_by_key(|point| point.raw);
        let high = present.max_by_key(|point| point.raw);
        let last = &points[points.len().saturating_sub(limit)..];
        let summary = json!({
            "index": index,
            "unit": known.map_or("raw", |one| one.unit().name()),
            "point_count": points.len(),
            "first": points.first().map(show),
            "latest": points.last().map(show),
            "min_value": low.map(|point| show(point)["value"].clone()),
            "max_value": high.map(|point| show(point)["value"].clone()),
            "last_points": last.iter().map(show).collect::<Vec<_>>(),
            "omitted_points": points.len() - last.len(),
        });
        series.insert(name, compact(summary));
    }
    compact(json!({
        "available": !series.is_empty(),
        "series_count": series.len(),
        "series": series,
        "warnings": warnings,
    }))
}

/// What is said of a history that ends in the middle of a point.
pub(super) fn incomplete(name: &str, left_over: usize) -> String {
    format!("{name}: {left_over} numbers at the end make no point")
}

fn shown(point: &Point, unit: Option<Unit>, domain: Domain) -> Value {
    let convert = |raw: Option<i64>| match unit {
        Some(unit) => reading(raw, unit, domain).map(Reading::json),
        None => raw.map(Value::from),
    };
    let mut shown = json!({
        "timestamp": point.at.to_string(),
        "keepa_minute": point.at.0,
        "value": convert(point.value()),
        "raw_value": point.raw,
    });
    if let Some(raw) = point.raw_shipping {
        shown["shipping"] = convert(point.shipping()).unwrap_or_default();
        shown["raw_shipping"] = Value::from(raw);
    }
    shown
}

/// The end of a plain history outside `csv`: pairs of a time and a number.
pub(super) fn pair_summary(flat: &[i64], limit: usize) -> Option<Value> {
    let points: Vec<Value> = pairs(flat)
        .points
        .iter()
        .map(|point| moment(point.at, [("value", Value::from(point.raw))]))
        .collect();
    summary(points, limit)
}

/// The end of a history whose points are already shown.
pub(super) fn summary(points: Vec<Value>, limit: usize) -> Option<Value> {
    let latest = points.last()?.clone();
    let count = points.len();
    let last = points
        .into_iter()
        .skip(count.saturating_sub(limit))
        .collect::<Vec<_>>();
    Some(compact(json!({
        "point_count": count,
        "latest": latest,
        "omitted_points": count - last.len(),
        "last_points": last,
    })))
}

/// A moment with something in it.
pub(super) fn moment<const N: usize>(at: KeepaMinute, rest: [(&str, Value); N]) -> Value {
    let mut shown = json!({"timestamp": at.to_string(), "keepa_minute": at.0});
    for (name, value) in rest {
        shown[name] = value;
    }
    shown
}
