//! Reads any answer there is, by the rules of JSON alone, and says what is wrong with one that is none.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};

use super::{Numbers, Product};

/// All products of an answer, those left out that are null.
pub(super) fn read(body: &str) -> serde_json::Result<Vec<Product>> {
    let body: Body = serde_json::from_str(body)?;
    Ok(body.products.into_iter().flatten().flatten().collect())
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
