//! YAML as events. Anchors and aliases are refused: they are how a small file becomes a
//! huge one, and `include` and sub-flows do their work here.

use std::borrow::Cow;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::{
    Fault, Item, Kind, MAX_DEPTH, Sink,
    nested::{self, Each, Nested},
};
use crate::problem::{Place, ProblemCode};

pub(super) fn read<'t>(text: &'t str, sink: Sink<'_, 't>) -> Result<(), Fault> {
    let mut reader = Reader::begin(text)?;
    if reader.is_at_map() {
        nested::entries(&mut reader, sink)?;
        return reader.end();
    }
    match reader.next()? {
        (Event::StreamEnd | Event::DocumentEnd, _) => Ok(()),
        (_, place) => Err(Fault::syntax(place, "expected fields such as `nodes:`")),
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
}

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

    /// The place of what comes next.
    fn here(&mut self) -> Place {
        match self.parser.peek() {
            Some(Ok((_, span))) => start(span),
            Some(Err(_)) | None => Place::default(),
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Place), Fault> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, start(&span))),
            Some(Err(error)) => Err(fault(&error)),
            None => Err(Fault::syntax(Place::default(), "the file ends too early")),
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

impl<'a> Nested<'a> for Reader<'a> {
    fn is_at_map(&mut self) -> bool {
        matches!(self.parser.peek(), Some(Ok((Event::MappingStart(..), _))))
    }

    fn item(&mut self, depth: usize) -> Result<Item<'a>, Fault> {
        if self.is_at_map() {
            let place = self.here();
            if depth > MAX_DEPTH {
                return Err(Fault::too_deep(place));
            }
            let kind = Kind::Map(nested::fields(self, depth)?);
            return Ok(Item { place, kind });
        }
        let (event, place) = self.next()?;
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep(place));
        }
        let kind = match event {
            Event::Scalar(text, style, anchor, _) => {
                no_anchor(anchor, place)?;
                scalar(text, style)
            }
            Event::SequenceStart(anchor, _) => {
                no_anchor(anchor, place)?;
                let mut items = Vec::new();
                while !matches!(self.parser.peek(), Some(Ok((Event::SequenceEnd, _)))) {
                    items.push(self.item(depth + 1)?);
                }
                self.next()?;
                Kind::List(items)
            }
            Event::Alias(_) => return Err(aliases(place)),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd => Kind::Null,
        };
        Ok(Item { place, kind })
    }

    fn map(&mut self, each: Each<'_, 'a, Self>) -> Result<(), Fault> {
        if let (Event::MappingStart(anchor, _), place) = self.next()? {
            no_anchor(anchor, place)?;
        }
        loop {
            match self.next()? {
                (Event::MappingEnd, _) => return Ok(()),
                (Event::Scalar(key, _, anchor, _), place) => {
                    no_anchor(anchor, place)?;
                    each(self, key, place)?;
                }
                (Event::Alias(_), place) => return Err(aliases(place)),
                (_, place) => return Err(Fault::syntax(place, "a name is a plain text")),
            }
        }
    }
}

/// What a plain word stands for; only what JSON knows is special, so `no` stays a word.
fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Kind<'_> {
    if style != ScalarStyle::Plain {
        return Kind::Text(text);
    }
    match &*text {
        "" | "~" | "null" => Kind::Null,
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        _ if serde_json::from_str::<serde_json::Number>(&text).is_ok() => Kind::Number(text),
        _ => Kind::Text(text),
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
