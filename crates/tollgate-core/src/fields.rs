//! An object that is changed without being read whole: its fields in their order, their
//! values as they were spelled.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::value::RawValue;

/// The fields of an object in their order, their values as they were spelled.
///
/// What is not changed is borrowed from the text it was read from.
#[derive(Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl Fields<'_> {
    /// The value of a field, as it was spelled.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| &**value)
    }

    /// Every field with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Gives a field a value; one that is not there yet comes last.
    pub fn set(&mut self, name: &str, value: Box<RawValue>) {
        let value = Cow::Owned(value);
        match self.0.iter_mut().find(|(own, _)| own == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((Cow::Owned(name.to_owned()), value)),
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

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Vec<(Cow<'de, str>, Cow<'de, RawValue>)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(name) = map.next_key_seed(Name)? {
                    fields.push((name, Cow::Borrowed(map.next_value()?)));
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Each).map(Fields)
    }
}

/// A field's name, borrowed unless it is spelled with escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_spelling_survive_a_change() {
        let mut fields: Fields<'_> = serde_json::from_str(r#"{"b":1.50,"a":1e2}"#).unwrap();
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        fields.replace("x", raw("0"));
        fields.replace("b", raw("2.50"));
        fields.set("c", raw("[]"));
        assert_eq!(fields.raw().unwrap().get(), r#"{"b":2.50,"a":1e2,"c":[]}"#);
    }

    #[test]
    fn names_with_escapes_are_names_as_well() {
        let fields: Fields<'_> = serde_json::from_str(r#"{"\u0061\n":1}"#).unwrap();
        assert_eq!(fields.get("a\n").unwrap().get(), "1");
        assert_eq!(fields.raw().unwrap().get(), r#"{"a\n":1}"#);
        assert!(serde_json::from_str::<Fields<'_>>("[]").is_err());
    }
}
