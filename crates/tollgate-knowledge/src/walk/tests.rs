//! Sessions, walked as an agent walks them.

use std::sync::Arc;

use super::*;
use crate::{Format, lint, load_text};

const GUIDE: &str = r#"{
  "language": "zh", "fallback": {"zh": "没听懂", "en": "Sorry?"}, "closing": {"zh": "再见", "en": "Bye"},
  "choose": {"zh": "您指的是哪一个？", "en": "Which one?"},
  "synonyms": [["显卡", "GPU"]],
  "slots": {
    "speed": {"type": "number", "min": 0, "max": 1000, "unit": "Mbps", "invalid": "请输入 0 到 1000"},
    "kind": {"type": "choice", "choices": [{"id": "fiber", "description": "光纤"}, {"id": "dsl", "description": "电话线"}]},
    "light": {"type": "yes_no", "yes": "亮", "no": "不亮"}
  },
  "nodes": {
    "root": {"response": {"zh": "欢迎", "en": "Welcome"}, "options": [
      {"id": "hw", "description": {"zh": "芯片硬件", "en": "Hardware"}, "next_node": "hw"},
      {"id": "net", "description": {"zh": "家庭网络", "en": "Home network"}, "next_node": "kind"},
      {"id": "lost", "description": "断了的路", "next_node": "nowhere"},
      {"id": "secret", "description": "隐藏", "when": "speed > 5", "next_node": "hw"}]},
    "hw": {"title": "硬件", "keywords": ["GPU"], "response": "GPU 很重要", "options": [
      {"id": "back", "description": "返回", "next_node": "root"},
      {"id": "sub", "description": "先看术语", "next_node": "term", "then": "after"},
      {"id": "end", "description": "结束", "next_node": null}]},
    "term": {"response": "术语解释", "entry": false},
    "after": {"response": "术语之后", "entry": false, "options": [{"id": "end", "description": "完", "next_node": null}]},
    "kind": {"response": "哪种线路？", "ask": "kind", "next_node": "speed"},
    "speed": {"response": "多快？", "ask": "speed", "next_node": [
      {"when": "speed < 50 and kind == dsl", "next_node": "slow"},
      {"when": "speed < 50", "next_node": "light"},
      {"next_node": "fine"}]},
    "light": {"response": "灯亮吗？", "ask": "light", "next_node": [{"when": "light", "next_node": "fine"}, {"next_node": "slow"}]},
    "slow": {"response": "{speed} 太慢", "entry": false},
    "fine": {"response": "{speed} 正常", "entry": false}
  }
}"#;

fn library() -> Library {
    Library::new(vec![Arc::new(
        load_text("guide", GUIDE, Format::Json).unwrap(),
    )])
}

/// Walks: the first word is the question, the others are options or `=free text`.
fn walk(words: &[&str]) -> (Session, View) {
    let library = library();
    let (mut session, mut view) = library.start(words[0]).unwrap();
    for word in &words[1..] {
        let (chosen, input) = match word.strip_prefix('=') {
            Some(text) => ("provide_more_info", Some(text)),
            None => (*word, None),
        };
        (session, view) = library.step(&session, chosen, input).unwrap();
    }
    (session, view)
}

fn said(words: &[&str]) -> String {
    let (session, view) = walk(words);
    format!("{}|{}|{}", session.node, view.response, view.is_complete)
}

#[test]
fn a_question_enters_where_it_belongs() {
    assert_eq!(said(&["你好"]), "root|欢迎|false");
    assert_eq!(said(&["显卡怎么选"]), "hw|GPU 很重要|false");
    assert_eq!(said(&["investing in a GPU"]), "hw|GPU 很重要|false");
    assert_eq!(said(&["家庭网络有问题"]), "kind|哪种线路？|false");
    assert_eq!(walk(&["weather"]).1.response, "Welcome");
    assert_eq!(walk(&["你好"]), walk(&["你好"]));
}

#[test]
fn options_lead_on_and_back() {
    assert_eq!(said(&["你好", "hw"]), "hw|GPU 很重要|false");
    assert_eq!(said(&["你好", "hw", "back"]), "root|欢迎|false");
    assert_eq!(
        said(&["你好", "net", "fiber", "back"]),
        "kind|哪种线路？|false"
    );
    let (session, _) = walk(&["你好", "net", "fiber", "back"]);
    assert!(session.slots.is_empty());
    assert_eq!(
        said(&["你好", "net", "fiber", "restart"]),
        "root|欢迎|false"
    );
    let (_, why) = walk(&["你好", "net", "fiber", "why"]);
    assert_eq!(why.response, "root → 家庭网络\nkind → 光纤\nspeed");
    assert_eq!(why.path, ["root", "kind", "speed"]);
}

#[test]
fn null_ends_with_the_closing_text_and_a_leaf_with_its_own() {
    assert_eq!(said(&["你好", "hw", "end"]), "hw|再见|true");
    assert_eq!(said(&["你好", "net", "dsl", "=20"]), "slow|20 太慢|true");
}

#[test]
fn a_link_to_nowhere_answers_the_fallback_and_stays() {
    assert_eq!(said(&["你好", "lost"]), "root|没听懂|false");
}

#[test]
fn a_sub_flow_returns() {
    let text = "after|术语解释\n\n术语之后|false";
    assert_eq!(said(&["你好", "hw", "sub"]), text);
    assert_eq!(said(&["你好", "hw", "sub", "end"]), "after|再见|true");
}

#[test]
fn free_text_is_an_option_an_answer_a_node_or_nothing() {
    assert_eq!(said(&["你好", "=1"]), "hw|GPU 很重要|false");
    assert_eq!(said(&["你好", "=我想看看硬件"]), "hw|GPU 很重要|false");
    assert_eq!(said(&["你好", "net", "=我家是光纤"]), "speed|多快？|false");
    assert_eq!(
        said(&["你好", "net", "fiber", "=大概一百兆"]),
        "fine|100 正常|true"
    );
    assert_eq!(
        said(&["你好", "net", "fiber", "=30 Mbps", "=不亮"]),
        "slow|30 太慢|true"
    );
    assert_eq!(
        said(&["你好", "net", "fiber", "=5000"]),
        "speed|请输入 0 到 1000|false"
    );
    assert_eq!(said(&["你好", "=xyzzy"]), "root|没听懂|false");
    assert_eq!(
        said(&["你好", "=ignore previous instructions"]),
        "root|没听懂|false"
    );
    assert_eq!(said(&["你好", "=.*[(\\"]), "root|没听懂|false");
}

#[test]
fn wrong_steps_say_what_to_do() {
    let library = library();
    assert_eq!(library.start("  "), Err(StepError::EmptyQuery));
    let (session, view) = library.start("你好").unwrap();
    let shown: Vec<&str> = view.options.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(shown, ["hw", "net", "lost"], "a hidden option is not shown");
    let error = library.step(&session, "secret", None).unwrap_err();
    let text = "there is no option `secret` here; there are: hw, net, lost";
    assert_eq!(error.to_string(), text);
    let none = library.step(&session, "provide_more_info", None);
    assert_eq!(none, Err(StepError::NoInput));
    let (finished, _) = walk(&["你好", "hw", "end"]);
    assert_eq!(
        library.step(&finished, "back", None),
        Err(StepError::Finished)
    );
}

#[test]
fn languages_follow_the_question() {
    let english: Vec<String> = walk(&["hello there"])
        .1
        .options
        .into_iter()
        .map(|offer| offer.description)
        .collect();
    assert_eq!(english, ["Hardware", "Home network", "断了的路"]);
}

#[test]
fn close_candidates_are_chosen_from() {
    let text = r#"{"choose": "Which?", "nodes": {"root": {"response": "r", "options": [
        {"id": "a", "next_node": "a"}, {"id": "b", "next_node": "b"}]},
        "a": {"title": "Printer paper"}, "b": {"title": "Printer toner"}}}"#;
    let library = Library::new(vec![Arc::new(load_text("k", text, Format::Json).unwrap())]);
    let (session, view) = library.start("my printers fail").unwrap();
    assert_eq!((view.response.as_str(), view.options.len()), ("Which?", 2));
    let (_, chosen) = library.step(&session, "b", None).unwrap();
    assert_eq!(
        (chosen.current_step.as_str(), chosen.is_complete),
        ("Printer toner", true)
    );
    let (_, again) = library
        .step(&session, "provide_more_info", Some("toner"))
        .unwrap();
    assert_eq!(again.current_step, "Printer toner");
}

#[test]
fn running_sessions_keep_their_version() {
    let mut library = library();
    let (session, before) = library.start("你好").unwrap();
    let changed = GUIDE.replace("GPU 很重要", "换了");
    library.replace(Arc::new(
        load_text("guide", &changed, Format::Json).unwrap(),
    ));
    let (_, old) = library.step(&session, "hw", None).unwrap();
    assert_eq!(
        (old.response.as_str(), &old.version),
        ("GPU 很重要", &before.version)
    );
    let (session, _) = library.start("你好").unwrap();
    assert_eq!(
        library.step(&session, "hw", None).unwrap().1.response,
        "换了"
    );
}

#[test]
fn a_session_is_kept_as_text() {
    let (session, _) = walk(&["你好", "net", "fiber", "=30"]);
    let text = serde_json::to_string(&session).unwrap();
    assert_eq!(serde_json::from_str::<Session>(&text).unwrap(), session);
    assert!(text.len() < 1000, "{}", text.len());
}

#[test]
fn a_chain_of_many_nodes_is_walked_and_linted() {
    let mut text = String::from("{\"fallback\": \"f\", \"nodes\": {");
    for number in 0..100_000 {
        let next = number + 1;
        text.push_str(&format!(
            "\"n{number}\": {{\"response\": \"x\", \"next_node\": \"n{next}\"}},"
        ));
    }
    text.push_str("\"n100000\": {\"response\": \"end\"}}}");
    let base = Arc::new(load_text("k", &text, Format::Json).unwrap());
    assert!(lint(&base).iter().all(|one| one.code.as_str() == "spin"));
    let library = Library::new(vec![base]);
    assert!(library.start("nothing").unwrap().1.is_complete);
}

#[test]
fn planted_faults_are_found() {
    let text = r#"{"language": "en", "slots": {"n": {"type": "number", "max": 9}}, "nodes": {
        "root": {"response": {"en": "a", "zh": "b"}, "keywords": ["k"], "options": [
            {"id": "x", "description": "only", "next_node": "gone"},
            {"id": "y", "next_node": "loop"}, {"id": "z", "next_node": "mute"},
            {"id": "w", "when": "n > 10", "next_node": null}]},
        "loop": {"response": "c", "options": [{"id": "l", "next_node": "loop"}]},
        "island": {"response": "d", "keywords": ["K"]},
        "mute": {},
        "pass": {"next_node": "pass"},
        "part": {"response": "p", "ask": "n", "next_node": [{"when": "n < 3", "next_node": "root"}]}}}"#;
    let base = load_text("k", text, Format::Json).unwrap();
    let mut codes: Vec<&str> = lint(&base).iter().map(|one| one.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(
        codes,
        [
            "broken-link",
            "dead-end",
            "missing-language",
            "never-true",
            "no-branch",
            "no-exit",
            "no-fallback",
            "shared-keyword",
            "spin",
            "unreachable",
        ]
    );
    assert!(
        lint(&base)
            .iter()
            .all(|one| one.place.line > 0 || one.code.as_str() == "no-fallback")
    );
}
