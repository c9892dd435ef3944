//! Which node a first question enters, one reason at a time.

use std::sync::Arc;

use tollgate_knowledge::{Format, Library, load_text};

fn library(text: &str) -> Library {
    Library::new(vec![Arc::new(load_text("k", text, Format::Yaml).unwrap())])
}

/// How a question was understood, and where it led.
fn entered(library: &Library, question: &str) -> String {
    let (session, view) = library.start(question).unwrap();
    let matched = view.matched.map_or("-", |matched| matched.as_str());
    if session.candidates.is_empty() {
        return format!("{matched} {}", session.node);
    }
    let ids: Vec<&str> = view.options.iter().map(|one| one.id.as_str()).collect();
    format!("{matched} {}: {}", session.node, ids.join(", "))
}

const ANIMALS: &str = "
fallback: Sorry?
synonyms: [[wombat, 袋熊, digging bear]]
nodes:
  root:
    response: Welcome
    options:
      - { id: one, description: All about ostriches, next_node: led }
      - { id: two, description: Something else, keywords: [quokka], next_node: led_by_word }
      - { id: end, description: Leave, next_node: null }
  keyword: { response: First, keywords: [zebra] }
  title: { response: Second, title: The giraffe }
  said: { response: There are pangolins here }
  led: { response: Third }
  led_by_word: { response: Fourth }
  likes: { response: Fifth, keywords: [wombat] }
  both: { response: Sixth, title: '手机' }
  across: { response: Seventh, title: '机会' }
  weak: { response: The lynx is shy and lives in woods }
  strong: { response: Eighth, keywords: [lynx] }
";

#[test]
fn a_word_counts_wherever_it_stands() {
    let animals = library(ANIMALS);
    for (question, wanted) in [
        ("What do I do about zebras?", "node keyword"),
        ("GIRAFFES, please", "node title"),
        ("is there a pangolin", "several root: said, root"),
        ("an ostrich", "node led"),
        ("a quokka in the garden", "node led_by_word"),
        ("wombats", "node likes"),
        ("袋熊", "node likes"),
        ("my digging bear is ill", "node likes"),
        ("my bear is ill", "root root"),
        ("weather", "root root"),
    ] {
        assert_eq!(entered(&animals, question), wanted, "{question}");
    }
}

#[test]
fn what_is_named_goes_before_what_is_mentioned() {
    assert_eq!(entered(&library(ANIMALS), "lynx"), "node strong");
}

#[test]
fn chinese_is_read_in_words_and_not_across_them() {
    let animals = library(ANIMALS);
    assert_eq!(entered(&animals, "手机会坏吗"), "node both");
    assert_eq!(entered(&animals, "有没有机会"), "node across");
}

#[test]
fn a_rare_word_counts_more_than_a_common_one() {
    let mut text = String::from("fallback: f\nnodes:\n  root: { response: hi }\n");
    for at in 0..50 {
        text.push_str(&format!("  n{at}: {{ response: r, title: Router {at} }}\n"));
    }
    text.push_str("  rare: { response: r, title: Antenna }\n");
    assert_eq!(entered(&library(&text), "router antenna"), "node rare");
}

#[test]
fn a_long_text_does_not_win_by_its_length() {
    let long: Vec<String> = (0..100).map(|at| format!("other{at}")).collect();
    let long = format!("The cable {}", long.join(" "));
    let text = format!(
        "fallback: f\nnodes:\n  root: {{ response: hi }}\n  long: {{ response: \"{long}\" }}\n  short: {{ response: The cable, options: [{{ id: end, next_node: null }}] }}\n"
    );
    assert_eq!(entered(&library(&text), "cable"), "node short");
}

#[test]
fn the_same_files_and_words_lead_to_the_same_place() {
    let questions = ["zebra or giraffe", "手机", "lynx pangolin", "nothing"];
    let asked = || {
        let animals = library(ANIMALS);
        questions.map(|question| animals.start(question).unwrap())
    };
    let first = asked();
    // Loaded again, in other threads, with other tables in memory.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(asked(), first));
        }
    });
}

/// A café: its own title, one leaf with a long keyword, and one question with another.
const CAFE: &str = "
title: { en: Coffee, zh: 咖啡 }
choose: { en: Which one?, zh: 哪一个？ }
nodes:
  root:
    response: Welcome
    options: [{ id: menu, description: The menu, next_node: menu }]
  menu:
    response: Hot or cold?
    options: [{ id: hot, next_node: milk }, { id: cold, next_node: iced }]
  milk: { response: 'Here you are.', keywords: [milk coffee, 牛奶咖啡] }
  iced: { response: 'Here you are.', keywords: [iced tea] }
  order: { response: How many?, title: Orders, options: [{ id: end, next_node: null }] }
  long: { response: 'Opening hours.', keywords: [opening hours on public holidays] }
";

#[test]
fn a_word_of_a_longer_keyword_does_not_beat_the_title_of_the_base() {
    let cafe = library(CAFE);
    for (question, wanted) in [
        ("I want a coffee", "node root"),
        ("咖啡", "node root"),
        ("我想要一杯咖啡", "node root"),
        ("a milk coffee, please", "node milk"),
        ("Coffee with milk", "node milk"),
        ("一杯牛奶咖啡", "node milk"),
        ("my order", "node order"),
    ] {
        assert_eq!(entered(&cafe, question), wanted, "{question}");
    }
}

#[test]
fn a_whole_title_or_keyword_goes_before_a_word_of_a_longer_one() {
    for whole in ["title: Coffee", "keywords: [coffee]"] {
        let text = CAFE
            .replace("title: { en: Coffee, zh: 咖啡 }", "title: Shop")
            .replace(
                "response: Hot or cold?",
                &format!("{whole}\n    response: Hot or cold?"),
            );
        assert_eq!(
            entered(&library(&text), "I want a coffee"),
            "node menu",
            "{whole}"
        );
    }
}

#[test]
fn what_fits_in_part_is_offered_and_not_entered() {
    let text = CAFE.replace("title: { en: Coffee, zh: 咖啡 }", "title: Shop");
    let cafe = library(&text);
    for (question, wanted) in [
        ("I want a coffee", "several root: milk, root"),
        ("咖啡", "several root: milk, root"),
        ("some tea", "several root: iced, root"),
        // Most of a keyword is clear enough.
        ("public holidays: which hours?", "node long"),
        ("holidays", "several root: long, root"),
    ] {
        assert_eq!(entered(&cafe, question), wanted, "{question}");
    }
    let (session, view) = cafe.start("I want a coffee").unwrap();
    assert_eq!(
        (view.response.as_str(), view.is_complete),
        ("Which one?", false)
    );
    let (_, view) = cafe.step(&session, "milk", None).unwrap();
    assert!(view.is_complete);
    let (root, view) = cafe.step(&session, "root", None).unwrap();
    assert_eq!(
        (root.node.as_str(), view.response.as_str()),
        ("root", "Welcome")
    );
}

#[test]
fn words_in_a_session_end_it_only_by_a_clear_match() {
    let cafe = library(CAFE);
    let (session, _) = cafe.start("hello").unwrap();
    for (words, wanted) in [
        ("and a coffee", "root"),
        ("some tea", "root"),
        ("iced tea", "iced"),
        ("a milk coffee, please", "milk"),
        ("an order", "root"),
    ] {
        let (after, _) = cafe
            .step(&session, "provide_more_info", Some(words))
            .unwrap();
        assert_eq!(after.node, wanted, "{words}");
    }
}

#[test]
fn the_documents_own_file_answers_with_a_node_and_always_says_something() {
    let text = include_str!("../fixtures/document.json");
    let document = Library::new(vec![Arc::new(
        load_text("document", text, Format::Json).unwrap(),
    )]);
    for (question, wanted) in [
        ("AI硬件", "node node_ai_hardware"),
        ("NVIDIA", "node node_ai_hardware"),
        ("GPU 头部公司", "node node_ai_hw_companies"),
        ("GPU", "node node_ai_hardware"),
        ("人工智能", "node node_ai"),
        ("云计算", "node root"),
    ] {
        assert_eq!(entered(&document, question), wanted, "{question}");
        let (_, view) = document.start(question).unwrap();
        assert!(
            !view.response.is_empty() && !view.options.is_empty(),
            "{question}"
        );
    }
}

#[test]
fn without_a_sentence_for_a_choice_the_root_asks() {
    let text = "
nodes:
  root: { response: What is it about?, options: [{ id: end, next_node: null }] }
  a: { response: Paper., title: Printer paper }
  b: { response: Toner., title: Printer toner }
";
    let library = library(text);
    let (_, view) = library.start("printers").unwrap();
    let ids: Vec<&str> = view.options.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(
        (view.response.as_str(), ids),
        ("What is it about?", vec!["a", "b"])
    );
}
