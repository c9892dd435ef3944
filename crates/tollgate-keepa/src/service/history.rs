//! Histories as rows and as trends.

use serde_json::{Map, Value, json};

use super::{
    Failure, Outcome, World,
    fetch::{Fetched, fetch},
    save,
};
use crate::{
    Command, Domain, Error, Kind, Params, Product,
    params::whole_numbers,
    series::{Point, Series, decimal, reading, round},
};

/// The histories that are meant when none is named.
const USUAL: [Series; 4] = [Series::Amazon, Series::New, Series::Used, Series::SalesRank];
const FIELDS: [&str; 7] = [
    "asin",
    "series",
    "timestamp",
    "keepa_minute",
    "value",
    "raw_value",
    "unit",
];
const WINDOWS: [i64; 3] = [30, 90, 180];
const MINUTES_A_DAY: i64 = 1440;

/// A product with histories, or why there is none.
fn product(fetched: &Fetched) -> Result<Product, Failure> {
    let failed = |kind, message: &str| fetched.failed(Error::new(kind, message));
    let product = fetched.products()?.into_iter().next();
    let product =
        product.ok_or_else(|| failed(Kind::ProductNotFound, "Keepa knows no such product"))?;
    if !product.has_histories() {
        let message = "the answer has no histories; they come with history=1";
        return Err(failed(Kind::HistoryUnavailable, message));
    }
    Ok(product)
}

/// The histories a caller names.
pub(super) fn wanted(params: &Params) -> Result<Vec<Series>, Error> {
    let names = params.list(&["series"]);
    if names.is_empty() {
        return Ok(USUAL.to_vec());
    }
    if names.iter().any(|name| name == "all") {
        return Ok(Series::ALL.to_vec());
    }
    let all = names.iter().map(|name| {
        Series::named(name).ok_or_else(|| {
            let known: Vec<&str> = Series::ALL.iter().map(|one| one.name()).collect();
            Error::argument(format!("there is no history {name:?}")).with("series", known)
        })
    });
    all.collect()
}

fn points(product: &Product, series: Series) -> Vec<Point> {
    let flat = product.history(series.index());
    flat.map_or_else(Vec::new, |flat| series.decode(&flat).points)
}

/// `history.export`.
pub(super) async fn export<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let series = wanted(params)?;
    let format = params
        .text(&["format"])
        .unwrap_or_else(|| "json".to_owned());
    if !["json", "jsonl", "csv"].contains(&format.as_str()) {
        return Err(Error::argument("format is json, jsonl or csv").into());
    }
    let fetched = fetch(world, Command::HistoryExport, params).await?;
    if fetched.is_dry_run() {
        let data = Value::Object(fetched.base());
        return Ok(fetched.outcome(data));
    }
    let product = product(&fetched)?;
    let keeps_missing = params.is_on("include_missing");
    let mut rows = Vec::new();
    for one in series {
        for point in points(&product, one) {
            if point.raw >= 0 || keeps_missing {
                rows.push(row(&product, one, &point));
            }
        }
    }
    if rows.is_empty() {
        let message = "the histories that were asked for have no points";
        return Err(fetched.failed(Error::new(Kind::HistoryEmpty, message)));
    }
    let mut data = json!({
        "asin": product.asin(),
        "domain": product.domain().code(),
        "fields": FIELDS,
        "format": format,
        "row_count": rows.len(),
    });
    match params.text(&["out"]) {
        None if format == "json" => data["rows"] = Value::Array(rows),
        None => data["content"] = Value::from(printed(&rows, &format)),
        Some(path) => {
            let text = printed(&rows, &format);
            data["output"] = save(world, Some(&path), "history", text.as_bytes())?;
        }
    }
    Ok(fetched.outcome(data))
}

fn row(product: &Product, series: Series, point: &Point) -> Value {
    let value = reading(point.value(), series.unit(), product.domain());
    json!({
        "asin": product.asin(),
        "series": series.name(),
        "timestamp": point.at.to_string(),
        "keepa_minute": point.at.0,
        "value": value.map(crate::series::Reading::json),
        "raw_value": point.raw,
        "unit": series.unit().name(),
    })
}

/// Rows as a file holds them.
fn printed(rows: &[Value], format: &str) -> String {
    match format {
        "csv" => super::reports::csv(&FIELDS.map(str::to_owned), rows),
        "jsonl" => rows.iter().map(|row| format!("{row}\n")).collect(),
        _ => serde_json::to_string_pretty(rows).unwrap_or_default(),
    }
}

/// `history.trend`.
pub(super) async fn trend<W: World>(world: &W, params: &Params) -> Result<Outcome, Failure> {
    let series = wanted(params)?;
    let days = params.list(&["window_days", "windows"]);
    let days = if days.is_empty() {
        WINDOWS.to_vec()
    } else {
        whole_numbers("window_days", &days)?
    };
    let fetched = fetch(world, Command::HistoryTrend, params).await?;
    if fetched.is_dry_run() {
        let data = Value::Object(fetched.base());
        return Ok(fetched.outcome(data));
    }
    let product = product(&fetched)?;
    let mut shown = Map::new();
    for one in &series {
        let all: Vec<Point> = points(&product, *one)
            .into_iter()
            .filter(|point| point.raw >= 0)
            .collect();
        let Some(last) = all.last() else {
            continue;
        };
        let mut windows = Map::new();
        for days in days.iter().filter(|days| **days > 0) {
            let since = last.at.0.saturating_sub(days.saturating_mul(MINUTES_A_DAY));
            let from = all.iter().position(|point| point.at.0 >= since);
            let summary = summary(&all[from.unwrap_or(0)..], *one, product.domain());
            windows.insert(days.to_string(), summary);
        }
        let all_time = summary(&all, *one, product.domain());
        shown.insert(
            one.name().to_owned(),
            json!({"all_time": all_time, "windows": windows}),
        );
    }
    if shown.is_empty() {
        let message = "the histories that were asked for have no points";
        return Err(fetched.failed(Error::new(Kind::HistoryEmpty, message)));
    }
    let names: Vec<&str> = series.iter().map(|one| one.name()).collect();
    let data = json!({
        "asin": product.asin(),
        "domain": product.domain().code(),
        "series": names,
        "analysis": {"series": shown},
    });
    Ok(fetched.outcome(data))
}

/// Figures of a stretch of a history that has at least one point.
fn summary(points: &[Point], series: Series, domain: Domain) -> Value {
    let number = |point: &Point| {
        reading(point.value(), series.unit(), domain).map_or(0.0, crate::series::Reading::number)
    };
    let shown = |point: Option<&Point>| {
        point.map(|point| {
            json!({
                "keepa_minute": point.at.0,
                "raw_value": point.raw,
                "timestamp": point.at.to_string(),
                "value": reading(point.value(), series.unit(), domain).map(crate::series::Reading::json),
            })
        })
    };
    let figure = |number: f64| decimal(round(number, 4));
    let numbers: Vec<f64> = points.iter().map(number).collect();
    let count = numbers.len().max(1) as f64;
    let average = numbers.iter().sum::<f64>() / count;
    let spread = numbers
        .iter()
        .map(|one| (one - average).powi(2))
        .sum::<f64>()
        / count;
    let (first, last) = (points.first(), points.last());
    let change = last.map_or(0.0, number) - first.map_or(0.0, number);
    let base = first.map_or(0.0, number);
    json!({
        "points": points.len(),
        "unit": series.unit().name(),
        "oldest": shown(first),
        "latest": shown(last),
        "min": shown(points.iter().rev().min_by_key(|point| point.raw)),
        "max": shown(points.iter().rev().max_by_key(|point| point.raw)),
        "average": figure(average),
        "volatility": figure(spread.sqrt()),
        "change": {
            "absolute": figure(change),
            "percent": if base == 0.0 { Value::Null } else { figure(change / base.abs() * 100.0) },
        },
    })
}
