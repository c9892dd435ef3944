//! Conversations from a file, with a complaint where one cannot be understood.

use std::{path::Path, sync::Arc};

use super::{Conversation, Expect, Turn};
use crate::{
    base::{Limits, read_text},
    problem::{Place, Problem, ProblemCode},
    read::{self, Entry, Field, Format, Item, Kind},
};

const CONVERSATION: &[&str] = &["name", "query", "steps"];
const TURN: &[&str] = &["choose", "say", "input"];
const EXPECT: &[&str] = &[
    "node",
    "says",
    "options",
    "complete",
    "matched",
    "error",
    "knowledge_base",
];

/// Reads the conversations of one file.
pub fn conversations(path: &Path) -> Result<Vec<Conversation>, Vec<Problem>> {
    let (file, text) =
        read_text(path, Limits::default().file_bytes).map_err(|problem| vec![problem])?;
    let mut reading = Reading {
        file: Arc::clone(&file),
        problems: Vec::new(),
        found: Vec::new(),
    };
    let format = Format::of(path).unwrap_or(Format::Yaml);
    read::read(&text, format, &mut |entry| {
        match entry {
            Entry::Field(field) if field.key == "conversations" => reading.all(&field.value),
            Entry::Field(field) | Entry::Node(field) => {
                reading.unknown(&field, &["conversations"]);
            }
        }
        Ok(())
    })
    .map_err(|fault| vec![fault.in_file(&file)])?;
    if reading.found.is_empty() && reading.problems.is_empty() {
        let message = "there are no `conversations`";
        reading.wrong(
            ProblemCode::Field,
            Place { line: 1, column: 1 },
            message.to_owned(),
        );
    }
    if reading.problems.is_empty() {
        Ok(reading.found)
    } else {
        Err(reading.problems)
    }
}

struct Reading {
    file: Arc<str>,
    problems: Vec<Problem>,
    found: Vec<Conversation>,
}

impl Reading {
    fn wrong(&mut self, code: ProblemCode, place: Place, message: String) {
        self.problems
            .push(Problem::new(code, &self.file, place, message));
    }

    fn unknown(&mut self, field: &Field<'_>, known: &[&str]) {
        let message = format!(
            "there is no field `{}` here; there are: {}",
            crate::short(&field.key),
            known.join(", ")
        );
        self.wrong(ProblemCode::UnknownField, field.place, message);
    }

    fn expected(&mut self, item: &Item<'_>, wanted: &str) {
        let message = format!("expected {wanted}, found {}", item.what());
        self.wrong(ProblemCode::Field, item.place, message);
    }

    fn list<'i>(&mut self, item: &'i Item<'i>) -> &'i [Item<'i>] {
        if let Kind::List(items) = &item.kind {
            return items;
        }
        self.expected(item, "a list");
        &[]
    }

    fn text(&mut self, item: &Item<'_>) -> Option<String> {
        let word = item.word();
        if word.is_none() {
            self.expected(item, "a text");
        }
        word.map(std::borrow::Cow::into_owned)
    }

    fn texts(&mut self, item: &Item<'_>) -> Vec<String> {
        match &item.kind {
            Kind::List(items) => items.iter().filter_map(|one| self.text(one)).collect(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => {
                self.text(item).into_iter().collect()
            }
        }
    }

    fn fields<'i>(&mut self, item: &'i Item<'i>, own: &[&str]) -> &'i [Field<'i>] {
        let Kind::Map(fields) = &item.kind else {
            self.expected(item, "a group of fields");
            return &[];
        };
        let known: Vec<&str> = own.iter().chain(EXPECT).copied().collect();
        for field in fields.iter().filter(|field| !known.contains(&&*field.key)) {
            self.unknown(field, &known);
        }
        fields
    }

    fn all(&mut self, item: &Item<'_>) {
        for one in self.list(item) {
            let (mut name, mut query, mut turns) = (None, None, Vec::new());
            for field in self.fields(one, CONVERSATION) {
                match &*field.key {
                    "name" => name = self.text(&field.value),
                    "query" => query = self.text(&field.value),
                    "steps" => {
                        for step in self.list(&field.value) {
                            let turn = self.turn(step);
                            turns.extend(turn);
                        }
                    }
                    _ => {}
                }
            }
            let begins = self.expect(one);
            let Some(query) = query else {
                let message = "a conversation needs a `query`".to_owned();
                self.wrong(ProblemCode::Field, one.place, message);
                continue;
            };
            self.found.push(Conversation {
                name: name.unwrap_or_else(|| query.clone()),
                query,
                begins,
                turns,
                file: Arc::clone(&self.file),
            });
        }
    }

    fn turn(&mut self, item: &Item<'_>) -> Option<Turn> {
        let (mut option, mut input) = (None, None);
        for field in self.fields(item, TURN) {
            match &*field.key {
                "choose" => option = self.text(&field.value),
                "say" => {
                    option = Some("provide_more_info".to_owned());
                    input = self.text(&field.value);
                }
                "input" => input = self.text(&field.value),
                _ => {}
            }
        }
        let expect = self.expect(item);
        if option.is_none() {
            let message = "a step needs `choose: OPTION` or `say: WORDS`".to_owned();
            self.wrong(ProblemCode::Field, item.place, message);
        }
        Some(Turn {
            option: option?,
            input,
            expect,
        })
    }

    fn expect(&mut self, item: &Item<'_>) -> Expect {
        let mut expect = Expect {
            place: item.place,
            ..Expect::default()
        };
        let Kind::Map(fields) = &item.kind else {
            return expect;
        };
        for Field { key, value, .. } in fields {
            match &**key {
                "node" => expect.node = self.text(value),
                "says" => expect.says = self.texts(value),
                "options" => expect.options = Some(self.texts(value)),
                "matched" => expect.matched = self.text(value),
                "error" => expect.error = self.text(value),
                "knowledge_base" => expect.base = self.text(value),
                "complete" => match value.kind {
                    Kind::Bool(truth) => expect.complete = Some(truth),
                    Kind::Null | Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => {
                        self.expected(value, "true or false");
                    }
                },
                _ => {}
            }
        }
        expect
    }
}
