//! What a server says to nobody in particular, until somebody has a moment for it.
//!
//! Invariants: only what means something here waits, and each of it is small: whatever a server
//! says, and however much, little of it is kept. That lists have changed is never lost, however
//! much else is said.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};
use tollgate_core::Payload;

use super::{pages, rpc::Heard};

/// Words that may wait.
const MOST: usize = 256;
/// Places among them that are kept for who asks and waits for an answer.
const FOR_QUESTIONS: usize = 128;
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
pub(super) struct Chatter {
    words: mpsc::Sender<Word>,
    lists: Arc<Notify>,
}

/// Where they are heard.
pub(super) struct Hears {
    words: mpsc::Receiver<Word>,
    lists: Arc<Notify>,
}

/// A place for words, and where they are heard.
pub(super) fn channel() -> (Chatter, Hears) {
    let (tell, words) = mpsc::channel(MOST);
    let lists = Arc::new(Notify::new());
    let chatter = Chatter {
        words: tell,
        lists: Arc::clone(&lists),
    };
    (chatter, Hears { words, lists })
}

impl Chatter {
    /// Keeps what means something, if there is room.
    pub(super) fn tell(&self, heard: Heard) {
        let Some(word) = word(heard) else {
            return;
        };
        let has_room = match word {
            Word::ListsChanged => return self.lists_changed(),
            Word::Asked(..) => true,
            Word::Updated(_) | Word::PageDone(_) => self.words.capacity() > FOR_QUESTIONS,
        };
        if has_room {
            drop(self.words.try_send(word));
        }
    }

    /// The same; waits for room.
    pub(super) async fn tell_in_turn(&self, heard: Heard) {
        match word(heard) {
            None => {}
            Some(Word::ListsChanged) => self.lists_changed(),
            Some(word) => drop(self.words.send(word).await),
        }
    }

    /// Says that lists may be others.
    pub(super) fn lists_changed(&self) {
        self.lists.notify_one();
    }
}

impl Hears {
    /// The next word; nothing if there will be none.
    pub(super) async fn next(&mut self) -> Option<Word> {
        tokio::select! {
            biased;
            () = self.lists.notified() => Some(Word::ListsChanged),
            word = self.words.recv() => word,
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

    #[tokio::test]
    async fn a_changed_list_and_a_question_are_heard_behind_any_number_of_words() {
        let (chatter, mut hears) = channel();
        let told =
            |method: &str| Heard::Told(method.to_owned(), Payload::from(json!({"uri": "a:b"})));
        for _ in 0..1000 {
            chatter.tell(told("notifications/resources/updated"));
        }
        chatter.tell(told("notifications/tools/list_changed"));
        let id = RawValue::from_string("7".to_owned()).unwrap();
        chatter.tell(Heard::Asked(id, "ping".to_owned(), Payload::empty_object()));
        drop(chatter);
        let (mut changed, mut asked, mut all) = (0, 0, 0);
        while let Some(word) = hears.next().await {
            changed += usize::from(matches!(word, Word::ListsChanged));
            asked += usize::from(matches!(word, Word::Asked(..)));
            all += 1;
        }
        assert_eq!((changed, asked), (1, 1));
        assert!(all < MOST, "{all}");
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
