//! What older versions remember between requests: the handshake, the log level, the
//! subscriptions, and the questions that are open.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::{broadcast::error::RecvError, oneshot};
use tollgate_core::Payload;
use tollgate_engine::{Caller, Changed, Following, Gateway};

use super::{
    era::{self, Client},
    listen,
    outlet::AskFailed,
    rpc::{self, Answered, Asked, RpcError},
    visits::Visits,
};

/// How long a person may take to answer.
const PATIENCE: Duration = Duration::from_secs(300);
/// The most resources one session watches.
const MAX_WATCHED: usize = 1000;

/// One conversation of an older version.
pub(super) struct Conversation {
    client: Mutex<Client>,
    watched: Mutex<HashMap<String, Following>>,
    open: Mutex<HashMap<String, oneshot::Sender<Result<Payload, String>>>>,
    asked: AtomicU64,
    visits: Visits,
}

impl Conversation {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client: Mutex::new(client),
            watched: Mutex::default(),
            open: Mutex::default(),
            asked: AtomicU64::new(1),
            visits: Visits::default(),
        }
    }

    pub(super) fn client(&self) -> Client {
        locked(&self.client).clone()
    }

    /// Answers the methods that change what is remembered.
    pub(super) fn remember(
        &self,
        asked: &Asked,
        gateway: &Gateway,
        caller: &Caller,
    ) -> Option<Result<String, RpcError>> {
        let params = asked.params.value();
        let done = || Ok("{}".to_owned());
        let uri = || {
            let uri = params["uri"].as_str().map(str::to_owned);
            uri.ok_or_else(|| RpcError::invalid_params("`uri` must say which resource"))
        };
        Some(match asked.method.as_str() {
            "logging/setLevel" => match params["level"].as_str().and_then(era::level) {
                Some(level) => {
                    locked(&self.client).log_level = Some(level);
                    done()
                }
                None => Err(RpcError::invalid_params("`level` is not a level")),
            },
            "resources/subscribe" => uri().and_then(|uri| {
                let mut watched = locked(&self.watched);
                if watched.len() >= MAX_WATCHED && !watched.contains_key(&uri) {
                    let message = format!("at most {MAX_WATCHED} resources can be watched");
                    return Err(RpcError::invalid_params(message));
                }
                let Some(following) = gateway.follow(caller, &uri) else {
                    let message = "there is nothing to watch at this address";
                    return Err(RpcError::invalid_params(message));
                };
                watched.insert(uri, following);
                done()
            }),
            "resources/unsubscribe" => uri().and_then(|uri| {
                locked(&self.watched).remove(&uri);
                done()
            }),
            _ => return None,
        })
    }

    /// The notifications of what was heard; whoever was too slow is told that everything it
    /// follows may have changed.
    pub(super) fn heard(&self, heard: Result<Changed, RecvError>) -> Vec<String> {
        let all = match heard {
            Ok(changed) => vec![changed],
            Err(RecvError::Lagged(_)) => {
                let watched: Vec<String> = locked(&self.watched).keys().cloned().collect();
                let lists = [Changed::Tools, Changed::Prompts, Changed::Resources];
                let watched = watched.into_iter().map(Changed::Resource);
                lists.into_iter().chain(watched).collect()
            }
            Err(RecvError::Closed) => Vec::new(),
        };
        all.iter()
            .filter_map(|changed| self.told(changed))
            .collect()
    }

    /// The notification of a change, if this conversation is to hear of it.
    fn told(&self, changed: &Changed) -> Option<String> {
        if let Changed::Resource(uri) = changed
            && !locked(&self.watched).contains_key(uri)
        {
            return None;
        }
        if let Changed::Page(name) = changed
            && !self.visits.end(name)
        {
            return None;
        }
        let (method, params) = listen::told(changed);
        Some(rpc::notification(method, &Value::Object(params)))
    }

    /// Takes an answer to a question of ours; one to no question is dropped.
    pub(super) fn resolve(&self, answered: Answered) {
        let id: Option<String> = serde_json::from_str(answered.id.raw().get()).ok();
        let waiting = id.and_then(|id| locked(&self.open).remove(&id));
        if let Some(waiting) = waiting {
            let result = answered.result.map_err(|error| {
                let message = error.value()["message"].as_str().unwrap_or("an error");
                message.to_owned()
            });
            drop(waiting.send(result));
        }
    }

    /// A question on its way, and where its answer will arrive. `tell` reaches the client if
    /// nobody wants the answer any more.
    pub(super) fn question<'a>(
        &'a self,
        method: &str,
        params: &Payload,
        tell: &'a (dyn Fn(String) + Sync),
    ) -> (String, Waiting<'a>) {
        let id = format!("tollgate-{}", self.asked.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        locked(&self.open).insert(id.clone(), sender);
        let page = self.visits.begin(method, params);
        let message = rpc::request(&id, method, page.as_ref().unwrap_or(params));
        let waiting = Waiting {
            conversation: self,
            id,
            receiver: Some(receiver),
            tell,
        };
        (message, waiting)
    }
}

/// A question that waits; dropping it takes the question back, and the client hears of it so
/// that it can close its dialog.
pub(super) struct Waiting<'a> {
    conversation: &'a Conversation,
    id: String,
    receiver: Option<oneshot::Receiver<Result<Payload, String>>>,
    tell: &'a (dyn Fn(String) + Sync),
}

impl Waiting<'_> {
    pub(super) async fn answer(mut self) -> Result<Payload, AskFailed> {
        let Some(receiver) = self.receiver.take() else {
            return Err(AskFailed::Silent);
        };
        match tokio::time::timeout(PATIENCE, receiver).await {
            Ok(Ok(Ok(payload))) => Ok(payload),
            Ok(Ok(Err(message))) => Err(AskFailed::Refused(message)),
            Ok(Err(_)) | Err(_) => Err(AskFailed::Silent),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let unanswered = locked(&self.conversation.open).remove(&self.id);
        if unanswered.is_some() {
            let params = json!({"requestId": self.id, "reason": "nobody waits for the answer"});
            (self.tell)(rpc::notification("notifications/cancelled", &params));
        }
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tollgate_core::{Principal, SystemClock, TrustLevel};
    use tollgate_engine::{Catalog, Parts, Selection, policy::Policies};
    use tollgate_testkit::MemoryStore;

    use super::*;
    use crate::frontends::mcp::{caller, rpc::Incoming};

    /// The conversation of a client that watches one resource.
    async fn watching(uri: &str) -> Conversation {
        let gateway = Gateway::new(Parts::new(
            Arc::new(MemoryStore::default()),
            Catalog::collect(Vec::new(), &Selection::default()).await,
            Policies::shipped().unwrap(),
            Arc::new(SystemClock),
        ));
        let conversation = Conversation::new(Client::unknown(era::LEGACY));
        let asks = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe",
            "params": {"uri": uri}});
        let Ok(Incoming::Asked(asked)) = rpc::read(&asks.to_string()) else {
            panic!("{asks}");
        };
        let caller = caller(Principal::anonymous(), "http", TrustLevel::Remote);
        let done = conversation.remember(&asked, &gateway, &caller);
        assert_eq!(done, Some(Ok("{}".to_owned())));
        conversation
    }

    fn heard(conversation: &Conversation, heard: Result<Changed, RecvError>) -> Vec<Value> {
        let all = conversation.heard(heard);
        let parsed = all.iter().map(|one| serde_json::from_str(one).unwrap());
        parsed.collect()
    }

    #[tokio::test]
    async fn whoever_was_too_slow_is_told_that_everything_may_have_changed() {
        let conversation = watching("test://one").await;
        let notice = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params});
        let expected = [
            notice("tools/list_changed", json!({})),
            notice("prompts/list_changed", json!({})),
            notice("resources/list_changed", json!({})),
            notice("resources/updated", json!({"uri": "test://one"})),
        ];
        let missed = heard(&conversation, Err(RecvError::Lagged(7)));
        assert_eq!(missed, expected);
        let one = heard(&conversation, Ok(Changed::Tools));
        assert_eq!(one, expected[..1]);
        let strange = Changed::Resource("test://two".to_owned());
        assert!(heard(&conversation, Ok(strange)).is_empty());
        assert!(heard(&conversation, Err(RecvError::Closed)).is_empty());
    }
}
