//! Pages that an older server has sent humans to, until it says that one is done.
//!
//! It does so in the middle of a call, or refuses a call until somebody has been there; such a
//! call is made again when it says so, or after a while.
//!
//! Two servers may call their pages the same, so clients hear names of ours. Invariants: a page
//! is done at most once, and only so many are remembered.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, value::RawValue};
use tokio::sync::Notify;
use tollgate_core::{
    CallContext, Fields, InputRequest, InputResponses, Notice, Payload, ProviderError,
};

use super::{
    Upstream, ask, cancelled,
    rpc::{self, RpcError},
};

/// What a server says when a page is done.
pub(super) const DONE: &str = "notifications/elicitation/complete";
/// The most pages that are remembered; the oldest give way.
const MOST: usize = 64;
/// Names that are longer are not remembered.
const LONGEST: usize = 1 << 10;

/// The number of the next page.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The pages of one server that are not done.
#[derive(Debug, Default)]
pub(super) struct Pages {
    open: Mutex<VecDeque<Page>>,
    changed: Notify,
}

#[derive(Debug)]
struct Page {
    own: String,
    ours: String,
}

impl Pages {
    /// A question with a name of ours for its page; one that names none stays as it is.
    pub(super) fn renamed(&self, server: &str, params: Payload) -> Payload {
        let named = || -> Option<Payload> {
            let own = params.value()["elicitationId"].as_str()?;
            let ours = rpc::quoted(&self.ours(server, own)?);
            let mut fields: Fields<'_> = serde_json::from_str(params.raw()).ok()?;
            fields.replace("elicitationId", RawValue::from_string(ours).ok()?);
            Payload::from_serialize(&fields).ok()
        };
        named().unwrap_or(params)
    }

    fn ours(&self, server: &str, own: &str) -> Option<String> {
        if own.len() > LONGEST {
            return None;
        }
        let mut all = self.all();
        if let Some(known) = all.iter().find(|page| page.own == own) {
            return Some(known.ours.clone());
        }
        if all.len() >= MOST {
            all.pop_front();
        }
        let ours = format!("{server}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        all.push_back(Page {
            own: own.to_owned(),
            ours: ours.clone(),
        });
        Some(ours)
    }

    /// The name of ours for a page that a server says is done.
    fn done(&self, params: &Payload) -> Option<String> {
        let own = params.value()["elicitationId"].as_str()?;
        let mut all = self.all();
        let at = all.iter().position(|page| page.own == own)?;
        let done = all.remove(at).map(|page| page.ours);
        self.changed.notify_waiters();
        done
    }

    /// Waits until none of these is open any more.
    async fn all_done(&self, names: &[String]) {
        loop {
            let changed = self.changed.notified();
            if !self.all().iter().any(|page| names.contains(&page.ours)) {
                return;
            }
            changed.await;
        }
    }

    /// Nobody goes to these.
    fn give_up(&self, names: &[String]) {
        self.all().retain(|page| !names.contains(&page.ours));
    }

    /// Whoever sent to them is gone.
    pub(super) fn forget(&self) {
        self.all().clear();
        self.changed.notify_waiters();
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<Page>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upstream {
    /// Lets whoever was sent to a page know that it is done.
    pub(super) fn page_done(&self, params: &Payload) {
        if let Some(page) = self.pages.done(params) {
            self.notice(Notice::PageDone(page));
        }
    }

    /// The pages that a server wants somebody to have been at before it is called again.
    pub(super) fn pages_first(&self, error: &RpcError) -> Option<InputRequest> {
        if error.code != RpcError::PAGES_FIRST {
            return None;
        }
        let server = &self.settings.name;
        let wanted = error.data.as_ref()?.get("elicitations")?.as_array()?;
        let named = |page: &Value| {
            let page = self.pages.renamed(server, Payload::from(page.clone()));
            let name = page.value()["elicitationId"].as_str()?.to_owned();
            (page.value()["mode"] == "url").then_some((name, page))
        };
        let pages: Vec<(String, Payload)> = wanted.iter().take(MOST).filter_map(named).collect();
        (!pages.is_empty()).then(|| ask::to_pages(server, pages))
    }

    /// Waits until pages are done that a human agreed to go to; not every server says so.
    pub(super) async fn visited(
        &self,
        pages: &[String],
        responses: &InputResponses,
        cx: &CallContext,
    ) -> Result<(), ProviderError> {
        let goes = |answer: &Payload| answer.value()["action"] == "accept";
        if responses.given_up || !responses.answers.values().all(goes) {
            self.pages.give_up(pages);
            return Err(ask::nobody(&self.settings.name));
        }
        if responses.answers.len() < pages.len() {
            // Whatever is missing is asked for again.
            return Ok(());
        }
        tokio::select! {
            () = self.pages.all_done(pages) => Ok(()),
            () = tokio::time::sleep(self.settings.timeout) => Ok(()),
            () = cx.cancel.cancelled() => Err(cancelled()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(pages: &Pages, own: &str) -> String {
        let text = format!(r#"{{"mode":"url","n":1.50,"elicitationId":"{own}","z":1e2}}"#);
        let renamed = pages.renamed("s", Payload::parse(text).unwrap());
        let rest = renamed
            .raw()
            .strip_prefix(r#"{"mode":"url","n":1.50,"elicitationId":"#);
        let name = rest
            .and_then(|rest| rest.strip_suffix(r#","z":1e2}"#))
            .unwrap();
        name.trim_matches('"').to_owned()
    }

    fn done(pages: &Pages, own: &str) -> Option<String> {
        pages.done(&Payload::from(json!({"elicitationId": own})))
    }

    #[test]
    fn a_page_is_done_once_and_under_the_name_it_was_asked_with() {
        let pages = Pages::default();
        let (one, two) = (asked(&pages, "one"), asked(&pages, "two"));
        assert_ne!(one, two);
        assert_eq!(asked(&pages, "one"), one);
        assert_eq!(done(&pages, "one"), Some(one));
        assert_eq!(done(&pages, "one"), None);
        assert_eq!(done(&pages, "three"), None);
        assert_eq!(pages.done(&Payload::empty_object()), None);
        assert_eq!(done(&pages, "two"), Some(two));
    }

    #[test]
    fn only_so_many_pages_are_remembered() {
        let pages = Pages::default();
        for number in 0..=MOST {
            asked(&pages, &number.to_string());
        }
        assert_eq!(done(&pages, "0"), None);
        assert!(done(&pages, "1").is_some());
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(asked(&pages, &long), long);
        assert_eq!(done(&pages, &long), None);
        let unnamed = Payload::from(json!({"mode": "url"}));
        assert_eq!(pages.renamed("s", unnamed.clone()), unnamed);
    }
}
