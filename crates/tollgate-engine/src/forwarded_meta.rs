//! Entries of a caller's `_meta` that the operator of a server lets through.
//!
//! Invariant: an entry that is forwarded is part of the call. It is governed as the member `_meta`
//! of the arguments: in the digest of an approval, in what a human is shown, before the rules, for
//! taint and in the record. Every other entry ends here.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::value::RawValue;
use tollgate_core::{
    Payload,
    canonical::{CanonicalError, Node},
};

/// The member of the governed arguments that holds what is forwarded.
const MEMBER: &str = "_meta";

/// Why what a caller says beside a call cannot be forwarded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetaError {
    /// It can be read two ways.
    #[error("`_meta` cannot be forwarded: {0}")]
    Canonical(#[from] CanonicalError),
    /// It is too deep, or no JSON.
    #[error("`_meta` cannot be forwarded: it cannot be read")]
    Unreadable,
    /// Nobody could tell the argument from what is forwarded.
    #[error("an argument is called `_meta`, and this server is forwarded entries of `_meta`")]
    Ambiguous,
}

/// The entries that a server may hear, as fields of an object; nothing if there are none.
pub(crate) fn chosen(
    allowed: &[String],
    meta: Option<&str>,
) -> Result<Option<Arc<str>>, MetaError> {
    let Some(meta) = meta.filter(|_| !allowed.is_empty()) else {
        return Ok(None);
    };
    let whole = Payload::parse(format!("{{{meta}}}")).map_err(|_| MetaError::Unreadable)?;
    // A key that is given twice, at any depth, is refused.
    Node::of(&whole)?;
    let entries: BTreeMap<String, &RawValue> =
        serde_json::from_str(whole.raw()).map_err(|_| MetaError::Unreadable)?;
    let fields: Vec<String> = entries
        .iter()
        .filter(|(name, _)| allowed.contains(name))
        .map(|(name, value)| Ok(format!("{}:{value}", serde_json::to_string(name)?)))
        .collect::<serde_json::Result<_>>()
        .map_err(|_| MetaError::Unreadable)?;
    Ok((!fields.is_empty()).then(|| fields.join(",").into()))
}

/// Refuses arguments that could pass for what is forwarded beside them.
pub(crate) fn check(arguments: &Payload) -> Result<(), MetaError> {
    match arguments.value().get(MEMBER) {
        Some(_) => Err(MetaError::Ambiguous),
        None => Ok(()),
    }
}

/// The arguments together with what is forwarded beside them.
pub(crate) fn governed(arguments: &Payload, fields: Option<&str>) -> Result<Payload, MetaError> {
    let Some(fields) = fields else {
        return Ok(arguments.clone());
    };
    check(arguments)?;
    let inside = arguments.raw().trim();
    let inside = inside
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let inside = inside.ok_or(MetaError::Unreadable)?.trim();
    let comma = if inside.is_empty() { "" } else { "," };
    Payload::parse(format!("{{{inside}{comma}\"{MEMBER}\":{{{fields}}}}}"))
        .map_err(|_| MetaError::Unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<String> {
        vec!["a/x".to_owned(), "b".to_owned()]
    }

    #[test]
    fn only_named_entries_are_forwarded_as_they_are_spelled() {
        let meta = r#""c":1,"b":1.50,"a\/x":{"n":1e2}"#;
        let fields = chosen(&allowed(), Some(meta)).unwrap();
        assert_eq!(fields.as_deref(), Some(r#""a/x":{"n":1e2},"b":1.50"#));
        assert_eq!(chosen(&[], Some(meta)).unwrap(), None);
        assert_eq!(chosen(&allowed(), Some(r#""c":1"#)).unwrap(), None);
        assert_eq!(chosen(&allowed(), None).unwrap(), None);
    }

    #[test]
    fn a_key_given_twice_is_refused_at_any_depth() {
        for meta in [
            r#""b":1,"b":2"#,
            r#""b":1,"\u0062":2"#,
            r#""b":{"x":1,"x":2}"#,
        ] {
            let refused = chosen(&allowed(), Some(meta));
            assert!(matches!(refused, Err(MetaError::Canonical(_))), "{meta}");
        }
    }

    #[test]
    fn what_is_forwarded_is_governed_with_the_arguments() {
        let arguments = |text: &str| Payload::parse(text.to_owned()).unwrap();
        let joined = governed(&arguments(r#" {"to": 1} "#), Some(r#""b":2"#)).unwrap();
        assert_eq!(joined.raw(), r#"{"to": 1,"_meta":{"b":2}}"#);
        let joined = governed(&Payload::empty_object(), Some(r#""b":2"#)).unwrap();
        assert_eq!(joined.raw(), r#"{"_meta":{"b":2}}"#);
        let twice = governed(&arguments(r#"{"\u005fmeta":1}"#), Some(r#""b":2"#));
        assert!(matches!(twice, Err(MetaError::Ambiguous)));
        let untouched = governed(&arguments(r#"{"_meta":1}"#), None).unwrap();
        assert_eq!(untouched.raw(), r#"{"_meta":1}"#);
    }
}
