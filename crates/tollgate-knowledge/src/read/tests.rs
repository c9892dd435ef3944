//! What is read, and where the complaint points when something is not.

use super::*;
use crate::{Base, Limits, load, load_text};

fn faults(text: &str, format: Format) -> String {
    match load_text("k", text, format) {
        Ok(base) => format!("{} node(s)", base.node_count()),
        Err(problems) => problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn json(text: &str) -> String {
    faults(text, Format::Json)
}

#[test]
fn json_has_comments_and_trailing_commas() {
    let text =
        "// one\n{ /* two */ \"nodes\": { \"root\": {\"response\": \"hi\",},\n  // more\n } }";
    assert_eq!(json(text), "1 node(s)");
}

#[test]
fn faults_have_line_and_column() {
    for (text, wanted) in [
        (
            "{\"nodes\":\n  {\"root\" {}}}",
            "k:2:11: error[syntax]: expected `:`, found `{`",
        ),
        (
            "{\"nodes\": {\"root\": {\"respose\": \"x\"}}}",
            "k:1:21: error[unknown-field]: there is no field `respose` here; did you mean `response`?",
        ),
        (
            "{\"nodes\": {\"r\": {}, \"r\": {}}}",
            "k:1:21: error[duplicate]: the node `r` stands twice",
        ),
        (
            "{\"nodes\": {\"r\": {\"response\": \"a\", \"response\": \"b\"}}}",
            "k:1:35: error[duplicate]: `response` stands here twice",
        ),
        (
            "{\"nodes\": {\"r\": {\"options\": [{\"description\": \"x\"}]}}}",
            "k:1:30: error[field]: an option needs an `id`",
        ),
        ("{\"nodes\": {}}", "k: error[no-root]: there are no nodes"),
        (
            "{\"root\": \"x\", \"nodes\": {\"r\": {}}}",
            "k:1:10: error[no-root]: there is no node `x` to begin with",
        ),
        (
            "",
            "k:1:1: error[syntax]: expected `{`, found the end of the file",
        ),
    ] {
        assert_eq!(json(text), wanted, "{text}");
    }
}

#[test]
fn a_wrong_condition_is_pointed_at() {
    let with = |when: &str| {
        format!(
            "slots:\n  speed: {{type: number}}\nnodes:\n  root:\n    response: a\n    options:\n      - id: a\n        when: {when}\n"
        )
    };
    for (when, wanted) in [
        ("speed < 5", "1 node(s)"),
        (
            "speed < 5 and (not speed == 3 or known(speed))",
            "1 node(s)",
        ),
        (
            "sped < 5",
            "k:8:15: error[condition]: there is no slot `sped`; there are: speed",
        ),
        (
            "speed < fast",
            "k:8:15: error[condition]: `fast` is neither a number nor a slot",
        ),
        ("speed <", "k:8:15: error[condition]: a value is missing"),
        (
            "speed",
            "k:8:15: error[condition]: `speed` needs a comparison such as == …",
        ),
        (
            "visited(x)",
            "k:8:15: error[condition]: there is no node `x`",
        ),
    ] {
        assert_eq!(faults(&with(when), Format::Yaml), wanted, "{when}");
    }
}

#[test]
fn nothing_grows_or_goes_too_deep() {
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nnodes: {}\n";
    assert!(
        faults(bomb, Format::Yaml).contains("limit"),
        "{}",
        faults(bomb, Format::Yaml)
    );
    let bomb = "<!DOCTYPE k [<!ENTITY a \"aa\">]><k/>";
    assert!(
        faults(bomb, Format::Xml).contains("limit"),
        "{}",
        faults(bomb, Format::Xml)
    );
    let deep = format!("{{\"nodes\": {{\"r\": {}", "[".repeat(1_000_000));
    assert!(json(&deep).contains("limit"), "{}", json(&deep));
    let deep = format!("nodes:\n  r: {}", "[".repeat(100_000));
    assert!(faults(&deep, Format::Yaml).contains("error"));
    let deep = format!("<k>{}", "<a>".repeat(100_000));
    assert!(faults(&deep, Format::Xml).contains("limit"));
}

#[test]
fn three_formats_say_the_same() {
    let json = r#"{"title": "T", "slots": {"n": {"type": "number", "max": 9}},
        "nodes": {"root": {"response": {"zh": "你好", "en": "Hello"}, "keywords": ["a", "b"],
        "options": [{"id": "go", "description": "Go", "next_node": "end", "when": "n < 5"}]},
        "end": {"response": "Bye"}}}"#;
    let yaml = "title: T\nslots: {n: {type: number, max: 9}}\nnodes:\n  root:\n    response: {zh: 你好, en: Hello}\n    keywords: a, b\n    options:\n      - {id: go, description: Go, next_node: end, when: n < 5}\n  end: {response: Bye}\n";
    let xml = r#"<?xml version="1.0"?><knowledge title="T"><slot name="n" type="number" max="9"/>
        <node id="root"><response lang="zh">你好</response><response lang="en">Hello</response>
        <keyword>a</keyword><keyword>b</keyword>
        <option id="go" next_node="end" when="n &lt; 5">Go</option></node>
        <node id="end"><response>Bye</response></node></knowledge>"#;
    let shown = |base: &Base| {
        let root = base.at(base.root);
        let choice = &base.choices(root)[0];
        format!(
            "{} {} {:?} {} {} {:?}",
            base.title(""),
            base.say(root.response, "en"),
            base.keywords(root.words()).collect::<Vec<_>>(),
            base.text(choice.id),
            base.say(choice.description, "zh"),
            choice.when(),
        )
    };
    let shown: Vec<String> = [
        (json, Format::Json),
        (yaml, Format::Yaml),
        (xml, Format::Xml),
    ]
    .into_iter()
    .map(|(text, format)| shown(&load_text("k", text, format).unwrap()))
    .collect();
    assert!(shown[0].contains("Hello"), "{}", shown[0]);
    assert_eq!(shown[0], shown[1]);
    assert_eq!(shown[0], shown[2]);
}

#[test]
fn other_encodings_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.json");
    for (bytes, wanted) in [
        (b"\xff\xfe{\0}\0".to_vec(), "k.json:1:1: error[encoding]"),
        (
            b"{\n \"a\": \"\xc4\xe3\"}".to_vec(),
            "k.json:2:8: error[encoding]",
        ),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let problems = load(&path, Limits::default()).0.unwrap_err();
        assert!(problems[0].to_string().contains(wanted), "{}", problems[0]);
    }
}

#[test]
fn folders_and_includes_make_one_base() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "a.json",
        r#"{"nodes": {"root": {"response": "r", "next_node": "x"}}}"#,
    );
    write("b.yaml", "nodes: {x: {response: x}}");
    write("talk.test.yaml", "not: [read");
    let (base, stamp) = load(folder.path(), Limits::default());
    let base = base.unwrap();
    assert_eq!((base.node_count(), stamp.is_current()), (2, true));
    write("c.yaml", "nodes: {y: {response: y}}");
    assert!(!stamp.is_current());
    write("a.json", r#"{"include": ["../outside.json"], "nodes": {}}"#);
    let problems = load(&folder.path().join("a.json"), Limits::default())
        .0
        .unwrap_err();
    assert!(
        problems[0].to_string().contains("error[include]"),
        "{}",
        problems[0]
    );
    write(
        "a.json",
        r#"{"include": "b.yaml", "nodes": {"root": {"next_node": "x"}}}"#,
    );
    let base = load(&folder.path().join("a.json"), Limits::default())
        .0
        .unwrap();
    assert_eq!(base.node_count(), 2);
    let small = Limits {
        file_bytes: 5,
        ..Limits::default()
    };
    assert!(load(folder.path(), small).0.is_err());
}

/// Everything a file can say, in each format: the same base comes out.
#[test]
fn every_format_can_say_everything() {
    let json = r#"{
      "title": {"en": "Net", "zh": "网络"}, "language": "en", "fallback": {"en": "Sorry?", "zh": "没听懂"}, "closing": "Bye",
      "synonyms": [["router", "box"]],
      "slots": {
        "speed": {"type": "number", "min": 1, "max": 1000, "unit": "Mbps", "units": {"Gbps": 1000}, "invalid": "No"},
        "line": {"type": "choice", "choices": [{"id": "dsl", "description": "Phone"}, {"id": "fiber", "keywords": ["glass"]}]},
        "light": {"type": "yes_no", "yes": "Green", "no": "Red", "yes_words": ["lit"], "no_words": ["dark"]},
        "day": {"type": "date", "min": "2026-01-01"}},
      "nodes": {
        "root": {"title": "Start", "response": {"en": "Hello", "zh": "你好"}, "keywords": ["begin"], "options": [
          {"id": "slow", "description": {"en": "Slow", "zh": "慢"}, "keywords": ["lag"], "set": {"line": "dsl"}, "next_node": "speed"},
          {"id": "sub", "description": "Words first", "next_node": "word", "then": "speed"},
          {"id": "end", "description": "Nothing", "when": "not visited(speed)", "next_node": null}]},
        "word": {"response": "A word", "entry": false},
        "speed": {"response": "How fast?", "ask": "speed", "fallback": "A number", "next_node": [
          {"when": "speed < 50 and line == dsl", "next_node": "light"}, {"next_node": null}]},
        "light": {"response": "Is it lit?", "ask": "light", "next_node": "day"},
        "day": {"response": "Since when?", "ask": "day"}}}"#;
    let yaml = r#"
title: {en: Net, zh: 网络}
language: en
fallback: {en: Sorry?, zh: 没听懂}
closing: Bye
synonyms: [[router, box]]
slots:
  speed: {type: number, min: 1, max: 1000, unit: Mbps, units: {Gbps: 1000}, invalid: "No"}
  line: {type: choice, choices: [{id: dsl, description: Phone}, {id: fiber, keywords: [glass]}]}
  light: {type: yes_no, "yes": Green, "no": Red, yes_words: [lit], no_words: [dark]}
  day: {type: date, min: "2026-01-01"}
nodes:
  root:
    title: Start
    response: {en: Hello, zh: 你好}
    keywords: [begin]
    options:
      - {id: slow, description: {en: Slow, zh: 慢}, keywords: [lag], set: {line: dsl}, next_node: speed}
      - {id: sub, description: Words first, next_node: word, then: speed}
      - {id: end, description: Nothing, when: not visited(speed), next_node: null}
  word: {response: A word, entry: false}
  speed:
    response: How fast?
    ask: speed
    fallback: A number
    next_node:
      - {when: speed < 50 and line == dsl, next_node: light}
      - {next_node: null}
  light: {response: Is it lit?, ask: light, next_node: day}
  day: {response: Since when?, ask: day}
"#;
    let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
<knowledge language="en" closing="Bye">
  <title lang="en">Net</title><title lang="zh">网络</title>
  <fallback lang="en">Sorry?</fallback><fallback lang="zh">没听懂</fallback>
  <synonym>router, box</synonym>
  <slot name="speed" type="number" min="1" max="1000"><unit name="Mbps">1</unit><unit name="Gbps">1000</unit><invalid>No</invalid></slot>
  <slot name="line" type="choice"><choice id="dsl">Phone</choice><choice id="fiber"><keyword>glass</keyword></choice></slot>
  <slot name="light" type="yes_no" yes="Green" no="Red"><yes_word>lit</yes_word><no_word>dark</no_word></slot>
  <slot name="day" type="date" min="2026-01-01"/>
  <node id="root" title="Start"><response lang="en">Hello</response><response lang="zh">你好</response><keyword>begin</keyword>
    <option id="slow" next_node="speed"><description lang="en">Slow</description><description lang="zh">慢</description>
      <keyword>lag</keyword><set slot="line">dsl</set></option>
    <option id="sub" next_node="word" then="speed">Words first</option>
    <option id="end" next_node="" when="not visited(speed)">Nothing</option></node>
  <node id="word" entry="false"><response>A word</response></node>
  <node id="speed" ask="speed"><response>How fast?</response><fallback>A number</fallback>
    <branch when="speed &lt; 50 and line == dsl" next_node="light"/><branch next_node=""/></node>
  <node id="light" ask="light" next_node="day"><response>Is it lit?</response></node>
  <node id="day" ask="day"><response>Since when?</response></node>
</knowledge>"#;
    let shown = |text: &str, format: Format| {
        let base = load_text("k", text, format).unwrap_or_else(|problems| {
            panic!("{format:?}: {}", problems[0]);
        });
        let nodes: Vec<_> = base.node_ids().map(|id| base.describe_node(id)).collect();
        let mut whole = base.describe();
        whole["version"] = serde_json::Value::Null;
        let slots: Vec<String> = base
            .slots
            .iter()
            .map(|slot| format!("{:?}", kind(&base, slot)))
            .collect();
        (
            whole,
            nodes,
            slots,
            base.synonyms.clone(),
            base.say(base.sentences.fallback, "zh").to_owned(),
        )
    };
    let wanted = shown(json, Format::Json);
    assert_eq!(wanted, shown(yaml, Format::Yaml));
    assert_eq!(wanted, shown(xml, Format::Xml));
}

/// What a slot accepts and says, without where its texts lie.
fn kind(base: &Base, slot: &crate::base::Slot) -> Vec<String> {
    use crate::base::SlotKind;
    let say = |phrase| base.say(phrase, "en").to_owned();
    let mut said = vec![slot.name.clone(), say(slot.invalid), say(slot.description)];
    match &slot.kind {
        SlotKind::Text { max } => said.push(max.to_string()),
        SlotKind::Number { min, max, units } => said.push(format!("{min:?} {max:?} {units:?}")),
        SlotKind::Choice(picks) => {
            for pick in picks {
                let words: Vec<&str> = base.keywords(&pick.keywords).collect();
                said.push(format!("{} {} {words:?}", pick.id, say(pick.description)));
            }
        }
        SlotKind::Date { min, max } => said.push(format!("{min:?} {max:?}")),
        SlotKind::YesNo {
            yes,
            no,
            yes_words,
            no_words,
        } => {
            said.push(format!(
                "{} {} {yes_words:?} {no_words:?}",
                say(*yes),
                say(*no)
            ));
        }
    }
    said
}

#[test]
fn xml_names_everything_at_the_top() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "k.xml",
        r#"<knowledge root="begin" language="en">
          <choose xml:lang="en">Which?</choose><choose xml:lang="zh">哪个？</choose>
          <offer><back>Go back</back><why xml:lang="en">Why</why></offer>
          <keyword>lamp</keyword><keyword>light</keyword>
          <include>more.xml</include><include>most.xml</include>
          <node id="begin" next_node="more"><response xml:lang="zh">你好</response></node>
        </knowledge>"#,
    );
    write(
        "more.xml",
        r#"<k><node id="more" next_node="most"><response>More</response></node></k>"#,
    );
    write(
        "most.xml",
        r#"<k><node id="most"><response>Most</response></node></k>"#,
    );
    let base = load(&folder.path().join("k.xml"), Limits::default())
        .0
        .unwrap();
    assert_eq!(base.id_of(base.root), "begin");
    assert_eq!(base.node_count(), 3);
    let said = |phrase| ["en", "zh"].map(|language| base.say(phrase, language));
    assert_eq!(said(base.sentences.choose), ["Which?", "哪个？"]);
    assert_eq!(said(base.sentences.offer[0]), ["Go back"; 2]);
    assert_eq!(said(base.sentences.offer[2]), ["Why"; 2]);
    assert_eq!(said(base.at(base.root).response), ["你好"; 2]);
    let words: Vec<&str> = base.keywords(&base.keywords).collect();
    assert_eq!(words, ["lamp", "light"]);
}

#[test]
fn a_mark_of_byte_order_is_no_text() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "k.json",
            "\u{feff}{\"title\": \"T\", \"nodes\": {\"root\": {\"response\": \"Hi\"}}}",
        ),
        (
            "k.yaml",
            "\u{feff}title: T\nnodes: {root: {response: Hi}}\n",
        ),
        (
            "k.xml",
            "\u{feff}<knowledge title=\"T\"><node id=\"root\"><response>Hi</response></node></knowledge>",
        ),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let (base, _) = load(&path, Limits::default());
        assert_eq!(base.unwrap().title(""), "T", "{name}");
    }
    let sheet = "\u{feff}node,response,option,next\nroot,Hi,Go,end\nend,Bye,,\n";
    let draft = crate::import(
        "flow.csv",
        sheet.as_bytes().to_vec(),
        crate::ImportFormat::Csv,
    );
    assert!(draft.is_ok(), "{:?}", draft.err());
}

/// Every text of this file stands once, so it can be looked for.
#[test]
fn places_in_json_are_those_of_the_bytes() {
    let text = "// 注释, first\n{\"键一\": \"值é\", /* 多\n行 \"x\" 注 */ \"b\\n2\": [\"三\\u4e00\", \"四😀\",\r\n\t\"five\" # 末 \"y\"\n, {\"六\": \"a longer text, 长长的文字 “引”\", \"seven\":\"八\"}], \"nine\": null}";
    let found = fields("k.json", text, Format::Json).unwrap();
    let mut places = Vec::new();
    for field in &found {
        places_of(field, &mut places);
    }
    let written: Vec<(&str, Place)> = [
        "键一",
        "值é",
        "b\\n2",
        "三\\u4e00",
        "四😀",
        "five",
        "六",
        "a longer",
        "seven",
        "八",
        "nine",
    ]
    .into_iter()
    .map(|one| (one, place_at(text, text.find(&format!("\"{one}")).unwrap())))
    .collect();
    let wanted: Vec<Place> = written.iter().map(|one| one.1).collect();
    assert_eq!(places, wanted, "{written:?}");
}

/// The places of names and texts, in the order of the file.
fn places_of(field: &Field<'_>, places: &mut Vec<Place>) {
    places.push(field.place);
    places_in(&field.value, places);
}

fn places_in(item: &Item<'_>, places: &mut Vec<Place>) {
    match &item.kind {
        Kind::Text(_) => places.push(item.place),
        Kind::List(items) => items.iter().for_each(|item| places_in(item, places)),
        Kind::Map(fields) => fields.iter().for_each(|field| places_of(field, places)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
    }
}
