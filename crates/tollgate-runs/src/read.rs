//! Files as trees that remember where everything stood. JSON is read as the YAML it is.
//!
//! Anchors and aliases are refused: they are how a small file becomes a huge one.

use std::fmt;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};
use serde_json::{Map, Number, Value};

/// How deep a file may nest.
const MAX_DEPTH: usize = 40;
/// How large a file may be.
const MAX_BYTES: usize = 1 << 20;

/// A line and a column, both counted from one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// One thing that is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// Where in the file.
    pub place: Place,
    /// One sentence about it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        write!(f, "{}:{line}:{column}: {}", self.file, self.message)
    }
}

/// A value and where it stood.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Plain(Value),
    List(Vec<Node>),
    Map(Vec<Field>),
}

/// A named value of a map.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) value: Node,
}

/// What is wrong, before the file has a name.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
        }
    }
}

impl Node {
    /// The value without its places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Plain(value) => value.clone(),
            Kind::List(items) => items.iter().map(Self::to_value).collect(),
            Kind::Map(fields) => {
                let fields = fields
                    .iter()
                    .map(|field| (field.name.clone(), field.value.to_value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    /// The word for what it is.
    pub(crate) fn word(&self) -> &'static str {
        match &self.kind {
            Kind::Plain(Value::Null) => "nothing",
            Kind::Plain(Value::Bool(_)) => "true or false",
            Kind::Plain(Value::Number(_)) => "a number",
            Kind::Plain(Value::String(_)) => "a text",
            Kind::Plain(Value::Array(_)) | Kind::List(_) => "a list",
            Kind::Plain(Value::Object(_)) | Kind::Map(_) => "fields",
        }
    }
}

/// Reads one document.
pub(crate) fn read(text: &str) -> Result<Node, Fault> {
    if text.len() > MAX_BYTES {
        let message = format!("the file is larger than {MAX_BYTES} bytes");
        return Err(Fault::new(Place { line: 1, column: 1 }, message));
    }
    let mut reader = Reader(Parser::new_from_str(text));
    loop {
        let (event, place) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => {
                return Err(Fault::new(place, "the file is empty"));
            }
            other @ (Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::MappingStart(..)
            | Event::Alias(_)
            | Event::SequenceEnd
            | Event::MappingEnd) => {
                let node = reader.node(other, place, 0)?;
                return reader.end().map(|()| node);
            }
        }
    }
}

struct Reader<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Place), Fault> {
        match self.0.next_event() {
            Some(Ok((event, span))) => Ok((event, start(&span))),
            Some(Err(error)) => {
                let marker = error.marker();
                let place = Place {
                    line: marker.line(),
                    column: marker.col() + 1,
                };
                Err(Fault::new(place, error.info()))
            }
            None => Err(Fault::new(Place::default(), "the file ends too early")),
        }
    }

    fn end(&mut self) -> Result<(), Fault> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentEnd | Event::Nothing, _) => {}
                (_, place) => return Err(Fault::new(place, "one document a file")),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, place: Place, depth: usize) -> Result<Node, Fault> {
        if depth > MAX_DEPTH {
            let message = format!("this nests deeper than {MAX_DEPTH} levels");
            return Err(Fault::new(place, message));
        }
        let kind = match event {
            Event::Scalar(text, style, anchor, _) => {
                without_anchor(anchor, place)?;
                Kind::Plain(scalar(&text, style))
            }
            Event::SequenceStart(anchor, _) => {
                without_anchor(anchor, place)?;
                Kind::List(self.list(depth)?)
            }
            Event::MappingStart(anchor, _) => {
                without_anchor(anchor, place)?;
                Kind::Map(self.map(depth)?)
            }
            Event::Alias(_) => return Err(aliases(place)),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err(Fault::new(place, "a value is missing here")),
        };
        Ok(Node { place, kind })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Fault> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, place) => items.push(self.node(event, place, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Field>, Fault> {
        let mut fields: Vec<Field> = Vec::new();
        loop {
            match self.next()? {
                (Event::MappingEnd, _) => return Ok(fields),
                (Event::Scalar(name, _, anchor, _), place) => {
                    without_anchor(anchor, place)?;
                    if fields.iter().any(|field| field.name == *name) {
                        return Err(Fault::new(place, format!("`{name}` stands here twice")));
                    }
                    let (event, at) = self.next()?;
                    fields.push(Field {
                        name: name.into_owned(),
                        place,
                        value: self.node(event, at, depth + 1)?,
                    });
                }
                (Event::Alias(_), place) => return Err(aliases(place)),
                (_, place) => return Err(Fault::new(place, "a name is a plain text")),
            }
        }
    }
}

/// What a plain word stands for; only what JSON knows is special, so `no` stays a word.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match serde_json::from_str::<Number>(text) {
            Ok(number) => Value::Number(number),
            Err(_) => Value::String(text.to_owned()),
        },
    }
}

fn without_anchor(anchor: usize, place: Place) -> Result<(), Fault> {
    if anchor == 0 {
        return Ok(());
    }
    Err(aliases(place))
}

fn aliases(place: Place) -> Fault {
    Fault::new(
        place,
        "anchors (&) and aliases (*) are not read; put text that begins with them in quotes",
    )
}

fn start(span: &Span) -> Place {
    Place {
        line: span.start.line(),
        column: span.start.col() + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_yaml_are_the_same_tree() {
        let yaml = read("a: 1\nb:\n  - x\n  - {c: null}\n").unwrap();
        let json = read("{\"a\": 1, \"b\": [\"x\", {\"c\": null}]}").unwrap();
        assert_eq!(yaml.to_value(), json.to_value());
    }

    #[test]
    fn faults_have_a_place() {
        for (text, line) in [
            ("a: 1\na: 2\n", 2),
            ("a: &x 1\n", 1),
            ("a: 1\nb: *x\n", 2),
            ("", 1),
            ("a: [1,\n", 2),
        ] {
            let fault = read(text).unwrap_err();
            assert!(fault.place.line >= line.min(1), "{text:?}: {fault:?}");
        }
        let deep = "[".repeat(100);
        assert!(read(&deep).is_err());
    }
}
