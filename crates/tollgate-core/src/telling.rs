//! What a tool can tell from arguments or an answer alone: what they are called, for how long an answer holds, what a call
//! would do, and an answer in short.
//!
//! Invariants: nothing here reads, writes or asks; these are functions of what they are given. Other spellings of names
//! never make two arguments one: what would be there twice stays as it was sent, for the schema to refuse.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Map, Value, value::RawValue};

use crate::{
    call::ServiceInfo, canonical::Node, document_codes::ErrorCodes, identity::Transport,
    name::ToolName, payload::Payload, provider::ProviderError,
};

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
    /// What it refers to, each with at least `uri` and `name`. Without any it stands for an answer only where that has to
    /// be cut.
    pub resources: Vec<Value>,
}

/// Makes an answer short; nothing if it has no digest of its own and the general rule for long texts is to shorten it.
pub type CondenseRule = Arc<dyn Fn(&Value) -> Option<Condensed> + Send + Sync>;

/// The name a tool knows an argument by, if this is another spelling of it.
pub type RespellRule = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How an answer may be used again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reuse {
    /// An equal call gets it.
    #[default]
    Always,
    /// Only a call that asks for it with `from_cache`: it depends on more than the arguments, a file for one.
    OnRequest,
    /// Never; it is not kept.
    Never,
}

/// How the answer to a call with these arguments may be used again.
pub type ReuseRule = Arc<dyn Fn(&Map<String, Value>) -> Reuse + Send + Sync>;

/// The object that a call with these arguments reads or writes: a file, an address, a record.
pub type ObjectRule = Arc<dyn Fn(&Map<String, Value>) -> Option<String> + Send + Sync>;

/// An object that an argument names; `*` is everything that the provider keeps, as one object.
pub fn object_in(argument: &str) -> ObjectRule {
    let argument = argument.to_owned();
    Arc::new(move |arguments| match argument.as_str() {
        "*" => Some("*".to_owned()),
        name => plain_name(arguments.get(name)?.as_str()?),
    })
}

/// A name that says the same however it is read; nothing for one that leads up and out.
fn plain_name(name: &str) -> Option<String> {
    let is_plain = !name.is_empty() && name.len() <= 4096 && !name.chars().any(char::is_control);
    let mut parts: Vec<&str> = Vec::new();
    for (at, part) in name.split('/').enumerate() {
        match part {
            "" if at > 0 => {}
            "." => {}
            ".." => return None,
            part => parts.push(part),
        }
    }
    is_plain.then(|| parts.join("/"))
}

/// The arguments, as JSON pointers, that are addresses a call with these arguments fetches.
pub type FetchRule = Arc<dyn Fn(&Map<String, Value>) -> Vec<String> + Send + Sync>;

/// An argument that is fetched whenever it is there.
pub fn fetches(argument: &'static str) -> FetchRule {
    Arc::new(move |_| vec![format!("/{argument}")])
}

/// The tools that a call with these arguments calls itself.
pub type NeedRule = Arc<dyn Fn(&Map<String, Value>) -> Vec<String> + Send + Sync>;

/// A cached answer as it is given to another call over this transport; nothing if it stays as it is.
pub type RestateRule = Arc<dyn Fn(&Value, Transport) -> Option<Value> + Send + Sync>;

/// What a tool tells beside its answers.
#[derive(Clone, Default)]
pub struct Telling {
    /// Other spellings of its arguments' names.
    pub respell: Option<RespellRule>,
    /// How answers may be used again.
    pub reuse: Option<ReuseRule>,
    /// Which object a call reads or writes.
    pub object: Option<ObjectRule>,
    /// Which arguments a call fetches as addresses: in a step of a run, what was redacted in an address goes back to its
    /// host there, and nowhere else.
    pub fetches: Option<FetchRule>,
    /// Whether it hands none of its arguments on: placeholders stay in them, and in its answer.
    pub keeps_placeholders: bool,
    /// Which tools a call calls itself.
    pub need: Option<NeedRule>,
    /// What a cached answer says of the call that gets it.
    pub restate: Option<RestateRule>,
    /// What a dry run tells beside verdict and estimate.
    pub rehearse: Option<RehearseRule>,
    /// How an answer that refers to files is shown in text, however short it is.
    pub condense: Option<CondenseRule>,
    /// What is shown in text of an answer that is too long for it, in place of the general rule.
    pub digest: Option<CondenseRule>,
    /// Whose codes stand in `errorCode` of its errors.
    pub error_codes: ErrorCodes,
    /// The alias that clients are listed it by, in place of its canonical id.
    pub listed_as: Option<ToolName>,
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

    /// How the answer to a call with these arguments may be used again.
    pub fn reuse(&self, arguments: &Map<String, Value>) -> Reuse {
        let rule = self.reuse.as_ref();
        rule.map_or(Reuse::Always, |rule| rule(arguments))
    }

    /// The object that a call with these arguments reads or writes.
    pub fn object(&self, arguments: &Map<String, Value>) -> Option<String> {
        self.object.as_ref().and_then(|rule| rule(arguments))
    }

    /// The arguments, as JSON pointers, that are addresses which a call fetches.
    pub fn fetched(&self, arguments: &Map<String, Value>) -> Vec<String> {
        self.fetches
            .as_ref()
            .map_or_else(Vec::new, |rule| rule(arguments))
    }

    /// The tools that a call with these arguments calls itself.
    pub fn needed(&self, arguments: &Map<String, Value>) -> Vec<String> {
        self.need
            .as_ref()
            .map_or_else(Vec::new, |rule| rule(arguments))
    }

    /// A cached answer as it is given to another call over this transport.
    pub fn restated(&self, data: &Payload, transport: Transport) -> Option<Payload> {
        let rule = self.restate.as_ref()?;
        rule(data.value(), transport).map(Payload::from)
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

    /// The digest of an answer that is too long to be shown.
    pub fn digested(&self, data: &Value) -> Option<Condensed> {
        self.digest.as_ref().and_then(|rule| rule(data))
    }
}

impl fmt::Debug for Telling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telling")
            .field("respells", &self.respell.is_some())
            .field("limits_reuse", &self.reuse.is_some())
            .field("names_object", &self.object.is_some())
            .field("names_fetched", &self.fetches.is_some())
            .field("keeps_placeholders", &self.keeps_placeholders)
            .field("names_tools", &self.need.is_some())
            .field("restates", &self.restate.is_some())
            .field("rehearses", &self.rehearse.is_some())
            .field("condenses", &self.condense.is_some())
            .field("digests", &self.digest.is_some())
            .field("error_codes", &self.error_codes)
            .field("listed_as", &self.listed_as)
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
    fn an_object_has_one_name_however_it_is_spelled() {
        let named = |path: &str| {
            let arguments = serde_json::json!({"path": path});
            object_in("path")(arguments.as_object().unwrap())
        };
        for same in ["/a/b.txt", "/a//b.txt", "/a/./b.txt", "/./a/b.txt/"] {
            assert_eq!(named(same).as_deref(), Some("/a/b.txt"), "{same}");
        }
        assert_eq!(named("a/b").as_deref(), Some("a/b"));
        for none in ["", "/a/../b.txt", "..", "a\n"] {
            assert_eq!(named(none), None, "{none:?}");
        }
        assert_eq!(object_in("*")(&Map::new()).as_deref(), Some("*"));
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
