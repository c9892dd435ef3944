//! A product as it comes, with its histories read straight into numbers.
//!
//! Histories are most of an answer, so they never become JSON trees; everything else keeps its own names and unknown
//! fields survive.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::{Domain, Error, Kind};

/// One product of an answer.
#[derive(Clone, Debug, Default)]
pub struct Product {
    csv: Option<Vec<Option<Numbers>>>,
    fields: Map<String, Value>,
}

impl<'de> Deserialize<'de> for Product {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

/// The numbers of a history, as small as they are: Keepa's own fit into half the room.
#[derive(Clone, Debug)]
enum Numbers {
    Small(Box<[i32]>),
    Wide(Box<[i64]>),
}

impl Numbers {
    fn new(all: &[i64]) -> Self {
        let small = all.iter().map(|number| i32::try_from(*number));
        match small.collect() {
            Ok(small) => Self::Small(small),
            Err(_) => Self::Wide(all.into()),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Small(all) => all.is_empty(),
            Self::Wide(all) => all.is_empty(),
        }
    }

    fn read(&self) -> Cow<'_, [i64]> {
        match self {
            Self::Small(all) => all.iter().copied().map(i64::from).collect(),
            Self::Wide(all) => Cow::Borrowed(all),
        }
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
                product.csv = map.next_value_seed(Histories)?;
            } else {
                product.fields.insert(name, map.next_value()?);
            }
        }
        Ok(product)
    }
}

/// All histories of a product, or null.
struct Histories;

impl<'de> DeserializeSeed<'de> for Histories {
    type Value = Option<Vec<Option<Numbers>>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Histories {
    type Value = Option<Vec<Option<Numbers>>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of histories")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        let mut room = Vec::new();
        let mut histories = Vec::new();
        while let Some(history) = all.next_element_seed(History(&mut room))? {
            histories.push(history);
        }
        Ok(Some(histories))
    }
}

/// One history, or null. The room it is read in is shared, so that what is kept is as long
/// as the history and nothing is left over from growing.
struct History<'r>(&'r mut Vec<i64>);

impl<'de> DeserializeSeed<'de> for History<'_> {
    type Value = Option<Numbers>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for History<'_> {
    type Value = Option<Numbers>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        self.0.clear();
        while let Some(number) = all.next_element()? {
            self.0.push(number);
        }
        Ok(Some(Numbers::new(self.0)))
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
            [(1, Cow::from(vec![1, 2]))]
        );
        assert_eq!((product.history(2), product.history_count()), (None, 1));
        assert_eq!(product.domain(), Domain::Jp);
        let wide = r#"{"products":[{"csv":[[1,9223372036854775807,-2],null]},{"csv":null}]}"#;
        let wide = Product::read_all(wide).unwrap();
        assert_eq!(wide[0].history(0).unwrap(), [1, i64::MAX, -2].as_slice());
        assert!(wide[0].has_histories() && !wide[1].has_histories());
        assert!(Product::read_all("{}").unwrap().is_empty());
        assert!(Product::read_all(r#"{"products":5}"#).is_err());
    }
}
