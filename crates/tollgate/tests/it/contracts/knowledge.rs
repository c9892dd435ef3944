//! Guided sessions: the schema of files, the two tools, and what a session says.

use std::path::Path;

use serde_json::json;
use tollgate::wire;
use tollgate_core::envelope;
use tollgate_knowledge::schema;

use super::{Files, check_folder, defaults, pretty, repository};
use crate::support::TestEnv;

#[tokio::test]
async fn guided_sessions_are_committed() {
    let base = repository("knowledge/technology-investment");
    let mut files = Files::new();
    files.insert("base.schema.json".to_owned(), pretty(&schema()));
    let mut config = defaults();
    config.knowledge.paths = vec![base.clone()];
    let catalog = wire::listed(&config, &tollgate::config::Environment::default())
        .await
        .unwrap();
    for listing in catalog
        .listings()
        .filter(|listing| listing.spec.provider_id == "knowledge")
    {
        let mut shown = serde_json::to_value(&*listing.spec).unwrap();
        shown["output_schema"] = envelope::schema(listing.spec.output_schema.as_deref());
        files.insert(
            format!("{}.json", listing.spec.name.as_str()),
            pretty(&shown),
        );
    }
    files.insert("session.json".to_owned(), pretty(&conversation(&base)));
    assert_eq!(files.len(), 4);
    check_folder("contracts/knowledge", &files);
}

/// A question, an option and an end, as an agent gets them.
fn conversation(base: &Path) -> serde_json::Value {
    let base = base.canonicalize().unwrap();
    let env = TestEnv::with_config(&format!("[knowledge]\npaths = [\"{}\"]\n", base.display()));
    let begun = env.ok(
        "initiate_session",
        &json!({"user_query": "显卡市场怎么样"}).to_string(),
    );
    let step = |option: &str| {
        let step = json!({"session_id": begun["data"]["session_id"], "selected_option_id": option});
        env.call("navigate_session", &step.to_string(), &[]).json()
    };
    let (went, ended, after) = (step("trend"), step("end"), step("back"));
    let mut shown = json!([begun["data"], went["data"], ended["data"], after["error"]]);
    for answer in shown.as_array_mut().unwrap().iter_mut() {
        if answer.get("session_id").is_some() {
            answer["session_id"] = json!("ks-…");
            answer["version"] = json!("…");
        }
    }
    shown
}
