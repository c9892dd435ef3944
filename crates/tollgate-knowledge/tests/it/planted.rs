//! Every planted fault is pointed at, and nothing else is.

use std::{collections::BTreeSet, fs};

use tollgate_knowledge::{Format, Limits, ProblemCode, Severity, lint, load, load_text};

const PLANTED: &str = include_str!("../fixtures/planted.yaml");
const REFUSED: &str = include_str!("../fixtures/refused.txt");

#[test]
fn lint_points_at_every_planted_fault_and_at_nothing_else() {
    let base = load_text("planted", PLANTED, Format::Yaml).unwrap();
    let found: BTreeSet<(u32, String)> = lint(&base)
        .iter()
        // What the whole base lacks has no line of its own.
        .map(|one| (one.place.line.max(2), one.code.to_string()))
        .collect();
    let planted: BTreeSet<(u32, String)> = PLANTED
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| Some((line.split_once("# fault: ")?.1, number)))
        .flat_map(|(codes, number)| codes.split(", ").map(move |code| (number, code.to_owned())))
        .collect();
    assert_eq!(found, planted);
    let codes: BTreeSet<&str> = planted.iter().map(|(_, code)| code.as_str()).collect();
    for code in ProblemCode::ALL
        .iter()
        .filter(|code| code.severity() != Severity::Fatal)
    {
        assert!(codes.contains(code.as_str()), "{code} is not planted");
    }
}

#[test]
fn every_fatal_fault_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut codes = BTreeSet::from(["file", "encoding"]);
    let mut wrong = Vec::new();
    for line in REFUSED.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.splitn(4, ' ');
        let (code, place, format, text) = (
            words.next().unwrap(),
            words.next().unwrap(),
            words.next().unwrap(),
            words.next().unwrap(),
        );
        let path = folder.path().join(format!("k.{format}"));
        fs::write(&path, text).unwrap();
        let problems = load(&path, Limits::default()).0.unwrap_err();
        let at = problems[0].place;
        let found = format!("{} {}:{}", problems[0].code, at.line, at.column);
        if found != format!("{code} {place}") {
            wrong.push(format!("{text}: {}", problems[0]));
        }
        codes.insert(code);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing = load(&folder.path().join("none.json"), Limits::default())
        .0
        .unwrap_err();
    assert_eq!(missing[0].code, ProblemCode::File);
    fs::write(folder.path().join("k.json"), b"\xff\xfe").unwrap();
    let foreign = load(&folder.path().join("k.json"), Limits::default())
        .0
        .unwrap_err();
    assert_eq!(foreign[0].code, ProblemCode::Encoding);
    for code in ProblemCode::ALL
        .iter()
        .filter(|code| code.severity() == Severity::Fatal)
    {
        assert!(codes.contains(code.as_str()), "{code} is not planted");
    }
}
