//! An object that is changed without being read whole: its fields in their order, their
//! values as they were spelled.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::value::RawValue;

/// The fields of an object in their order, their values as they were spelled.
#[derive(Default)]
pub struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// The value of a field, as it was spelled.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| &**value)
    }

    /// Gives a field a value; one that is not there yet comes last.
    pub fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(own, _)| own == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Gives a field another value, if it is there.
    pub fn replace(&mut self, name: &str, value: Box<RawValue>) {
        if self.get(name).is_some() {
            self.set(name, value);
        }
    }

    /// The object as it is spelled now.
    pub fn raw(&self) -> Option<Box<RawValue>> {
        RawValue::from_string(serde_json::to_string(self).ok()?).ok()
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_spelling_survive_a_change() {
        let mut fields: Fields = serde_json::from_str(r#"{"b":1.50,"a":1e2}"#).unwrap();
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        fields.replace("x", raw("0"));
        fields.replace("b", raw("2.50"));
        fields.set("c", raw("[]"));
        assert_eq!(fields.raw().unwrap().get(), r#"{"b":2.50,"a":1e2,"c":[]}"#);
    }
}
