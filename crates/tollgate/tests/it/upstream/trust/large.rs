//! Large answers of a server: cut where a model reads them, whole where a program does, and
//! readable to their end.

use serde_json::{Value, json};

use super::{Session, answering};
use crate::support::TestEnv;

const LIMIT: usize = 32 << 10;

fn object() -> Value {
    json!({"type": "object"})
}

/// What a client is sent of an answer, as it is configured and asked for.
struct Sent {
    session: Session,
    result: Value,
    /// The state, for as long as something is read.
    _env: TestEnv,
}

fn sent_with(config: &str, schema: Value, result: &Value, meta: Value) -> Sent {
    let mut result = result.clone();
    result["resultType"] = json!("complete");
    let web = answering(schema, result);
    let env = TestEnv::with_config(&format!("{config}{}", web.section("")));
    let mut session = Session::with_tool(&env, "mcp.s.odd");
    let params = json!({"name": "mcp.s.odd", "arguments": {}, "_meta": meta});
    let mut answer = session.ask("tools/call", params);
    let result = answer["result"].take();
    assert!(result.is_object(), "{answer}");
    Sent {
        session,
        result,
        _env: env,
    }
}

fn sent(result: &Value) -> Sent {
    sent_with("", object(), result, json!({}))
}

impl Sent {
    fn blocks(&self, kind: &str) -> Vec<&Value> {
        let blocks = self.result["content"].as_array().unwrap().iter();
        blocks.filter(|block| block["type"] == kind).collect()
    }

    fn texts(&self) -> Vec<&str> {
        let blocks = self.blocks("text").into_iter();
        blocks.map(|it| it["text"].as_str().unwrap()).collect()
    }

    fn manifest(&self) -> Value {
        let texts = self.texts();
        let text = texts.iter().find(|it| it.contains("mcp_resource_manifest"));
        let text = text.unwrap_or_else(|| panic!("{texts:?}"));
        serde_json::from_str::<Value>(text).unwrap()["mcp_resource_manifest"].take()
    }

    fn notice(&self) -> Value {
        serde_json::from_str(self.texts().last().unwrap()).unwrap()
    }

    fn read(&mut self, uri: &Value) -> String {
        let read = self.session.ask("resources/read", json!({"uri": uri}));
        let text = read["result"]["contents"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{read}")).to_owned()
    }

    /// The pieces that are linked, put together.
    fn pieces(&mut self) -> String {
        let links = self.blocks("resource_link").into_iter();
        let links: Vec<Value> = links.skip(1).map(|link| link["uri"].clone()).collect();
        links.iter().map(|uri| self.read(uri)).collect()
    }

    /// The texts are within the limit, and say that they were cut and where the rest is.
    fn is_cut(&self, limit: usize) {
        let texts = self.texts();
        let size: usize = texts.iter().map(|text| text.len()).sum();
        assert!(size <= limit, "{size}");
        assert_eq!(self.notice()["warnings"][0], "truncated_output");
        let report = &self.result["_meta"]["tollgate/result"];
        assert_eq!(report["warnings"][0], "truncated_output", "{report}");
        let manifest = self.manifest();
        let links = self.blocks("resource_link");
        let total = manifest["total_bytes"].as_u64().unwrap();
        let pieces = total.div_ceil(64 << 10);
        let pieces = if pieces > 1 { pieces } else { 0 };
        assert_eq!(links.len() as u64, 1 + pieces, "{manifest}");
        assert_eq!(manifest["resource_count"], links.len());
        assert_eq!(manifest["resources"][0]["uri"], links[0]["uri"]);
        assert_eq!(manifest["read_with"][0], "result_slice");
    }
}

fn text(said: &str) -> Value {
    json!({"type": "text", "text": said})
}

/// A text of lines that differ, of about this size.
fn lines(bytes: usize) -> String {
    let line = |number| format!("Zeile {number}: über die Brücke\n");
    (0..).map(line).take(bytes / 30).collect()
}

#[test]
fn a_long_text_is_cut_and_can_be_read_to_its_end() {
    let said = lines(800_000);
    let mut sent = sent(&json!({"content": [text(&said)]}));
    sent.is_cut(LIMIT);
    let first = sent.texts()[0].to_owned();
    let (kept, note) = first.split_once("… (").unwrap();
    assert!(said.starts_with(kept) && kept.len() > LIMIT / 2, "{note}");
    assert_eq!(note, format!("{} bytes in all)", said.len()));
    let whole: Value = serde_json::from_str(&sent.pieces()).unwrap();
    assert_eq!(whole["content"][0]["text"], said);
}

#[test]
fn texts_within_the_limit_are_sent_as_they_are() {
    let content = json!([text(&"a".repeat(LIMIT / 2)), text(&"b".repeat(LIMIT / 2))]);
    let sent = sent(&json!({"content": content}));
    assert_eq!(
        sent.texts()[..2],
        [&"a".repeat(LIMIT / 2), &"b".repeat(LIMIT / 2)]
    );
    assert!(sent.blocks("resource_link").is_empty());
}

#[test]
fn the_longest_of_several_texts_is_cut_and_all_else_stays() {
    let long =
        json!({"type": "text", "text": lines(100_000), "annotations": {"priority": 1}, "x": 1.50});
    let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    let content = json!([text("short"), long, image, text("the end")]);
    let sent = sent(&json!({"content": content, "theirs": [1]}));
    sent.is_cut(LIMIT);
    let blocks = sent.result["content"].as_array().unwrap();
    assert_eq!(blocks[0], content[0]);
    assert_eq!(blocks[1]["annotations"], long["annotations"]);
    assert_eq!(blocks[1]["x"], 1.5);
    assert_eq!(blocks[2], image);
    assert_eq!(blocks[3], content[3]);
    assert_eq!(sent.result["theirs"], json!([1]));
}

#[test]
fn a_json_text_that_is_cut_is_still_json() {
    let rows: Vec<Value> = (0..3000)
        .map(|number| json!({"id": number, "name": format!("row {number}")}))
        .collect();
    let said = serde_json::to_string_pretty(&json!({"total": 3000, "rows": rows})).unwrap();
    let sent = sent(&json!({"content": [text(&said)]}));
    sent.is_cut(LIMIT);
    let shown: Value = serde_json::from_str(sent.texts()[0]).unwrap();
    assert_eq!(shown["total"], 3000);
    assert_eq!(shown["rows"][0], rows[0]);
    let (last, kept) = shown["rows"].as_array().unwrap().split_last().unwrap();
    assert_eq!(*last, format!("… {} more items", 3000 - kept.len()));
}

#[test]
fn more_blocks_than_fit_are_counted() {
    let content: Vec<Value> = (0..9000).map(|at| text(&format!("block {at}"))).collect();
    let sent = sent(&json!({"content": content}));
    sent.is_cut(LIMIT);
    let texts = sent.texts();
    let kept = texts.iter().filter(|it| it.starts_with("block ")).count();
    assert_eq!(
        texts[..kept],
        (0..kept)
            .map(|at| format!("block {at}"))
            .collect::<Vec<_>>()
    );
    assert_eq!(texts[kept], format!("… {} more text blocks", 9000 - kept));
}

#[test]
fn the_text_of_an_embedded_resource_counts_as_well() {
    let said = lines(100_000);
    let resource = json!({"uri": "test://book", "mimeType": "text/plain", "text": said});
    let content = json!([{"type": "resource", "resource": resource}]);
    let sent = sent(&json!({"content": content}));
    sent.is_cut(LIMIT);
    let shown = &sent.blocks("resource")[0]["resource"];
    assert_eq!(shown["uri"], "mcp://s/test://book");
    assert!(shown["text"].as_str().unwrap().len() < LIMIT);
}

#[test]
fn a_failure_is_cut_too() {
    let result = json!({"content": [text(&lines(100_000))], "isError": true});
    let sent = sent(&result);
    sent.is_cut(LIMIT);
    assert_eq!(sent.result["isError"], true);
}

#[test]
fn whoever_asks_for_the_whole_text_is_sent_it() {
    let said = lines(100_000);
    let whole = json!({"tollgate/call": {"full_text": true}});
    let sent = sent_with("", object(), &json!({"content": [text(&said)]}), whole);
    assert_eq!(sent.texts()[0], said);
    assert!(sent.blocks("resource_link").is_empty());
}

#[test]
fn the_operator_says_how_long_texts_may_be() {
    let limit = "[results]\nnative_text_bytes = 2048\n";
    let said = lines(10_000);
    let sent = sent_with(
        limit,
        object(),
        &json!({"content": [text(&said)]}),
        json!({}),
    );
    sent.is_cut(2048);
    let limit = "[results]\nnative_text_bytes = 131072\n";
    let said = lines(100_000);
    let sent = sent_with(
        limit,
        object(),
        &json!({"content": [text(&said)]}),
        json!({}),
    );
    assert_eq!(sent.texts()[0], said);
}

fn listing(count: usize, least: usize) -> (Value, Value) {
    let schema = json!({
        "type": "object", "required": ["n", "rows"],
        "properties": {
            "n": {"type": "integer"},
            "rows": {"type": "array", "minItems": least, "items": {"type": "string"}},
        },
    });
    let rows: Vec<String> = (0..count)
        .map(|at| format!("this is row number {at:06}"))
        .collect();
    let object = json!({"n": count, "rows": rows});
    let result = json!({"content": [text(&object.to_string())], "structuredContent": object});
    (schema, result)
}

#[test]
fn structured_content_stays_whole_when_the_text_is_cut() {
    let (schema, result) = listing(8000, 0);
    let size = result["structuredContent"].to_string().len();
    assert!((200_000..262_144).contains(&size), "{size}");
    let sent = sent_with("", schema, &result, json!({}));
    sent.is_cut(LIMIT);
    assert_eq!(
        sent.result["structuredContent"],
        result["structuredContent"]
    );
}

#[test]
fn structured_content_beyond_its_limit_is_a_digest_that_fits() {
    let (schema, result) = listing(30_000, 1);
    let mut sent = sent_with("", schema, &result, json!({}));
    sent.is_cut(LIMIT);
    assert_eq!(sent.result["isError"], Value::Null);
    let digest = &sent.result["structuredContent"];
    assert!(digest.to_string().len() <= 262_144);
    assert_eq!(digest["n"], 30_000);
    assert_eq!(digest["rows"][0], result["structuredContent"]["rows"][0]);
    let whole: Value = serde_json::from_str(&sent.pieces()).unwrap();
    assert_eq!(whole["structuredContent"], result["structuredContent"]);
}

#[test]
fn structured_content_of_which_no_part_fits_is_an_error_with_the_link() {
    let (schema, result) = listing(30_000, 30_000);
    for config in ["", "[results]\nform = \"envelope\"\n"] {
        let mut sent = sent_with(config, schema.clone(), &result, json!({}));
        assert_eq!(sent.result["isError"], true, "{config}");
        let error: Value = serde_json::from_str(sent.texts()[0]).unwrap();
        assert_eq!(error["kind"], "result_too_large", "{error}");
        assert_eq!(error["next_steps"][0], "result_slice");
        let uri = &error["details"]["uri"];
        assert_eq!(*uri, sent.blocks("resource_link")[0]["uri"]);
        let size = error["details"]["total_bytes"].as_u64().unwrap();
        assert_eq!(sent.pieces().len() as u64, size);
        assert!(sent.result["structuredContent"]["data"].is_null());
    }
}
