//! What a run came to is looked at by the rules of reviews, as any answer is.

use serde_json::{Value, json};
use tollgate_core::store::{ReviewItem, ReviewStatus};

use super::{Shop, answers, data, over, started};
use crate::support::{Setup, World, spec_read};

const ASKING: &str = "id: asking\nversion: 1.0.0\nname: Asking\n\
    inputsSchema: {type: object, properties: {n: {type: integer}}}\n\
    steps:\n  - {id: look, tool: shelf.read, args: {n: \"{{ inputs.n }}\"}}\n\
    result: \"{{ steps.look.data }}\"\n";

async fn world(result: Value, most: u64) -> (World, Shop) {
    let shop = Shop::new(&[ASKING], |settings| settings.inline_bytes = most);
    let world = Setup::new()
        .tool(spec_read("shelf.read"), move |_, _| answers(result.clone()))
        .runs(&shop.runs)
        .build()
        .await;
    (world, shop)
}

async fn items(world: &World) -> Vec<ReviewItem> {
    let store = world.gateway.store();
    store.reviews(Some(ReviewStatus::Open), 10).await.unwrap()
}

#[tokio::test]
async fn what_a_result_says_of_itself_opens_an_item() {
    for (result, reasons) in [
        (json!({"verdict": "uncertain"}), vec!["uncertain_verdict"]),
        (json!({"confidence": 0.4}), vec!["low_confidence"]),
        (
            json!({"status": "degraded", "warnings": ["diagram_roi_not_found"]}),
            vec!["missing_evidence"],
        ),
        (
            json!({"warnings": ["thin_evidence"]}),
            vec!["missing_evidence"],
        ),
        (
            json!({"verdict": "uncertain", "confidence": 0.1, "warnings": ["sources_failed"]}),
            vec!["uncertain_verdict", "low_confidence", "missing_evidence"],
        ),
        (
            json!({"verdict": "yes", "confidence": 0.9, "warnings": ["used_cache"]}),
            vec![],
        ),
        (
            json!({"status": "ok", "warnings": ["diagram_roi_not_found"]}),
            vec![],
        ),
        // Only what it says at the top is its own.
        (
            json!({"items": [{"verdict": "uncertain", "confidence": 0.1}]}),
            vec![],
        ),
    ] {
        let (world, _shop) = world(result.clone(), 1 << 20).await;
        let args = json!({"templateId": "asking", "inputs": {"n": 1}}).to_string();
        let ran = world.call("run_task_template", &args).await;
        assert_eq!(data(&ran)["result"], result);
        let items: Vec<_> = items(&world)
            .await
            .into_iter()
            .filter(|it| it.subject != "shelf.read")
            .collect();
        let opened: Vec<&str> = items
            .iter()
            .flat_map(|it| &it.reasons)
            .map(String::as_str)
            .collect();
        assert_eq!(opened, reasons, "{result}");
        let named = &ran.envelope.get().meta.review_items;
        assert_eq!(named.len(), usize::from(!reasons.is_empty()), "{result}");
    }
}

#[tokio::test]
async fn a_result_that_is_too_large_for_an_answer_keeps_what_it_says_of_itself() {
    let large = json!({"verdict": "uncertain", "confidence": 0.2, "text": "x".repeat(4096)});
    let (world, _shop) = world(large, 1024).await;
    let args = json!({"templateId": "asking", "inputs": {"n": 1}}).to_string();
    let ran = world.call("run_task_template", &args).await;
    let result = &data(&ran)["result"];
    assert_eq!(result["truncated"], true);
    assert_eq!(result["verdict"], "uncertain");
    assert_eq!(result["confidence"], 0.2);
    let named = &ran.envelope.get().meta.review_items;
    assert_eq!(named.len(), 1);
}

#[tokio::test]
async fn a_run_in_the_background_opens_its_item_when_it_ends_and_only_one() {
    let (world, _shop) = world(json!({"verdict": "uncertain"}), 1 << 20).await;
    world.gateway.store();
    let id = started(&world, "asking", json!({"n": 1})).await;
    let of_run = |items: Vec<ReviewItem>| {
        let of_run = items
            .into_iter()
            .filter(|it| it.subject == "run_task_template");
        of_run.collect::<Vec<_>>()
    };
    let opened = loop {
        // Nobody asks for the run.
        let opened = of_run(items(&world).await);
        if !opened.is_empty() {
            break opened;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    };
    assert_eq!(opened[0].reasons, ["uncertain_verdict"]);
    assert_eq!(opened[0].principal, "user:1000");
    assert!(opened[0].preview.contains("uncertain"), "{:?}", opened[0]);
    over(&world, &id).await;
    let all = items(&world).await;
    let of_runs = all.iter().filter(|it| it.subject != "shelf.read");
    assert_eq!(of_runs.count(), 1, "{all:?}");
}
