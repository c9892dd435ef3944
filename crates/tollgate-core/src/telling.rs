//! What a tool can tell from arguments or an answer alone: what they are called, for how long an answer holds, what a call
//! would do, and an answer in short.
//!
//! Invariants: nothing here reads, writes or asks; these are functions of what they are given. Other spellings of names
//! never make two arguments one: what would be there twice stays as it was sent, for the schema to refuse.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Map, Value, value::RawValue};

use crate::{call::ServiceInfo, canonical::Node, payload::Payload, provider::ProviderError};

/// What a call would do, told without doing it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rehearsal {
    /// What a dry run answers beside verdict and estimate.
    pub data: Map<String, Value>,
    /// The request that would be sent.
    pub service: Option<ServiceInfo>,
}

/// Tells what a call would do, from its arguments alone; nothing if they do not tell.
pub type RehearseRule =
    Arc<dyn Fn(&Map<String, Value>) -> Result<Option<Rehearsal>, ProviderError> + Send + Sync>;

/// An answer in short, for those who read text, and where the rest of it lies.
#[derive(Debug, Clone, PartialEq)]
pub struct Condensed {
    /// What stands for the answer.
    pub data: Value,
    /// What it refers to, each with at least `uri` and `name`.
    pub resources: Vec<Value>,
}

/// Makes an answer short; nothing if it refers to no files.
pub type CondenseRule = Arc<dyn Fn(&Value) -> Option<Condensed> + Send + Sync>;

/// The name a tool knows an argument by, if this is another spelling of it.
pub type RespellRule = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Whether the answer to these arguments depends on more than them, a file for one.
pub type MomentRule = Arc<dyn Fn(&Map<String, Value>) -> bool + Send + Sync>;

/// What a tool tells beside its answers.
#[derive(Clone, Default)]
pub struct Telling {
    /// Other spellings of its arguments' names.
    pub respell: Option<RespellRule>,
    /// Which answers hold for the moment only, so that the next equal call asks again.
    pub moment: Option<MomentRule>,
    /// What a dry run tells beside verdict and estimate.
    pub rehearse: Option<RehearseRule>,
    /// How an answer that refers to files is shown in text.
    pub condense: Option<CondenseRule>,
}

impl Telling {
    /// The arguments under the tool's own names. Whatever reckons with arguments does it with these.
    pub fn respelled(&self, arguments: Payload) -> Payload {
        self.other_names(&arguments).unwrap_or(arguments)
    }

    /// Nothing if they have the tool's own names already, or would have one twice.
    fn other_names(&self, arguments: &Payload) -> Option<Payload> {
        let rule = self.respell.as_ref()?;
        let given = arguments.value().as_object()?;
        if !given.keys().any(|name| rule(name).is_some()) || Node::of(arguments).is_err() {
            return None;
        }
        // Only names change: the text of a value is the caller's.
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(arguments.raw()).ok()?;
        let count = fields.len();
        let named = fields
            .into_iter()
            .map(|(name, value)| (rule(&name).unwrap_or(name), value));
        let named: BTreeMap<String, &RawValue> = named.collect();
        if named.len() < count {
            return None;
        }
        Payload::from_serialize(&named).ok()
    }

    /// Whether the answer to a call with these arguments holds for the moment only.
    pub fn is_of_the_moment(&self, arguments: &Map<String, Value>) -> bool {
        self.moment.as_ref().is_some_and(|rule| rule(arguments))
    }

    /// What a call with these arguments would do.
    pub fn rehearsed(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Option<Rehearsal>, ProviderError> {
        self.rehearse
            .as_ref()
            .map_or(Ok(None), |rule| rule(arguments))
    }

    /// An answer that refers to files, in short.
    pub fn condensed(&self, data: &Value) -> Option<Condensed> {
        self.condense.as_ref().and_then(|rule| rule(data))
    }
}

impl fmt::Debug for Telling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telling")
            .field("respells", &self.respell.is_some())
            .field("is_of_the_moment", &self.moment.is_some())
            .field("rehearses", &self.rehearse.is_some())
            .field("condenses", &self.condense.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dashed() -> Telling {
        let rule = |name: &str| name.contains('-').then(|| name.replace('-', "_"));
        Telling {
            respell: Some(Arc::new(rule)),
            ..Telling::default()
        }
    }

    fn respelled(telling: &Telling, text: &str) -> String {
        let arguments = Payload::parse(text.to_owned()).unwrap();
        telling.respelled(arguments).raw().to_owned()
    }

    #[test]
    fn names_change_and_values_do_not() {
        let telling = dashed();
        let sent = r#"{"b": 1, "dry-run": {"in-side": 12345678901234567890123.0}}"#;
        let named = r#"{"b":1,"dry_run":{"in-side": 12345678901234567890123.0}}"#;
        assert_eq!(respelled(&telling, sent), named);
        for same in [r#"{"dry_run": 1}"#, "[]"] {
            assert_eq!(respelled(&telling, same), same);
        }
        let plain = r#"{"dry-run": 1}"#;
        assert_eq!(respelled(&Telling::default(), plain), plain);
    }

    #[test]
    fn what_would_be_there_twice_stays_as_it_was_sent() {
        let telling = dashed();
        for twice in [
            r#"{"out-dir": "a", "out_dir": "b"}"#,
            r#"{"out-dir": "a", "out-dir": "b"}"#,
        ] {
            assert_eq!(respelled(&telling, twice), twice);
        }
    }
}
