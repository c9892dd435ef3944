//! What a server says to nobody in particular, until somebody has a moment for it.
//!
//! Invariant: only what means something here waits, and each of it is small: whatever a server
//! says, and however much, little of it is kept.

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tollgate_core::Payload;

use super::{pages, rpc::Heard};

/// Words that may wait.
const MOST: usize = 256;
/// Bytes of one that are looked at.
const LONGEST: usize = 16 << 10;

/// One of them.
#[derive(Debug)]
pub(super) enum Word {
    /// One of its lists is another one.
    ListsChanged,
    /// What is at this address, by its own name for it, is another thing.
    Updated(String),
    /// Somebody is done with a page.
    PageDone(Payload),
    /// It asks something.
    Asked(Box<RawValue>, String, Payload),
}

/// Where such words are brought.
#[derive(Clone)]
pub(super) struct Chatter(mpsc::Sender<Word>);

/// A place for words, and where they are heard.
pub(super) fn channel() -> (Chatter, mpsc::Receiver<Word>) {
    let (tell, hears) = mpsc::channel(MOST);
    (Chatter(tell), hears)
}

impl Chatter {
    /// Keeps what means something, if there is room.
    pub(super) fn tell(&self, heard: Heard) {
        if let Some(word) = word(heard) {
            drop(self.0.try_send(word));
        }
    }

    /// The same; waits for room.
    pub(super) async fn tell_in_turn(&self, heard: Heard) {
        if let Some(word) = word(heard) {
            drop(self.0.send(word).await);
        }
    }
}

fn word(heard: Heard) -> Option<Word> {
    match heard {
        Heard::Told(method, params) => {
            let is_short = params.raw().len() <= LONGEST;
            match method.as_str() {
                "notifications/tools/list_changed"
                | "notifications/resources/list_changed"
                | "notifications/prompts/list_changed" => Some(Word::ListsChanged),
                "notifications/resources/updated" if is_short => {
                    let uri = params.value()["uri"].as_str()?;
                    Some(Word::Updated(uri.to_owned()))
                }
                pages::DONE if is_short => Some(Word::PageDone(params)),
                _ => None,
            }
        }
        Heard::Asked(id, method, params) => {
            // What is too long to be looked at is answered all the same.
            let params = if params.raw().len() <= LONGEST {
                params
            } else {
                Payload::empty_object()
            };
            let is_short = id.get().len() + method.len() <= LONGEST;
            is_short.then_some(Word::Asked(id, method, params))
        }
        Heard::Answered(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(method: &str, params: serde_json::Value) -> Option<Word> {
        word(Heard::Told(method.to_owned(), Payload::from(params)))
    }

    fn asked(id: &str, params: serde_json::Value) -> Option<Word> {
        let id = RawValue::from_string(id.to_owned()).unwrap();
        word(Heard::Asked(id, "ping".to_owned(), Payload::from(params)))
    }

    #[test]
    fn only_what_means_something_waits() {
        let updated = "notifications/resources/updated";
        assert!(matches!(
            told(updated, json!({"uri": "a:b"})),
            Some(Word::Updated(uri)) if uri == "a:b"
        ));
        assert!(told(updated, json!({})).is_none());
        assert!(told("notifications/odd", json!({})).is_none());
        assert!(told("notifications/message", json!({})).is_none());
        assert!(word(Heard::Answered(7, Ok(Payload::empty_object()))).is_none());
    }

    #[test]
    fn what_waits_is_small_whatever_was_said() {
        let long = "x".repeat(1_000_000);
        let changed = told("notifications/tools/list_changed", json!({"x": long}));
        assert!(matches!(changed, Some(Word::ListsChanged)));
        let updated = "notifications/resources/updated";
        assert!(told(updated, json!({"uri": long})).is_none());
        assert!(told(pages::DONE, json!({"elicitationId": long})).is_none());
        let Some(Word::Asked(id, _, params)) = asked("7", json!({"x": long})) else {
            panic!("a question is answered");
        };
        assert_eq!((id.get(), params.raw()), ("7", "{}"));
        assert!(asked(&format!("\"{long}\""), json!({})).is_none());
    }
}
