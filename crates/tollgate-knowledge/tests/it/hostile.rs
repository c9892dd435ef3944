//! Bad input: too much of it, too deep, replaced while it is read, or made to hurt.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tollgate_knowledge::{Base, Format, Library, Limits, Problem, lint, load, load_text};

fn loaded(path: &Path) -> Result<Base, Vec<Problem>> {
    load(path, Limits::default()).0
}

fn first(problems: &[Problem]) -> String {
    problems
        .first()
        .map(ToString::to_string)
        .unwrap_or_default()
}

#[test]
fn a_file_of_100_megabytes_is_read_and_a_broken_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.json");
    let mut text = String::with_capacity(101 << 20);
    text.push_str("{\"fallback\": \"f\", \"nodes\": {");
    let said = "words about many things ".repeat(4096);
    for number in 0.. {
        text.push_str(&format!("\"n{number}\": {{\"response\": \"{said}\"}},\n"));
        if text.len() > 100 << 20 {
            break;
        }
    }
    fs::write(&path, &text).unwrap();
    let problems = loaded(&path).unwrap_err();
    assert!(
        first(&problems).contains("found the end of the file"),
        "{}",
        first(&problems)
    );
    assert!(problems[0].place.line > 1000, "{}", first(&problems));
    text.push_str("\"last\": {\"response\": \"end\"}}}");
    fs::write(&path, &text).unwrap();
    assert!(loaded(&path).unwrap().node_count() > 1000);
    let small = Limits {
        file_bytes: 50 << 20,
        ..Limits::default()
    };
    let problems = load(&path, small).0.unwrap_err();
    assert!(
        first(&problems).contains("error[file]: the file has"),
        "{}",
        first(&problems)
    );
}

#[test]
fn a_chain_of_a_million_nodes_is_loaded_linted_and_walked() {
    let mut text = String::from("{\"fallback\": \"f\", \"choose\": \"c\", \"nodes\": {");
    for number in 0..1_000_000 {
        let next = number + 1;
        text.push_str(&format!(
            "\"n{number}\": {{\"response\": \"x\", \"options\": [{{\"id\": \"o\", \"next_node\": \"n{next}\"}}]}},"
        ));
    }
    text.push_str("\"n1000000\": {\"response\": \"end\"}}}");
    let base = load_text("k", &text, Format::Json).unwrap();
    drop(text);
    assert_eq!(base.node_count(), 1_000_001);
    assert_eq!(lint(&base), []);
    let library = Library::new(vec![Arc::new(base)]);
    let (mut session, _) = library.start("?").unwrap();
    for _ in 0..300 {
        session = library.step(&session, "o", None).unwrap().0;
    }
    assert_eq!(session.node, "n300");
    assert!(session.trail.len() <= 200, "the trail is bounded");
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_is_one_or_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.json");
    let text = |word: &str| {
        let node = |number| format!("\"n{number}\": {{\"response\": \"{word}\"}}");
        let nodes: Vec<String> = (0..5000).map(node).collect();
        format!("{{\"nodes\": {{{}}}}}", nodes.join(","))
    };
    // Of different lengths, and written in place as well as put in place.
    let versions = [text("one"), text("another")];
    fs::write(&path, &versions[0]).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = thread::spawn({
        let (path, versions, is_over) = (path.clone(), versions.clone(), Arc::clone(&is_over));
        move || {
            let beside = path.with_extension("new");
            for number in 0.. {
                let text = &versions[number % 2];
                if number % 3 == 0 {
                    fs::write(&path, text).unwrap();
                } else {
                    fs::write(&beside, text).unwrap();
                    fs::rename(&beside, &path).unwrap();
                }
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
    });
    let mut read = 0;
    for _ in 0..60 {
        match loaded(&path) {
            Ok(base) => {
                read += 1;
                assert_eq!(base.node_count(), 5000);
                let said = |id: &str| base.describe_node(id).unwrap()["response"].clone();
                assert_eq!(said("n0"), said("n4999"), "a base of two halves");
            }
            Err(problems) => {
                let said = first(&problems);
                // Half a file can also be seen for as long as its writer takes; that is no base.
                assert!(said.contains("k.json"), "{said}");
            }
        }
    }
    is_over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert!(loaded(&path).is_ok(), "{read} were read meanwhile");
}

#[test]
fn includes_go_deep_and_in_circles_without_harm() {
    let folder = tempfile::tempdir().unwrap();
    let write = |number: usize, include: usize| {
        let text = format!("include: k{include}.yaml\nnodes: {{n{number}: {{response: x}}}}\n");
        fs::write(folder.path().join(format!("k{number}.yaml")), text).unwrap();
    };
    for number in 0..900 {
        write(number, (number + 1) % 900);
    }
    let base = loaded(&folder.path().join("k0.yaml")).unwrap();
    assert_eq!(base.node_count(), 900);
    for number in 0..1100 {
        write(number, (number + 1) % 1100);
    }
    let problems = loaded(&folder.path().join("k0.yaml")).unwrap_err();
    assert!(
        first(&problems).contains("error[limit]: the base has too many files"),
        "{}",
        first(&problems)
    );
    for name in [
        "../x.yaml",
        "/etc/x.yaml",
        "a/../../x.yaml",
        "missing.yaml",
        "k0.toml",
    ] {
        fs::write(
            folder.path().join("k0.yaml"),
            format!("include: \"{name}\"\nnodes: {{r: {{}}}}"),
        )
        .unwrap();
        let problems = loaded(&folder.path().join("k0.yaml")).unwrap_err();
        assert!(
            first(&problems).contains("k0.yaml:1:10: error[include]"),
            "{name}: {}",
            first(&problems)
        );
    }
}

/// Each of these would take hours if every one of them were compared with all others.
#[test]
fn very_many_of_one_kind_are_read_or_refused() {
    let many = |one: &dyn Fn(usize) -> String| -> String { (0..150_000).map(one).collect() };
    let json =
        |root: String| format!("{{\"fallback\": \"f\", \"nodes\": {{\"root\": {{{root}}}}}}}");
    let options = many(&|at| format!("{{\"id\": \"o{at}\", \"next_node\": null}},"));
    let options = json(format!("\"response\": \"hi\", \"options\": [{options}]"));
    let library = Library::new(vec![Arc::new(
        load_text("k", &options, Format::Json).unwrap(),
    )]);
    assert_eq!(lint(&library.bases()[0]), []);
    let (session, view) = library.start("?").unwrap();
    assert_eq!(view.options.len(), 150_000);
    let (session, _) = library.step(&session, "o149999", None).unwrap();
    assert!(session.complete);
    let twice = options.replace("\"o149999\"", "\"o17\"");
    let problems = load_text("k", &twice, Format::Json).unwrap_err();
    assert!(first(&problems).contains("`o17` stands twice"));

    let fields = many(&|at| format!("\"x-{at}\": 1,"));
    assert!(load_text("k", &json(fields.clone()), Format::Json).is_ok());
    let twice = json(fields + "\"x-17\": 2");
    let problems = load_text("k", &twice, Format::Json).unwrap_err();
    assert!(first(&problems).contains("error[duplicate]: `x-17`"));
    let slots = many(&|at| format!("s{at}: {{type: text}}\n  "));
    let attributes = many(&|at| format!(" a{at}=\"1\""));
    let names = many(&|at| format!("<a{at}/>"));
    let slots_too = many(&|at| format!("<slot name=\"s{at}\"/>"));
    for (text, format) in [
        (
            format!("slots:\n  {slots}\nnodes: {{root: {{}}}}"),
            Format::Yaml,
        ),
        (
            format!("<k><node id=\"root\"{attributes}/></k>"),
            Format::Xml,
        ),
        (
            format!("<k{}/>", attributes.replace(" a", " xmlns:a")),
            Format::Xml,
        ),
        (
            format!("<k><node id=\"root\">{names}</node></k>"),
            Format::Xml,
        ),
        (
            format!("<k>{slots_too}<node id=\"root\"/></k>"),
            Format::Xml,
        ),
    ] {
        let problems = load_text("k", &text, format).unwrap_err();
        assert!(
            first(&problems).contains("error[limit]"),
            "{}",
            first(&problems)
        );
    }
}

#[test]
fn bombs_do_not_go_off() {
    let mut yaml = String::from("a: &a [lol, lol]\n");
    let mut xml = String::from("<!DOCTYPE k [<!ENTITY a0 \"lol\">");
    for number in 0..9 {
        let (this, next) = (char::from(b'a' + number), char::from(b'b' + number));
        yaml.push_str(&format!(
            "{next}: &{next} [*{this}, *{this}, *{this}, *{this}, *{this}]\n"
        ));
        let more = number + 1;
        xml.push_str(&format!(
            "<!ENTITY a{more} \"&a{number};&a{number};&a{number};\">"
        ));
    }
    xml.push_str("]><k><node id=\"root\"><response>&a9;</response></node></k>");
    for (text, format) in [(yaml, Format::Yaml), (xml, Format::Xml)] {
        let problems = load_text("k", &text, format).unwrap_err();
        assert!(first(&problems).contains("k:1:"), "{}", first(&problems));
        assert!(
            first(&problems).contains("error[limit]"),
            "{}",
            first(&problems)
        );
    }
}

#[test]
fn keywords_and_words_are_only_words() {
    let text = r#"{"fallback": "Sorry?", "slots": {"name": {"type": "text", "max": 200}}, "nodes": {
        "root": {"response": "Hi", "options": [{"id": "a", "description": ".* [a-z]+ (", "next_node": "ask"}]},
        "ask": {"response": "Name?", "keywords": ["^(a+)+$", "c++", "\\d{1000000}"], "ask": "name", "next_node": "done"},
        "done": {"response": "Hello {name}"}}}"#;
    let base = load_text("k", text, Format::Json).unwrap();
    let library = Library::new(vec![Arc::new(base)]);
    let long = "a".repeat(100_000) + "!";
    for question in [
        "^(a+)+$",
        "((((",
        "\\",
        "{name}",
        "\u{0}\u{202e}",
        long.as_str(),
    ] {
        library.start(question).unwrap();
    }
    let (session, _) = library.start("hello").unwrap();
    let (session, _) = library.step(&session, "a", None).unwrap();
    let words = "Ignore previous instructions. {name} </response> \"}]}";
    let (session, view) = library
        .step(&session, "provide_more_info", Some(words))
        .unwrap();
    // What the user says is kept and shown as it is, and nothing in it is filled in or run.
    assert_eq!(view.response, format!("Hello {words}"));
    assert_eq!(session.node, "done");
    let text = serde_json::to_string(&session).unwrap();
    assert_eq!(
        serde_json::from_str::<tollgate_knowledge::Session>(&text).unwrap(),
        session
    );
}

#[test]
fn the_documents_own_example_works_unchanged() {
    let text = include_str!("../fixtures/document.json");
    let base = load_text("document", text, Format::Json).unwrap();
    let broken: Vec<String> = lint(&base)
        .iter()
        .filter(|one| one.code.as_str() == "broken-link")
        .map(|one| one.place.line.to_string())
        .collect();
    assert_eq!(broken.len(), 4, "{broken:?}");
    let library = Library::new(vec![Arc::new(base)]);
    let walk = |options: &[&str]| {
        let (mut session, mut view) = library.start("你好").unwrap();
        for option in options {
            (session, view) = library.step(&session, option, None).unwrap();
        }
        (session.node, view.response, view.is_complete)
    };
    let at = |node: &str, said: &str, complete| (node.to_owned(), said.to_owned(), complete);
    assert_eq!(
        walk(&["cloud"]).0,
        "root",
        "a link to nowhere stays where it was"
    );
    let companies = ["ai", "hardware", "companies"];
    assert!(walk(&companies).1.contains("NVIDIA"));
    // The author's own `back` wins over the word that always works.
    let back = [companies.as_slice(), &["back"]].concat();
    assert_eq!(
        walk(&back),
        at(
            "node_ai",
            "AI是一个广阔领域。您对硬件还是软件更感兴趣？",
            false
        )
    );
    let end = [companies.as_slice(), &["end"]].concat();
    assert_eq!(walk(&end), at("node_ai_hw_companies", "结束咨询", true));
}
