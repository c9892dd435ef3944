//! Flowcharts and spreadsheets into a first draft of a base, for its author to go on with.
//!
//! Nothing is made up: what the drawing does not say is left out, and `lint` then says
//! what is missing. The draft is text; it is read again before it is handed over, so
//! nothing comes out of here that could not be loaded.

mod csv;
mod dot;
mod flow;
pub(crate) mod fuzzing;
mod mermaid;
mod office;
mod sheet;
mod zip;

use std::path::Path;

use flow::Flow;

use crate::{
    Format, Place, load_text,
    problem::{Problem, ProblemCode},
    read::{Fault, place_at},
};

/// The most nodes of a drawing.
const MOST: usize = 200_000;
/// How deep groups may be inside each other.
const MAX_DEPTH: usize = 64;

/// What can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// A Graphviz graph.
    Dot,
    /// A Mermaid flowchart, alone or in a page of Markdown.
    Mermaid,
    /// A spreadsheet with commas, semicolons or tabs between its cells.
    Csv,
    /// A workbook of a spreadsheet program, `.xlsx` or `.ods`; its first sheet counts.
    Workbook,
}

impl ImportFormat {
    /// The format a file name stands for.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "dot" | "gv" => Some(Self::Dot),
            "mmd" | "mermaid" | "md" | "markdown" => Some(Self::Mermaid),
            "csv" | "tsv" | "tab" => Some(Self::Csv),
            "xlsx" | "xlsm" | "xls" | "ods" => Some(Self::Workbook),
            _ => None,
        }
    }
}

/// A draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The base, as YAML.
    pub text: String,
    /// How many nodes it has.
    pub nodes: usize,
    /// How many options lead from one to another.
    pub options: usize,
}

/// Turns a drawing or a spreadsheet into a base.
pub fn import(name: &str, bytes: Vec<u8>, format: ImportFormat) -> Result<Imported, Vec<Problem>> {
    let file: std::sync::Arc<str> = std::sync::Arc::from(name);
    let wrong = |fault: Fault| vec![fault.in_file(&file)];
    let drawn = |bytes, read: fn(&str) -> Result<Flow, Fault>| {
        let text = crate::read::decode(bytes)?;
        read(text.strip_prefix('\u{feff}').unwrap_or(&text))
    };
    let flow = match format {
        ImportFormat::Dot => drawn(bytes, dot::read),
        ImportFormat::Mermaid => drawn(bytes, mermaid::read),
        ImportFormat::Csv => drawn(bytes, |text| sheet::read(csv::rows(text)?)),
        ImportFormat::Workbook => office::rows(&bytes)
            .map_err(|message| Fault::new(ProblemCode::File, Place::default(), message))
            .and_then(sheet::read),
    }
    .map_err(wrong)?;
    if flow.is_empty() {
        let place = Place { line: 1, column: 1 };
        return Err(wrong(Fault::syntax(
            place,
            "there is nothing to import in it",
        )));
    }
    let text = flow.print();
    let base = load_text(name, &text, Format::Yaml)?;
    Ok(Imported {
        nodes: base.node_count(),
        options: base.choices.len(),
        text,
    })
}

/// A fault at a byte.
fn fault(text: &str, at: usize, message: impl Into<String>) -> Fault {
    Fault::syntax(place_at(text, at), message)
}

/// Says that a drawing is too large, or nothing.
fn bounded(flow: &Flow, text: &str, at: usize) -> Result<(), Fault> {
    if flow.len() > MOST {
        return Err(too_large(place_at(text, at)));
    }
    Ok(())
}

fn too_large(place: Place) -> Fault {
    Fault::syntax(place, format!("a drawing has at most {MOST} nodes"))
}

/// The text of a label that may have marks of a page in it.
fn unmarked(label: &str) -> String {
    let mut out = String::with_capacity(label.len());
    let mut rest = label;
    while let Some(at) = rest.find(['<', '&', '#']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = ENTITIES.iter().find(|(name, _)| rest.starts_with(name));
        if let Some((name, character)) = known {
            out.push_str(character);
            rest = &rest[name.len()..];
        } else if let Some(close) = rest.find('>').filter(|_| is_tag(rest)) {
            let tag = rest[1..close].to_ascii_lowercase();
            if tag.starts_with("br") || tag.starts_with("/tr") || tag.starts_with("/p") {
                out.push('\n');
            }
            rest = &rest[close + 1..];
        } else {
            let first = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[..first]);
            rest = &rest[first..];
        }
    }
    out.push_str(rest);
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    lines.join("\n").trim().to_owned()
}

/// Whether a text begins with a tag and not with a plain `<`.
fn is_tag(text: &str) -> bool {
    let after = text[1..].trim_start_matches('/');
    text.starts_with('<') && after.starts_with(|c: char| c.is_ascii_alphabetic())
}

const ENTITIES: &[(&str, &str)] = &[
    ("&amp;", "&"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&apos;", "'"),
    ("&nbsp;", " "),
    ("#quot;", "\""),
    ("#amp;", "&"),
    ("#lt;", "<"),
    ("#gt;", ">"),
    ("#35;", "#"),
    ("#124;", "|"),
    ("#96;", "`"),
];

#[cfg(test)]
mod tests;
