//! The Keepa pack as a caller sees it: against a server that behaves as Keepa does, and offline.

mod account;
mod answers;
mod commands;
mod files;
mod kept;
mod odd;
mod results;
mod server;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tollgate_core::{
    Answer, CallContext, Provider, ProviderError, Secret, SessionKey, Surface, ToolResult, offer,
};
use tollgate_keepa::{Command, Effect, tool::Tool};
use tollgate_providers::keepa::{Settings, provider};
use tollgate_testkit::{call_tool, fakes::context};

use server::{Fault, KEY, Server};

const SLOW: Duration = Duration::from_secs(3600);

fn offline(folder: &std::path::Path) -> impl Provider {
    provider(Settings {
        output_dir: folder.join("out"),
        pages: vec![("guide.md".to_owned(), "# A guide\n\nRead it.\n")],
        ..Settings::default()
    })
}

fn live(server: &Server, folder: &std::path::Path, key: &'static str) -> impl Provider {
    provider(Settings {
        base_url: server.base(),
        key: Some(Arc::new(move || Some(Secret::new(key.to_owned())))),
        output_dir: folder.to_owned(),
        ..Settings::default()
    })
}

async fn ask(
    provider: &dyn Provider,
    cx: &CallContext,
    tool: &str,
    arguments: Value,
) -> Result<ToolResult, ProviderError> {
    match call_tool(provider, tool, arguments, cx.clone()).await? {
        Answer::Done(result) => Ok(result),
        Answer::NeedsInput(_) => Err(ProviderError::rejected("asked")),
    }
}

/// Whoever calls has time enough on a machine that is busy with other things.
fn agent() -> CallContext {
    CallContext {
        surface: Surface::Mcp,
        time_left: Duration::from_secs(600),
        ..context()
    }
}

#[tokio::test]
async fn a_live_answer_is_metered_and_used_again() {
    let server = Server::start(100, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let cx = agent();
    let question = || json!({"asin": "B0KETTLE01", "view": "summary"});
    let first = ask(&provider, &cx, "keepa.products_get", question())
        .await
        .unwrap();
    assert_eq!(first.usage.consumed, Some(1));
    assert_eq!(
        first.payload.value()["products"][0]["identity"]["asin"],
        "B0KETTLE01"
    );
    let service = first.service.clone().unwrap();
    assert_eq!(service.token_bucket["tokens_left"], 99);
    assert_eq!(service.request["params_redacted"]["asin"], "B0KETTLE01");

    let other = CallContext {
        session: SessionKey::new(cx.principal.clone(), "another"),
        ..cx.clone()
    };
    let again = ask(&provider, &other, "keepa.products_get", question())
        .await
        .unwrap();
    assert_eq!(again.usage.consumed, Some(0));
    assert_eq!(again.payload.value()["cache_provenance"]["cache_hit"], true);
    assert_eq!(server.lines().len(), 1);
    let fresh = json!({"asin": "B0KETTLE01", "view": "summary", "no_cache": true});
    ask(&provider, &cx, "keepa.products_get", fresh)
        .await
        .unwrap();
    assert_eq!((server.lines().len(), server.connections()), (2, 1));

    let stats = ask(&provider, &cx, "keepa.cache_stats", json!({}))
        .await
        .unwrap();
    assert_eq!(stats.payload.value()["entries"], 1);
    ask(&provider, &cx, "keepa.cache_clear", json!({}))
        .await
        .unwrap();
    let after = ask(&provider, &cx, "keepa.cache_stats", json!({}))
        .await
        .unwrap();
    assert_eq!(after.payload.value()["entries"], 0);
    for shown in [
        format!("{first:?}"),
        format!("{again:?}"),
        format!("{stats:?}"),
    ] {
        assert!(!shown.contains(KEY));
    }
}

#[tokio::test]
async fn a_request_may_push_the_bucket_below_zero_and_the_next_one_waits() {
    let server = Server::start(1, Duration::from_millis(40)).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let cx = agent();
    let list = json!({"category": "289754", "yes": true});
    let answer = ask(&provider, &cx, "keepa.bestsellers_get", list)
        .await
        .unwrap();
    assert_eq!(answer.usage.consumed, Some(50));
    assert!(server.tokens() < 0);
    // The promise is one token; after the one wait the balance is still below zero.
    let refused = ask(
        &provider,
        &cx,
        "keepa.products_get",
        json!({"asin": "B0KETTLE01"}),
    )
    .await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.document_code.as_deref(), Some("not_enough_token"));
    assert!(refused.retry_after.is_some());
    assert_eq!(
        refused.details["token_bucket"]["estimated"]["estimated_tokens"],
        1
    );
    assert_eq!(server.lines().len(), 3);
}

#[tokio::test]
async fn an_empty_bucket_is_waited_for_once() {
    let server = Server::start(0, Duration::from_millis(60)).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let term = json!({"term": "kettle"});
    let answer = ask(&provider, &agent(), "keepa.categories_search", term)
        .await
        .unwrap();
    let bucket = answer.service.unwrap().token_bucket;
    assert!(bucket["waited_for_refill_ms"].as_u64().is_some());
    assert_eq!(server.lines().len(), 2);
}

#[tokio::test]
async fn faults_are_told_apart_and_reads_are_tried_twice() {
    let server = Server::start(1000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let cx = agent();
    let question = || json!({"term": "kettle", "no_cache": true});
    let search = "keepa.categories_search";
    server.fail_next(Fault::CutOff);
    assert!(ask(&provider, &cx, search, question()).await.is_ok());
    assert_eq!(server.lines().len(), 2);
    for (fault, kind) in [
        (Fault::Nonsense, "network_or_parse_error"),
        (Fault::HiddenError, "invalid_parameter"),
    ] {
        server.fail_next(fault);
        let failed = ask(&provider, &cx, search, question()).await.unwrap_err();
        assert_eq!(failed.document_code.as_deref(), Some(kind), "{fault:?}");
    }
    let hurried = CallContext {
        time_left: Duration::from_millis(100),
        ..cx.clone()
    };
    server.fail_next(Fault::Slow(Duration::from_secs(2)));
    let late = ask(&provider, &hurried, search, question())
        .await
        .unwrap_err();
    assert_eq!(
        late.document_code.as_deref(),
        Some("network_or_parse_error")
    );
    server.fail_next(Fault::Broken);
    let broken = ask(&provider, &hurried, search, question())
        .await
        .unwrap_err();
    assert_eq!(broken.document_code.as_deref(), Some("server_error"));
}

#[tokio::test]
async fn a_wrong_key_is_no_empty_bucket_and_shows_nowhere() {
    let server = Server::start(10, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), "wr0ngkey");
    let failed = ask(
        &provider,
        &agent(),
        "keepa.products_get",
        json!({"asin": "B0KETTLE01"}),
    )
    .await;
    let failed = failed.unwrap_err();
    assert_eq!(failed.document_code.as_deref(), Some("payment_required"));
    assert_eq!(failed.details["token_bucket"]["tokens_left"], Value::Null);
    assert!(!format!("{failed:?}").contains("wr0ngkey"));
    assert_eq!(server.lines().len(), 1);
}

#[tokio::test]
async fn a_call_that_is_taken_back_stops() {
    let server = Server::start(10, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let cx = agent();
    server.fail_next(Fault::Slow(SLOW));
    let cancel = cx.cancel.clone();
    let asked = ask(
        &provider,
        &cx,
        "keepa.products_get",
        json!({"asin": "B0KETTLE01"}),
    );
    let (answer, ()) = tokio::join!(asked, async {
        while server.lines().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert!(answer.is_err());
}

#[tokio::test]
async fn pictures_go_to_the_sessions_own_folder() {
    let server = Server::start(10, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let picture = json!({"asin": "B0KETTLE01"});
    let answer = ask(&provider, &agent(), "keepa.graphs_image", picture)
        .await
        .unwrap();
    let path = answer.payload.value()["out"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(&path).starts_with(folder.path().canonicalize().unwrap()));
    assert!(std::fs::read(path).unwrap().starts_with(b"\x89PNG"));
}

#[tokio::test]
async fn results_are_handed_on_within_a_session_and_not_beyond() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let cx = agent();
    let list = json!({"category": "289754", "fixture": "bestsellers.json", "limit": 3});
    let listed = ask(&provider, &cx, "keepa.categories_products", list)
        .await
        .unwrap();
    let key = listed.payload.value()["provenance"]["mcp"]["session_cache_key"].clone();
    let uri = format!("keepa://research/{}", key.as_str().unwrap());
    let compare = json!({"resource_uri": uri, "fixture": "products_compare.json"});
    let compared = ask(&provider, &cx, "keepa.products_compare", compare.clone())
        .await
        .unwrap();
    let data = compared.payload.value();
    assert_eq!(
        data["workflow_resolution"]["derived_values"]["asins"][0],
        "B0KETTLE01"
    );
    assert_eq!(data["rows"].as_array().unwrap().len(), 3);
    let other = CallContext {
        session: SessionKey::new(cx.principal.clone(), "another"),
        ..cx.clone()
    };
    let lost = ask(&provider, &other, "keepa.products_compare", compare)
        .await
        .unwrap_err();
    assert_eq!(lost.document_code.as_deref(), Some("missing_inputs"));
    assert_eq!(
        lost.details["workflow_resolution"]["resolved"][0]["kind"],
        "unresolved"
    );
}

#[tokio::test]
async fn every_next_action_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let cx = agent();
    let questions = [
        (
            "keepa.products_get",
            json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json"}),
            "product_kettle.json",
        ),
        (
            "keepa.products_get",
            json!({"asin": "B0PLAIN006", "fixture": "product_without_history.json"}),
            "product_without_history.json",
        ),
        (
            "keepa.products_compare",
            json!({"asin": ["B0KETTLE01", "B0GRINDER2"], "fixture": "products_compare.json"}),
            "products_compare.json",
        ),
        (
            "keepa.categories_search",
            json!({"term": "kettles", "fixture": "category_search.json"}),
            "bestsellers.json",
        ),
        (
            "keepa.categories_finder_selection",
            json!({"category": "289754"}),
            "finder.json",
        ),
        (
            "keepa.categories_products",
            json!({"category": "289754", "fixture": "bestsellers.json"}),
            "products_compare.json",
        ),
        (
            "keepa.workflow_plan",
            json!({"name": "category-research", "term": "tea"}),
            "category_search.json",
        ),
        (
            "keepa.resolve_research_target",
            json!({"query": "B0KETTLE01"}),
            "product_kettle.json",
        ),
    ];
    let run = run_next_actions(&provider, &cx, questions, |action, sample| {
        let tool = Tool::named(action["tool"].as_str().unwrap()).unwrap();
        let mut params = action["params"].clone();
        if tool.command.effect() == Effect::Read {
            let is_list = tool.command == Command::FinderQuery;
            params["fixture"] = json!(if is_list { "finder.json" } else { sample });
            params.as_object_mut().unwrap().shift_remove("dry_run");
        }
        (tool.name(), params)
    });
    let run = run.await;
    assert!(run >= 12, "{run}");
}

/// Asks questions and runs whatever their answers say could be done next, as `made` makes calls of it; says how many.
async fn run_next_actions<T: Copy>(
    provider: &dyn Provider,
    cx: &CallContext,
    questions: impl IntoIterator<Item = (&'static str, Value, T)>,
    made: impl Fn(&Value, T) -> (String, Value),
) -> usize {
    let mut run = 0;
    for (tool, arguments, with) in questions {
        let answer = ask(provider, cx, tool, arguments).await.unwrap();
        let data = answer.payload.value();
        let parts = ["products", "rows", "category_candidates"].map(|name| &data[name]);
        let parts = parts.into_iter().filter_map(Value::as_array).flatten();
        let places = std::iter::once(data).chain(parts);
        let actions = places.filter_map(|place| place["next_actions"].as_array());
        for action in actions.flatten() {
            let (name, params) = made(action, with);
            let answer = ask(provider, cx, &name, params.clone()).await;
            assert!(answer.is_ok(), "{name} {params}: {answer:?}");
            run += 1;
        }
    }
    run
}

#[tokio::test]
async fn agents_read_only_what_is_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.json");
    std::fs::write(&secret, "{\"tasks\": []}").unwrap();
    let provider = offline(folder.path());
    let report = json!({"input": secret.display().to_string()});
    let refused = ask(&provider, &agent(), "keepa.reports_build", report.clone())
        .await
        .unwrap_err();
    assert_eq!(refused.document_code.as_deref(), Some("file_refused"));
    assert!(
        ask(&provider, &context(), "keepa.reports_build", report)
            .await
            .is_ok()
    );

    let cx = agent();
    let chart = json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json"});
    let drawn = ask(&provider, &cx, "keepa.charts_render", chart)
        .await
        .unwrap();
    let path = drawn.payload.value()["output"]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    let uri = format!(
        "keepa://output/{}",
        tollgate_keepa::resources::encode(&path)
    );
    let read = ask(&provider, &cx, offer::READ, json!({"uri": uri}))
        .await
        .unwrap();
    let text = read.payload.value()["contents"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.starts_with("<svg") && text.contains("class=\"drop\""));
    let other = CallContext {
        session: SessionKey::new(cx.principal.clone(), "another"),
        ..cx
    };
    assert!(
        ask(&provider, &other, offer::READ, json!({"uri": uri}))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn everything_that_is_listed_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let offers = provider.offers().await.unwrap();
    assert_eq!(
        (
            offers.resources.len(),
            offers.templates.len(),
            offers.prompts.len()
        ),
        (13, 16, 5)
    );
    for resource in &offers.resources {
        let read = ask(
            &provider,
            &agent(),
            offer::READ,
            json!({"uri": resource.uri}),
        )
        .await;
        let read = read.unwrap_or_else(|error| panic!("{}: {error}", resource.uri));
        let content = &read.payload.value()["contents"][0];
        assert_eq!(content["mimeType"].as_str(), resource.mime_type.as_deref());
        assert!(
            !content["text"].as_str().unwrap().is_empty(),
            "{}",
            resource.uri
        );
    }
    let page = json!({"uri": "keepa://zread/wiki/page/a-guide"});
    assert!(ask(&provider, &agent(), offer::READ, page).await.is_ok());
    let begun = json!({
        "ref": {"uri": "keepa://fixtures/{name}"},
        "argument": {"name": "name", "value": "product_k"},
    });
    let cx = agent();
    let values = ask(&provider, &cx, offer::COMPLETE, begun);
    let values = values.await.unwrap();
    assert_eq!(
        values.payload.value()["completion"]["values"][0],
        "product_kettle.json"
    );
}

#[tokio::test]
async fn promoting_writes_the_same_bytes_twice_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(
        at("live.json"),
        r#"{"key": "s3cret", "tokensLeft": 5, "products": []}"#,
    )
    .unwrap();
    let offline = offline(folder.path());
    let promote = json!({
        "input": at("live.json"), "name": "sample", "tests_dir": at("one"),
        "package_dir": at("two"), "manifest": at("manifest.csv"),
    });
    let tool = "keepa.cassettes_promote_and_verify";
    let done = ask(&offline, &context(), tool, promote.clone())
        .await
        .unwrap();
    assert_eq!(done.payload.value()["fixture_sync"]["ok"], true);
    let [one, two] =
        ["one/sample.json", "two/sample.json"].map(|name| std::fs::read(at(name)).unwrap());
    assert_eq!(one, two);
    assert!(!String::from_utf8(one).unwrap().contains("s3cret"));
    ask(&offline, &context(), tool, promote).await.unwrap();
    let lines = std::fs::read_to_string(at("manifest.csv")).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    let odd = json!({
        "input": at("live.json"), "name": "tea, green", "title": "Tea,\n\"green\"", "tests_dir": at("one"),
        "package_dir": at("two"), "manifest": at("manifest.csv"),
    });
    for _ in 0..2 {
        ask(&offline, &context(), tool, odd.clone()).await.unwrap();
    }
    let lines = std::fs::read_to_string(at("manifest.csv")).unwrap();
    let line = lines.lines().nth(2).unwrap();
    let cells = r#""fixtures/tea, green.json","Tea, ""green""",promoted,"#;
    assert!(
        line.starts_with(cells) && line.ends_with(",sample of a cleaned answer"),
        "{line}"
    );
    assert_eq!(lines.lines().count(), 3, "{lines}");
    let configured = provider(Settings {
        output_dir: folder.path().join("out"),
        promote_dirs: ["three", "four"]
            .map(|name| folder.path().join(name))
            .to_vec(),
        ..Settings::default()
    });
    let short = json!({"input": at("live.json"), "name": "sample"});
    ask(&configured, &context(), tool, short.clone())
        .await
        .unwrap();
    assert!(folder.path().join("four/sample.json").is_file());
    let nowhere = ask(&offline, &context(), tool, short).await.unwrap_err();
    assert_eq!(nowhere.document_code.as_deref(), Some("invalid_argument"));
    for name in ["../x", "a/b", ".hidden", "two\nlines", "a\"b"] {
        let odd = json!({"input": at("live.json"), "name": name, "dry_run": true});
        assert!(
            ask(&offline, &context(), "keepa.cassettes_promote", odd)
                .await
                .is_err()
        );
    }
}
