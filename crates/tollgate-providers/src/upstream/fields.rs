//! The fields of an object in their order, their values as they were spelled.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::value::RawValue;

/// An object that is changed without being read whole.
#[derive(Default)]
pub(super) struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| &**value)
    }

    /// Puts a value in the place of another.
    pub(super) fn put(&mut self, name: &str, value: Box<RawValue>) {
        if let Some((_, old)) = self.0.iter_mut().find(|(own, _)| own == name) {
            *old = value;
        }
    }

    pub(super) fn raw(&self) -> Option<Box<RawValue>> {
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
