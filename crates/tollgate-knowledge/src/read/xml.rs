//! XML, in a small vocabulary that says the same as the JSON: `<node id="…">` holds
//! `<response>`, `<option id="…" next_node="…">…</option>` and so on, and what can stand
//! several times becomes a list. A document type is refused, so no entity can grow.

use quick_xml::{Reader, XmlVersion, escape::resolve_predefined_entity, events::Event};

use super::{Cursor, Entry, Fault, Field, Item, Kind, MAX_DEPTH, Sink};
use crate::problem::{Place, ProblemCode};

/// The most names in one element, of attributes or of what stands inside.
const MOST_NAMES: usize = 5000;

/// Elements that may stand several times, and the list they make.
const LISTS: &[(&str, &str)] = &[
    ("branch", "next_node"),
    ("choice", "choices"),
    ("include", "include"),
    ("keyword", "keywords"),
    ("no_word", "no_words"),
    ("option", "options"),
    ("synonym", "synonyms"),
    ("yes_word", "yes_words"),
];

/// Elements that make a group of fields, the group, and the attribute that names each.
const GROUPS: &[(&str, &str, &str)] = &[
    ("set", "set", "slot"),
    ("slot", "slots", "name"),
    ("unit", "units", "name"),
];

pub(super) fn read(text: &str, sink: Sink<'_, '_>) -> Result<(), Fault> {
    let mut walk = Walk {
        reader: Reader::from_str(text),
        cursor: Cursor::new(text),
    };
    let (root, place, is_empty) = walk.root()?;
    // What stands in an attribute and in an element stands twice.
    let mut gathered = Gather {
        fields: attributes(&root, place)?,
    };
    loop {
        if is_empty {
            break;
        }
        match walk.next()? {
            (Event::Start(start), place) => {
                let element = walk.element(&start, place, 1)?;
                top(element, &mut gathered, sink)?;
            }
            (Event::Empty(start), place) => {
                let element = Element::open(&start, place)?;
                top(element, &mut gathered, sink)?;
            }
            (Event::End(_), _) => break,
            (event, place) => stray(&event, place)?,
        }
    }
    for field in gathered.fields {
        sink(Entry::Field(field))?;
    }
    walk.finish()
}

fn top(element: Element, gathered: &mut Gather, sink: Sink<'_, '_>) -> Result<(), Fault> {
    if element.name != "node" {
        return gathered.add(element);
    }
    let place = element.place;
    let Some(at) = element.fields.iter().position(|field| field.key == "id") else {
        return Err(Fault::new(
            ProblemCode::Field,
            place,
            "a node needs an `id`",
        ));
    };
    let mut element = element;
    let id = element.fields.remove(at);
    let key = id.value.word().unwrap_or_default().into_owned().into();
    sink(Entry::Node(Field {
        key,
        place,
        value: element.into_item()?,
    }))
}

struct Walk<'a> {
    reader: Reader<&'a [u8]>,
    cursor: Cursor<'a>,
}

impl<'a> Walk<'a> {
    fn at(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    fn next(&mut self) -> Result<(Event<'a>, Place), Fault> {
        let place = self.cursor.to(self.at());
        match self.reader.read_event() {
            Ok(Event::DocType(_)) => {
                let message = "a document type and entities of its own are not read";
                Err(Fault::new(ProblemCode::Limit, place, message))
            }
            Ok(event) => Ok((event, place)),
            Err(error) => Err(Fault::syntax(place, error.to_string())),
        }
    }

    fn root(&mut self) -> Result<(quick_xml::events::BytesStart<'a>, Place, bool), Fault> {
        loop {
            match self.next()? {
                (Event::Start(start), place) => return Ok((start, place, false)),
                (Event::Empty(start), place) => return Ok((start, place, true)),
                (event, place) => stray(&event, place)?,
            }
        }
    }

    /// Everything up to the end of an element that was opened.
    fn element(
        &mut self,
        start: &quick_xml::events::BytesStart<'_>,
        place: Place,
        depth: usize,
    ) -> Result<Element, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep(place));
        }
        let mut element = Element::open(start, place)?;
        let mut gathered = Gather::default();
        loop {
            let (event, place) = self.next()?;
            match event {
                Event::Start(start) => {
                    gathered.add(self.element(&start, place, depth + 1)?)?;
                }
                Event::Empty(start) => gathered.add(Element::open(&start, place)?)?,
                Event::End(_) => break,
                Event::Text(text) => {
                    let text = text.xml_content(XmlVersion::Implicit1_0);
                    element.text.push_str(&text);
                }
                Event::CData(text) => element.text.push_str(&text),
                Event::GeneralRef(entity) => match entity.resolve_char_ref() {
                    Ok(Some(character)) => element.text.push(character),
                    _ => match resolve_predefined_entity(&entity) {
                        Some(text) => element.text.push_str(text),
                        None => return Err(Fault::syntax(place, "there is no such entity")),
                    },
                },
                Event::Eof => return Err(Fault::syntax(place, "the file ends too early")),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
        for field in gathered.fields {
            element.add(field)?;
        }
        Ok(element)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        loop {
            match self.next()? {
                (Event::Eof, _) => return Ok(()),
                (event, place) => stray(&event, place)?,
            }
        }
    }
}

/// Passes what means nothing between elements.
fn stray(event: &Event<'_>, place: Place) -> Result<(), Fault> {
    match event {
        Event::Comment(_) | Event::Decl(_) | Event::PI(_) => Ok(()),
        Event::Text(text) if text.trim().is_empty() => Ok(()),
        Event::Eof => Err(Fault::syntax(place, "the file ends too early")),
        Event::Text(_)
        | Event::Start(_)
        | Event::End(_)
        | Event::Empty(_)
        | Event::CData(_)
        | Event::DocType(_)
        | Event::GeneralRef(_) => Err(Fault::syntax(place, "an element was expected here")),
    }
}

struct Element {
    name: String,
    place: Place,
    language: Option<String>,
    fields: Vec<Field<'static>>,
    text: String,
}

impl Element {
    fn open(start: &quick_xml::events::BytesStart<'_>, place: Place) -> Result<Self, Fault> {
        let mut fields = attributes(start, place)?;
        let is_language = |field: &Field<'_>| matches!(&*field.key, "lang" | "xml:lang");
        let language = fields
            .iter()
            .position(is_language)
            .map(|at| fields.remove(at));
        Ok(Self {
            name: start.name().0.to_owned(),
            place,
            language: language
                .as_ref()
                .and_then(|field| Some(field.value.word()?.into_owned())),
            fields,
            text: String::new(),
        })
    }

    fn add(&mut self, field: Field<'static>) -> Result<(), Fault> {
        if self.fields.iter().any(|known| known.key == field.key) {
            return Err(Fault::twice(field.place, &field.key));
        }
        self.fields.push(field);
        Ok(())
    }

    /// Only text is a text; anything more is a group in which text is the description.
    fn into_item(mut self) -> Result<Item<'static>, Fault> {
        let place = self.place;
        let text = Item {
            place,
            kind: Kind::Text(self.text.trim().to_owned().into()),
        };
        if self.fields.is_empty() && self.name != "node" {
            return Ok(text);
        }
        if text.kind != Kind::Text("".into()) {
            self.add(Field {
                key: "description".into(),
                place,
                value: text,
            })?;
        }
        let kind = Kind::Map(self.fields);
        Ok(Item { place, kind })
    }
}

/// Child elements on their way to becoming fields.
#[derive(Default)]
struct Gather {
    fields: Vec<Field<'static>>,
}

impl Gather {
    fn add(&mut self, mut element: Element) -> Result<(), Fault> {
        let place = element.place;
        if let Some((_, list)) = LISTS.iter().find(|(name, _)| *name == element.name) {
            let slot = self.slot(list, place, Kind::List(Vec::new()));
            let Kind::List(items) = &mut slot.kind else {
                return Err(Fault::twice(place, list));
            };
            items.push(element.into_item()?);
            return Ok(());
        }
        if let Some((_, group, by)) = GROUPS.iter().find(|(name, _, _)| *name == element.name) {
            let Some(at) = element.fields.iter().position(|field| field.key == *by) else {
                let message = format!("this element needs `{by}`");
                return Err(Fault::new(ProblemCode::Field, place, message));
            };
            let key = element.fields.remove(at).value;
            let key = key.word().unwrap_or_default().into_owned();
            return self.put(group, key, element);
        }
        let name = element.name.clone();
        if let Some(language) = element.language.take() {
            return self.put(&name, language, element);
        }
        if self.fields.iter().any(|field| field.key == name) {
            return Err(Fault::twice(place, &name));
        }
        bounded(self.fields.len(), place)?;
        self.slot(&name, place, Kind::Null).kind = element.into_item()?.kind;
        Ok(())
    }

    fn put(&mut self, group: &str, key: String, element: Element) -> Result<(), Fault> {
        let place = element.place;
        let slot = self.slot(group, place, Kind::Map(Vec::new()));
        let Kind::Map(fields) = &mut slot.kind else {
            return Err(Fault::twice(place, group));
        };
        if fields.iter().any(|field| field.key == key) {
            return Err(Fault::twice(place, &key));
        }
        bounded(fields.len(), place)?;
        let value = element.into_item()?;
        fields.push(Field {
            key: key.into(),
            place,
            value,
        });
        Ok(())
    }

    fn slot(&mut self, key: &str, place: Place, kind: Kind<'static>) -> &mut Item<'static> {
        let at = match self.fields.iter().position(|field| field.key == key) {
            Some(at) => at,
            None => {
                self.fields.push(Field {
                    key: key.to_owned().into(),
                    place,
                    value: Item { place, kind },
                });
                self.fields.len() - 1
            }
        };
        &mut self.fields[at].value
    }
}

/// Every name is compared with those before it, so there must not be too many.
fn bounded(count: usize, place: Place) -> Result<(), Fault> {
    if count < MOST_NAMES {
        return Ok(());
    }
    let message = format!("there are more than {MOST_NAMES} names in one element");
    Err(Fault::new(ProblemCode::Limit, place, message))
}

fn attributes(
    start: &quick_xml::events::BytesStart<'_>,
    place: Place,
) -> Result<Vec<Field<'static>>, Fault> {
    let mut fields = Vec::new();
    for (count, attribute) in start.attributes().enumerate() {
        bounded(count, place)?;
        let attribute = attribute.map_err(|error| Fault::syntax(place, error.to_string()))?;
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| Fault::syntax(place, error.to_string()))?;
        let key = attribute.key.0;
        if key.starts_with("xmlns") {
            continue;
        }
        let kind = if value.is_empty() {
            Kind::Null
        } else {
            Kind::Text(value.into_owned().into())
        };
        fields.push(Field {
            key: key.to_owned().into(),
            place,
            value: Item { place, kind },
        });
    }
    Ok(fields)
}
