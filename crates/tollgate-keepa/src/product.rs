//! A product as it comes, with its histories read straight into numbers.
//!
//! Histories are most of an answer, so they never become JSON trees; everything else keeps its own names and unknown
//! fields survive.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::{Domain, Error, Kind};

/// One product of an answer.
#[derive(Clone, Debug, Default)]
pub struct Product {
    csv: Option<Vec<Option<Vec<i64>>>>,
    fields: Map<String, Value>,
}

impl<'de> Deserialize<'de> for Product {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

/// Reads the fields one by one, histories as numbers and all others as they are.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Product;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a product")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Product, A::Error> {
        let mut product = Product::default();
        while let Some(name) = map.next_key::<String>()? {
            if name == "csv" {
                product.csv = map.next_value()?;
            } else {
                product.fields.insert(name, map.next_value()?);
            }
        }
        Ok(product)
    }
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    products: Option<Vec<Option<Product>>>,
}

impl Product {
    /// All products of an answer; Keepa writes null for those it does not know.
    pub fn read_all(body: &str) -> Result<Vec<Self>, Error> {
        let body: Body = serde_json::from_str(body).map_err(|error| {
            let message = format!("the products cannot be read: {error}");
            Error::new(Kind::NetworkOrParseError, message)
        })?;
        Ok(body.products.into_iter().flatten().flatten().collect())
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
    pub fn histories(&self) -> impl Iterator<Item = (usize, &[i64])> {
        let all = self.csv.iter().flatten().enumerate();
        all.filter_map(|(index, flat)| Some((index, flat.as_deref()?)))
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
            return self.histories().next().is_some();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_nothing_and_unknown_fields_survive() {
        let body = r#"{"products":[null,{"asin":"B0FIXTURE1","brand":null,"newField":[1],"csv":[null,[1,2],[]],"domainId":5}]}"#;
        let products = Product::read_all(body).unwrap();
        let [product] = products.as_slice() else {
            panic!("{products:?}")
        };
        assert_eq!(product.field("brand"), None);
        assert!(product.has("newField") && product.has("csv"));
        assert_eq!(
            product.histories().collect::<Vec<_>>(),
            [(1, [1, 2].as_slice())]
        );
        assert_eq!(product.domain(), Domain::Jp);
        assert!(Product::read_all("{}").unwrap().is_empty());
        assert!(Product::read_all(r#"{"products":5}"#).is_err());
    }
}
