//! Knowledge files as text: JSON with comments, YAML and XML, read into one shape.
//!
//! A reader hands over one top-level field or one node at a time, so that a file of a
//! million nodes never exists as a tree. Depth is bounded everywhere, nothing is expanded
//! (no YAML aliases, no XML entities), and every value knows its line and column.

mod cursor;
mod item;
mod json;
mod nested;
mod stretch;
mod xml;
mod yaml;

use std::{path::Path, sync::Arc};

use cursor::Cursor;
pub use item::{Field, Item, Kind};

use crate::problem::{Place, Problem, ProblemCode};

/// How deep values may be nested.
pub(crate) const MAX_DEPTH: usize = 32;

/// The field that holds the nodes.
const NODES: &str = "nodes";

/// A language that knowledge can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, with comments and trailing commas.
    Json,
    /// YAML, without aliases.
    Yaml,
    /// XML, without a document type.
    Xml,
}

impl Format {
    /// The format a file name stands for.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" | "jsonc" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            "xml" => Some(Self::Xml),
            _ => None,
        }
    }
}

/// What a reader finds at the top of a file.
#[derive(Debug)]
pub(crate) enum Entry<'t> {
    /// One node.
    Node(Field<'t>),
    /// Any other field.
    Field(Field<'t>),
}

/// Why reading stops, before the file's name is known.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) code: ProblemCode,
    pub(crate) place: Place,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(code: ProblemCode, place: Place, message: impl Into<String>) -> Self {
        Self {
            code,
            place,
            message: message.into(),
        }
    }

    pub(crate) fn syntax(place: Place, message: impl Into<String>) -> Self {
        Self::new(ProblemCode::Syntax, place, message)
    }

    pub(crate) fn too_deep(place: Place) -> Self {
        let message = format!("nested more than {MAX_DEPTH} levels deep");
        Self::new(ProblemCode::Limit, place, message)
    }

    pub(crate) fn twice(place: Place, key: &str) -> Self {
        let message = format!("`{}` stands here twice", crate::short(key));
        Self::new(ProblemCode::Duplicate, place, message)
    }

    pub(crate) fn in_file(self, file: &Arc<str>) -> Problem {
        Problem::new(self.code, file, self.place, self.message)
    }
}

/// Takes what is found; a fault stops the reading.
pub(crate) type Sink<'a, 't> = &'a mut dyn FnMut(Entry<'t>) -> Result<(), Fault>;

/// Reads one file, in order.
pub(crate) fn read<'t>(text: &'t str, format: Format, sink: Sink<'_, 't>) -> Result<(), Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        Format::Json => json::read(text, sink),
        Format::Yaml => yaml::read(text, sink),
        Format::Xml => xml::read(text, sink),
    }
}

/// The named values at the top of any file of this format, for files that are no base.
pub fn fields<'t>(file: &str, text: &'t str, format: Format) -> Result<Vec<Field<'t>>, Problem> {
    let mut fields: Vec<Field<'t>> = Vec::new();
    let read = read(text, format, &mut |entry| {
        let (Entry::Field(field) | Entry::Node(field)) = entry;
        if fields.iter().any(|known| known.key == field.key) {
            return Err(Fault::twice(field.place, &field.key));
        }
        fields.push(field);
        Ok(())
    });
    read.map(|()| fields)
        .map_err(|fault| fault.in_file(&Arc::from(file)))
}

/// The bytes of a file as text; anything but UTF-8 is refused with its place.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<String, Fault> {
    let advice = "the file is not in UTF-8; save it with that encoding";
    let start = Place { line: 1, column: 1 };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let message = format!("{advice} (it looks like UTF-16)");
        return Err(Fault::new(ProblemCode::Encoding, start, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
        Fault::new(ProblemCode::Encoding, place_at(&before, good), advice)
    })
}

/// The place of a byte in a text.
pub(crate) fn place_at(text: &str, at: usize) -> Place {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|&byte| byte == b'\n').count();
    let column = before.rsplit('\n').next().unwrap_or("").chars().count();
    Place {
        line: u32::try_from(line + 1).unwrap_or(u32::MAX),
        column: u32::try_from(column + 1).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests;
