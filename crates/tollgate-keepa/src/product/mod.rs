//! A product as it comes, with its histories read straight into numbers.
//!
//! Histories are most of an answer, so they never become JSON trees; everything else keeps its own names and unknown
//! fields survive.

mod numbers;
mod plain;
mod quick;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{Domain, Error, Kind};
use numbers::Numbers;

/// One product of an answer.
#[derive(Clone, Debug, Default)]
pub struct Product {
    csv: Option<Vec<Option<Numbers>>>,
    fields: Map<String, Value>,
}

impl Product {
    /// All products of an answer; Keepa writes null for those it does not know.
    pub fn read_all(body: &str) -> Result<Vec<Self>, Error> {
        quick::read(body)
            .map_or_else(|| plain::read(body), Ok)
            .map_err(|error| {
                let message = format!("the products cannot be read: {error}");
                Error::new(Kind::NetworkOrParseError, message)
            })
    }

    /// A field that says something: null is nothing.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// A field of the statistics.
    pub fn stat(&self, name: &str) -> Option<&Value> {
        let stats = self.field("stats")?;
        stats.get(name).filter(|value| !value.is_null())
    }

    /// A number at a position of an array of the statistics.
    pub fn stat_at(&self, name: &str, index: usize) -> Option<i64> {
        self.stat(name)?.get(index)?.as_i64()
    }

    /// The histories that have points, by position.
    pub fn histories(&self) -> impl Iterator<Item = (usize, Cow<'_, [i64]>)> {
        self.filled().map(|(index, flat)| (index, flat.read()))
    }

    /// The history at a position, if it has points.
    pub fn history(&self, index: usize) -> Option<Cow<'_, [i64]>> {
        let (_, flat) = self.filled().find(|(at, _)| *at == index)?;
        Some(flat.read())
    }

    /// How many histories have points.
    pub fn history_count(&self) -> usize {
        self.filled().count()
    }

    fn filled(&self) -> impl Iterator<Item = (usize, &Numbers)> {
        let all = self.csv.iter().flatten().enumerate();
        all.filter_map(|(index, flat)| Some((index, flat.as_ref()?)))
            .filter(|(_, flat)| !flat.is_empty())
    }

    /// Whether histories were sent at all, with points or without.
    pub fn has_histories(&self) -> bool {
        self.csv.is_some()
    }

    /// A field, as numbers.
    pub fn numbers(&self, name: &str) -> Vec<i64> {
        let all = self.field(name).and_then(Value::as_array);
        all.into_iter()
            .flatten()
            .filter_map(Value::as_i64)
            .collect()
    }

    /// A field, as objects or whatever else it lists.
    pub fn items(&self, name: &str) -> &[Value] {
        self.field(name)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a field is there and not empty.
    pub fn has(&self, name: &str) -> bool {
        if name == "csv" {
            return self.filled().next().is_some();
        }
        self.field(name).is_some_and(|value| match value {
            Value::Array(all) => !all.is_empty(),
            Value::Object(map) => !map.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        })
    }

    /// Its ASIN, or nothing if even that is missing.
    pub fn asin(&self) -> &str {
        self.field("asin")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Its marketplace.
    pub fn domain(&self) -> Domain {
        let id = self.field("domainId").and_then(Value::as_i64);
        id.and_then(Domain::from_id).unwrap_or_default()
    }
}
