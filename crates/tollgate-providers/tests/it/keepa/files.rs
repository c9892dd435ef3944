//! Files: what addresses lead to, and whether two folders of samples agree.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tollgate_core::{CallContext, TrustLevel, offer};
use tollgate_keepa::resources::encode;
use tollgate_providers::keepa::{Settings, provider};
use tollgate_testkit::fakes::context;

use super::{agent, ask, offline};

fn at(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

#[tokio::test]
async fn addresses_of_files_lead_only_to_what_the_session_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["samples", "evidence", "a", "b", "elsewhere"];
    for name in names {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("there.json"), "{}").unwrap();
    }
    let provider = provider(Settings {
        fixture_dirs: vec![folder.path().join("samples")],
        evidence_dir: Some(folder.path().join("evidence")),
        promote_dirs: vec![folder.path().join("a"), folder.path().join("b")],
        output_dir: folder.path().join("out"),
        ..Settings::default()
    });
    // A person at a shell is no exception: the address is for what the session wrote.
    for cx in [agent(), context()] {
        for name in names {
            for kind in ["chunk", "output"] {
                let path = folder.path().join(name).join("there.json");
                let uri = format!("keepa://{kind}/{}", encode(&path.display().to_string()));
                let refused = ask(&provider, &cx, offer::READ, json!({"uri": uri})).await;
                assert!(refused.is_err(), "{name} {kind}");
            }
        }
    }
    let cx = agent();
    let chosen = at(folder.path(), "elsewhere/raw.json");
    let question = json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json", "out": chosen});
    ask(&provider, &cx, "keepa.products_get", question)
        .await
        .unwrap();
    let uri = format!("keepa://output/{}", encode(&chosen));
    ask(&provider, &cx, offer::READ, json!({"uri": uri}))
        .await
        .unwrap();
}

#[tokio::test]
async fn folders_of_samples_are_compared_file_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let [tests, package] = ["a", "b"].map(|name| folder.path().join(name));
    fs::create_dir(&tests).unwrap();
    fs::create_dir(&package).unwrap();
    fs::write(folder.path().join("answer.json"), r#"{"tokensLeft": 3}"#).unwrap();
    let provider = provider(Settings {
        output_dir: folder.path().join("out"),
        ..Settings::default()
    });
    let cx = context();
    let call = || {
        let question = json!({
            "input": at(folder.path(), "answer.json"), "name": "new", "no_manifest": true,
            "tests_dir": at(folder.path(), "a"), "package_dir": at(folder.path(), "b"),
        });
        ask(
            &provider,
            &cx,
            "keepa.cassettes_promote_and_verify",
            question,
        )
    };
    let sync = |details: &Value| details["fixture_sync"].clone();
    let agreed = call().await.unwrap();
    assert_eq!(agreed.payload.value()["fixture_sync"]["ok"], true);

    fs::write(tests.join("old.json"), "1").unwrap();
    fs::write(package.join("lone.json"), "1").unwrap();
    fs::write(tests.join("both.json"), "1").unwrap();
    fs::write(package.join("both.json"), "2").unwrap();
    let failed = call().await.unwrap_err();
    assert_eq!(failed.document_code.as_deref(), Some("fixture_sync_failed"));
    let told = sync(&Value::Object(failed.details));
    assert_eq!(told["missing_in_package"], json!(["old.json"]));
    assert_eq!(told["missing_in_tests"], json!(["lone.json"]));
    assert_eq!(told["mismatched"], json!(["both.json"]));
}

#[tokio::test]
async fn evidence_is_read_only_where_its_list_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let evidence = folder.path().join("evidence");
    fs::create_dir_all(evidence.join("tasks")).unwrap();
    fs::write(folder.path().join("outside.md"), "outside").unwrap();
    let rows: Vec<String> = (0..10)
        .map(|at| {
            format!(
                "tasks/kettle{at}.md,Kettle {at},done,2026-05-0{},looked at\n",
                at % 9 + 1
            )
        })
        .collect();
    let list = format!(
        "logical_path,title,status,updated_at,summary\n{}../outside.md,Outside,done,,x\n",
        rows.concat()
    );
    fs::write(evidence.join("manifest.csv"), list).unwrap();
    for name in ["kettle0.md", "unlisted.md"] {
        fs::write(evidence.join("tasks").join(name), "# Seen\n").unwrap();
    }
    let provider = provider(Settings {
        evidence_dir: Some(evidence),
        output_dir: folder.path().join("out"),
        ..Settings::default()
    });
    let read =
        async |uri: String| ask(&provider, &agent(), offer::READ, json!({ "uri": uri })).await;
    let recent = read("keepa://evidence/recent".to_owned()).await.unwrap();
    let recent = recent.payload.value()["contents"][0]["text"].clone();
    let recent: Value = serde_json::from_str(recent.as_str().unwrap()).unwrap();
    assert_eq!(recent["count"], 8);
    let listed = read(format!("keepa://evidence/{}", encode("tasks/kettle0.md"))).await;
    let listed = listed.unwrap().payload.value()["contents"][0].clone();
    assert_eq!(listed["text"], "# Seen\n");
    for path in [
        "tasks/unlisted.md",
        "../outside.md",
        "tasks/kettle1.md",
        "/etc/passwd",
    ] {
        let refused = read(format!("keepa://evidence/{}", encode(path))).await;
        assert!(refused.is_err(), "{path}");
    }
    let found = json!({"query": "Kettle 3"});
    let found = ask(&provider, &agent(), "keepa.resolve_research_target", found).await;
    let found = found.unwrap().payload.value()["candidates"].clone();
    let kinds = found.as_array().unwrap().iter().map(|one| &one["type"]);
    assert!(kinds.into_iter().any(|kind| kind == "evidence"), "{found}");
}

#[tokio::test]
async fn a_later_file_of_the_same_name_leaves_the_earlier_one_alone() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let cx = agent();
    let draw = async |series: &str| {
        let wanted =
            json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json", "series": series});
        let drawn = ask(&provider, &cx, "keepa.charts_render", wanted).await;
        let path = drawn.unwrap().payload.value()["output"]["path"].clone();
        path.as_str().unwrap().to_owned()
    };
    let price = draw("new").await;
    let before = fs::read_to_string(&price).unwrap();
    let rank = draw("sales_rank").await;
    assert_ne!(price, rank);
    assert_eq!(fs::read_to_string(&price).unwrap(), before);
    assert!(fs::read_to_string(&rank).unwrap().contains("Sales rank"));
    // The same picture is the same file.
    assert_eq!((draw("new").await, draw("sales_rank").await), (price, rank));
}

#[tokio::test]
async fn targets_have_the_scores_that_were_agreed_on() {
    let folder = tempfile::tempdir().unwrap();
    let samples = folder.path().join("samples");
    fs::create_dir_all(&samples).unwrap();
    fs::write(samples.join("product_B0KETTLE01.json"), "{}").unwrap();
    let provider = provider(Settings {
        fixture_dirs: vec![samples],
        output_dir: folder.path().join("out"),
        ..Settings::default()
    });
    let best = async |query: &str, hint: Option<&str>, kind: &str| {
        let mut question = json!({"query": query});
        if let Some(hint) = hint {
            question["hint_type"] = json!(hint);
        }
        let tool = "keepa.resolve_research_target";
        let told = ask(&provider, &agent(), tool, question).await.unwrap();
        let all = told.payload.value()["candidates"]
            .as_array()
            .unwrap()
            .clone();
        let found = all.into_iter().find(|one| one["type"] == kind).unwrap();
        (
            found["score"].clone(),
            found["hint_matched"] == true,
            found["resource_uri"].clone(),
        )
    };
    let plain = |score: f64| (json!(score), false, Value::Null);
    let hinted = |score: f64| (json!(score), true, Value::Null);
    let sample = |score: f64, name: &str| {
        (
            json!(score),
            false,
            json!(format!("keepa://fixtures/{name}")),
        )
    };
    assert_eq!(best("B0KETTLE01", None, "asin").await, plain(0.96));
    // A hint never makes more than certain.
    assert_eq!(best("B0KETTLE01", Some("asin"), "asin").await, hinted(1.0));
    assert_eq!(
        best("B0KETTLE01", Some("seller"), "asin").await,
        plain(0.96)
    );
    let named = "product_B0KETTLE01.json";
    assert_eq!(
        best("B0KETTLE01", None, "fixture").await,
        sample(0.9, named)
    );
    assert_eq!(
        best("teapot", None, "fixture").await,
        sample(0.68, "product_teapot_jp.json")
    );
    assert_eq!(best("4006381333931", None, "code").await, plain(0.82));
    assert_eq!(
        best("4006381333931", Some("code"), "code").await,
        hinted(0.94)
    );
    assert_eq!(best("A1SAMPLE0SHOP2", None, "seller").await, plain(0.74));
    assert_eq!(
        best("A1SAMPLE0SHOP2", Some("seller"), "seller").await,
        hinted(0.86)
    );
    assert_eq!(best("category 172282", None, "category").await, plain(0.78));
    assert_eq!(best("something else", None, "keyword").await, plain(0.55));
}

#[tokio::test]
async fn roots_are_folders_and_strangers_hear_of_their_own_only() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let provider = provider(Settings {
        fixture_dirs: vec![at("samples")],
        evidence_dir: Some(at("evidence")),
        promote_dirs: vec![at("one"), at("two")],
        output_dir: at("out"),
        working_dir: Some(at("project")),
        ..Settings::default()
    });
    let roots = async |trust: TrustLevel| {
        let cx = CallContext { trust, ..agent() };
        let told = ask(&provider, &cx, "keepa.context_policy", json!({})).await;
        told.unwrap().payload.value()["roots"].clone()
    };
    let near = roots(TrustLevel::Local).await;
    let own = near["write_roots"][0].clone();
    assert!(
        own.as_str()
            .unwrap()
            .starts_with(&at("out").display().to_string())
    );
    assert_eq!(near["repo_root"], json!(at("project")));
    let named = [at("samples"), at("evidence"), at("one"), at("two")];
    let read: Vec<Value> = [own.clone()]
        .into_iter()
        .chain(named.map(|path| json!(path)))
        .collect();
    assert_eq!(near["read_roots"], json!(read));
    assert_eq!(near["write_roots"], json!([own, at("one"), at("two")]));
    let far = roots(TrustLevel::Remote).await;
    assert_eq!(
        (&far["repo_root"], &far["read_roots"], &far["write_roots"]),
        (&Value::Null, &json!([own]), &json!([own]))
    );
}
