//! Pages that an older client was asked to send its human to.
//!
//! In these versions a page has a name, by which its client hears that it is done. Invariants:
//! only whoever was asked hears of it, once, and only so many pages are remembered.

use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::value::RawValue;
use tollgate_core::{Fields, Payload};

use super::legacy::locked;

/// The most pages that are remembered; the oldest give way.
const MOST: usize = 64;

/// The pages of one client that are not done.
#[derive(Default)]
pub(super) struct Visits {
    open: Mutex<VecDeque<String>>,
    named: AtomicU64,
}

impl Visits {
    /// The question as this client is asked it, if it leads to a page: one that has no name gets
    /// one, since clients of these versions want it.
    pub(super) fn begin(&self, method: &str, params: &Payload) -> Option<Payload> {
        let asked = params.value();
        if method != "elicitation/create" || asked["mode"] != "url" {
            return None;
        }
        if let Some(name) = asked["elicitationId"].as_str() {
            let mut open = locked(&self.open);
            open.retain(|own| own != name);
            if open.len() >= MOST {
                open.pop_front();
            }
            open.push_back(name.to_owned());
            return None;
        }
        let number = self.named.fetch_add(1, Ordering::Relaxed);
        let name = RawValue::from_string(format!("\"tollgate-page-{number}\"")).ok()?;
        let mut fields: Fields<'_> = serde_json::from_str(params.raw()).ok()?;
        fields.set("elicitationId", name);
        Payload::from_serialize(&fields).ok()
    }

    /// Whether this client was sent to a page that is done.
    pub(super) fn end(&self, name: &str) -> bool {
        let mut open = locked(&self.open);
        let at = open.iter().position(|own| own == name);
        at.and_then(|at| open.remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_pages_that_were_asked_for_are_done_and_only_once() {
        let visits = Visits::default();
        let page = |name: &str| Payload::from(json!({"mode": "url", "elicitationId": name}));
        let ask = |params: Payload| visits.begin("elicitation/create", &params);
        assert_eq!(ask(page("a")), None);
        assert_eq!(ask(Payload::from(json!({"message": "a form"}))), None);
        assert!(!visits.end("b"));
        assert!(visits.end("a"));
        assert!(!visits.end("a"));
        for number in 0..=MOST {
            ask(page(&number.to_string()));
        }
        assert!(!visits.end("0"));
        assert!(visits.end("1"));
        let named = ask(Payload::parse(r#"{"mode":"url","n":1.50}"#.to_owned()).unwrap());
        let wanted = r#"{"mode":"url","n":1.50,"elicitationId":"tollgate-page-0"}"#;
        assert_eq!(named.unwrap().raw(), wanted);
    }
}
