//! Sets one server in a TOML file and keeps every other line.
//!
//! Invariant: the text that comes out, read as TOML, is the old document with this one table
//! set; if it were anything else, there is an error instead of a text.

use std::ops::Range;

use toml::{Table, Value};

use super::edit::{Edit, EditError, Existing};

/// The text with the entry in it.
pub(super) fn set(text: &str, edit: &Edit<'_>) -> Result<String, EditError> {
    let mut document: Table = text
        .parse()
        .map_err(|error: toml::de::Error| EditError::Broken(error.to_string()))?;
    let wanted = Value::try_from(edit.entry).map_err(|_| EditError::ByHand)?;
    let servers = document
        .entry(edit.key)
        .or_insert_with(|| Table::new().into());
    let servers = servers.as_table_mut().ok_or(EditError::NotATable)?;
    let known = servers.insert(edit.name.to_owned(), wanted.clone());
    let changed = match (known, edit.existing) {
        (Some(known), _) if known == wanted => return Ok(text.to_owned()),
        (Some(_), Existing::Kept) => return Err(EditError::Differs),
        (Some(_), Existing::Replaced) => replaced(text, edit)?,
        (None, _) => appended(text, edit),
    };
    match changed.parse::<Table>() {
        Ok(found) if found == document => Ok(changed),
        Ok(_) | Err(_) => Err(EditError::ByHand),
    }
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The entry as a table of its own; the name is made of letters that need no quotes.
fn rendered(edit: &Edit<'_>, newline: &str) -> String {
    let mut text = format!("[{}.{}]{newline}", edit.key, edit.name);
    for (key, value) in edit.entry {
        // JSON's strings and lists of strings are TOML's.
        if let Ok(value) = Value::try_from(value) {
            text.push_str(&format!("{key} = {value}{newline}"));
        }
    }
    text
}

fn appended(text: &str, edit: &Edit<'_>) -> String {
    let newline = newline(text);
    let mut all = text.to_owned();
    if !all.is_empty() && !all.ends_with('\n') {
        all.push_str(newline);
    }
    if !all.trim().is_empty() && !all.ends_with(&newline.repeat(2)) {
        all.push_str(newline);
    }
    all + &rendered(edit, newline)
}

fn replaced(text: &str, edit: &Edit<'_>) -> Result<String, EditError> {
    let path = [edit.key, edit.name];
    let sections = sections(text);
    let mut old = sections
        .iter()
        .filter(|section| section.path.iter().take(2).eq(path.iter()));
    let first = old.next().ok_or(EditError::ByHand)?;
    let mut changed = text.to_owned();
    for section in old.rev() {
        let rest = &text[section.range.end..];
        let blank = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
        changed.replace_range(section.range.start..section.range.end + blank, "");
    }
    let fresh = rendered(edit, newline(text));
    changed.replace_range(first.range.clone(), fresh.trim_end());
    Ok(changed)
}

/// A table with a header of its own.
struct Section {
    path: Vec<String>,
    /// From the header to the end of the last value; comments after it belong to what follows.
    range: Range<usize>,
}

/// The tables of a valid document, in their order.
fn sections(text: &str) -> Vec<Section> {
    let bytes = text.as_bytes();
    let mut found: Vec<Section> = Vec::new();
    let (mut at, mut depth, mut is_line_start) = (0, 0_usize, true);
    while at < bytes.len() {
        if bytes[at] == b'[' && depth == 0 && is_line_start {
            let end = header_end(text, at);
            let path = path(&text[at..end]);
            let range = at..end;
            found.push(Section { path, range });
            (at, is_line_start) = (end, false);
            continue;
        }
        let next = match bytes[at] {
            b'#' => at + text[at..].find('\n').unwrap_or(text.len() - at),
            b'"' | b'\'' => string_end(text, at),
            _ => at + 1,
        };
        match bytes[at] {
            b'\n' if depth == 0 => is_line_start = true,
            b'#' | b' ' | b'\t' | b'\r' | b'\n' => {}
            byte => {
                match byte {
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                is_line_start = false;
                if let Some(section) = found.last_mut() {
                    section.range.end = next;
                }
            }
        }
        at = next;
    }
    found
}

/// Where a header ends: after its closing brackets, which a quoted key may hold too.
fn header_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() && !matches!(bytes[at], b'#' | b'\n' | b'\r') {
        at = match bytes[at] {
            b'"' | b'\'' => string_end(text, at),
            _ => at + 1,
        };
    }
    start + text[start..at].trim_end().len()
}

/// The keys of a header, read as a document of its own.
fn path(header: &str) -> Vec<String> {
    let mut path = Vec::new();
    let mut table = header.parse::<Table>().unwrap_or_default();
    while let Some((key, value)) = table.into_iter().next() {
        path.push(key);
        table = match value {
            Value::Table(table) => table,
            Value::Array(_)
            | Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_) => Table::new(),
        };
    }
    path
}

fn string_end(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    let quote = rest[0];
    let is_long = rest.starts_with(&[quote; 3]);
    let close = if is_long { 3 } else { 1 };
    let closes = |place: usize| rest[place..].starts_with(&[quote; 3][..close]);
    let mut place = close;
    while place < rest.len() {
        if quote == b'"' && rest[place] == b'\\' {
            place += 2;
        } else if closes(place) {
            // Up to two quotes may stand right before the closing three.
            while is_long && closes(place + 1) {
                place += 1;
            }
            return at + place + close;
        } else {
            place += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    fn set_in(text: &str, existing: Existing) -> Result<String, EditError> {
        let entry = json!({"command": "/opt/a \"b\"/tollgate", "args": ["mcp", "--profile", "p"]});
        let edit = Edit {
            key: "mcp_servers",
            name: "tollgate",
            entry: entry.as_object().unwrap(),
            existing,
        };
        set(text, &edit)
    }

    #[test]
    fn a_table_is_added_at_the_end() {
        let text = "# mine\nmodel = \"x\"  # y\n\n[mcp_servers.a]\ncommand = 'a'";
        let once = set_in(text, Existing::Kept).unwrap();
        assert_snapshot!(once, @r#"
        # mine
        model = "x"  # y

        [mcp_servers.a]
        command = 'a'

        [mcp_servers.tollgate]
        command = '/opt/a "b"/tollgate'
        args = ["mcp", "--profile", "p"]
        "#);
        assert_eq!(set_in(&once, Existing::Kept).unwrap(), once);
        let fresh = set_in("", Existing::Kept).unwrap();
        assert!(fresh.starts_with("[mcp_servers.tollgate]\n"));
        let windows = set_in("a = 1\r\n", Existing::Kept).unwrap();
        assert!(windows.starts_with("a = 1\r\n\r\n[mcp_servers.tollgate]\r\n"));
    }

    const OLD: &str = r#"notes = """
[mcp_servers.tollgate]
""" # not a header
lists = [
  ["ü"],
]
[mcp_servers . "tollgate"] # old
command = "old" # that one

# about the variables
[mcp_servers.tollgate.env]
KEY = "]["

# about b
[mcp_servers.b]
command = "b"
"#;

    #[test]
    fn a_table_is_replaced_with_all_below_it() {
        assert_eq!(set_in(OLD, Existing::Kept), Err(EditError::Differs));
        assert_snapshot!(set_in(OLD, Existing::Replaced).unwrap(), @r#"
        notes = """
        [mcp_servers.tollgate]
        """ # not a header
        lists = [
          ["ü"],
        ]
        [mcp_servers.tollgate]
        command = '/opt/a "b"/tollgate'
        args = ["mcp", "--profile", "p"] # that one

        # about the variables
        # about b
        [mcp_servers.b]
        command = "b"
        "#);
    }

    #[test]
    fn what_cannot_be_edited_is_refused() {
        let inline = "mcp_servers = { tollgate = { command = \"a\" } }\n";
        assert_eq!(set_in(inline, Existing::Replaced), Err(EditError::ByHand));
        let closed = "mcp_servers = { a = { command = \"a\" } }\n";
        assert_eq!(set_in(closed, Existing::Kept), Err(EditError::ByHand));
        let other = set_in("mcp_servers = 5\n", Existing::Kept);
        assert_eq!(other, Err(EditError::NotATable));
        let broken = set_in("a = \n", Existing::Kept);
        assert!(matches!(broken, Err(EditError::Broken(_))));
    }
}
