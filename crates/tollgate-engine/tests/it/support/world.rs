//! A gate at work, and what can be asked of it afterwards.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_core::{
    Clock, HeldClock, Payload, Principal, Provider, SessionKey, Surface,
    audit::AuditQuery,
    store::{Approval, Session},
};
use tollgate_engine::{
    Caller, Catalog, Decided, GateTools, Gateway, Outcome, Request, Selection, policy::Policies,
};
use tollgate_testkit::{MemoryStore, fakes::FakeProvider};

use super::{Lines, Spans, setup};

/// A gate at work.
pub(crate) struct World {
    pub(crate) gateway: Gateway,
    /// The store, unless the test brought its own.
    pub(crate) memory: Arc<MemoryStore>,
    pub(crate) clock: Arc<HeldClock>,
    pub(crate) fake: Arc<FakeProvider>,
    pub(crate) log: Arc<Lines>,
    pub(crate) spans: Arc<Spans>,
    pub(super) gate: GateTools,
    pub(super) _directory: Option<TempDir>,
}

/// The caller of most tests.
pub(crate) fn caller(handle: &str) -> Caller {
    Caller::local(Principal::user(1000), handle, Surface::Jsonl)
}

/// A call with nothing but a tool and arguments.
pub(crate) fn request(tool: &str, arguments: &str) -> Request {
    Request::new(tool, Payload::parse(arguments.to_owned()).unwrap())
}

/// How a call ended, in one word: `hit`, its status, or the kind of its error.
pub(crate) fn said(outcome: &Outcome) -> &'static str {
    let envelope = outcome.envelope.get();
    match &envelope.error {
        Some(failure) => failure.code.kind(),
        None if envelope.cache_hit => "hit",
        None => envelope.status.as_str(),
    }
}

/// The whole envelope.
pub(crate) fn body(outcome: &Outcome) -> Value {
    serde_json::to_value(outcome.envelope.get()).unwrap()
}

/// The error of a call that failed.
pub(crate) fn error(outcome: &Outcome) -> Value {
    body(outcome)["error"].clone()
}

/// The facts of an error.
pub(crate) fn details(outcome: &Outcome) -> Value {
    error(outcome)["details"].clone()
}

impl World {
    /// Calls as the usual caller.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Outcome {
        self.ask(request(tool, arguments)).await
    }

    pub(crate) async fn ask(&self, request: Request) -> Outcome {
        self.gateway.call(&caller("s1"), request).await
    }

    pub(crate) async fn call_as(&self, caller: &Caller, tool: &str, arguments: &str) -> Outcome {
        self.gateway.call(caller, request(tool, arguments)).await
    }

    /// Starts a call that goes on by itself.
    pub(crate) fn start(&self, request: Request) -> tokio::task::JoinHandle<Outcome> {
        let gateway = self.gateway.clone();
        tokio::spawn(async move { gateway.call(&caller("s1"), request).await })
    }

    /// Waits until so many calls have reached the provider.
    pub(crate) async fn until_seen(&self, calls: usize) {
        while self.fake.count() < calls {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub(crate) fn later(&self, duration: Duration) {
        self.clock.set(self.clock.now().plus(duration));
    }

    pub(crate) fn earlier(&self, duration: Duration) {
        self.clock.set(self.clock.now().minus(duration));
    }

    /// The question that a call left open.
    pub(crate) async fn question(&self, outcome: &Outcome) -> Approval {
        let id = details(outcome)["approval_id"].as_str().unwrap().to_owned();
        self.gateway.store().approval(&id).await.unwrap().unwrap()
    }

    /// Lets a human decide about a call that asked.
    pub(crate) async fn decide(&self, outcome: &Outcome, decided: Decided) {
        let approval = self.question(outcome).await;
        self.gateway
            .decide(&approval, &decided, "ann")
            .await
            .unwrap();
    }

    /// Puts one other tool in the place of what `fake` offers.
    pub(crate) async fn now_offers(&self, fake: FakeProvider) -> Arc<FakeProvider> {
        let fake = Arc::new(fake);
        let providers: Vec<Arc<dyn Provider>> =
            vec![self.gate.provider(), Arc::clone(&fake) as Arc<_>];
        let catalog = Catalog::collect(providers, &Selection::default()).await;
        self.gateway.replace_catalog(catalog);
        fake
    }

    /// The shipped rules and these, to decide anew by.
    pub(crate) fn other_rules(&self, rules: &str) -> Policies {
        setup::policies(rules)
    }

    pub(crate) async fn session(&self, handle: &str) -> Session {
        let key = SessionKey::new(Principal::user(1000), handle);
        let found = self.gateway.store().session(&key).await.unwrap();
        found.unwrap()
    }

    /// The bodies of all audit rows of a kind, in order.
    pub(crate) async fn rows(&self, kind: &str) -> Vec<Value> {
        let query = AuditQuery {
            limit: 10_000,
            kind: Some(kind.to_owned()),
            ..AuditQuery::default()
        };
        let rows = self.gateway.store().records(&query).await.unwrap();
        rows.iter()
            .map(|row| serde_json::from_str(&row.body).unwrap())
            .collect()
    }

    /// The one ending of a call.
    pub(crate) async fn ending(&self, outcome: &Outcome) -> Value {
        let id = outcome.envelope.get().meta.call_id.clone();
        let mut found = self.rows("ending").await;
        found.retain(|row| row["call_id"] == json!(id));
        assert_eq!(found.len(), 1, "one ending for {id}");
        found.remove(0)
    }

    /// Checks what must hold whatever happened: a whole chain, one ending for
    /// every call, none for a call unheard of, and nothing left set aside.
    pub(crate) async fn check(&self, calls: usize) {
        let store = self.gateway.store();
        let found = store.verify().await.unwrap();
        assert_eq!(found.problems, Vec::<String>::new());
        let mut endings = BTreeMap::new();
        for row in self.rows("ending").await {
            *endings
                .entry(row["call_id"].as_str().unwrap().to_owned())
                .or_insert(0) += 1;
        }
        assert_eq!(endings.len(), calls, "calls that ended");
        assert!(endings.values().all(|count| *count == 1), "{endings:?}");
        for row in self.rows("intent").await {
            assert!(
                endings.contains_key(row["call_id"].as_str().unwrap()),
                "{row}"
            );
        }
        for session in store.sessions(&Principal::user(1000)).await.unwrap() {
            assert_eq!(session.reserved, 0, "{session:?}");
        }
    }
}
