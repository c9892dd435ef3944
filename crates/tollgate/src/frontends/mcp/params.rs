//! The parameters of a request, with what the protocol itself reads of them found once.
//!
//! Several stages look at the same few members. Where those stand is worked out by the first
//! that asks, and the text is never copied for it. Invariant: a member that is there twice is
//! refused, so no two stages can take different ones.

use std::{
    borrow::Cow,
    ops::{Deref, Range},
    sync::OnceLock,
};

use serde::Deserialize;
use serde_json::value::RawValue;
use tollgate_core::Payload;

use super::rpc::{RpcError, present};

/// The parameters of a request; an object.
#[derive(Debug, Clone)]
pub(super) struct Params {
    payload: Payload,
    places: OnceLock<Result<Places, String>>,
}

/// Where the members stand in the text; what is not there has no length.
#[derive(Debug, Clone)]
struct Places([Range<u32>; 8]);

/// A member that the protocol itself reads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Member {
    Name,
    Arguments,
    Meta,
    Uri,
    Task,
    Answers,
    State,
    Profile,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta", deserialize_with = "present")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "taskId", deserialize_with = "present")]
    task: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        rename = "inputResponses",
        deserialize_with = "present"
    )]
    answers: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState", deserialize_with = "present")]
    state: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    profile: Option<&'a RawValue>,
}

impl Places {
    fn of(text: &str) -> Result<Self, String> {
        let members: Members<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let place = |raw: Option<&RawValue>| {
            let raw = raw.map_or("", RawValue::get);
            let from = raw.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
            let place = u32::try_from(from).ok().zip(u32::try_from(raw.len()).ok());
            place.map_or(0..0, |(from, length)| from..from.saturating_add(length))
        };
        Ok(Self([
            place(members.name),
            place(members.arguments),
            place(members.meta),
            place(members.uri),
            place(members.task),
            place(members.answers),
            place(members.state),
            place(members.profile),
        ]))
    }
}

impl Params {
    /// A member as it is spelled; `null` is told from nothing.
    pub(super) fn get(&self, member: Member) -> Result<Option<&str>, RpcError> {
        let text = self.payload.raw();
        match self.places.get_or_init(|| Places::of(text)) {
            Ok(Places(places)) => {
                let Range { start, end } = places[member as usize];
                let found = text.get(start as usize..end as usize);
                Ok(found.filter(|found| !found.is_empty()))
            }
            Err(error) => Err(RpcError::invalid_params(format!(
                "the parameters cannot be read: {error}"
            ))),
        }
    }

    /// The text that a member holds; what is no text is nothing.
    pub(super) fn text(&self, member: Member) -> Result<Option<Cow<'_, str>>, RpcError> {
        Ok(self.get(member)?.and_then(text))
    }
}

impl From<Payload> for Params {
    fn from(payload: Payload) -> Self {
        Self {
            payload,
            places: OnceLock::new(),
        }
    }
}

impl Deref for Params {
    type Target = Payload;

    fn deref(&self) -> &Payload {
        &self.payload
    }
}

/// The text that JSON spells, copied only if it has escapes; none if it spells something else.
pub(super) fn text(raw: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    serde_json::from_str(raw).ok().map(|Text(text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Params {
        Payload::parse(text.to_owned()).unwrap().into()
    }

    #[test]
    fn members_are_found_as_they_are_spelled() {
        let params = params(
            r#"{ "arguments" : {"n": 1.50, "name": "x"}, "name":"a\u0062", "other": [1], "requestState": null, "taskId": "é" }"#,
        );
        let get = |member| params.get(member).unwrap();
        assert_eq!(get(Member::Arguments), Some(r#"{"n": 1.50, "name": "x"}"#));
        assert_eq!(get(Member::State), Some("null"));
        assert_eq!(get(Member::Task), Some("\"é\""));
        assert_eq!(get(Member::Answers), None);
        assert_eq!(params.text(Member::Name).unwrap().as_deref(), Some("ab"));
        assert_eq!(params.text(Member::State).unwrap(), None);
    }

    #[test]
    fn a_member_that_is_there_twice_is_refused() {
        for text in [
            r#"{"name":"a","name":"b"}"#,
            r#"{"arguments":{},"name":"a","arguments":{"x":1}}"#,
            r#"{"inputResponses":{},"inputResponses":{}}"#,
        ] {
            let refused = params(text).get(Member::Uri).unwrap_err();
            assert_eq!(refused.code, super::super::rpc::code::INVALID_PARAMS);
        }
    }
}
