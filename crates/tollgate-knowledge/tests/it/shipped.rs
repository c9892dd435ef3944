//! The knowledge bases that are shipped: clean, and every conversation goes as written.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tollgate_knowledge::{
    GraphFormat, GraphOptions, Library, Limits, conversation_files, conversations,
    dictionary_is_loaded, graph, lint, load,
};

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge");
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

#[test]
fn they_are_clean_and_their_conversations_hold() {
    let bases = shipped();
    assert_eq!(bases.len(), 3, "{bases:?}");
    for path in bases {
        let base = load(&path, Limits::default()).0.unwrap_or_else(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            panic!("{}", lines.join("\n"));
        });
        let wrong: Vec<String> = lint(&base).iter().map(ToString::to_string).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let library = Library::new(vec![Arc::new(base)]);
        let files = conversation_files(&path);
        assert_eq!(files.len(), 1, "{files:?}");
        let talks = conversations(&files[0]).unwrap();
        // One is only there to begin with.
        let least = if path.ends_with("tea") { 2 } else { 6 };
        assert!(talks.len() >= least, "{}", talks.len());
        let wrong: Vec<String> = talks
            .iter()
            .flat_map(|talk| talk.run(&library))
            .map(|one| one.to_string())
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn every_node_is_said_in_each_language_and_drawn() {
    for path in shipped() {
        let base = load(&path, Limits::default()).0.unwrap();
        for language in base.languages() {
            let options = GraphOptions {
                language,
                ..GraphOptions::default()
            };
            let drawn = graph(&base, GraphFormat::Svg, &options).unwrap();
            assert_eq!((drawn.shown, drawn.left_out), (base.node_count(), 0));
        }
        for id in base.node_ids() {
            let node = base.describe_node(id).unwrap();
            assert!(!node["response"].is_null(), "{id}");
        }
    }
}

/// Every test is a process of its own, so nobody else has asked in Chinese here.
#[test]
fn the_dictionary_is_loaded_by_the_first_chinese_question() {
    let load = |path: &PathBuf| Arc::new(load(path, Limits::default()).0.unwrap());
    let library = Library::new(shipped().iter().map(load).collect());
    for base in library.bases() {
        base.prepare(None);
    }
    library.start("my wifi is weak in the kitchen").unwrap();
    assert!(!dictionary_is_loaded());
    library.start("我想了解半导体设备").unwrap();
    assert!(dictionary_is_loaded());
}

#[test]
fn questions_choose_between_them() {
    let load = |path: &PathBuf| Arc::new(load(path, Limits::default()).0.unwrap());
    let library = Library::new(shipped().iter().map(load).collect());
    for (question, base) in [
        ("my wifi is weak in the kitchen", "home-network"),
        ("我想了解半导体设备", "technology-investment"),
        (
            "Which chip makers should I compare?",
            "technology-investment",
        ),
        ("the internet is down", "home-network"),
        ("how long does earl grey take", "tea"),
    ] {
        let (_, view) = library.start(question).unwrap();
        assert_eq!(view.knowledge_base, base, "{question}: {view:?}");
    }
    let (session, view) = library.start("zzzz").unwrap();
    let options: Vec<&str> = view.options.iter().map(|offer| offer.id.as_str()).collect();
    assert_eq!(options, ["home-network", "tea", "technology-investment"]);
    let (_, view) = library
        .step(&session, "technology-investment", None)
        .unwrap();
    assert_eq!(view.path, ["root"]);
}
