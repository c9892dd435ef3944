//! Research reports at a shell, on the sample pages that need no network and on a site on loopback.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Barrier},
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::TestEnv;

fn asked(inputs: Value) -> String {
    json!({"templateId": "research_report", "inputs": inputs}).to_string()
}

/// An artifact of a run by its name.
#[track_caller]
fn artifact(env: &TestEnv, run: &Value, name: &str) -> Vec<u8> {
    let artifacts = run["artifacts"].as_array().unwrap();
    let found = artifacts.iter().find(|one| one["name"] == name);
    let id = &found.unwrap_or_else(|| panic!("{name} in {artifacts:?}"))["artifactId"];
    let asked = json!({"artifactId": id}).to_string();
    let saved = env.call("get_artifact", &asked, &["--output", "saved"]);
    let answer = saved.exits(0).json();
    let bytes = std::fs::read(env.path("project/saved")).unwrap();
    let told = STANDARD.decode(answer["data"]["data"].as_str().unwrap());
    assert_eq!(told.unwrap(), bytes);
    bytes
}

#[track_caller]
fn text(env: &TestEnv, run: &Value, name: &str) -> String {
    String::from_utf8(artifact(env, run, name)).unwrap()
}

#[test]
fn a_report_is_written_offline_and_every_quotation_can_be_checked() {
    let env = TestEnv::new();
    let ran = env.ok(
        "run_task_template",
        &asked(json!({"query": "green tea water temperature", "max_sources": 6})),
    );
    let run = &ran["data"];
    // One of the five pages is closed to programs, and another holds an instruction.
    assert_eq!(run["status"], "partial_success", "{run}");
    assert_eq!(
        run["result"]["read"],
        json!({"total": 5, "succeeded": 4, "failed": 1})
    );
    assert_eq!(ran["status"], "degraded");
    let warnings = ran["warnings"].as_array().unwrap();
    assert!(warnings.contains(&json!("tainted_content")), "{warnings:?}");

    let evidence: Value = serde_json::from_slice(&artifact(&env, run, "evidence.json")).unwrap();
    let items = evidence["evidence"].as_array().unwrap();
    assert!(items.len() >= 6, "{items:?}");
    for item in items {
        let stored = text(&env, run, &format!("sources/{}.txt", item["source_index"]));
        let place = |key: &str| usize::try_from(item[key].as_u64().unwrap()).unwrap();
        let characters: Vec<char> = stored.chars().collect();
        let quote: String = characters[place("start")..place("end")].iter().collect();
        assert_eq!(quote, item["quote"].as_str().unwrap());
        let digest = Sha256::digest(stored.as_bytes());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(item["digest"], json!(digest));
        assert!(item["fetched_at"].is_string());
    }

    let markdown = text(&env, run, "report.md");
    assert_eq!(run["result"]["markdown"], json!(markdown));
    for said in [
        "# Research report: green tea water temperature",
        "nobody has verified",
        "## Where sources seem to differ",
        "reads like instructions",
        "Sample pages that come with the program",
        "robots.txt of archive.offline.example does not want this read",
    ] {
        assert!(markdown.contains(said), "{said} in {markdown}");
    }
    assert!(!markdown.contains("golden kettle"), "{markdown}");
    let html = text(&env, run, "report.html");
    assert!(html.starts_with("<!doctype html>") && html.contains("id=\"source-1\""));
    for foreign in ["<script", "src=", "@import", "url("] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    let sources: Value = serde_json::from_slice(&artifact(&env, run, "sources.json")).unwrap();
    let failed = sources
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["failure"].is_string());
    assert_eq!(failed.count(), 1);
    env.whole();
}

#[test]
fn a_chinese_question_gives_a_chinese_report() {
    let env = TestEnv::new();
    let ran = env.ok(
        "run_task_template",
        &asked(json!({"query": "冲泡绿茶的水温", "max_sources": 4})),
    );
    let run = &ran["data"];
    assert_eq!(run["status"], "succeeded", "{run}");
    let markdown = run["result"]["markdown"].as_str().unwrap();
    assert!(
        markdown.starts_with("# 调研报告: 冲泡绿茶的水温"),
        "{markdown}"
    );
    assert!(
        markdown.contains("来源之间可能不一致之处") && markdown.contains("95℃"),
        "{markdown}"
    );
    assert_eq!(
        run["result"]["is_thin"], false,
        "{}",
        run["result"]["cautions"]
    );
}

#[test]
fn thin_evidence_is_said_and_max_sources_is_kept() {
    let env = TestEnv::new();
    let ran = env.ok(
        "run_task_template",
        &asked(json!({"query": "volcanoes of Iceland", "max_sources": 2})),
    );
    let result = &ran["data"]["result"];
    assert_eq!(result["is_thin"], true, "{result}");
    assert_eq!(result["read"]["total"], 2);
    let markdown = result["markdown"].as_str().unwrap();
    assert!(
        markdown.contains("No source says anything about the question."),
        "{markdown}"
    );
    let wrong = asked(json!({"query": "tea", "max_sources": 11}));
    let refused = env.call("run_task_template", &wrong, &[]).exits(1).json();
    assert_eq!(
        refused["error"]["errorCode"], "INVALID_PARAMETER",
        "{refused}"
    );
}

#[test]
fn without_a_source_that_can_be_read_the_run_fails_with_the_reasons() {
    let env = TestEnv::with_config(
        "[web]\nsearch = [\"searxng\"]\nsearxng_url = \"http://127.0.0.1:9\"\n",
    );
    let failed = env
        .call("run_task_template", &asked(json!({"query": "tea"})), &[])
        .exits(1)
        .json();
    assert_eq!(
        failed["error"]["details"]["failedStep"], "search",
        "{failed}"
    );
    let details = &failed["error"]["details"];
    assert_eq!(details["stepErrorCode"], "EXECUTION_ERROR", "{failed}");
    assert_eq!(details["toolErrorCode"], "NetworkError", "{failed}");
}

/// A search engine and its pages. The first three pages wait for one another, so whoever reads them one by one never ends;
/// the fourth is not there. It ends with the test's process.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let (base, all_here) = (format!("http://{host}"), Arc::new(Barrier::new(3)));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (base, all_here) = (base.clone(), Arc::clone(&all_here));
            thread::spawn(move || answer(stream.unwrap(), &base, &all_here));
        }
    });
    host
}

fn answer(mut stream: TcpStream, base: &str, all_here: &Barrier) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (status, kind, body) = if path.starts_with("/search") {
        let result = |number: usize| json!({"url": format!("{base}/page/{number}"), "title": format!("Page {number}"), "content": ""});
        let results: Vec<Value> = (1..=4).map(result).collect();
        (
            "200 OK",
            "application/json",
            json!({"results": results}).to_string(),
        )
    } else if path == "/page/4" {
        (
            "404 Not Found",
            "text/html",
            "<p>There is nothing here about ferries and piers.</p>".to_owned(),
        )
    } else {
        all_here.wait();
        let words = format!(
            "The ferry of pier {path} leaves at noon and carries two hundred people to the island. "
        )
        .repeat(6);
        (
            "200 OK",
            "text/html",
            format!("<title>Ferry {path}</title><article><p>{words}</p></article>"),
        )
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    drop(stream.write_all(answer.as_bytes()));
}

#[test]
fn sources_are_read_at_the_same_time_and_a_missing_one_is_said() {
    let host = site();
    let env = TestEnv::with_config(&format!(
        "[web]\nallow_hosts = [\"{host}\"]\nrobots = false\nhost_requests = 8\nhost_pause_ms = 0\nsearch = [\"searxng\"]\nsearxng_url = \"http://{host}\"\n"
    ));
    let ran = env.ok(
        "run_task_template",
        &asked(json!({"query": "ferry island"})),
    );
    let run = &ran["data"];
    assert_eq!(run["status"], "partial_success", "{run}");
    assert_eq!(
        run["result"]["read"],
        json!({"total": 4, "succeeded": 3, "failed": 1})
    );
    let sources = run["result"]["sources"].as_array().unwrap();
    assert_eq!(
        sources[3]["failure"], "the server answered 404",
        "{sources:?}"
    );
    let markdown = run["result"]["markdown"].as_str().unwrap();
    assert!(
        markdown.contains("not read: the server answered 404"),
        "{markdown}"
    );
    assert!(
        !markdown.contains("nothing here about ferries"),
        "{markdown}"
    );
}
