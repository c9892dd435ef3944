//! Mermaid flowcharts, alone or in a page of Markdown.

use super::{
    bounded, fault,
    flow::{Flow, plain},
    unmarked,
};
use crate::read::Fault;

/// Lines that say how something looks and not what it is.
const LOOKS: &[&str] = &[
    "accdescr",
    "acctitle",
    "class",
    "classdef",
    "click",
    "direction",
    "end",
    "linkstyle",
    "style",
    "subgraph",
];

/// What opens a shape, and what may close it; longer ones first.
const SHAPES: &[(&str, &[&str])] = &[
    ("(((", &[")))"]),
    ("((", &["))"]),
    ("([", &["])"]),
    ("(", &[")"]),
    ("[[", &["]]"]),
    ("[(", &[")]"]),
    ("[/", &["/]", "\\]"]),
    ("[\\", &["\\]", "/]"]),
    ("[", &["]"]),
    ("{{", &["}}"]),
    ("{", &["}"]),
    (">", &["]"]),
];

pub(super) fn read(text: &str) -> Result<Flow, Fault> {
    let mut flow = Flow::default();
    let (start, chart) = chart(text);
    let mut is_begun = false;
    let mut at = start;
    let mut in_front = false;
    for line in chart.split_inclusive('\n') {
        let here = at;
        at += line.len();
        let words = line.trim();
        if words == "---" && !is_begun {
            in_front = !in_front;
            continue;
        }
        if in_front {
            if let Some(title) = words.strip_prefix("title:") {
                flow.title = Some(title.trim().trim_matches('"').to_owned());
            }
            continue;
        }
        if words.is_empty() || words.starts_with("%%") {
            continue;
        }
        if !is_begun {
            let first = words.split([' ', ';', '\t']).next().unwrap_or_default();
            if first != "graph" && first != "flowchart" && first != "flowchart-elk" {
                return Err(fault(text, here, "expected `flowchart` or `graph`"));
            }
            is_begun = true;
            if let Some((_, rest)) = line.split_once(';') {
                statements(&mut flow, text, here + line.len() - rest.len(), rest)?;
            }
            continue;
        }
        statements(&mut flow, text, here, line)?;
        bounded(&flow, text, here)?;
    }
    Ok(flow.named())
}

/// The flowchart of a page, or the whole text; and where it begins.
fn chart(text: &str) -> (usize, &str) {
    const FENCE: &str = "```mermaid";
    let Some(open) = text.find(FENCE) else {
        return (0, text);
    };
    let start = open + FENCE.len();
    let start = start + text[start..].find('\n').map_or(0, |line| line + 1);
    let end = text[start..]
        .find("```")
        .map_or(text.len(), |end| start + end);
    (start, &text[start..end])
}

/// The statements of a line; a `;` inside of quotes or shapes parts nothing.
fn statements(flow: &mut Flow, text: &str, at: usize, line: &str) -> Result<(), Fault> {
    let (mut start, mut depth, mut is_quoted) = (0, 0_i32, false);
    for (place, c) in line.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '[' | '(' | '{' if !is_quoted => depth += 1,
            ']' | ')' | '}' if !is_quoted => depth -= 1,
            ';' if !is_quoted && depth <= 0 => {
                statement(flow, text, at + start, &line[start..place])?;
                start = place + 1;
            }
            _ => {}
        }
    }
    statement(flow, text, at + start, &line[start..])
}

fn statement(flow: &mut Flow, text: &str, at: usize, line: &str) -> Result<(), Fault> {
    let words = line.trim();
    let first = words.split([' ', '\t', ':']).next().unwrap_or_default();
    if words.is_empty()
        || words.starts_with("%%")
        || LOOKS.contains(&first.to_ascii_lowercase().as_str())
    {
        return Ok(());
    }
    let mut reader = Reader {
        line,
        at: 0,
        flow,
        fault: &|place, message| fault(text, at + place, message),
    };
    reader.chain()
}

struct Reader<'a> {
    line: &'a str,
    at: usize,
    flow: &'a mut Flow,
    fault: &'a dyn Fn(usize, String) -> Fault,
}

/// An arrow: its words, and which ways it points.
struct Arrow {
    label: String,
    forth: bool,
    back: bool,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn wrong<T>(&self, message: &str) -> Result<T, Fault> {
        Err((self.fault)(self.at, message.to_owned()))
    }

    /// Nodes and the arrows between them.
    fn chain(&mut self) -> Result<(), Fault> {
        let mut before = self.several()?;
        loop {
            self.space();
            if self.rest().is_empty() {
                return Ok(());
            }
            let arrow = self.arrow()?;
            self.space();
            let after = self.several()?;
            for &from in &before {
                for &to in &after {
                    if arrow.forth {
                        self.flow.arrow(from, to, &arrow.label);
                    }
                    if arrow.back {
                        self.flow.arrow(to, from, &arrow.label);
                    }
                }
            }
            before = after;
        }
    }

    /// One node, or several with `&` between them.
    fn several(&mut self) -> Result<Vec<usize>, Fault> {
        let mut nodes = vec![self.node()?];
        loop {
            self.space();
            if !self.take("&") {
                return Ok(nodes);
            }
            self.space();
            nodes.push(self.node()?);
        }
    }

    fn node(&mut self) -> Result<usize, Fault> {
        self.space();
        let name = self.name()?;
        let node = self.flow.step(&name);
        if let Some(label) = self.shape()? {
            self.flow.at(node).text = plain(&unmarked(&label));
        }
        if self.take(":::") {
            let rest = self.rest();
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
            self.at += length.unwrap_or(rest.len());
        }
        Ok(node)
    }

    /// A name; a single `-` inside of it is part of it, the beginning of an arrow is not.
    fn name(&mut self) -> Result<String, Fault> {
        let rest = self.rest();
        let mut length = 0;
        let mut characters = rest.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let is_inner =
                matches!(c, '-' | '.') && next.is_some_and(char::is_alphanumeric) && at > 0;
            if !c.is_alphanumeric() && c != '_' && !is_inner {
                break;
            }
            length = at + c.len_utf8();
        }
        if length == 0 {
            return self.wrong("expected the name of a node");
        }
        let name = rest[..length].to_owned();
        self.at += length;
        Ok(name)
    }

    /// The text of a shape, if one begins here.
    fn shape(&mut self) -> Result<Option<String>, Fault> {
        if self.take("@{") {
            return self.named_shape().map(Some);
        }
        let Some((open, closes)) = SHAPES
            .iter()
            .find(|(open, _)| self.rest().starts_with(open))
        else {
            return Ok(None);
        };
        self.at += open.len();
        let rest = self.rest();
        let lead = rest.len() - rest.trim_start().len();
        // Words in quotes may hold what would close the shape.
        let from = match rest[lead..].strip_prefix('"') {
            Some(inside) => match inside.find('"') {
                Some(end) => lead + end + 2,
                None => return self.wrong("a quote is not closed"),
            },
            None => 0,
        };
        let ends = closes
            .iter()
            .filter_map(|close| Some((rest[from..].find(close)? + from, close.len())));
        let Some((end, length)) = ends.min() else {
            return self.wrong("this shape is not closed on its line");
        };
        let label = rest[..end]
            .trim()
            .trim_matches('"')
            .trim_matches('`')
            .to_owned();
        self.at += end + length;
        Ok(Some(label))
    }

    /// The label of `@{ shape: …, label: "…" }`.
    fn named_shape(&mut self) -> Result<String, Fault> {
        let rest = self.rest();
        let Some(end) = rest.find('}') else {
            return self.wrong("this shape is not closed on its line");
        };
        let inside = &rest[..end];
        let label = inside
            .split_once("label:")
            .map_or("", |(_, label)| label.trim());
        let label = match label.strip_prefix('"') {
            Some(label) => label.split('"').next().unwrap_or_default(),
            None => label.split(',').next().unwrap_or_default(),
        };
        let label = label.trim().to_owned();
        self.at += end + 1;
        Ok(label)
    }

    fn arrow(&mut self) -> Result<Arrow, Fault> {
        let back = self.take("<");
        let run = self.run();
        if run.len() < 2 {
            return self.wrong("expected an arrow such as `-->`");
        }
        let mut label = String::new();
        let mut forth = self.head();
        if !forth && run.len() == 2 {
            // Words inside of the arrow, as in `-- yes -->`.
            let close = match run.as_str() {
                "--" => "--",
                "==" => "==",
                "-." => ".-",
                _ => return self.wrong("expected an arrow such as `-->`"),
            };
            let rest = self.rest();
            let Some(end) = rest.find(close) else {
                return self.wrong("this arrow has no end");
            };
            label = rest[..end].trim().trim_matches('"').to_owned();
            self.at += end;
            self.run();
            forth = self.head();
        }
        self.space();
        if self.take("|") {
            let rest = self.rest();
            let Some(end) = rest.find('|') else {
                return self.wrong("the words of this arrow have no end");
            };
            label = rest[..end].trim().trim_matches('"').to_owned();
            self.at += end + 1;
        }
        // A line without a head is read in the order it is written; an invisible one is none.
        let is_drawn = !run.starts_with('~');
        Ok(Arrow {
            label: unmarked(&label),
            forth: is_drawn && (forth || !back),
            back: is_drawn && back,
        })
    }

    fn run(&mut self) -> String {
        let rest = self.rest();
        let length = rest.find(|c| !"-=.~".contains(c)).unwrap_or(rest.len());
        let run = rest[..length].to_owned();
        self.at += length;
        run
    }

    fn head(&mut self) -> bool {
        if self.take(">") {
            return true;
        }
        let rest = self.rest();
        let is_head = rest.starts_with(['x', 'o']) && rest[1..].starts_with([' ', '|']);
        self.at += usize::from(is_head);
        is_head
    }
}
