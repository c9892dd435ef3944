//! Who serves a name, and what an operator is told about the rest.

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde_json::json;
use tokio::{sync::Barrier, time::timeout};
use tollgate_core::{
    Annotations, Answer, CallContext, Capability, ErrorCode, Notice, NoticeSink, Provider,
    ProviderError, ToolCall, ToolName, ToolSpec,
};
use tollgate_engine::{Changed, Missing, Problem, ProviderChoice, Selection};
use tollgate_testkit::fakes::{FakeProvider, says};

use crate::support::{Setup, World, body, said, spec_read};

#[tokio::test]
async fn the_preferred_order_decides_who_serves_a_name() {
    assert_eq!(served(Selection::default()).await, "mcp_near");
    assert_eq!(served(order(&["stub", "mcp_*"])).await, "stub");
    assert_eq!(served(order(&["mcp_far", "mcp_near"])).await, "mcp_far");
    assert_eq!(
        served(order(&[])).await,
        "stub",
        "among equals the first registered serves"
    );
}

#[tokio::test]
async fn the_safest_offer_wins_where_the_operator_wants_it() {
    let selection = Selection {
        choice: ProviderChoice::Safest,
        ..Selection::default()
    };
    assert_eq!(served(selection).await, "mcp_far");
}

#[tokio::test]
async fn a_provider_that_cannot_list_stays_registered_and_is_reported() {
    let world = Setup::new()
        .tool(spec_read("shelf.look"), says(json!({})))
        .provider(FakeProvider::broken("shelves", "no such file: /opt/server"))
        .build()
        .await;
    let catalog = world.gateway.catalog();
    assert_eq!(
        catalog.problems(),
        [Problem {
            provider: "shelves".to_owned(),
            missing: Missing::Everything,
            message: "cannot list its tools: the service failed".to_owned(),
        }]
    );
    let registered: Vec<String> = catalog
        .health()
        .await
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(registered, ["builtin", "fake", "shelves"]);
    assert_eq!(
        world.log.written(),
        [json!({
            "event": "provider.list_tools.failed", "provider": "shelves",
            "message": "cannot list its tools: the service failed",
        })]
    );
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
}

#[tokio::test]
async fn the_log_tells_a_problem_once_and_again_when_it_comes_back() {
    let world = Setup::new()
        .tool(spec_read("shelf.look"), says(json!({})))
        .provider(Wavers::default())
        .build()
        .await;
    let told = || world.log.written().len();
    assert_eq!(told(), 0);
    for (number, wanted) in [(0, 1), (1, 1), (2, 1), (3, 2)] {
        let catalog = world.gateway.catalog().collect_again().await;
        world.gateway.replace_catalog(catalog);
        assert_eq!(told(), wanted, "after look {number}");
    }
    let last = world.log.written().pop().unwrap();
    assert_eq!(
        last,
        json!({
            "event": "provider.list_tools.failed", "provider": "wavers",
            "message": "cannot list its tools: see https://x.test/?token=***",
        })
    );
}

#[tokio::test]
async fn a_provider_that_breaks_while_it_lists_is_reported_too() {
    let world = Setup::new()
        .tool(spec_read("shelf.look"), says(json!({})))
        .provider(Breaks)
        .build()
        .await;
    assert_eq!(
        world.gateway.catalog().problems(),
        [Problem {
            provider: "mcp_breaks".to_owned(),
            missing: Missing::Everything,
            message: "cannot list its tools: it crashed".to_owned(),
        }]
    );
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_never_lists_holds_nobody_up() {
    let world = Setup::new()
        .tool(spec_read("shelf.look"), says(json!({})))
        .provider(Hangs)
        .build()
        .await;
    assert_eq!(
        world.gateway.catalog().problems(),
        [Problem {
            provider: "mcp_hangs".to_owned(),
            missing: Missing::Everything,
            message: "cannot list its tools: no answer within 10 s".to_owned(),
        }]
    );
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
}

#[tokio::test]
async fn two_names_with_one_safe_spelling_are_named_and_the_later_is_left_out() {
    let world = Setup::new()
        .tool(spec_read("shelf.look_up"), says(json!({"by": "first"})))
        .provider(
            FakeProvider::new("mcp_x")
                .tool(spec_read("shelf_look.up"), says(json!({"by": "second"}))),
        )
        .selection(order(&["fake", "mcp_x"]))
        .build()
        .await;
    assert_eq!(
        world.gateway.catalog().problems(),
        [Problem {
            provider: "mcp_x".to_owned(),
            missing: Missing::Tool,
            message: "`shelf_look.up` and `shelf.look_up` are both spelled `shelf_look_up`; \
                      `shelf_look.up` is left out"
                .to_owned(),
        }]
    );
    let told = world.log.written();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["event"], "provider.tool.left_out");
    assert_eq!(told[0]["provider"], "mcp_x");
    let outcome = world.call("shelf_look_up", "{}").await;
    assert_eq!(body(&outcome)["data"], json!({"by": "first"}));
    assert_eq!(
        said(&world.call("shelf_look.up", "{}").await),
        "unknown_tool"
    );
}

#[tokio::test]
async fn what_the_order_does_not_name_comes_with_our_own_before_servers_of_others() {
    let served = async |order: Selection| {
        let offer = |id: &str| FakeProvider::new(id).tool(spec_read("page.read"), says(json!({})));
        let ids = ["stub", "mcp_near", "shelves"];
        let world = ids
            .into_iter()
            .fold(Setup::new(), |setup, id| setup.provider(offer(id)));
        let catalog = world.selection(order).build().await.gateway.catalog();
        catalog.find("page.read").unwrap().spec.provider_id.clone()
    };
    assert_eq!(served(Selection::default()).await, "shelves");
    for (named, wanted) in [
        (&["builtin"] as &[&str], "shelves"),
        (&["mcp_far"], "shelves"),
        (&[], "shelves"),
        (&["mcp_near"], "mcp_near"),
        (&["mcp_*", "builtin"], "mcp_near"),
        (&["stub", "builtin"], "stub"),
    ] {
        assert_eq!(served(order(named)).await, wanted, "{named:?}");
    }
}

#[tokio::test]
async fn a_tool_that_lost_its_name_is_told_and_both_providers_are_named() {
    let world = Setup::new()
        .tool(spec_read("shelf.look"), says(json!({"by": "first"})))
        .provider(
            FakeProvider::new("mcp_x").tool(spec_read("shelf.look"), says(json!({"by": "second"}))),
        )
        .build()
        .await;
    let message = "`shelf.look` is served by `fake`; that of `mcp_x` is left out";
    assert_eq!(
        world.gateway.catalog().problems(),
        [Problem {
            provider: "mcp_x".to_owned(),
            missing: Missing::Tool,
            message: message.to_owned(),
        }]
    );
    assert_eq!(
        world.log.written(),
        [json!({"event": "provider.tool.left_out", "provider": "mcp_x", "message": message})]
    );
    let outcome = world.call("shelf.look", "{}").await;
    assert_eq!(body(&outcome)["data"], json!({"by": "first"}));
}

#[tokio::test]
async fn another_name_that_means_something_else_already_is_told() {
    let aliased = |name: &str, alias: &str| ToolSpec {
        aliases: vec![ToolName::new(alias).unwrap()],
        ..spec_read(name)
    };
    let world = Setup::new()
        .tool(spec_read("shelf.look"), says(json!({"by": "fake"})))
        .provider(
            FakeProvider::new("mcp_x")
                .tool(aliased("mcp.x.one", "shelf_look"), says(json!({})))
                .tool(aliased("mcp.x.two", "shelf.look"), says(json!({})))
                .tool(aliased("mcp.x.three", "mcp.x.three"), says(json!({})))
                .tool(aliased("mcp.x.four", "four"), says(json!({}))),
        )
        .build()
        .await;
    let catalog = world.gateway.catalog();
    let told: Vec<(&str, Missing)> = catalog
        .problems()
        .iter()
        .map(|problem| (problem.message.as_str(), problem.missing))
        .collect();
    assert_eq!(
        told,
        [
            (
                "`shelf_look` means `shelf.look` already, so it is no other name of `mcp.x.one`",
                Missing::Alias
            ),
            (
                "`shelf.look` means `shelf.look` already, so it is no other name of `mcp.x.two`",
                Missing::Alias
            ),
        ]
    );
    for name in ["shelf_look", "shelf.look"] {
        assert_eq!(catalog.find(name).unwrap().spec.provider_id, "fake");
    }
    assert!(catalog.find("four").is_some());
}

#[tokio::test]
async fn the_version_changes_with_any_tool() {
    let world = shop(Selection::default()).await;
    let before = world.gateway.catalog().version().to_owned();
    let spec = ToolSpec {
        timeout_ms: 1,
        ..spec_read("page.read")
    };
    world
        .now_offers(FakeProvider::new("fake").tool(spec, says(json!({}))))
        .await;
    assert_ne!(world.gateway.catalog().version(), before);
}

#[tokio::test]
async fn only_who_says_so_is_asked_again() {
    let (restless, calm) = (Arc::new(Watched::new("one")), Arc::new(Watched::new("two")));
    let world = Setup::new()
        .provider(Shared(Arc::clone(&restless)))
        .provider(Shared(Arc::clone(&calm)))
        .build()
        .await;
    let gateway = &world.gateway;
    let mut changes = gateway.changes();
    gateway.attend();
    let kept = Arc::clone(gateway.catalog().find("two.look").unwrap());
    let (version, asked) = (gateway.catalog().version().to_owned(), calm.asked());
    restless.change("Looks twice.");
    let changed = timeout(Duration::from_secs(60), changes.recv()).await;
    assert_eq!(changed.unwrap().unwrap(), Changed::Tools);
    let catalog = gateway.catalog();
    let now = catalog.find("one.look").unwrap();
    assert_eq!(now.spec.description, "Looks twice.");
    assert_ne!(catalog.version(), version);
    assert_eq!(calm.asked(), asked, "nobody asks who did not change");
    let same = catalog.find("two.look").unwrap();
    assert!(Arc::ptr_eq(&kept, same), "what did not change stays");
    // Whoever says so without a reason is asked, and nothing is announced.
    restless.change("Looks twice.");
    while restless.asked() < 3 {
        tokio::task::yield_now().await;
    }
    calm.change("Looks away.");
    assert_eq!(changes.recv().await.unwrap(), Changed::Tools);
    let catalog = gateway.catalog();
    assert_eq!(
        catalog.find("two.look").unwrap().spec.description,
        "Looks away."
    );
    assert!(changes.try_recv().is_err(), "once for each change");
}

/// A provider of one tool that says when it has changed, and counts how often it is asked.
struct Watched {
    id: &'static str,
    description: Mutex<String>,
    asked: AtomicUsize,
    sink: OnceLock<Arc<dyn NoticeSink>>,
}

impl Watched {
    fn new(id: &'static str) -> Self {
        Self {
            id,
            description: Mutex::new("Looks.".to_owned()),
            asked: AtomicUsize::new(0),
            sink: OnceLock::new(),
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn change(&self, description: &str) {
        *self.description.lock().unwrap() = description.to_owned();
        self.sink.get().unwrap().notice(Notice::ListsChanged);
    }
}

/// The same, in the hands of the test as well.
struct Shared(Arc<Watched>);

#[async_trait]
impl Provider for Shared {
    fn id(&self) -> &str {
        self.0.id
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        let description = self.0.description.lock().unwrap().clone();
        Ok(vec![ToolSpec {
            description,
            provider_id: self.0.id.to_owned(),
            ..spec_read(&format!("{}.look", self.0.id))
        }])
    }

    async fn call(&self, _: ToolCall, _: CallContext) -> Result<Answer, ProviderError> {
        Err(ProviderError::not_found("nothing here"))
    }

    fn watch(&self, notices: Arc<dyn NoticeSink>) {
        assert!(self.0.sink.set(notices).is_ok(), "watched once");
    }
}

#[tokio::test(start_paused = true)]
async fn providers_are_closed_at_the_same_time_whatever_becomes_of_one() {
    let together = Arc::new(Barrier::new(2));
    let world = Setup::new()
        .provider(Meets("one", Arc::clone(&together)))
        .provider(Breaks)
        .provider(Meets("two", together))
        .build()
        .await;
    let closed = timeout(Duration::from_secs(60), world.gateway.close()).await;
    assert!(closed.is_ok(), "one waits for the end of the other");
}

/// A provider that is closed when another one is being closed as well.
struct Meets(&'static str, Arc<Barrier>);

#[async_trait]
impl Provider for Meets {
    fn id(&self) -> &str {
        self.0
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        Ok(Vec::new())
    }

    async fn call(&self, _: ToolCall, _: CallContext) -> Result<Answer, ProviderError> {
        Err(ProviderError::not_found("nothing here"))
    }

    async fn close(&self) {
        self.1.wait().await;
    }
}

/// A provider that cannot even say what it offers, nor be closed.
struct Breaks;

#[async_trait]
impl Provider for Breaks {
    fn id(&self) -> &str {
        "mcp_breaks"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        panic!("a bug of the provider")
    }

    async fn call(&self, _: ToolCall, _: CallContext) -> Result<Answer, ProviderError> {
        Err(ProviderError::not_found("nothing here"))
    }

    async fn close(&self) {
        panic!("another bug of the provider")
    }
}

/// A provider that lists its tools, fails to twice, and so on.
#[derive(Default)]
struct Wavers(AtomicUsize);

#[async_trait]
impl Provider for Wavers {
    fn id(&self) -> &str {
        "wavers"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        match self.0.fetch_add(1, Ordering::SeqCst) % 3 {
            0 => Ok(Vec::new()),
            _ => Err(ProviderError::new(
                ErrorCode::Unavailable,
                "see https://x.test/?token=abcdef0123456789",
            )),
        }
    }

    async fn call(&self, _: ToolCall, _: CallContext) -> Result<Answer, ProviderError> {
        Err(ProviderError::not_found("nothing here"))
    }
}

struct Hangs;

#[async_trait]
impl Provider for Hangs {
    fn id(&self) -> &str {
        "mcp_hangs"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        std::future::pending().await
    }

    async fn call(&self, _: ToolCall, _: CallContext) -> Result<Answer, ProviderError> {
        Err(ProviderError::not_found("nothing here"))
    }
}

/// The provider that serves the contested name.
async fn served(selection: Selection) -> String {
    let world = shop(selection).await;
    let catalog = world.gateway.catalog();
    let listing = catalog.find("page.read").unwrap();
    listing.spec.provider_id.clone()
}

fn order(ids: &[&str]) -> Selection {
    Selection {
        choice: ProviderChoice::Order,
        preferred_order: ids.iter().map(|&id| id.to_owned()).collect(),
        ..Selection::default()
    }
}

async fn shop(selection: Selection) -> World {
    let offer = |id: &str, change: fn(&mut ToolSpec)| {
        let mut spec = spec_read("page.read");
        change(&mut spec);
        FakeProvider::new(id).tool(spec, says(json!({})))
    };
    Setup::new()
        .provider(offer("stub", |spec| {
            spec.annotations = Annotations::UNKNOWN;
        }))
        .provider(offer("mcp_near", |spec| spec.capability = Capability::L1))
        .provider(offer("mcp_far", |_| {}))
        .selection(selection)
        .build()
        .await
}
