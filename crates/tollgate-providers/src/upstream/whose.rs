//! Which request the words of an older server are about.
//!
//! Such a server does not say. As long as all its calls are of one session, the same client
//! hears of it whichever is taken; among several sessions nobody is asked what may be
//! another's question.

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

use serde::Deserialize;
use serde_json::Value;
use tollgate_core::{CallContext, Payload};

/// A call that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    /// Whose it is.
    pub(super) whose: Session,
    /// Whether it waits for an answer of ours: whoever has asked does not ask again.
    pub(super) is_held: bool,
}

/// Tells sessions apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Session(u64);

impl Session {
    /// The session that a call belongs to.
    pub(super) fn of(cx: &CallContext) -> Self {
        static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Self(KEYS.hash_one(&cx.session))
    }
}

/// The request that a word is about, if it says so. No tree of the word is made for that, which
/// could be many times as large.
pub(super) fn token(method: &str, params: &Payload) -> Option<u64> {
    #[derive(Deserialize)]
    struct Progress {
        #[serde(rename = "progressToken")]
        token: Value,
    }
    #[derive(Deserialize)]
    struct Subscribed {
        #[serde(rename = "_meta")]
        meta: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
        id: Value,
    }
    if method == "notifications/progress" {
        let said: Progress = serde_json::from_str(params.raw()).ok()?;
        return said.token.as_u64();
    }
    let said: Subscribed = serde_json::from_str(params.raw()).ok()?;
    let id = said.meta.id;
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

/// The call that a word or a question is taken to be about: of those that have not asked
/// yet, the one that has run for longest.
pub(super) fn concerned(method: &str, calls: impl Iterator<Item = (u64, Call)>) -> Option<u64> {
    let concerns_calls = matches!(
        method,
        "notifications/message" | "elicitation/create" | "sampling/createMessage" | "roots/list"
    );
    if !concerns_calls {
        return None;
    }
    let mut calls = calls.filter(|(_, call)| !call.is_held);
    let (mut oldest, first) = calls.next()?;
    for (id, call) in calls {
        if call.whose != first.whose {
            return None;
        }
        oldest = oldest.min(id);
    }
    Some(oldest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_word_says_which_request_it_is_about() {
        let about = |method: &str, params: Value| token(method, &Payload::from(params));
        let progress = "notifications/progress";
        assert_eq!(
            about(progress, json!({"progressToken": 7, "_meta": 5})),
            Some(7)
        );
        assert_eq!(about(progress, json!({"progressToken": "7"})), None);
        assert_eq!(about(progress, json!({"progress": 7})), None);
        let key = "io.modelcontextprotocol/subscriptionId";
        for id in [json!(7), json!("7")] {
            assert_eq!(
                about("notifications/odd", json!({"_meta": {key: id}})),
                Some(7)
            );
        }
        assert_eq!(about("notifications/odd", json!({"_meta": 7})), None);
        assert_eq!(about("notifications/odd", json!({})), None);
    }

    #[test]
    fn a_question_goes_to_a_call_only_if_nobody_else_could_have_meant_it() {
        let call = |session, is_held| Call {
            whose: Session(session),
            is_held,
        };
        let ask = |calls: &[(u64, Call)]| concerned("elicitation/create", calls.iter().copied());
        assert_eq!(ask(&[]), None);
        assert_eq!(ask(&[(5, call(1, false))]), Some(5));
        assert_eq!(ask(&[(5, call(1, true))]), None);
        assert_eq!(ask(&[(9, call(1, false)), (5, call(1, false))]), Some(5));
        assert_eq!(ask(&[(5, call(1, false)), (6, call(2, false))]), None);
        assert_eq!(ask(&[(5, call(1, true)), (6, call(2, false))]), Some(6));
        let all = [(5, call(1, false))].into_iter();
        assert_eq!(concerned("notifications/tools/list_changed", all), None);
    }
}
