//! Answers of Keepa's that are kept: looked at, explained, pruned.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tollgate_core::{Clock, Provider, Secret, Timestamp};
use tollgate_providers::keepa::{Settings, provider};

use super::{
    SLOW, agent, ask,
    server::{KEY, Server},
};

/// A clock that a test moves.
#[derive(Clone, Default)]
struct Hands(Arc<std::sync::atomic::AtomicI64>);

impl Hands {
    fn forward(&self, time: Duration) {
        let ms = i64::try_from(time.as_millis()).unwrap();
        self.0.fetch_add(ms, std::sync::atomic::Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp(1_770_000_000_000 + self.0.load(std::sync::atomic::Ordering::SeqCst))
    }
}

fn clocked(server: &Server, folder: &Path, hands: &Hands) -> impl Provider {
    provider(Settings {
        base_url: server.base(),
        key: Some(Arc::new(|| Some(Secret::new(KEY.to_owned())))),
        output_dir: folder.to_owned(),
        clock: Arc::new(hands.clone()),
        ..Settings::default()
    })
}

#[tokio::test]
async fn kept_answers_can_be_looked_at_and_pruned() {
    let server = Server::start(1000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::default();
    let provider = clocked(&server, folder.path(), &hands);
    let cx = agent();
    let search = json!({"term": "kettle", "domain": "US"});
    let explain = json!({"command": "categories.search", "params": search});
    let told = ask(&provider, &cx, "keepa.cache_explain", explain.clone()).await;
    let told = told.unwrap().payload.value().clone();
    assert_eq!(
        (&told["is_kept"], &told["endpoint"]),
        (&json!(false), &json!("/search"))
    );

    let brief = json!({"term": "kettle", "domain": "US", "cache_ttl": 60});
    ask(&provider, &cx, "keepa.categories_search", brief)
        .await
        .unwrap();
    hands.forward(Duration::from_secs(30));
    let long = json!({"asin": "B0KETTLE01", "view": "summary"});
    ask(&provider, &cx, "keepa.products_get", long)
        .await
        .unwrap();

    let told = ask(&provider, &cx, "keepa.cache_explain", explain)
        .await
        .unwrap();
    let told = told.payload.value();
    assert_eq!(told["is_kept"], true, "{told}");
    let listed = ask(&provider, &cx, "keepa.cache_inspect", json!({}))
        .await
        .unwrap();
    let listed = listed.payload.value();
    assert_eq!(listed["entry_count"], 2);
    assert_eq!(listed["entries"][0]["endpoint"], "/product");
    assert_eq!(listed["entries"][1]["cache_key"], told["cache_key"]);
    let one = json!({"entry": listed["entries"][0]["cache_key"]});
    let one = ask(&provider, &cx, "keepa.cache_inspect", one)
        .await
        .unwrap();
    let entry = &one.payload.value()["entries"][0];
    assert_eq!(entry["token_bucket"]["tokens_consumed"], 1);
    assert!(
        entry["fields"]
            .as_array()
            .unwrap()
            .contains(&json!("products"))
    );
    assert!(!one.payload.raw().contains(KEY));
    let gone = ask(
        &provider,
        &cx,
        "keepa.cache_inspect",
        json!({"entry": "no-such"}),
    )
    .await;
    assert_eq!(
        gone.unwrap_err().document_code.as_deref(),
        Some("resource_not_found")
    );

    hands.forward(Duration::from_secs(60));
    let stats = ask(&provider, &cx, "keepa.cache_stats", json!({}))
        .await
        .unwrap();
    let stats = stats.payload.value();
    assert_eq!(
        (&stats["entries"], &stats["expired"]),
        (&json!(1), &json!(1))
    );
    let pruned = ask(&provider, &cx, "keepa.cache_prune_expired", json!({}))
        .await
        .unwrap();
    let pruned = pruned.payload.value();
    assert_eq!(
        (&pruned["removed"], &pruned["left"]),
        (&json!(1), &json!(1))
    );
    let stats = ask(&provider, &cx, "keepa.cache_stats", json!({}))
        .await
        .unwrap();
    assert_eq!(stats.payload.value()["expired"], 0);
}

#[tokio::test]
async fn what_is_about_now_is_never_kept_and_a_time_by_its_long_name_is_a_time() {
    let server = Server::start(1000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = super::live(&server, folder.path(), KEY);
    let cx = agent();
    for command in ["tokens.status", "tracking.list"] {
        let question = json!({"command": command, "params": {}});
        let told = ask(&provider, &cx, "keepa.cache_explain", question).await;
        let told = told.unwrap().payload.value().clone();
        assert_eq!(told["reason"], "Such an answer is never kept.", "{command}");
    }
    let question = json!({"term": "kettle", "cache_ttl_seconds": 60});
    for _ in 0..2 {
        ask(&provider, &cx, "keepa.categories_search", question.clone())
            .await
            .unwrap();
    }
    assert_eq!(server.lines().len(), 1);
    let explain = json!({"command": "categories.search", "params": question});
    let told = ask(&provider, &cx, "keepa.cache_explain", explain)
        .await
        .unwrap();
    let told = told.payload.value();
    assert_eq!(
        (&told["is_kept"], &told["ttl_seconds"]),
        (&json!(true), &json!(60))
    );
    let never =
        json!({"command": "categories.search", "params": {"term": "kettle", "cache_ttl": 0}});
    let told = ask(&provider, &cx, "keepa.cache_explain", never).await;
    assert_eq!(told.unwrap().payload.value()["is_kept"], false);
}

#[tokio::test]
async fn an_answer_says_until_when_it_holds_and_is_never_older_than_a_caller_wants() {
    let server = Server::start(1000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::default();
    let provider = clocked(&server, folder.path(), &hands);
    let cx = agent();
    let held = async |tool: &str, arguments: Value| {
        let answer = ask(&provider, &cx, tool, arguments).await.unwrap();
        let until = answer.holds_until.map(|until| until.0 - hands.now().0);
        (until.map(|ms| ms / 1000), server.lines().len())
    };
    let search = "keepa.categories_search";
    let term = |ttl: u64| json!({"term": "kettle", "cache_ttl": ttl});
    assert_eq!(
        held(search, json!({"term": "kettle"})).await,
        (Some(3600), 1)
    );
    hands.forward(Duration::from_secs(100));
    // Another view or session of the same answer gains it no time.
    assert_eq!(
        held(search, json!({"term": "kettle"})).await,
        (Some(3500), 1)
    );
    assert_eq!(held(search, term(150)).await, (Some(50), 1));
    assert_eq!(held(search, term(100)).await, (Some(100), 2));
    assert_eq!(held(search, term(0)).await, (Some(0), 3));
    assert_eq!(held("keepa.tracking_list", json!({})).await, (Some(0), 4));
    assert_eq!(
        held(
            "keepa.categories_products",
            json!({"category": "289754", "hydrate_top": 1})
        )
        .await,
        (Some(3600), 6)
    );
    hands.forward(Duration::from_secs(600));
    let other = json!({"category": "289754", "hydrate_top": 2});
    // Its list was there already, and ends first.
    assert_eq!(
        held("keepa.categories_products", other).await,
        (Some(3000), 7)
    );
    let sample = json!({"term": "kettle", "fixture": "category_search.json"});
    assert_eq!(held(search, sample).await, (None, 7));
}

#[tokio::test]
async fn clearing_leaves_nothing_behind_however_much_was_kept() {
    let server = Server::start(10_000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = super::live(&server, folder.path(), KEY);
    let cx = agent();
    let search = async |at: usize| {
        let question = json!({"term": format!("kettle {at}")});
        let answer = ask(&provider, &cx, "keepa.categories_search", question).await;
        answer.unwrap().payload.value()["cache_provenance"]["cache_hit"].clone()
    };
    for at in 0..513 {
        assert_eq!(search(at).await, false);
    }
    let stats = ask(&provider, &cx, "keepa.cache_stats", json!({}))
        .await
        .unwrap();
    assert_eq!(stats.payload.value()["entries"], 512);
    let cleared = ask(&provider, &cx, "keepa.cache_clear", json!({}))
        .await
        .unwrap();
    assert_eq!(cleared.payload.value()["removed"], 512);
    for at in [0, 1, 512] {
        assert_eq!(search(at).await, false, "{at}");
    }
}

#[tokio::test]
async fn answers_that_come_at_the_same_time_are_all_listed() {
    let server = Server::start(1000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = super::live(&server, folder.path(), KEY);
    let cx = agent();
    let asked = ["kettle", "grinder", "teapot", "spoon", "mug"].map(|term| {
        ask(
            &provider,
            &cx,
            "keepa.categories_search",
            json!({"term": term}),
        )
    });
    for answer in futures(asked).await {
        answer.unwrap();
    }
    let stats = ask(&provider, &cx, "keepa.cache_stats", json!({}))
        .await
        .unwrap();
    assert_eq!(stats.payload.value()["entries"], 5);
}

/// Waits for all of them side by side.
async fn futures<F: Future, const N: usize>(all: [F; N]) -> Vec<F::Output> {
    let mut all: Vec<_> = all.into_iter().map(Box::pin).map(Some).collect();
    let mut done: Vec<Option<F::Output>> = all.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (one, slot) in all.iter_mut().zip(&mut done) {
            if let Some(future) = one
                && let std::task::Poll::Ready(output) = future.as_mut().poll(cx)
            {
                *slot = Some(output);
                *one = None;
            }
        }
        if all.iter().all(Option::is_none) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}
