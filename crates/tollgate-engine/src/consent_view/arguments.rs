//! Arguments as a human is shown them.

use serde::Serialize;
use serde_json::Value;
use tollgate_core::canonical::Node;

use super::{
    ARGUMENTS, Arguments, CODE, Changes, Unshowable, Viewer,
    masks::{self, Piece},
    spelling,
};
use crate::call::{is_marked, is_secret};

/// Characters of a string that stay when arguments are too long, tried in this order.
const SHORTER: [usize; 3] = [4_000, 400, 80];
/// Characters of code that are shown among the other arguments.
const INLINE: usize = 120;

/// Code among the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Code {
    /// The argument it is.
    pub(crate) argument: String,
    /// All of it.
    pub(crate) text: String,
}

/// What is known of a value from where it stands.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    schema: &'a Value,
    is_secret: bool,
    below_secret: bool,
    is_code: bool,
}

struct Writer<'v> {
    viewer: &'v Viewer<'v>,
    /// Characters of a string that are shown.
    longest: usize,
    /// Characters of code that are shown among the other arguments.
    inline: usize,
    out: String,
    code: Vec<Code>,
    changes: Changes,
}

impl Viewer<'_> {
    /// The arguments of a call.
    pub(crate) fn arguments(
        &self,
        node: &Node<'_>,
        schema: &Value,
    ) -> Result<Arguments, Unshowable> {
        let mut view = self.write(node, schema, usize::MAX, INLINE)?;
        can_be_read(&view.code)?;
        for longest in SHORTER {
            if view.text.chars().count() <= ARGUMENTS {
                return Ok(view);
            }
            view = self.write(node, schema, longest, INLINE)?;
        }
        // What is left consists of names, numbers and short texts: none of it can be cut unseen.
        let characters = view.text.chars().count();
        if characters > ARGUMENTS {
            return Err(Unshowable::ArgumentsTooLong { characters });
        }
        Ok(view)
    }

    /// The code in the arguments of a call that another one makes, short code as well.
    pub(crate) fn code(&self, node: &Node<'_>, schema: &Value) -> Result<Vec<Code>, Unshowable> {
        self.write(node, schema, usize::MAX, 0).map(|it| it.code)
    }

    fn write(
        &self,
        node: &Node<'_>,
        schema: &Value,
        longest: usize,
        inline: usize,
    ) -> Result<Arguments, Unshowable> {
        let mut writer = Writer {
            viewer: self,
            longest,
            inline,
            out: String::new(),
            code: Vec::new(),
            changes: Changes::default(),
        };
        let place = Place {
            name: "",
            schema,
            is_secret: false,
            below_secret: false,
            is_code: false,
        };
        writer.value(node, place)?;
        Ok(Arguments {
            text: writer.out,
            code: writer.code,
            changes: writer.changes,
        })
    }
}

/// Refuses more code than anybody reads.
pub(crate) fn can_be_read(code: &[Code]) -> Result<(), Unshowable> {
    let characters: usize = code.iter().map(|it| it.text.chars().count()).sum();
    match characters {
        0..=CODE => Ok(()),
        characters => Err(Unshowable::CodeTooLong { characters }),
    }
}

impl Writer<'_> {
    fn value(&mut self, node: &Node<'_>, place: Place<'_>) -> Result<(), Unshowable> {
        match node {
            Node::Null => self.out.push_str("null"),
            Node::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Node::Number(text) if place.is_secret => self.mask(text),
            Node::Number(text) => self.out.push_str(text),
            Node::String(text) => self.string(text, place)?,
            Node::Array(items) => {
                self.out.push('[');
                // A list below a secret's name can hold anything, also pairs of names and values.
                let inner = Place {
                    schema: &place.schema["items"],
                    is_secret: false,
                    below_secret: place.below_secret || place.is_secret,
                    ..place
                };
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.value(item, inner)?;
                }
                self.out.push(']');
            }
            Node::Object(fields) => {
                self.out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.quoted(name);
                    self.out.push(':');
                    let schema = &place.schema["properties"][name.as_ref()];
                    let below_secret = place.below_secret || place.is_secret;
                    let of_login = below_secret && masks::is_secret_of_login(name);
                    let inner = Place {
                        name,
                        schema,
                        is_secret: is_secret(name) || is_marked(schema, fields) || of_login,
                        below_secret,
                        is_code: masks::is_code(name) || schema["x-code"] == true,
                    };
                    self.value(value, inner)?;
                }
                self.out.push('}');
            }
        }
        Ok(())
    }

    fn string(&mut self, text: &str, place: Place<'_>) -> Result<(), Unshowable> {
        if place.is_code {
            return self.code(text, place.name);
        }
        if place.is_secret && masks::can_be_secret(text) {
            self.mask(text);
            return Ok(());
        }
        self.out.push('"');
        for piece in masks::keys(self.viewer, text, &mut self.changes) {
            match piece {
                Piece::Text(text) => self.text(text),
                Piece::Gap(gap) => self.out.push_str(&gap),
            }
        }
        self.out.push('"');
        Ok(())
    }

    /// The inside of a string; of a long one, where there is no room, its beginning and end.
    fn text(&mut self, text: &str) {
        let half = self.longest / 2;
        let ends = text.char_indices().nth(self.longest).and_then(|_| {
            let (head, _) = text.char_indices().nth(half)?;
            let (tail, _) = text.char_indices().rev().nth(half)?;
            Some((&text[..head], &text[head..tail], &text[tail..]))
        });
        let Some((head, middle, tail)) = ends else {
            self.changes.spelled += spelling::string(text, &mut self.out);
            return;
        };
        self.changes.hidden += middle.chars().count();
        self.changes.spelled += spelling::string(head, &mut self.out);
        self.out
            .push_str(&self.viewer.gap("LEFT OUT", "text", middle));
        self.changes.spelled += spelling::string(tail, &mut self.out);
    }

    /// Code is shown in full, without a gap.
    fn code(&mut self, text: &str, name: &str) -> Result<(), Unshowable> {
        if let Some(key) = self.viewer.cleaner.key_material(text).first() {
            return Err(Unshowable::KeyInCode {
                argument: self.viewer.line(name),
                rule: key.rule,
            });
        }
        if text.chars().count() <= self.inline && !text.contains('\n') {
            self.quoted(text);
            return Ok(());
        }
        let mut lines = String::with_capacity(text.len());
        self.changes.spelled += spelling::lines(text, &mut lines);
        self.code.push(Code {
            argument: self.viewer.line(name),
            text: lines,
        });
        let number = self.code.len();
        let gap = self
            .viewer
            .gap("LEFT OUT", &format!("shown below as code {number}"), text);
        self.out.push('"');
        self.out.push_str(&gap);
        self.out.push('"');
        Ok(())
    }

    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        self.changes.spelled += spelling::string(text, &mut self.out);
        self.out.push('"');
    }

    fn mask(&mut self, text: &str) {
        self.changes.masked += 1;
        self.out.push('"');
        self.out
            .push_str(&self.viewer.gap("REDACTED", "argument", text));
        self.out.push('"');
    }
}
