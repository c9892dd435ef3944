//! Checks of the readers of knowledge, drawings and spreadsheets on arbitrary bytes. The first byte says which reader
//! is meant, the rest is what it reads.
//!
//! Invariant: a function returns for every input; it panics only where a property does not hold.

use flate2::Crc;
use serde_json::Value;

use super::{Flow, csv, dot, mermaid, office, sheet};
use crate::{
    Format, Kind, fields, lint, load_text,
    problem::{Problem, ProblemCode},
    read::{Fault, decode},
};

/// What `a`, `b`, … at the beginning stand for.
fn choice(data: &[u8], among: usize) -> Option<(usize, &[u8])> {
    let (first, rest) = data.split_first()?;
    let number = usize::from(first.checked_sub(b'a')?);
    (number < among).then_some((number, rest))
}

/// Knowledge files are read the same each time, problems lie within them, and a drawing becomes a draft that loads.
pub fn knowledge_reader(data: &[u8]) {
    let Some((which, rest)) = choice(data, 5) else {
        return;
    };
    let Ok(text) = decode(rest.to_vec()) else {
        return;
    };
    match which {
        0 => {
            check_json(&text);
            check_base(&text, Format::Json);
        }
        1 => check_base(&text, Format::Yaml),
        2 => check_base(&text, Format::Xml),
        3 => check_flow(dot::read(&text)),
        _ => check_flow(mermaid::read(&text)),
    }
}

/// Workbooks and CSV become a draft that loads. What is not packed already is packed, so that the cells are reached.
pub fn spreadsheet(data: &[u8]) {
    let Some((which, rest)) = choice(data, 4) else {
        return;
    };
    let flow = match which {
        0 => office::rows(rest).map_err(|_| ()),
        1 => {
            let (strings, cells) = halves(rest);
            let parts: [(&str, &[u8]); 4] = [
                ("xl/workbook.xml", WORKBOOK.as_bytes()),
                ("xl/_rels/workbook.xml.rels", LINKS.as_bytes()),
                ("xl/sharedStrings.xml", strings),
                ("xl/worksheets/sheet1.xml", cells),
            ];
            office::rows(&packed(&parts)).map_err(|_| ())
        }
        2 => office::rows(&packed(&[("content.xml", rest)])).map_err(|_| ()),
        _ => match decode(rest.to_vec()) {
            Ok(text) => csv::rows(&text).map_err(|_| ()),
            Err(_) => return,
        },
    };
    if let Ok(rows) = flow {
        check_flow(sheet::read(rows));
    }
}

const WORKBOOK: &str =
    r#"<workbook><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
const LINKS: &str = r#"<Relationships>
    <Relationship Id="rId1" Type="t/worksheet" Target="worksheets/sheet1.xml"/>
    <Relationship Id="rId2" Type="t/sharedStrings" Target="sharedStrings.xml"/></Relationships>"#;

/// What stands before and after a line `%%`.
fn halves(data: &[u8]) -> (&[u8], &[u8]) {
    let line = b"\n%%\n";
    match data.windows(line.len()).position(|part| part == line) {
        Some(at) => (&data[..at], &data[at + line.len()..]),
        None => (b"<sst/>", data),
    }
}

/// A packed file whose parts are stored as they are.
fn packed(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut list) = (Vec::new(), Vec::new());
    for (name, body) in parts {
        let number = |number: usize| u32::try_from(number).unwrap_or(0).to_le_bytes();
        let place = number(file.len());
        let mut checksum = Crc::new();
        checksum.update(body);
        let [length, name_length] = [number(body.len()), number(name.len())];
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend(checksum.sum().to_le_bytes());
        common.extend([length, length].concat());
        common.extend([name_length[0], name_length[1], 0, 0]);
        file.extend([b"PK\x03\x04", &common[..], name.as_bytes(), body].concat());
        list.extend([b"PK\x01\x02\x14\0", &common[..], &[0; 10], &place].concat());
        list.extend(name.as_bytes());
    }
    let [length, place] = [list.len(), file.len()].map(|it| u32::try_from(it).unwrap_or(0));
    let count = u16::try_from(parts.len()).unwrap_or(0).to_le_bytes();
    file.extend([&list[..], b"PK\x05\x06\0\0\0\0", &count, &count].concat());
    file.extend([length.to_le_bytes(), place.to_le_bytes()].concat());
    file.extend([0, 0]);
    file
}

/// What is drawn is printed as knowledge that can be read; only its contents may be complained about.
fn check_flow(read: Result<Flow, Fault>) {
    let Ok(flow) = read else {
        return;
    };
    if flow.is_empty() {
        return;
    }
    let text = flow.print();
    if let Err(problems) = load_text("draft", &text, Format::Yaml) {
        let broken = |problem: &&Problem| {
            matches!(
                problem.code,
                ProblemCode::Syntax | ProblemCode::UnknownField | ProblemCode::Duplicate
            )
        };
        let broken = problems.iter().find(broken);
        assert!(broken.is_none(), "{broken:?} in a draft:\n{text}");
    }
}

fn check_base(text: &str, format: Format) {
    // YAML takes a carriage return alone for the end of a line as well.
    let lines = text.split(['\n', '\r']).count();
    match load_text("k", text, format) {
        Ok(base) => {
            let again = load_text("k", text, format).map(|it| it.version().to_owned());
            assert_eq!(again.as_deref(), Ok(base.version()), "read twice");
            assert!(base.node_count() > 0, "a base without a node");
            check_places(&lint(&base), lines);
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a problem");
            check_places(&problems, lines);
        }
    }
}

fn check_places(problems: &[Problem], lines: usize) {
    for problem in problems {
        let line = usize::try_from(problem.place.line).unwrap_or(usize::MAX);
        assert!(line <= lines + 1, "{problem} of {lines} lines");
        assert!(!problem.message.is_empty(), "a problem without a word");
    }
}

/// Strict JSON is read as every JSON reader does, apart from our bounds.
fn check_json(text: &str) {
    let Ok(Value::Object(expected)) = serde_json::from_str::<Value>(text) else {
        return;
    };
    if expected.contains_key("nodes") {
        return;
    }
    match fields("k", text, Format::Json) {
        Ok(found) => {
            assert_eq!(found.len(), expected.len(), "as many fields");
            for field in &found {
                let value = expected.get(&*field.key);
                assert!(
                    value.is_some_and(|value| is_same(&field.value.kind, value)),
                    "{field:?} is not {value:?}"
                );
            }
        }
        Err(problem) => assert!(
            matches!(problem.code, ProblemCode::Duplicate | ProblemCode::Limit),
            "JSON is refused: {problem}"
        ),
    }
}

fn is_same(kind: &Kind<'_>, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Null, Value::Null) => true,
        (Kind::Bool(one), Value::Bool(other)) => one == other,
        (Kind::Number(text), Value::Number(number)) => {
            serde_json::from_str::<serde_json::Number>(text).is_ok_and(|it| it == *number)
        }
        (Kind::Text(one), Value::String(other)) => one == other,
        (Kind::List(items), Value::Array(values)) => {
            items.len() == values.len()
                && items
                    .iter()
                    .zip(values)
                    .all(|(item, value)| is_same(&item.kind, value))
        }
        (Kind::Map(fields), Value::Object(values)) => {
            fields.len() == values.len()
                && fields.iter().all(|field| {
                    let value = values.get(&*field.key);
                    value.is_some_and(|value| is_same(&field.value.kind, value))
                })
        }
        _ => false,
    }
}
