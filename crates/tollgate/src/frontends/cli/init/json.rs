//! Sets one server in a JSON file and keeps every other byte.
//!
//! Invariant: the text that comes out, read as JSON, is the old document with this one entry
//! set; if it were anything else, there is an error instead of a text.

use serde::Serialize;
use serde_json::{Map, Value, ser::PrettyFormatter};

use super::{
    edit::{Edit, EditError, Existing},
    scan::{Member, blanked, members, skip, uncommented, value_end},
};

/// Whether comments and trailing commas are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    Allowed,
    Refused,
}

/// The text with the entry in it.
pub(super) fn set(text: &str, edit: &Edit<'_>, comments: Comments) -> Result<String, EditError> {
    let plain = match comments {
        Comments::Allowed => blanked(text),
        Comments::Refused => text.to_owned(),
    };
    let style = Style::of(text);
    if plain.trim().is_empty() {
        let mut fresh = text.trim_end().to_owned();
        if !fresh.is_empty() {
            fresh.push_str(style.newline);
        }
        let root = wrapped(edit.key, wrapped(edit.name, edit.entry.clone().into()));
        fresh.push_str(&style.render(&root, ""));
        fresh.push_str(style.newline);
        return Ok(fresh);
    }
    let mut document: Value =
        serde_json::from_str(&plain).map_err(|error| EditError::Broken(error.to_string()))?;
    let wanted = Value::from(edit.entry.clone());
    let changed = Spot {
        text,
        plain: &plain,
        style,
    }
    .place(edit, &wanted)?;

    let servers = document.as_object_mut().ok_or(EditError::NotATable)?;
    let servers = servers.entry(edit.key).or_insert_with(|| Map::new().into());
    servers[edit.name] = wanted;
    let reread = match comments {
        Comments::Allowed => blanked(&changed),
        Comments::Refused => changed.clone(),
    };
    match serde_json::from_str::<Value>(&reread) {
        Ok(found) if found == document => Ok(changed),
        Ok(_) | Err(_) => Err(EditError::ByHand),
    }
}

fn wrapped(key: &str, value: Value) -> Value {
    Value::from(Map::from_iter([(key.to_owned(), value)]))
}

/// A document and its plain twin, to be edited in one spot.
struct Spot<'a> {
    text: &'a str,
    plain: &'a str,
    style: Style<'a>,
}

impl Spot<'_> {
    fn place(&self, edit: &Edit<'_>, wanted: &Value) -> Result<String, EditError> {
        let root = skip(self.plain.as_bytes(), 0);
        let members = members(self.plain, root).ok_or(EditError::NotATable)?;
        // Readers let the last of equal keys win.
        let Some(servers) = members.iter().rfind(|it| it.name == edit.key) else {
            let servers = wrapped(edit.name, wanted.clone());
            return Ok(self.insert(root, &members, (edit.key, &servers)));
        };
        let inside = self.members_of(servers)?;
        let Some(known) = inside.iter().rfind(|it| it.name == edit.name) else {
            return Ok(self.insert(servers.value.start, &inside, (edit.name, wanted)));
        };
        let found: Value = serde_json::from_str(&self.plain[known.value.clone()])
            .map_err(|error| EditError::Broken(error.to_string()))?;
        if found == *wanted {
            return Ok(self.text.to_owned());
        }
        match edit.existing {
            Existing::Kept => Err(EditError::Differs),
            Existing::Replaced => {
                let indent = self.line_indent(known.start);
                let mut text = self.text.to_owned();
                let fresh = self.value(wanted, indent, known.value.clone());
                text.replace_range(known.value.clone(), &fresh);
                Ok(text)
            }
        }
    }

    fn members_of(&self, member: &Member) -> Result<Vec<Member>, EditError> {
        members(self.plain, member.value.start).ok_or(EditError::NotATable)
    }

    /// Adds a member at the end of an object, in the manner of the members before it.
    fn insert(&self, object: usize, members: &[Member], (key, value): (&str, &Value)) -> String {
        let close = value_end(self.plain.as_bytes(), object) - 1;
        let body = object + 1..close;
        let tail = object + 1 + self.text[body.clone()].trim_end().len();
        let key = Value::from(key).to_string();
        let has_lines = self.text[body.clone()].contains('\n');
        let last = members.last();
        let trails = last.is_some_and(|it| self.comma_between(it.value.end, close));
        let mut text = self.text[..tail].to_owned();

        if !has_lines && (!members.is_empty() || self.style.is_one_line) {
            let comma = match last {
                None => "",
                Some(_) if trails => " ",
                Some(_) => ", ",
            };
            text.push_str(&format!("{comma}{key}: {value}"));
            text.push_str(&self.text[tail..]);
            return text;
        }
        let outer = self.line_indent(object);
        let indent = last.and_then(|member| self.indent_at(member.start));
        let indent = indent.map_or_else(|| format!("{outer}{}", self.style.indent), str::to_owned);
        let newline = self.style.newline;
        let rendered = self.style.render(value, &indent);
        text.push_str(&format!("{newline}{indent}{key}: {rendered}"));
        if trails {
            text.push(',');
        } else if let Some(member) = last {
            text.insert(member.value.end, ',');
        }
        if has_lines {
            text.push_str(&self.text[tail..]);
        } else {
            text.push_str(&format!("{newline}{outer}{}", &self.text[close..]));
        }
        text
    }

    /// Whether a comma that means something lies between two places.
    fn comma_between(&self, from: usize, to: usize) -> bool {
        uncommented(self.text)[from..to].contains(',')
    }

    fn value(&self, value: &Value, indent: &str, place: std::ops::Range<usize>) -> String {
        if self.text[place].contains('\n') || !self.style.is_one_line {
            self.style.render(value, indent)
        } else {
            value.to_string()
        }
    }

    /// The white space before a place, if the line holds nothing else before it.
    fn indent_at(&self, place: usize) -> Option<&str> {
        let line = self.text[..place].rfind('\n').map_or(0, |at| at + 1);
        let before = &self.text[line..place];
        before.trim().is_empty().then_some(before)
    }

    /// The white space with which the line of a place begins.
    fn line_indent(&self, place: usize) -> &str {
        let line = self.text[..place].rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[line..];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }
}

/// How a file is laid out.
#[derive(Clone, Copy)]
struct Style<'a> {
    indent: &'a str,
    newline: &'static str,
    /// All of it, as programs write; an empty object says nothing yet.
    is_one_line: bool,
}

impl<'a> Style<'a> {
    fn of(text: &'a str) -> Self {
        let indented = text.lines().find_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            let white = &line[..line.len() - rest.len()];
            (rest.starts_with('"') && !white.is_empty()).then_some(white)
        });
        Self {
            indent: indented.unwrap_or("  "),
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            is_one_line: text.trim().len() > 2 && !text.trim().contains('\n'),
        }
    }

    fn render(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let pretty = PrettyFormatter::with_indent(self.indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, pretty);
        let written = value.serialize(&mut serializer).is_ok();
        let text = String::from_utf8(bytes).ok().filter(|_| written);
        let text = text.unwrap_or_else(|| value.to_string());
        text.replace('\n', &format!("{}{indent}", self.newline))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The text after setting `t` under `servers`, in the client's words.
    fn set_in(text: &str, existing: Existing) -> Result<String, EditError> {
        let entry = json!({"command": "c", "args": ["mcp"]});
        let edit = Edit {
            key: "servers",
            name: "t",
            entry: entry.as_object().unwrap(),
            existing,
        };
        set(text, &edit, Comments::Allowed)
    }

    #[track_caller]
    fn becomes(text: &str, expected: &str) {
        let once = set_in(text, Existing::Kept).unwrap();
        assert_eq!(once, expected);
        assert_eq!(set_in(&once, Existing::Kept).unwrap(), once);
    }

    const ENTRY: &str =
        "{\n      \"command\": \"c\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }";

    fn whole() -> String {
        format!("{{\n  \"servers\": {{\n    \"t\": {ENTRY}\n  }}\n}}")
    }

    #[test]
    fn a_file_that_says_nothing_is_written_whole() {
        becomes("", &format!("{}\n", whole()));
        becomes("\n\n", &format!("{}\n", whole()));
        becomes("// mine\n", &format!("// mine\n{}\n", whole()));
        becomes("{}\n", &format!("{}\n", whole()));
        becomes("{\n}", &whole());
    }

    #[test]
    fn what_is_there_stays_byte_for_byte() {
        becomes(
            "{\n  // mine\n  \"servers\": {\n    \"a\": {\"x\":1.10} // last\n  },\n  \"z\" : [ ]\n}\n",
            &format!(
                "{{\n  // mine\n  \"servers\": {{\n    \"a\": {{\"x\":1.10}}, // last\n    \"t\": {ENTRY}\n  }},\n  \"z\" : [ ]\n}}\n"
            ),
        );
    }

    #[test]
    fn the_manner_of_the_file_is_kept() {
        becomes(
            "{\"servers\":{\"a\":1}}",
            "{\"servers\":{\"a\":1, \"t\": {\"command\":\"c\",\"args\":[\"mcp\"]}}}",
        );
        becomes(
            "{\"servers\":{}}",
            "{\"servers\":{\"t\": {\"command\":\"c\",\"args\":[\"mcp\"]}}}",
        );
        let tabs = "{\r\n\t\"servers\": {},\r\n}\r\n";
        let entry = ENTRY.replace("  ", "\t").replace('\n', "\r\n");
        becomes(
            tabs,
            &format!("{{\r\n\t\"servers\": {{\r\n\t\t\"t\": {entry}\r\n\t}},\r\n}}\r\n"),
        );
        becomes(
            "{\n  \"servers\": {\n    \"a\": 1, // one\n    /* two */\n  }\n}",
            &format!(
                "{{\n  \"servers\": {{\n    \"a\": 1, // one\n    /* two */\n    \"t\": {ENTRY},\n  }}\n}}"
            ),
        );
        becomes(
            "{\n  \"b\": 2\n}",
            &format!("{{\n  \"b\": 2,\n{}", &whole()[2..]),
        );
    }

    #[test]
    fn an_entry_that_differs_is_replaced_only_if_told() {
        let text = "{\"servers\": {\"t\": {\"command\": \"old\"}, \"u\": 1}}";
        assert_eq!(set_in(text, Existing::Kept), Err(EditError::Differs));
        assert_eq!(
            set_in(text, Existing::Replaced).unwrap(),
            "{\"servers\": {\"t\": {\"command\":\"c\",\"args\":[\"mcp\"]}, \"u\": 1}}"
        );
    }

    #[test]
    fn what_cannot_be_edited_is_refused() {
        for text in ["[]", "5", "{\"servers\": null}", "{\"servers\": []}"] {
            assert_eq!(set_in(text, Existing::Replaced), Err(EditError::NotATable));
        }
        for text in ["{", "{\"a\" 1}", "{} {}", "{\"a\": 01}", "nonsense"] {
            let refused = set_in(text, Existing::Replaced);
            assert!(matches!(refused, Err(EditError::Broken(_))), "{text}");
        }
        let edit = Edit {
            key: "servers",
            name: "t",
            entry: &Map::new(),
            existing: Existing::Kept,
        };
        let strict = set("{} // no", &edit, Comments::Refused);
        assert!(matches!(strict, Err(EditError::Broken(_))));
    }
}
