//! YAML as events. Anchors and aliases are refused: they are how a small file becomes a
//! huge one, and `include` and sub-flows do their work here.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::{Entry, Fault, Field, Item, Kind, MAX_DEPTH, NODES, Sink};
use crate::problem::{Place, ProblemCode};

pub(super) fn read(text: &str, sink: Sink<'_>) -> Result<(), Fault> {
    let mut reader = Reader::begin(text)?;
    let (event, place) = reader.next()?;
    match event {
        Event::MappingStart(..) => {}
        Event::StreamEnd | Event::DocumentEnd => return Ok(()),
        Event::Nothing
        | Event::StreamStart
        | Event::DocumentStart(_)
        | Event::Alias(_)
        | Event::Scalar(..)
        | Event::SequenceStart(..)
        | Event::SequenceEnd
        | Event::MappingEnd => {
            return Err(Fault::syntax(place, "expected fields such as `nodes:`"));
        }
    }
    reader.map(&mut |reader, key, place| {
        let (event, at) = reader.next()?;
        if key == NODES && matches!(event, Event::MappingStart(..)) {
            return reader.map(&mut |reader, key, place| {
                let value = reader.item(2)?;
                sink(Entry::Node(Field { key, place, value }))
            });
        }
        let value = reader.item_from(event, at, 1)?;
        sink(Entry::Field(Field { key, place, value }))
    })?;
    reader.end()
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
}

type Each<'f, 'a> = &'f mut dyn FnMut(&mut Reader<'a>, String, Place) -> Result<(), Fault>;

impl<'a> Reader<'a> {
    fn begin(text: &'a str) -> Result<Self, Fault> {
        let mut reader = Self {
            parser: Parser::new_from_str(text),
        };
        reader.next()?;
        if let Some(Ok((Event::DocumentStart(_), _))) = reader.parser.peek() {
            reader.next()?;
        }
        Ok(reader)
    }

    fn next(&mut self) -> Result<(Event<'a>, Place), Fault> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, start(&span))),
            Some(Err(error)) => Err(fault(&error)),
            None => Err(Fault::syntax(Place::default(), "the file ends too early")),
        }
    }

    fn item(&mut self, depth: usize) -> Result<Item, Fault> {
        let (event, place) = self.next()?;
        self.item_from(event, place, depth)
    }

    fn item_from(&mut self, event: Event<'a>, place: Place, depth: usize) -> Result<Item, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep(place));
        }
        let kind = match event {
            Event::Scalar(text, style, anchor, _) => {
                no_anchor(anchor, place)?;
                scalar(&text, style)
            }
            Event::SequenceStart(anchor, _) => {
                no_anchor(anchor, place)?;
                let mut items = Vec::new();
                loop {
                    let (event, place) = self.next()?;
                    if event == Event::SequenceEnd {
                        break;
                    }
                    items.push(self.item_from(event, place, depth + 1)?);
                }
                Kind::List(items)
            }
            Event::MappingStart(anchor, _) => {
                no_anchor(anchor, place)?;
                let mut fields: Vec<Field> = Vec::new();
                self.map(&mut |reader, key, place| {
                    if fields.iter().any(|field| field.key == key) {
                        return Err(Fault::twice(place, &key));
                    }
                    let value = reader.item(depth + 1)?;
                    fields.push(Field { key, place, value });
                    Ok(())
                })?;
                Kind::Map(fields)
            }
            Event::Alias(_) => return Err(aliases(place)),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => Kind::Null,
        };
        Ok(Item { place, kind })
    }

    fn map(&mut self, each: Each<'_, 'a>) -> Result<(), Fault> {
        loop {
            match self.next()? {
                (Event::MappingEnd, _) => return Ok(()),
                (Event::Scalar(key, _, anchor, _), place) => {
                    no_anchor(anchor, place)?;
                    each(self, key.into_owned(), place)?;
                }
                (Event::Alias(_), place) => return Err(aliases(place)),
                (_, place) => return Err(Fault::syntax(place, "a name is a plain text")),
            }
        }
    }

    fn end(&mut self) -> Result<(), Fault> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentEnd, _) => {}
                (_, place) => return Err(Fault::syntax(place, "one document a file")),
            }
        }
    }
}

/// What a plain word stands for; only what JSON knows is special, so `no` stays a word.
fn scalar(text: &str, style: ScalarStyle) -> Kind {
    if style != ScalarStyle::Plain {
        return Kind::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" => Kind::Null,
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        _ if serde_json::from_str::<serde_json::Number>(text).is_ok() => {
            Kind::Number(text.to_owned())
        }
        _ => Kind::Text(text.to_owned()),
    }
}

fn no_anchor(anchor: usize, place: Place) -> Result<(), Fault> {
    if anchor == 0 {
        return Ok(());
    }
    Err(aliases(place))
}

fn aliases(place: Place) -> Fault {
    let message = "anchors (&) and aliases (*) are not read; put text that begins with them in \
                   quotes, and use `include` or a sub-flow to share";
    Fault::new(ProblemCode::Limit, place, message)
}

fn start(span: &Span) -> Place {
    place(&span.start)
}

fn place(marker: &Marker) -> Place {
    Place {
        line: u32::try_from(marker.line()).unwrap_or(u32::MAX),
        column: u32::try_from(marker.col() + 1).unwrap_or(u32::MAX),
    }
}

fn fault(error: &ScanError) -> Fault {
    let message = error.info();
    let code = if message.contains("recursion limit") {
        ProblemCode::Limit
    } else {
        ProblemCode::Syntax
    };
    Fault::new(code, place(error.marker()), message)
}
