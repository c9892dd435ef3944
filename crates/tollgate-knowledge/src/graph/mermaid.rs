//! Mermaid flowcharts.

use std::fmt::Write as _;

use super::{Card, Picture, To, brief};

/// The most characters of what a node says.
const SAID: usize = 80;
/// The most characters of an arrow.
const LABEL: usize = 50;
/// Words that Mermaid would not take for names.
const RESERVED: &[&str] = &[
    "call",
    "class",
    "classdef",
    "click",
    "default",
    "direction",
    "end",
    "flowchart",
    "graph",
    "href",
    "linkstyle",
    "style",
    "subgraph",
];

pub(super) fn print(picture: &Picture<'_>) -> String {
    let mut out = String::from("flowchart LR\n");
    let names: Vec<String> = picture.cards.iter().enumerate().map(name).collect();
    let mut walked = Vec::new();
    let mut arrows = 0_usize;
    for (card, name) in picture.cards.iter().zip(&names) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {name}{}", shape(card));
    }
    for (card, from) in picture.cards.iter().zip(&names) {
        for line in &card.lines {
            let label = match brief(&line.label, LABEL) {
                label if label.is_empty() => String::new(),
                label => format!("|\"{}\"|", escaped(&label)),
            };
            let (arrow, to) = match line.to {
                To::Card(at) => ("-->", names[at].clone()),
                To::Return(at) => ("-.->", names[at].clone()),
                To::End => ("-->", format!("{from}_stop((( )))")),
                To::Nowhere => ("-.-x", format!("{from}_nowhere[\"?\"]")),
                To::Outside => ("-.->", format!("{from}_more[\"…\"]")),
            };
            let _ = writeln!(out, "  {from} {arrow}{label} {to}");
            if line.is_walked {
                walked.push(arrows.to_string());
            }
            arrows += 1;
        }
    }
    for (from, to) in &picture.jumps {
        let _ = writeln!(out, "  {} -.-> {}", names[*from], names[*to]);
        walked.push(arrows.to_string());
        arrows += 1;
    }
    if picture.left_out > 0 {
        let _ = writeln!(out, "  %% {} more nodes are not drawn", picture.left_out);
    }
    let been = |card: &Card<'_>| !card.visits.is_empty() && !card.is_here;
    class(&mut out, picture, &names, "walked", been);
    class(&mut out, picture, &names, "here", |card| card.is_here);
    if !walked.is_empty() {
        let style = "stroke:#2563eb,stroke-width:3px";
        let _ = writeln!(out, "  linkStyle {} {style}", walked.join(","));
    }
    out
}

fn class(
    out: &mut String,
    picture: &Picture<'_>,
    names: &[String],
    class: &str,
    has: impl Fn(&Card<'_>) -> bool,
) {
    let cards = picture.cards.iter().zip(names);
    let members: Vec<&str> = cards
        .filter(|(card, _)| has(card))
        .map(|(_, name)| name.as_str())
        .collect();
    if members.is_empty() {
        return;
    }
    let fill = if class == "here" {
        "#bfdbfe"
    } else {
        "#eff6ff"
    };
    let _ = writeln!(
        out,
        "  classDef {class} fill:{fill},stroke:#2563eb,stroke-width:3px,color:#111827"
    );
    let _ = writeln!(out, "  class {} {class}", members.join(","));
}

/// A name that Mermaid takes: the node's own where that is one.
fn name((number, card): (usize, &Card<'_>)) -> String {
    let is_plain = card
        .id
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_reserved = RESERVED.contains(&card.id.to_ascii_lowercase().as_str());
    // Names with a leading `o` or `x` would join the arrow before them.
    let is_odd = card.id.starts_with(['o', 'x']) || card.id.ends_with("_stop");
    if is_plain && !is_reserved && !is_odd && !card.id.is_empty() {
        return card.id.to_owned();
    }
    format!("node{number}")
}

fn shape(card: &Card<'_>) -> String {
    let head = if card.title.is_empty() {
        card.id
    } else {
        card.title
    };
    let said = brief(card.says, SAID);
    let text = match said.as_str() {
        "" => format!("<b>{}</b>", escaped(head)),
        said => format!("<b>{}</b><br>{}", escaped(head), escaped(said)),
    };
    if card.is_root {
        format!("([\"{text}\"])")
    } else {
        format!("[\"{text}\"]")
    }
}

/// A text without anything that Mermaid or a browser would take for a sign of theirs.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '|' => out.push_str("#124;"),
            '`' => out.push_str("#96;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
