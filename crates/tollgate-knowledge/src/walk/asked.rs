//! Words and choices of users, as each is understood: one case of one rule each.

use super::{tests::of, *};
use crate::Value;

/// A base that says `zebra` is not understood.
fn base(rest: &str) -> Library {
    of(&[("one", &format!(r#"{{"fallback": "Sorry?", {rest}}}"#))])
}

/// Walks from `hello` on; `=` begins what a user says.
fn go(library: &Library, words: &[&str]) -> (Session, View) {
    let (mut session, mut view) = library.start("hello").unwrap();
    for word in words {
        let (chosen, input) = match word.strip_prefix('=') {
            Some(text) => ("provide_more_info", Some(text)),
            None => (*word, None),
        };
        (session, view) = library.step(&session, chosen, input).unwrap();
    }
    (session, view)
}

/// The node and what is said there.
fn said(library: &Library, words: &[&str]) -> String {
    let (session, view) = go(library, words);
    format!("{}|{}", session.node, view.response)
}

fn ids(view: &View) -> Vec<&str> {
    view.options.iter().map(|offer| offer.id.as_str()).collect()
}

#[test]
fn close_candidates_are_options_also_without_a_sentence_for_it() {
    let text = r#"{"nodes": {"root": {"response": "Hi"},
      "a": {"title": "Printer paper"}, "b": {"title": "Printer toner"}}}"#;
    let library = of(&[("k", text)]);
    let (session, view) = library.start("my printers fail").unwrap();
    assert_eq!(view.matched, Some(Matched::Several));
    assert_eq!((view.response.as_str(), ids(&view)), ("Hi", vec!["a", "b"]));
    let (chosen, _) = library.step(&session, "b", None).unwrap();
    assert_eq!(chosen.node, "b");
}

#[test]
fn words_choose_among_candidates() {
    let library = of(&[(
        "k",
        r#"{"choose": "Which?", "nodes": {"root": {"response": "Hi"},
          "a": {"title": "Printer paper"}, "b": {"title": "Printer toner"},
          "c": {"title": "Toner bin", "options": [{"id": "end", "next_node": null}]}}}"#,
    )]);
    let (session, view) = library.start("my printers fail").unwrap();
    assert_eq!(ids(&view), ["a", "b"]);
    for (words, wanted) in [("the toner", "b"), ("2", "b"), ("toner bin", "c")] {
        let (chosen, _) = library
            .step(&session, "provide_more_info", Some(words))
            .unwrap();
        assert_eq!(chosen.node, wanted, "{words}");
    }
}

#[test]
fn a_candidate_that_is_called_like_its_base_has_its_own_title() {
    let text = r#"{"title": "All of it", "choose": "Which?", "nodes": {"root": {"response": "Hi"},
      "lamps": {"title": "Desk lamp"}, "wall": {"title": "Wall lamp"}}}"#;
    let (_, view) = of(&[("lamps", text)]).start("lamp").unwrap();
    let shown: Vec<&str> = view
        .options
        .iter()
        .map(|one| one.description.as_str())
        .collect();
    assert_eq!(shown, ["Desk lamp", "Wall lamp"]);
}

#[test]
fn back_before_the_first_question_passes_the_root_again() {
    let library = base(
        r#""nodes": {"root": {"response": "Hi.", "next_node": "one"},
          "one": {"response": "A?", "options": [{"id": "go", "next_node": "two"}]},
          "two": {"response": "B?", "options": [{"id": "end", "next_node": null}]}}"#,
    );
    assert_eq!(said(&library, &["go", "back"]), "one|A?");
    let (session, view) = go(&library, &["go", "back", "back"]);
    assert_eq!(
        (session.node.as_str(), view.response.as_str(), ids(&view)),
        ("one", "Hi.\n\nA?", vec!["go"])
    );
    assert_eq!(said(&library, &["back", "back", "go"]), "two|B?");
}

#[test]
fn an_empty_text_is_no_text() {
    let library = base(
        r#""language": "en", "closing": "", "nodes": {
          "root": {"response": {"en": "Hello", "zh": ""}, "options": [
            {"id": "go", "description": "", "next_node": "own"}, {"id": "end", "next_node": null}]},
          "own": {"response": "  ", "fallback": "", "options": [{"id": "end", "next_node": null}]}}"#,
    );
    let (session, view) = library.start("你好").unwrap();
    assert_eq!(
        (session.language.as_str(), view.response.as_str()),
        ("zh", "Hello")
    );
    assert_eq!(view.options[0].description, "go");
    assert_eq!(said(&library, &["go"]), "own|");
    assert_eq!(said(&library, &["go", "=zebra"]), "own|Sorry?");
}

#[test]
fn words_that_always_work_can_be_said_as_they_are_listed() {
    let library = base(
        r#""offer": {"back": {"en": "Go back", "zh": "返回"}, "restart": "Start over", "why": "Show the path",
            "provide_more_info": "Say it yourself"},
          "slots": {"name": {"type": "text"}},
          "nodes": {"root": {"response": "A?", "options": [{"id": "go", "next_node": "two"}]},
            "two": {"response": "B?", "options": [{"id": "on", "description": "Go on", "next_node": "three"}]},
            "three": {"response": "Name?", "ask": "name"}}"#,
    );
    for words in ["=go back", "=Go back!", "=返回", "=please go back", "=back"] {
        assert_eq!(said(&library, &["go", words]), "root|A?", "{words}");
    }
    assert_eq!(said(&library, &["go", "=start over"]), "root|A?");
    assert_eq!(said(&library, &["go", "on", "=go back"]), "two|B?");
    assert_eq!(
        go(&library, &["go", "=show the path"]).1.response,
        "root → go\ntwo"
    );
    // Half of the words is not enough to lose one's place, and what is not listed is not offered.
    assert_eq!(said(&library, &["go", "=start the engine"]), "two|Sorry?");
    assert_eq!(said(&library, &["=go back"]), "two|B?");
    let unlisted = base(
        r#""nodes": {"root": {"response": "A?", "options": [{"id": "go", "next_node": "two"}]},
          "two": {"response": "B?", "options": [{"id": "end", "next_node": null}]}}"#,
    );
    assert_eq!(said(&unlisted, &["go", "=back"]), "two|Sorry?");
}

#[test]
fn words_beside_an_option_answer_what_is_asked() {
    let library = base(
        r#""slots": {"n": {"type": "number"}}, "nodes": {
          "root": {"response": "How many?", "ask": "n", "options": [{"id": "skip", "next_node": "end"}], "next_node": "end"},
          "end": {"response": "So {n}.", "options": [{"id": "end", "next_node": null}]}}"#,
    );
    let (session, _) = library.start("hello").unwrap();
    let (filled, view) = library.step(&session, "skip", Some("12")).unwrap();
    assert_eq!(
        (&filled.slots["n"], view.response.as_str()),
        (&Value::Number(12.0), "So 12.")
    );
    let (empty, _) = library.step(&session, "skip", Some("many")).unwrap();
    assert!(empty.slots.is_empty());
}

#[test]
fn sub_flows_end_at_a_depth() {
    let library = base(
        r#""nodes": {"root": {"response": "A?", "options": [
          {"id": "in", "next_node": "root", "then": "after"}, {"id": "out", "next_node": null}]},
          "after": {"response": "Back.", "options": [{"id": "out", "next_node": null}]}}"#,
    );
    let (session, view) = go(&library, &["in"; 32]);
    assert_eq!((session.returns.len(), view.response.as_str()), (32, "A?"));
    let (session, view) = library.step(&session, "in", None).unwrap();
    assert_eq!(
        (session.returns.len(), view.response.as_str()),
        (32, "Sorry?")
    );
}

#[test]
fn languages_with_regions_are_found_by_their_beginning() {
    let text = r#"{"language": "en-GB", "nodes": {"root": {"response": {"en-GB": "Hello", "zh-CN": "你好", "zha": "x"}}}}"#;
    let library = of(&[("k", text)]);
    assert_eq!(library.start("您好").unwrap().1.response, "你好");
    assert_eq!(library.start("good day").unwrap().1.response, "Hello");
}

#[test]
fn ways_behind_conditions_stay_closed_however_far_they_are() {
    let library = base(
        r#""slots": {"age": {"type": "number"}}, "nodes": {
          "root": {"response": "Hi", "options": [
            {"id": "menu", "description": "Menu", "next_node": "menu"},
            {"id": "age", "description": "Tell my age", "next_node": "age"}]},
          "menu": {"response": "Menu", "options": [
            {"id": "bar", "description": "Drinks", "when": "age >= 18", "next_node": "bar"},
            {"id": "food", "description": "Food", "next_node": "food"}]},
          "age": {"response": "How old?", "ask": "age", "next_node": [
            {"when": "age >= 18", "next_node": "club"}, {"next_node": "root"}]},
          "club": {"response": "Welcome", "title": "Casino", "keywords": ["casino"], "options": [{"id": "on", "next_node": "root"}]},
          "bar": {"response": "Whisky it is", "title": "Whisky", "keywords": ["whisky"], "options": [{"id": "end", "next_node": null}]},
          "food": {"response": "Soup", "title": "Soup", "keywords": ["soup"], "options": [{"id": "end", "next_node": null}]}}"#,
    );
    assert_eq!(said(&library, &["=soup please"]), "food|Soup");
    assert_eq!(said(&library, &["=whisky please"]), "root|Sorry?");
    // A branch that depends on what nobody has asked yet is open, one that is ruled out is not.
    assert_eq!(said(&library, &["=casino please"]), "club|Welcome");
    assert_eq!(
        said(&library, &["age", "=12", "=casino please"]),
        "root|Sorry?"
    );
    assert_eq!(
        said(&library, &["age", "=30", "on", "=whisky please"]),
        "bar|Whisky it is"
    );
    assert_eq!(
        said(&library, &["age", "=12", "=whisky please"]),
        "root|Sorry?"
    );
    assert_eq!(
        said(&library, &["age", "=30", "on", "=casino please"]),
        "club|Welcome"
    );
}

#[test]
fn synonyms_of_the_file_name_options_and_answers() {
    let library = base(
        r#""synonyms": [["fridge", "refrigerator", "冰箱"], ["cable", "wire lead"]],
          "slots": {"kind": {"type": "choice", "choices": [
            {"id": "one", "description": "Refrigerator"}, {"id": "two", "description": "Cable"}]}},
          "nodes": {"root": {"response": "A?", "options": [
            {"id": "x", "description": "Refrigerator repair", "next_node": "x"},
            {"id": "y", "description": "Cable television", "next_node": "ask"}]},
          "x": {"response": "X", "options": [{"id": "end", "next_node": null}]},
          "ask": {"response": "Kind?", "ask": "kind", "next_node": "told"},
          "told": {"response": "{kind}", "options": [{"id": "end", "next_node": null}]}}"#,
    );
    assert_eq!(said(&library, &["=my fridge is warm"]), "x|X");
    assert_eq!(said(&library, &["=我的冰箱"]), "x|X");
    assert_eq!(said(&library, &["y", "=the wire lead"]), "told|Cable");
    assert_eq!(said(&library, &["y", "=a fridge"]), "told|Refrigerator");
}

#[test]
fn a_yes_without_a_label_is_told_in_the_users_words() {
    let library = base(
        r#""slots": {"on": {"type": "yes_no"}, "lit": {"type": "yes_no", "yes": {"en": "Green", "zh": "绿灯"}, "no": "Red"}},
          "nodes": {"root": {"response": "开着吗？", "ask": "on", "next_node": "lit"},
            "lit": {"response": "{on}?", "ask": "lit", "next_node": "told"},
            "told": {"response": "{on}/{lit}", "options": [{"id": "end", "next_node": null}]}}"#,
    );
    assert_eq!(said(&library, &["=是的"]), "lit|是的?");
    assert_eq!(said(&library, &["=没有", "=no"]), "told|没有/Red");
    // An option without a description is shown as its id, here as everywhere.
    assert_eq!(said(&library, &["yes"]), "lit|yes?");
    assert_eq!(
        go(&library, &["=是的", "=yes", "why"]).1.response,
        "root → 是的\nlit → Green\ntold"
    );
}
