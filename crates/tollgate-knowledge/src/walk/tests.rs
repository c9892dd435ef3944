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

pub(super) fn of(bases: &[(&str, &str)]) -> Library {
    let load = |(id, text): &(&str, &str)| Arc::new(load_text(id, text, Format::Json).unwrap());
    Library::new(bases.iter().map(load).collect())
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
    let (_, view) = walk(&["你好", "lost"]);
    let told = view.warning.as_deref();
    assert_eq!(
        told,
        Some("`lost` of `root` leads to a node that does not exist")
    );
    let ids: Vec<&str> = view.options.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(ids, ["hw", "net"], "only options that work");
    assert_eq!(walk(&["你好", "lost", "hw"]).1.warning, None);
}

#[test]
fn a_node_that_leads_on_to_nowhere_says_so_and_ends() {
    let text = r#"{"nodes": {"root": {"response": "您好", "next_node": "x"}}}"#;
    let (_, view) = of(&[("one", text)]).start("anything").unwrap();
    assert_eq!(view.response, "您好\n\n后面还没有内容。");
    assert!(view.is_complete && view.warning.is_some(), "{view:?}");
}

#[test]
fn where_nothing_works_there_is_a_way_back() {
    let text = r#"{"nodes": {"root": {"response": "Here", "options": [{"id": "on", "next_node": "two"}]},
      "two": {"response": "There", "options": [{"id": "lost", "description": "On", "next_node": "x"}]}}}"#;
    let library = of(&[("one", text)]);
    let (session, _) = library.start("anything").unwrap();
    let (session, _) = library.step(&session, "on", None).unwrap();
    let (session, view) = library.step(&session, "lost", None).unwrap();
    let ids: Vec<&str> = view.options.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(ids, ["back", "restart"]);
    assert_eq!(
        view.response,
        "There is nothing behind “On” yet. Please choose another option."
    );
    let (back, _) = library.step(&session, "back", None).unwrap();
    assert_eq!(back.node, "root");
}

#[test]
fn a_link_to_nowhere_without_a_sentence_for_it_says_so() {
    let text = r#"{"nodes": {"root": {"response": "Here", "options": [{"id": "lost", "next_node": "x"}]}}}"#;
    let library = of(&[("one", text)]);
    let (session, _) = library.start("anything").unwrap();
    let (after, view) = library.step(&session, "lost", None).unwrap();
    assert_eq!(
        (after.node.as_str(), view.response.as_str()),
        (
            "root",
            "There is nothing behind “lost” yet. Please choose another option."
        )
    );
}

#[test]
fn nodes_that_are_passed_stand_in_the_path_and_back_goes_over_them() {
    let text = r#"{"offer": {"back": "Back"}, "nodes": {
      "root": {"response": "A?", "options": [{"id": "go", "next_node": "one"}]},
      "one": {"response": "One.", "next_node": "two"},
      "two": {"response": "Two.", "next_node": "three"},
      "three": {"response": "B?", "options": [
        {"id": "seen", "when": "visited(one) and visited(two)", "next_node": null},
        {"id": "unseen", "when": "not visited(one)", "next_node": null}]}}}"#;
    let library = of(&[("one", text)]);
    let (session, _) = library.start("anything").unwrap();
    let (at_three, view) = library.step(&session, "go", None).unwrap();
    assert_eq!(view.response, "One.\n\nTwo.\n\nB?");
    assert_eq!(view.path, ["root", "one", "two", "three"]);
    let ids: Vec<&str> = view.options.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(ids, ["seen", "back"]);
    let (_, why) = library.step(&at_three, "why", None).unwrap();
    assert_eq!(why.response, "root → go\none\ntwo\nthree");
    let (back, view) = library.step(&at_three, "back", None).unwrap();
    assert_eq!(
        (back.node.as_str(), view.path),
        ("root", vec!["root".to_owned()])
    );
    let (_, end) = library.step(&at_three, "seen", None).unwrap();
    assert_eq!(end.path, ["root", "one", "two", "three"]);
    assert!(end.is_complete);
}

#[test]
fn a_choice_among_several_understands_numbers_names_and_the_words_that_always_work() {
    let base = |title: &str, word: &str| {
        format!(
            r#"{{"title": "{title}", "choose": "Which one?", "nodes": {{
              "root": {{"response": "{title} begins", "options": [{{"id": "go", "next_node": "part"}}]}},
              "part": {{"title": "{title} printers", "keywords": ["printer {word}"], "response": "About {title}",
                        "options": [{{"id": "end", "next_node": null}}]}}}}}}"#
        )
    };
    let (ink, laser) = (base("Ink", "paper"), base("Laser", "paper"));
    let library = of(&[("ink", &ink), ("laser", &laser)]);
    let (session, view) = library.start("printer paper").unwrap();
    assert_eq!(view.matched, Some(Matched::Several));
    let ids: Vec<&str> = view.options.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(ids, ["ink.part", "laser.part"]);
    let more = |words: &str| {
        let (after, view) = library
            .step(&session, "provide_more_info", Some(words))
            .unwrap();
        (after.base, view.response)
    };
    let about = |base: &str, title: &str| (base.to_owned(), format!("About {title}"));
    assert_eq!(more("2"), about("laser", "Laser"));
    assert_eq!(more("第二个"), about("laser", "Laser"));
    assert_eq!(more("Option 1"), about("ink", "Ink"));
    assert_eq!(more("laser printers"), about("laser", "Laser"));
    assert_eq!(more("laser.part"), about("laser", "Laser"));
    for word in ["back", "restart", "why"] {
        let (same, again) = library.step(&session, word, None).unwrap();
        assert_eq!(
            (same, again.options),
            (session.clone(), view.options.clone())
        );
    }
    let wrong = library.step(&session, "part", None).unwrap_err();
    assert!(
        wrong.to_string().contains("ink.part, laser.part"),
        "{wrong}"
    );
    let (chosen, _) = library.step(&session, " laser.part ", None).unwrap();
    let (again, view_again) = library.step(&chosen, "back", None).unwrap();
    assert_eq!(again.candidates, session.candidates);
    assert_eq!(view_again.options, view.options);
    assert_eq!(view_again.response, "Which one?");
}

#[test]
fn a_choice_among_several_keeps_the_version_it_was_asked_in() {
    let text = |said: &str| {
        format!(
            r#"{{"choose": "Which?", "nodes": {{"root": {{"response": "Hi"}},
              "a": {{"keywords": ["lamp"], "response": "{said} a"}}, "b": {{"keywords": ["lamp"], "response": "{said} b"}},
              "c": {{"keywords": ["wall"], "response": "{said} c"}}}}}}"#
        )
    };
    let mut library = of(&[("one", &text("Old"))]);
    let (session, view) = library.start("lamp").unwrap();
    assert_eq!(view.matched, Some(Matched::Several));
    library.replace(Arc::new(
        load_text("one", &text("New"), Format::Json).unwrap(),
    ));
    let (_, old) = library.step(&session, "a", None).unwrap();
    assert_eq!(old.response, "Old a");
    // Words that are none of the candidates are looked for in that version too.
    let (_, old) = library
        .step(&session, "provide_more_info", Some("wall"))
        .unwrap();
    assert_eq!(old.response, "Old c");
    let (fresh, _) = library.start("lamp").unwrap();
    let (_, new) = library.step(&fresh, "a", None).unwrap();
    assert_eq!(new.response, "New a");
    let gone = r#"{"nodes": {"root": {"response": "Hi"}}}"#;
    let other = of(&[("one", gone)]);
    assert_eq!(
        other.step(&session, "a", None),
        Err(StepError::Gone("one".to_owned()))
    );
}

#[test]
fn an_answer_can_be_said_by_its_number_or_id_whatever_its_case() {
    let text = r#"{"slots": {"line": {"type": "choice", "choices": [{"id": "DSL", "description": "Phone line"}, {"id": "Fiber"}]},
        "light": {"type": "yes_no", "yes": "Green", "no": "Red"}},
      "nodes": {"root": {"response": "Line?", "ask": "line", "next_node": "light"},
        "light": {"response": "Light?", "ask": "light", "next_node": [{"when": "light", "next_node": "on"}, {"next_node": "off"}]},
        "on": {"response": "{line} on"}, "off": {"response": "{line} off"}}}"#;
    let library = of(&[("one", text)]);
    let (start, _) = library.start("hello").unwrap();
    let step = |session: &Session, chosen: &str, words: Option<&str>| {
        library.step(session, chosen, words).unwrap()
    };
    for (chosen, words, value) in [
        ("DSL", None, "DSL"),
        ("Fiber", None, "Fiber"),
        ("provide_more_info", Some("1"), "DSL"),
        ("provide_more_info", Some("第2个"), "Fiber"),
        ("provide_more_info", Some("dsl"), "DSL"),
        ("provide_more_info", Some("a phone line"), "DSL"),
    ] {
        let (session, _) = step(&start, chosen, words);
        assert_eq!(
            session.slots["line"],
            crate::Value::Text(value.to_owned()),
            "{chosen} {words:?}"
        );
    }
    let (session, _) = step(&start, "DSL", None);
    let said = |words: &str| step(&session, "provide_more_info", Some(words)).1.response;
    assert_eq!(said("1"), "Phone line on");
    assert_eq!(said("2"), "Phone line off");
    let (_, lost) = step(&session, "provide_more_info", Some("3"));
    assert_eq!(lost.matched, Some(Matched::Nothing));
}

#[test]
fn a_number_that_is_asked_for_is_no_place_in_a_list() {
    let (session, _) = walk(&["你好", "net", "fiber", "=1"]);
    assert_eq!(session.slots["speed"], crate::Value::Number(1.0));
}

#[test]
fn words_open_no_way_that_a_condition_closes() {
    let text = r#"{"fallback": "Sorry?", "slots": {"age": {"type": "number"}},
      "nodes": {"root": {"response": "Hi", "options": [
          {"id": "age", "description": "Tell my age", "next_node": "age"},
          {"id": "bar", "description": "Drinks", "when": "age >= 18", "next_node": "bar"}]},
        "age": {"response": "How old?", "ask": "age", "next_node": "root"},
        "bar": {"response": "Whisky it is", "title": "Whisky", "keywords": ["whisky"]}}}"#;
    let library = of(&[("one", text)]);
    let (session, _) = library.start("hello").unwrap();
    let (same, view) = library
        .step(&session, "provide_more_info", Some("whisky please"))
        .unwrap();
    assert_eq!(
        (same.node.as_str(), view.response.as_str()),
        ("root", "Sorry?")
    );
    let (asked, _) = library.step(&session, "age", None).unwrap();
    let (grown, _) = library
        .step(&asked, "provide_more_info", Some("30"))
        .unwrap();
    let (_, view) = library
        .step(&grown, "provide_more_info", Some("whisky please"))
        .unwrap();
    assert_eq!(view.response, "Whisky it is");
}

#[test]
fn a_sub_flow_that_asks_can_be_walked_left_and_taken_back() {
    let text = r#"{"closing": "Bye", "slots": {"n": {"type": "number"}}, "nodes": {
      "root": {"response": "Start", "options": [{"id": "sub", "next_node": "ask", "then": "after"}]},
      "ask": {"response": "How many?", "ask": "n", "next_node": "deep"},
      "deep": {"response": "{n} noted", "options": [
        {"id": "done", "next_node": null}, {"id": "more", "next_node": "ask", "then": "deep"}]},
      "after": {"response": "After {n}", "options": [{"id": "end", "next_node": null}]}}}"#;
    let library = of(&[("one", text)]);
    let go = |words: &[&str]| {
        let (mut session, mut view) = library.start("hello").unwrap();
        for word in words {
            let (chosen, input) = match word.strip_prefix('=') {
                Some(text) => ("provide_more_info", Some(text)),
                None => (*word, None),
            };
            (session, view) = library.step(&session, chosen, input).unwrap();
        }
        (session, view)
    };
    assert_eq!(go(&["sub", "=3"]).1.response, "3 noted");
    assert_eq!(go(&["sub", "=3", "done"]).1.response, "After 3");
    let (back, _) = go(&["sub", "=3", "back"]);
    assert_eq!(
        (back.node.as_str(), back.returns),
        ("ask", vec!["after".to_owned()])
    );
    assert!(back.slots.is_empty());
    let (outside, _) = go(&["sub", "back"]);
    assert_eq!((outside.node.as_str(), outside.returns.len()), ("root", 0));
    let inner = ["sub", "=3", "more", "=4", "done", "done"];
    assert_eq!(go(&inner).1.response, "After 4");
    let (_, over) = go(&["sub", "=3", "done", "end"]);
    assert_eq!((over.response.as_str(), over.is_complete), ("Bye", true));
}

#[test]
fn options_set_answers_and_a_node_has_its_own_sentence_for_what_it_misses() {
    let text = r#"{"fallback": "Sorry?", "slots": {"kind": {"type": "choice", "choices": [{"id": "old"}, {"id": "new"}]}},
      "nodes": {"root": {"response": "Which?", "fallback": "Old or new, please.", "options": [
          {"id": "mine", "description": "My vintage one", "set": {"kind": "old"}, "next_node": "told"}]},
        "told": {"response": "It is {kind}", "options": [
          {"id": "known", "when": "known(kind)", "next_node": null},
          {"id": "unknown", "when": "not known(kind)", "next_node": null}]}}}"#;
    let library = of(&[("one", text)]);
    let (session, _) = library.start("hello").unwrap();
    let (_, missed) = library
        .step(&session, "provide_more_info", Some("zebra"))
        .unwrap();
    assert_eq!(missed.response, "Old or new, please.");
    let (told, view) = library.step(&session, "mine", None).unwrap();
    assert_eq!(view.response, "It is old");
    let ids: Vec<&str> = view.options.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(ids, ["known"]);
    let (back, _) = library.step(&told, "back", None).unwrap();
    assert!(back.slots.is_empty());
}

#[test]
fn an_author_may_use_every_word_that_always_works() {
    let options = ["back", "restart", "why", "provide_more_info"]
        .map(|id| format!(r#"{{"id": "{id}", "description": "Mine", "next_node": "{id}_end"}}"#));
    let ends = ["back", "restart", "why", "provide_more_info"]
        .map(|id| format!(r#""{id}_end": {{"response": "Own {id}"}}"#));
    let text = format!(
        r#"{{"nodes": {{"root": {{"response": "Hi", "options": [{}]}}, {}}}}}"#,
        options.join(", "),
        ends.join(", ")
    );
    let library = of(&[("one", &text)]);
    let (session, _) = library.start("hello").unwrap();
    for id in ["back", "restart", "why", "provide_more_info"] {
        let (_, view) = library.step(&session, id, Some("words")).unwrap();
        assert_eq!(view.response, format!("Own {id}"));
    }
}

#[test]
fn a_chain_that_is_passed_too_long_ends_with_the_fallback() {
    let nodes: Vec<String> = (0..70)
        .map(|at| {
            format!(
                r#""n{at}": {{"response": "{at}", "next_node": "n{}"}}"#,
                at + 1
            )
        })
        .collect();
    let text = format!(
        r#"{{"fallback": "Too far.", "root": "n0", "nodes": {{{}, "n70": {{"response": "there"}}}}}}"#,
        nodes.join(", ")
    );
    let (_, view) = of(&[("one", &text)]).start("hello").unwrap();
    assert!(
        view.is_complete && view.response.ends_with("Too far."),
        "{}",
        view.response
    );
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
            "no-choose",
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
            .all(|one| one.place.line > 0
                || ["no-fallback", "no-choose"].contains(&one.code.as_str()))
    );
}
