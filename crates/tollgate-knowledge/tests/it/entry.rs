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
    format!("{matched} {}", session.node)
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
        ("is there a pangolin", "node said"),
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
        "fallback: f\nnodes:\n  root: {{ response: hi }}\n  long: {{ response: \"{long}\" }}\n  short: {{ response: The cable }}\n"
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
