//! Who pays for what: consent, estimates, and the account of calls that ask more than once.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tollgate_core::{
    CallContext, CallId, Cost, Estimate, Event, EventSink, Payload, Provider, SessionKey, ToolCall,
    ToolName,
};

use super::{
    SLOW, agent, ask, live, run_next_actions,
    server::{Fault, KEY, Server},
};

fn asins(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("B{at:09}")).collect()
}

fn call_of(tool: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: CallId("call".into()),
        tool: ToolName::new(tool).unwrap(),
        arguments: Payload::from(arguments),
    }
}

async fn estimate(provider: &dyn Provider, tool: &str, arguments: Value) -> Estimate {
    let specs = provider.tools().await.unwrap();
    let spec = specs.iter().find(|spec| spec.name.as_str() == tool);
    let Cost::Estimated(price) = &spec.unwrap().cost else {
        panic!("{tool} is free");
    };
    let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
    price(&arguments)
}

#[tokio::test]
async fn what_the_gate_lets_through_is_written_and_written_once() {
    let server = Server::start(100, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let cx = agent();
    let add = json!({"trackings": [{"asin": "B0KETTLE01", "ttl": 720}]});
    ask(&provider, &cx, "keepa.tracking_add", add.clone())
        .await
        .unwrap();
    let remove = json!({"asin": "B0KETTLE01"});
    ask(&provider, &cx, "keepa.tracking_remove", remove)
        .await
        .unwrap();
    let lines = server.lines();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("POST /tracking?") && lines[0].contains("type=add"));
    assert!(lines[1].starts_with("GET /tracking?") && lines[1].contains("type=remove"));
    // A change that may have happened is not made again.
    server.fail_next(Fault::Broken);
    let failed = ask(&provider, &cx, "keepa.tracking_add", add).await;
    let failed = failed.unwrap_err();
    assert_eq!(failed.document_code.as_deref(), Some("server_error"));
    assert_eq!(server.lines().len(), 3);
    // The gate is told that a yes among the arguments is not enough.
    let yes = json!({"asin": "B0KETTLE01", "yes": true});
    assert!(
        estimate(&provider, "keepa.tracking_remove", yes)
            .await
            .confirm
    );
}

/// Progress as it is told.
#[derive(Default)]
struct Told(Mutex<Vec<(f64, Option<f64>)>>);

impl EventSink for Told {
    fn emit(&self, event: Event) {
        if let Event::Progress { done, total, .. } = event {
            self.0.lock().unwrap().push((done, total));
        }
    }
}

#[tokio::test]
async fn many_products_are_asked_for_in_parts_and_all_parts_are_paid_for() {
    let server = Server::start(100_000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    for (count, offers, parts, tokens) in [(100, 0, 1, 100), (150, 0, 2, 150), (45, 20, 3, 585)] {
        let told = Arc::new(Told::default());
        let cx = CallContext {
            events: Arc::clone(&told) as Arc<dyn EventSink>,
            ..agent()
        };
        let before = server.lines().len();
        let mut question = json!({"asin": asins(count), "view": "summary"});
        if offers > 0 {
            question["offers"] = json!(offers);
        }
        let answer = ask(&provider, &cx, "keepa.products_compare", question)
            .await
            .unwrap();
        assert_eq!(server.lines().len() - before, parts, "{count} {offers}");
        assert_eq!(answer.usage.consumed, Some(tokens));
        let bucket = answer.service.unwrap().token_bucket;
        assert_eq!(bucket["tokens_consumed"], tokens);
        assert_eq!(bucket["estimated"]["estimated_tokens"], tokens);
        let rows = answer.payload.value()["rows"].as_array().unwrap().len();
        assert_eq!(rows, count);
        let told = told.0.lock().unwrap().clone();
        assert_eq!(told.len(), parts);
        let all = count as f64;
        assert_eq!(told.last(), Some(&(all, Some(all))));
    }
}

#[tokio::test]
async fn what_earlier_parts_cost_is_told_when_a_later_one_fails() {
    let server = Server::start(120, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    // The second part pushes the balance below zero; the third is refused, and the refill is an hour off.
    let question = json!({"asin": asins(250), "view": "summary"});
    let patient = CallContext {
        time_left: Duration::from_secs(300),
        ..agent()
    };
    let failed = ask(&provider, &patient, "keepa.products_compare", question)
        .await
        .unwrap_err();
    assert_eq!(failed.document_code.as_deref(), Some("not_enough_token"));
    assert_eq!(failed.consumed, Some(200));
    let bucket = &failed.details["token_bucket"];
    assert_eq!(bucket["tokens_consumed"], 200);
    assert_eq!(bucket["estimated"]["estimated_tokens"], 250);
    // What is not known is not taken for little.
    let server = Server::start(1000, SLOW).await;
    let provider = live(&server, folder.path(), KEY);
    let question = json!({"asin": asins(150), "view": "summary", "no_cache": true});
    let cx = agent();
    for fault in [Fault::Slow(Duration::ZERO), Fault::Nonsense] {
        server.fail_next(fault);
    }
    let failed = ask(&provider, &cx, "keepa.products_compare", question).await;
    assert_eq!(failed.unwrap_err().consumed, None);
}

#[tokio::test]
async fn all_parts_share_one_deadline_and_waiting_for_tokens_is_part_of_it() {
    let server = Server::start(100_000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let (first, second) = (Duration::from_millis(200), Duration::from_millis(59_750));
    let at_once = Fault::Slow(Duration::ZERO);
    // The first part is answered, the second after a wait, and the third is promised a token in a time that would do if
    // the call had just begun.
    for fault in [at_once, Fault::Empty(first), at_once, Fault::Empty(second)] {
        server.fail_next(fault);
    }
    let cx = CallContext {
        time_left: Duration::from_secs(60),
        ..agent()
    };
    let question = json!({"asin": asins(100), "offers": 20, "view": "summary"});
    let failed = ask(&provider, &cx, "keepa.products_compare", question.clone()).await;
    let failed = failed.unwrap_err();
    assert_eq!(failed.document_code.as_deref(), Some("not_enough_token"));
    assert_eq!(server.lines().len(), 4);
    assert_eq!(failed.consumed, Some(2 * 20 * 13));
    // What was paid for is kept, so that asking again costs the rest.
    let again = ask(&provider, &cx, "keepa.products_compare", question).await;
    let again = again.unwrap();
    assert_eq!(again.usage.consumed, Some(3 * 20 * 13));
    assert_eq!(server.lines().len(), 4 + 3);
    assert_eq!(again.payload.value()["product_count"], 100);
}

#[tokio::test]
async fn products_read_along_are_paid_for_with_their_list() {
    let server = Server::start(1000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let question = json!({"category": "289754", "hydrate_top": 2, "yes": true});
    let answer = ask(&provider, &agent(), "keepa.categories_products", question)
        .await
        .unwrap();
    assert_eq!(answer.usage.consumed, Some(52));
    assert_eq!(1000 - server.tokens(), 52);
    let bucket = answer.service.unwrap().token_bucket;
    assert_eq!(bucket["tokens_consumed"], 52);
    assert_eq!(bucket["estimated"]["estimated_tokens"], 52);
    // A file that cannot be written takes nothing back.
    let out = folder.path().join("file");
    std::fs::write(&out, "").unwrap();
    let out = out.join("below.json").display().to_string();
    let question = json!({"category": "289754", "no_cache": true, "out": out, "yes": true});
    let failed = ask(&provider, &agent(), "keepa.categories_products", question)
        .await
        .unwrap_err();
    assert_eq!(failed.document_code.as_deref(), Some("file_refused"));
    assert_eq!(failed.consumed, Some(50));
}

#[tokio::test]
async fn consent_covers_what_is_filled_in_later() {
    let folder = tempfile::tempdir().unwrap();
    let provider = super::offline(folder.path());
    let compare = "keepa.products_compare";
    let handed_on = json!({"resource_uri": "keepa://research/x"});
    let price = estimate(&provider, compare, handed_on).await;
    assert_eq!((price.estimated, price.worst_case), (2, 10));
    let with_offers = json!({"resource_uri": "keepa://research/x", "offers": 20});
    let price = estimate(&provider, compare, with_offers).await;
    assert_eq!((price.worst_case, price.confirm), (130, true));
    let named = json!({"asin": asins(3)});
    let price = estimate(&provider, compare, named).await;
    assert_eq!((price.estimated, price.worst_case), (3, 3));
    let in_a_file = json!({"selection_file": "selection.json"});
    let price = estimate(&provider, "keepa.finder_query", in_a_file).await;
    assert_eq!((price.estimated, price.worst_case), (11, 110));
}

#[tokio::test]
async fn a_selection_in_a_file_is_priced_and_checked_like_any_other() {
    let server = Server::start(1000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let file = folder.path().join("selection.json");
    let question = json!({"selection_file": file.display().to_string(), "dry_run": true});
    let cx = tollgate_testkit::fakes::context();
    std::fs::write(&file, r#"{"perPage": 5000}"#).unwrap();
    let answer = ask(&provider, &cx, "keepa.finder_query", question.clone())
        .await
        .unwrap();
    let bucket = answer.service.unwrap().token_bucket;
    assert_eq!(bucket["estimated"]["estimated_tokens"], 60);
    std::fs::write(&file, r#"{"current_SALE_lte": 5}"#).unwrap();
    // Nobody is asked to pay for it: it is refused as soon as it is known who may read the file.
    for (tool, near) in [
        ("keepa.finder_query", "current_SALES_lte"),
        ("keepa.deals_query", "currentRange"),
    ] {
        let call = call_of(tool, json!({"selection_file": question["selection_file"]}));
        let refused = provider.preview(&call, &cx).await.unwrap_err();
        assert_eq!(refused.document_code.as_deref(), Some("invalid_argument"));
        assert!(
            refused.details["nearest"].to_string().contains(near),
            "{refused:?}"
        );
        let stranger = CallContext {
            session: SessionKey::new(cx.principal.clone(), "another"),
            ..agent()
        };
        let secret = folder.path().parent().unwrap().join("elsewhere.json");
        let call = call_of(
            tool,
            json!({"selection_file": secret.display().to_string()}),
        );
        let refused = provider.preview(&call, &stranger).await.unwrap_err();
        assert_eq!(refused.document_code.as_deref(), Some("file_refused"));
    }
    let both = json!({"selection": {"perPage": 50}, "selection_file": question["selection_file"]});
    let refused = provider.plan(&call_of("keepa.finder_query", both), cx.trust);
    assert_eq!(
        refused.unwrap_err().document_code.as_deref(),
        Some("invalid_argument")
    );
    let live = json!({"selection_file": question["selection_file"], "yes": true});
    let failed = ask(&provider, &cx, "keepa.finder_query", live).await;
    assert_eq!(failed.unwrap_err().consumed, Some(0));
    assert!(server.lines().is_empty());
}

#[tokio::test]
async fn next_actions_run_as_they_stand() {
    let server = Server::start(100_000, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let cx = agent();
    let questions = [
        ("keepa.products_get", json!({"asin": "B0KETTLE01"}), ()),
        ("keepa.products_compare", json!({"asin": asins(2)}), ()),
        ("keepa.categories_search", json!({"term": "kettles"}), ()),
        (
            "keepa.categories_finder_selection",
            json!({"category": "289754"}),
            (),
        ),
        (
            "keepa.categories_products",
            json!({"category": "289754"}),
            (),
        ),
        (
            "keepa.categories_products",
            json!({"category": "289754", "hydrate_top": 1, "dry_run": true}),
            (),
        ),
        (
            "keepa.workflow_plan",
            json!({"name": "product-research", "asin": "B0KETTLE01"}),
            (),
        ),
        (
            "keepa.resolve_research_target",
            json!({"query": "B0KETTLE01"}),
            (),
        ),
        (
            "keepa.resolve_research_target",
            json!({"query": "kettle"}),
            (),
        ),
    ];
    let run = run_next_actions(&provider, &cx, questions, |action, ()| {
        let name = action["mcp_tool"].as_str().unwrap();
        (name.to_owned(), action["params"].clone())
    });
    let run = run.await;
    assert!(run >= 12, "{run}");
}
