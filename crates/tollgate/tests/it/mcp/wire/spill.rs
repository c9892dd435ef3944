//! Results that are too large: a summary, and the whole of it to read on.

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Stdio, code};
use crate::{
    browser::{Site, world},
    support::{TestEnv, approval_id, envelope},
};

const SMALL: &str = "[results]\ntext_bytes = 1024\nstructured_bytes = 16384\nchunk_bytes = 1024\n";

/// A text of many lines that no boundary of bytes fits.
fn long_text(lines: usize) -> String {
    let line = |number| format!("Zeile {number}: über die Brücke – ein Wort für alle\n");
    (1..=lines).map(line).collect()
}

fn replaced(lines: usize) -> Value {
    json!({"text": long_text(lines), "pattern": "Wort", "with": "Satz"})
}

/// The manifest of a spilled result.
#[track_caller]
fn manifest(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    let text: Value = serde_json::from_str(text).unwrap();
    let manifest = text["mcp_resource_manifest"].clone();
    assert!(manifest.is_object(), "{text}");
    manifest
}

/// Where the rest of a spilled result is.
fn links(result: &Value) -> Vec<Value> {
    let blocks = result["content"].as_array().unwrap().iter();
    let links = blocks.filter(|it| it["type"] == "resource_link");
    links.cloned().collect()
}

fn id(result: &Value) -> String {
    manifest(result)["result_id"].as_str().unwrap().to_owned()
}

fn read(client: &mut Stdio, uri: &str) -> Value {
    let read = client.result("resources/read", json!({"uri": uri}));
    read["contents"][0].clone()
}

#[test]
fn a_large_result_is_a_summary_with_links() {
    let env = TestEnv::with_config(SMALL);
    let mut client = Stdio::modern(&env, &[]);
    let done = client.call("text.replace", replaced(60));
    let text = done["content"][0]["text"].as_str().unwrap();
    let whole = done["structuredContent"].to_string();
    assert!(text.len() < whole.len() && text.len() < 4096, "{text}");
    assert_eq!(done["structuredContent"]["count"], 60, "whole");
    assert_eq!(
        done["_meta"]["tollgate/result"]["warnings"],
        json!(["truncated_output"])
    );
    let notice = done["content"].as_array().unwrap().last().unwrap();
    assert_eq!(notice["text"], r#"{"warnings":["truncated_output"]}"#);
    let manifest = manifest(&done);
    assert_eq!(manifest["strategy"], "summary_with_resource_refs");
    assert_eq!(manifest["total_bytes"], whole.len());
    assert_eq!(
        manifest["read_with"],
        json!(["result.slice", "result.search"])
    );
    let links = links(&done);
    assert_eq!(manifest["resource_count"], links.len());
    assert!(links.len() > 2);
    for (link, listed) in links.iter().zip(manifest["resources"].as_array().unwrap()) {
        assert_eq!(link["type"], "resource_link");
        assert_eq!(link["uri"], listed["uri"]);
    }
}

#[test]
fn every_piece_is_linked_and_the_text_stays_within_its_limit() {
    for form in ["native", "envelope"] {
        let small = SMALL.replace("text_bytes = 1024", "text_bytes = 2048");
        let env = TestEnv::with_config(&format!("{small}form = \"{form}\"\n"));
        let mut client = Stdio::modern(&env, &[]);
        let done = client.call("text.replace", replaced(230));
        let text = done["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= 2048, "{form}: {} {text}", text.len());
        let manifest = manifest(&done);
        let total = manifest["total_bytes"].as_u64().unwrap();
        let links = links(&done);
        assert!(links.len() > 9);
        assert_eq!(links.len() as u64, 1 + total.div_ceil(1024), "{form}");
        assert_eq!(manifest["resource_count"], links.len(), "{form}");
        let listed = manifest["resources"].as_array().unwrap().len();
        assert_eq!(manifest["more_resources"], links.len() - listed, "{form}");
        let pieces = links.iter().skip(1);
        let pieces = pieces.map(|link| read(&mut client, link["uri"].as_str().unwrap()));
        let together: String = pieces
            .map(|it| it["text"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(together.len() as u64, total, "{form}");
    }
}

#[test]
fn every_chunk_that_was_written_is_linked_also_where_the_text_is_cut() {
    for small in ["", "[results]\ntext_bytes = 8192\n"] {
        let env = TestEnv::with_config(small);
        let mut client = Stdio::modern(&env, &[]);
        let arguments = json!({
            "asins": ["B0KETTLE01"], "fixture": "product_kettle.json", "chunks_dir": "chunks",
        });
        let asked = client.call("keepa.products_get", arguments.clone());
        let id = approval_id(&envelope(&asked));
        env.run(&["approve", &id, "--token", &env.approver()])
            .exits(0);
        let done = client.call("keepa.products_get", arguments);
        let chunks = done["structuredContent"]["data"]["chunks"].as_array();
        let chunks = chunks.unwrap_or_else(|| panic!("{done}")).len();
        let links = links(&done);
        let uris = links.iter().map(|link| link["uri"].as_str().unwrap());
        let linked: Vec<&str> = uris.filter(|uri| uri.starts_with("keepa://")).collect();
        assert!(
            chunks > 3 && linked.len() >= chunks,
            "{small}: {chunks} {linked:?}"
        );
        assert_eq!(manifest(&done)["resource_count"], links.len(), "{small}");
        for uri in linked {
            assert!(read(&mut client, uri)["text"].is_string(), "{uri}");
        }
        let text = done["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= if small.is_empty() { 16384 } else { 8192 });
    }
}

#[test]
fn a_shortened_text_keeps_numbers_and_first_items() {
    let env = TestEnv::with_config(SMALL);
    let mut client = Stdio::modern(&env, &[]);
    let arguments = json!({"text": long_text(200), "count": 200});
    let done = client.call("text.lines", arguments);
    let text = done["content"][0]["text"].as_str().unwrap();
    let data: Value = serde_json::from_str(text).unwrap();
    assert_eq!(data["total"], 200, "{text}");
    let (note, kept) = data["lines"].as_array().unwrap().split_last().unwrap();
    assert!(kept.len() > 3, "{text}");
    let whole = &done["structuredContent"]["lines"];
    assert_eq!(kept, &whole.as_array().unwrap()[..kept.len()]);
    assert_eq!(*note, format!("… {} more items", 200 - kept.len()));
}

#[test]
fn what_is_linked_can_be_read_and_adds_up() {
    let env = TestEnv::with_config(SMALL);
    let mut client = Stdio::modern(&env, &[]);
    let done = client.call("text.replace", replaced(60));
    let data = done["structuredContent"].to_string();
    let links = links(&done);
    for link in &links {
        let document = read(&mut client, link["uri"].as_str().unwrap());
        assert_eq!(document["uri"], link["uri"]);
        assert!(document["text"].is_string());
    }
    let whole = read(&mut client, links[0]["uri"].as_str().unwrap());
    assert_eq!(whole["text"], data);
    assert_eq!(whole["_meta"]["tollgate/total_bytes"], data.len());
    let pieces = whole["_meta"]["tollgate/pieces"].as_u64().unwrap();
    let address = links[0]["uri"].as_str().unwrap();
    let together: String = (0..pieces)
        .map(|number| {
            let piece = read(&mut client, &format!("{address}/{number}"));
            piece["text"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(together, data);
    let beyond = json!({"uri": format!("{address}/{pieces}")});
    assert_eq!(client.error("resources/read", beyond)["code"], -32602);
}

#[test]
fn a_large_result_is_read_on_by_bytes_lines_and_pointer() {
    let env = TestEnv::with_config(SMALL);
    let mut client = Stdio::modern(&env, &[]);
    let done = client.call("text.replace", replaced(60));
    let text = done["structuredContent"]["text"].as_str().unwrap();
    let id = id(&done);
    let mut slice = |more: Value| {
        let mut arguments = json!({"result": id, "pointer": "/text"});
        for (key, value) in more.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        let done = client.call("result.slice", arguments);
        assert_eq!(done["isError"], false, "{done}");
        done["structuredContent"].clone()
    };
    let third = slice(json!({"line": 3, "lines": 1}));
    assert_eq!(
        third["text"].as_str(),
        text.lines().nth(2).map(|it| format!("{it}\n")).as_deref()
    );
    assert_eq!(third["total_lines"], 60);
    let mut together = String::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let part = slice(json!({"offset": offset, "length": 501}));
        together.push_str(part["text"].as_str().unwrap());
        offset = part["next_offset"].clone();
    }
    assert_eq!(together, text);
    assert_eq!(slice(json!({"pointer": "/count"}))["text"], "60");
    let lost = json!({"result": id, "pointer": "/nothing"});
    let lost = client.call("result.slice", lost);
    assert_eq!(
        lost["_meta"]["tollgate/result"]["error"]["kind"],
        "not_found"
    );
}

#[test]
fn a_large_result_can_be_searched() {
    let env = TestEnv::with_config(SMALL);
    let mut client = Stdio::modern(&env, &[]);
    let done = client.call("text.replace", replaced(60));
    let text = done["structuredContent"]["text"].as_str().unwrap();
    let id = id(&done);
    let mut search = |query: &str, regex: bool| {
        let arguments = json!({"result": id, "pointer": "/text", "query": query, "regex": regex});
        envelope(&client.call("result.search", arguments))
    };
    let found = search("Zeile 42:", false);
    let matches = found["data"]["matches"].as_array().unwrap();
    assert_eq!(matches.len(), 1);
    assert_eq!(matches[0]["line"], 42);
    let offset = matches[0]["offset"].as_u64().unwrap() as usize;
    assert!(text[offset..].starts_with("Zeile 42:"));
    let found = search("Zeile 1[0-4]:", true);
    assert_eq!(found["data"]["matches"].as_array().unwrap().len(), 5);
    assert_eq!(search("Mond", false)["data"]["matches"], json!([]));
    assert_eq!(search("(", true)["error"]["kind"], "input_rejected");
}

#[test]
fn nobody_else_reads_a_large_result() {
    let env = TestEnv::with_config(SMALL);
    let mut owner = Stdio::modern(&env, &[]);
    let id = id(&owner.call("text.replace", replaced(60)));
    let uri = format!("tollgate://results/{id}");
    read(&mut owner, &uri);
    let mut other = Stdio::modern(&env, &[]);
    let refused = other.error("resources/read", json!({"uri": uri}));
    assert_eq!(refused["code"], -32602);
    let slice = other.call("result.slice", json!({"result": id}));
    assert_eq!(
        slice["_meta"]["tollgate/result"]["error"]["kind"],
        "not_found"
    );
    let search = other.call("result.search", json!({"result": id, "query": "Zeile"}));
    assert_eq!(
        search["_meta"]["tollgate/result"]["error"]["kind"],
        "not_found"
    );

    let gate = Gate::open(&env);
    let there = gate.call("text.replace", replaced(60));
    let uri = format!("tollgate://results/{}", self::id(&there));
    let read = Ask::modern("resources/read", json!({"uri": uri}));
    gate.result(&read);
    let token = env.run(&["token", "create", "--quiet"]).exits(0).out;
    let heard = gate.ask(&read.clone().bearing(token.trim()));
    assert_eq!(code(&heard.json()), -32602, "another principal");
    let elsewhere = json!({"uri": uri, "_meta": {"tollgate/session": "elsewhere"}});
    let heard = gate.ask(&Ask::modern("resources/read", elsewhere));
    assert_eq!(code(&heard.json()), -32602, "another session");
}

#[test]
fn structured_content_beyond_its_limit_still_fits_the_schema() {
    let env = TestEnv::with_config(SMALL);
    let mut client = Stdio::modern(&env, &[]);
    let arguments = json!({"text": long_text(600), "count": 600});
    let done = client.call("text.lines", arguments);
    let data = &done["structuredContent"];
    assert!(
        data.to_string().len() <= 16384,
        "{}",
        data.to_string().len()
    );
    assert_eq!(data["total"], 600);
    let lines = data["lines"].as_array().unwrap();
    assert!(!lines.is_empty() && lines.len() < 600);
    for (number, line) in (1..).zip(lines) {
        assert_eq!(line["number"], number);
        assert!(line["text"].is_string());
    }
    let manifest = manifest(&done);
    let whole = manifest["resources"][0]["uri"].as_str().unwrap();
    let whole = read(&mut client, whole)["text"].clone();
    let whole: Value = serde_json::from_str(whole.as_str().unwrap()).unwrap();
    assert_eq!(whole["lines"].as_array().unwrap().len(), 600);
}

#[test]
fn what_reads_by_the_piece_is_never_spilled() {
    let env = TestEnv::with_config(SMALL);
    let mut client = Stdio::modern(&env, &[]);
    let id = id(&client.call("text.replace", replaced(60)));
    let done = client.call("result.slice", json!({"result": id, "length": 3000}));
    assert_eq!(done["content"].as_array().unwrap().len(), 1);
    assert_eq!(done["_meta"]["tollgate/result"]["warnings"], json!([]));
    let text = done["content"][0]["text"].as_str().unwrap();
    assert!(!text.contains("mcp_resource_manifest"));
}

#[test]
fn readers_are_named_as_the_client_can_call_them() {
    let env = TestEnv::with_config(&format!("{SMALL}[discovery]\nnames = \"safe\"\n"));
    let mut client = Stdio::modern(&env, &[]);
    let done = client.call("text_replace", replaced(60));
    assert_eq!(
        manifest(&done)["read_with"],
        json!(["result_slice", "result_search"])
    );
}

#[test]
fn a_view_of_a_page_says_where_the_whole_of_it_is() {
    let site = Site::start();
    let env = world(&site);
    let mut client = Stdio::modern(&env, &[]);
    client.call("browser.navigate", json!({"url": site.url("/far")}));
    let seen = client.call("browser.get_page_content", json!({}));
    let text = seen["content"][0]["text"].as_str().unwrap();
    let text: Value = serde_json::from_str(text).unwrap();
    let manifest = &text["mcp_resource_manifest"];
    assert_eq!(
        manifest["read_with"],
        json!(["result.slice", "result.search"]),
        "{text:#}"
    );
    assert_eq!(text["sections"], seen["structuredContent"]["sections"]);
    let search = json!({"result": manifest["result_id"], "query": "Brunhilde"});
    let found = client.call("result.search", search);
    let matches = &found["structuredContent"]["matches"];
    assert_eq!(matches.as_array().unwrap().len(), 1, "{found:#}");
    let link = json!({"uri": seen["content"][1]["uri"]});
    let whole = client.result("resources/read", link);
    let about = &whole["contents"][0]["_meta"];
    assert_eq!(about["tollgate/total_bytes"], manifest["total_bytes"]);
    let total = manifest["total_bytes"].as_u64().unwrap();
    let links = links(&seen);
    let pieces = if total > 65536 {
        total.div_ceil(65536)
    } else {
        0
    };
    assert_eq!(links.len() as u64, 1 + pieces, "{total}");
}
