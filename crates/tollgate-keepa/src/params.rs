//! Reads the parameters of a command, however they were spelled.
//!
//! `per-page` and `per_page` are one parameter; a list may be an array or a comma text; a switch may be `true` or a word.
//! Invariant: the canonical form is `snake_case` and has no defaults in it, so equal calls have equal keys.

use serde_json::{Map, Value};

use crate::{Domain, Error};

/// The parameters of one command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params(Map<String, Value>);

/// Names that stand for others.
pub(crate) const ALIASES: [(&str, &str); 5] = [
    ("asins", "asin"),
    ("codes", "code"),
    ("sellers", "seller"),
    ("output", "out"),
    ("cache_ttl_seconds", "cache_ttl"),
];

impl From<Map<String, Value>> for Params {
    fn from(map: Map<String, Value>) -> Self {
        let canonical = map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.replace('-', "_"), value));
        let mut canonical: Map<String, Value> = canonical.collect();
        for (alias, name) in ALIASES {
            // Where both are given the name itself counts.
            if let Some(value) = canonical.shift_remove(alias) {
                canonical.entry(name).or_insert(value);
            }
        }
        Self(canonical)
    }
}

impl Params {
    /// From a JSON value; anything but an object has no parameters.
    pub fn of(value: &Value) -> Self {
        value.as_object().cloned().unwrap_or_default().into()
    }

    /// In canonical spelling, as it came otherwise.
    pub fn canonical(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The value under the first of these names that is there.
    pub fn get(&self, names: &[&str]) -> Option<&Value> {
        names.iter().find_map(|name| self.0.get(*name))
    }

    /// A switch: `true`, or one of the words 1, true, yes and on.
    pub fn is_on(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(is_on)) => *is_on,
            Some(Value::Number(number)) => number.as_i64() == Some(1),
            Some(Value::String(text)) => {
                let word = text.trim().to_ascii_lowercase();
                ["1", "true", "yes", "on"].contains(&word.as_str())
            }
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => false,
        }
    }

    /// A text or number, as text; a switch reads as 1 or 0, which is how the API spells it.
    pub fn text(&self, names: &[&str]) -> Option<String> {
        scalar(self.get(names)?)
    }

    /// A text that must be there.
    pub fn required(&self, name: &str) -> Result<String, Error> {
        self.text(&[name])
            .filter(|text| !text.is_empty())
            .ok_or_else(|| Error::argument(format!("{name} is required")))
    }

    /// Several texts: an array or a comma text, blanks left out.
    pub fn list(&self, names: &[&str]) -> Vec<String> {
        let Some(value) = self.get(names) else {
            return Vec::new();
        };
        let all = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        let texts: Vec<String> = all.iter().filter_map(scalar).collect();
        let pieces = texts.iter().flat_map(|text| text.split(','));
        let trimmed = pieces.map(str::trim).filter(|piece| !piece.is_empty());
        trimmed.map(str::to_owned).collect()
    }

    /// The products asked for by ASIN, each once.
    pub fn asins(&self) -> Vec<String> {
        let mut asins: Vec<String> = Vec::new();
        for asin in self.list(&["asin"]) {
            let asin = asin.to_ascii_uppercase();
            if !asins.contains(&asin) {
                asins.push(asin);
            }
        }
        asins
    }

    /// A whole number, or the default if it is not given.
    pub fn number(&self, name: &str, default: i64) -> Result<i64, Error> {
        let Some(text) = self.text(&[name]) else {
            return Ok(default);
        };
        text.trim()
            .parse()
            .map_err(|_| Error::argument(format!("{name} must be a whole number, not {text:?}")))
    }

    /// For how many seconds an answer may be used again, if the call says so.
    pub fn cache_ttl(&self) -> Result<Option<u64>, Error> {
        match self.text(&["cache_ttl"]) {
            None => Ok(None),
            Some(_) => Ok(u64::try_from(self.number("cache_ttl", 0)?.max(0)).ok()),
        }
    }

    /// The marketplace.
    pub fn domain(&self) -> Result<Domain, Error> {
        match self.text(&["domain"]) {
            None => Ok(Domain::default()),
            Some(text) => text
                .parse()
                .map_err(|error: crate::UnknownDomain| Error::argument(error.to_string())),
        }
    }

    /// Whether a call with these spends nothing and so needs no consent for cost.
    pub fn is_free(&self) -> bool {
        let fixture = self.text(&["fixture"]).unwrap_or_default();
        self.is_on("dry_run") || !fixture.is_empty()
    }
}

/// Texts as whole numbers.
pub(crate) fn whole_numbers(name: &str, texts: &[String]) -> Result<Vec<i64>, Error> {
    let numbers = texts.iter().map(|text| {
        text.parse()
            .map_err(|_| Error::argument(format!("{name} must be whole numbers, not {text:?}")))
    });
    numbers.collect()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_on) => Some(u8::from(*is_on).to_string()),
        // A list of one is that one.
        Value::Array(all) => match all.as_slice() {
            [one] if !one.is_array() => scalar(one),
            _ => None,
        },
        Value::Null | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spellings_of_a_name_are_one() {
        let dashed = Params::of(&json!({"per-page": 50, "out": null}));
        let plain = Params::of(&json!({"per_page": 50}));
        assert_eq!(dashed, plain);
    }

    #[test]
    fn other_names_mean_the_same() {
        let named = Params::of(&json!({"asin": ["A"], "out": "a.json", "cache_ttl": 60}));
        let other = json!({"asins": ["A"], "output": "a.json", "cache-ttl-seconds": 60});
        assert_eq!(Params::of(&other), named);
        assert_eq!(Params::of(&other).cache_ttl(), Ok(Some(60)));
        assert_eq!(Params::default().cache_ttl(), Ok(None));
        let both = Params::of(&json!({"output": "b", "out": "a"}));
        assert_eq!(both.text(&["out"]).as_deref(), Some("a"));
    }

    #[test]
    fn lists_come_in_many_shapes() {
        for value in [
            json!(["A", "B"]),
            json!("A,B"),
            json!(" A , ,B"),
            json!(["A,B"]),
        ] {
            let params = Params::of(&json!({ "asin": value }));
            assert_eq!(params.list(&["asin", "asins"]), ["A", "B"], "{params:?}");
        }
        assert_eq!(Params::of(&json!({"asin": 5})).list(&["asin"]), ["5"]);
        let text = |value: Value| Params::of(&json!({ "asin": value })).text(&["asin"]);
        assert_eq!(text(json!(["A"])).as_deref(), Some("A"));
        for several in [json!(["A", "B"]), json!([]), json!([["A"]])] {
            assert_eq!(text(several), None);
        }
    }

    #[test]
    fn switches_are_words_too() {
        for on in [
            json!(true),
            json!("yes"),
            json!(" ON "),
            json!("1"),
            json!(1),
        ] {
            assert!(Params::of(&json!({ "full": on })).is_on("full"), "{on}");
        }
        for off in [json!(false), json!("no"), json!(0), json!([]), json!("")] {
            assert!(!Params::of(&json!({ "full": off })).is_on("full"), "{off}");
        }
    }

    #[test]
    fn numbers_and_domains_are_checked() {
        let params = Params::of(&json!({"limit": "ten", "domain": "XX"}));
        assert!(params.number("limit", 1).is_err());
        assert_eq!(params.number("other", 7).unwrap(), 7);
        assert!(params.domain().is_err());
        assert_eq!(Params::default().domain().unwrap(), Domain::Us);
    }
}
