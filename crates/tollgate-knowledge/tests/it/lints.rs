//! What `lint` and loading say, one rule at a time, with the file and the line.

use std::fs;

use tollgate_knowledge::{Base, Format, Limits, lint, load, load_text};

/// What is wrong with a base, without what every small one lacks.
fn linted(base: &Base) -> Vec<String> {
    let found = lint(base).into_iter();
    let found = found.filter(|one| !["no-fallback", "no-choose"].contains(&one.code.as_str()));
    found.map(|one| one.to_string()).collect()
}

fn wrong(text: &str) -> Vec<String> {
    let base = load_text("k", text, Format::Yaml);
    linted(&base.unwrap_or_else(|problems| panic!("{problems:?}")))
}

#[test]
fn an_empty_text_is_missing() {
    let found = wrong(
        "language: en\nnodes:\n  root: { response: { en: Hi, zh: '' }, options: [{ id: go, next_node: end }] }\n  end: { response: ' ' }\n",
    );
    assert_eq!(
        found,
        [
            "k:3:3: warning[missing-language]: “Hi” is missing in zh",
            "k:4:3: error[dead-end]: `end` ends the session and says nothing",
        ]
    );
    let xml = "<k><node id=\"root\"><response/></node></k>";
    let base = load_text("k", xml, Format::Xml).unwrap();
    assert_eq!(
        linted(&base),
        ["k:1:4: error[dead-end]: `root` ends the session and says nothing"]
    );
}

#[test]
fn texts_of_the_whole_base_and_of_slots_have_a_file_and_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "a.yaml",
        "language: en\nnodes:\n  root: { response: { en: Hi, zh: 你好 }, ask: n, next_node: null }\n",
    );
    write(
        "b.yaml",
        "closing: Bye\noffer:\n  back: Go back\nslots:\n  n:\n    type: choice\n    invalid: What?\n    choices:\n      - { id: x, description: The x }\n",
    );
    let base = load(folder.path(), Limits::default()).0.unwrap();
    let found: Vec<String> = linted(&base)
        .iter()
        .map(|one| {
            one.split_once("b.yaml")
                .map_or("?", |(_, rest)| rest)
                .to_owned()
        })
        .collect();
    assert_eq!(
        found,
        [
            ":1:10: warning[missing-language]: “Bye” is missing in zh",
            ":3:9: warning[missing-language]: “Go back” is missing in zh",
            ":7:14: warning[missing-language]: “What?” is missing in zh",
            ":9:31: warning[missing-language]: “The x” is missing in zh",
        ]
    );
}

#[test]
fn a_branch_behind_one_that_always_fits_is_never_taken() {
    let found = wrong(
        "slots: { n: { type: number } }
nodes:
  root:
    response: How many?
    ask: n
    next_node:
      - { when: n > 3, next_node: null }
      - { next_node: root }
      - { when: n < 2, next_node: null }
      - { next_node: null }
",
    );
    let told = "error[never-true]: this branch can never be taken: one before it has no `when`";
    assert_eq!(found, [format!("k:9:9: {told}"), format!("k:10:9: {told}")]);
}

#[test]
fn a_sub_flow_needs_a_node_and_one_to_return_to() {
    let found = wrong(
        "nodes:
  root:
    response: Hi
    options:
      - { id: lost, next_node: part, then: nowhere }
      - { id: lone, then: part }
      - { id: ends, next_node: null, then: part }
      - { id: stop, next_node: stop }
  part: { response: Part }
  stop:
    response: Stop
    then: part
",
    );
    let unused = "error[unused-then]: `then` is never followed: there is no `next_node` that comes before it";
    assert_eq!(
        found,
        [
            "k:5:9: error[broken-link]: `then` leads to `nowhere`, which is no node".to_owned(),
            format!("k:6:9: {unused}"),
            format!("k:7:9: {unused}"),
            format!("k:12:11: {unused}"),
        ]
    );
}

#[test]
fn circles_are_followed_through_branches() {
    let base = |way: &str| {
        format!(
            "slots: {{ n: {{ type: number }} }}
nodes:
  root: {{ response: How many?, ask: n, next_node: a }}
  a:
    response: A
    next_node: {way}
  b: {{ response: B, next_node: a }}
  c: {{ response: C }}
"
        )
    };
    let spins = |way: &str| -> Vec<String> {
        let mut found = wrong(&base(way));
        found.retain(|one| one.contains("[spin]"));
        found
    };
    let both = [
        "k:4:3: error[spin]: `a` passes on and on without asking",
        "k:7:3: error[spin]: `b` passes on and on without asking",
    ];
    assert_eq!(
        spins("[{ when: n > 3, next_node: b }, { next_node: c }]"),
        both
    );
    // Once round, and then on.
    let once = "[{ when: not visited(b), next_node: b }, { next_node: c }]";
    assert_eq!(spins(once), [""; 0]);
    // No answer is both.
    let never = "[{ when: n > 3 and n < 2, next_node: b }, { next_node: c }]";
    assert_eq!(spins(never), [""; 0]);
}

#[test]
fn a_place_far_to_the_right_is_kept() {
    let filling = "x".repeat(70_000);
    let text = format!(
        r#"{{"fallback": "{filling}", "nodes": {{"root": {{"response": "Hi", "next_node": "gone"}}}}}}"#
    );
    let base = load_text("k", &text, Format::Json).unwrap();
    let column = text.find("\"gone").unwrap() + 1;
    let wanted =
        format!("k:1:{column}: error[broken-link]: `next_node` leads to `gone`, which is no node");
    assert_eq!(linted(&base), [wanted]);
}

#[test]
fn a_node_in_two_files_is_pointed_at_in_the_second() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.yaml", "nodes:\n  root: { response: A }\n");
    write(
        "b.yaml",
        "nodes:\n  other: { response: B }\n  root: { response: B }\n",
    );
    let problems = load(folder.path(), Limits::default()).0.unwrap_err();
    let told = problems[0].to_string();
    assert!(
        told.ends_with("b.yaml:3:3: error[duplicate]: the node `root` stands twice"),
        "{told}"
    );
}

#[test]
fn a_change_of_an_included_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(
        path("a.yaml"),
        "include: parts/b.yaml\nnodes: { root: { response: A, next_node: b } }\n",
    )
    .unwrap();
    fs::create_dir(path("parts")).unwrap();
    fs::write(path("parts/b.yaml"), "nodes: { b: { response: B } }\n").unwrap();
    let (base, stamp) = load(&path("a.yaml"), Limits::default());
    assert!(base.is_ok() && stamp.is_current());
    fs::write(
        path("parts/b.yaml"),
        "nodes: { b: { response: Changed } }\n",
    )
    .unwrap();
    assert!(!stamp.is_current());
}
