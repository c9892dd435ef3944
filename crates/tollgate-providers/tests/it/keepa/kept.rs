//! Answers of Keepa's that are kept: looked at, explained, pruned.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tollgate_core::{Clock, Secret, Timestamp};
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

#[tokio::test]
async fn kept_answers_can_be_looked_at_and_pruned() {
    let server = Server::start(1000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::default();
    let provider = provider(Settings {
        base_url: server.base(),
        key: Some(Arc::new(|| Some(Secret::new(KEY.to_owned())))),
        output_dir: folder.path().to_owned(),
        clock: Arc::new(hands.clone()),
        ..Settings::default()
    });
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
