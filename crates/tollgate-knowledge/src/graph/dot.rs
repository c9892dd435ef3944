//! Graphviz digraphs.

use std::fmt::Write as _;

use super::{Picture, To, brief};

/// The most characters of what a node says.
const SAID: usize = 80;
/// The most characters of an arrow.
const LABEL: usize = 50;
const BLUE: &str = "color=\"#2563eb\", penwidth=3";

pub(super) fn print(picture: &Picture<'_>) -> String {
    let mut out = String::from("digraph knowledge {\n");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "  label={};", quoted(picture.title));
    out.push_str("  rankdir=LR;\n");
    out.push_str("  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n");
    for card in &picture.cards {
        let head = if card.title.is_empty() {
            card.id
        } else {
            card.title
        };
        let label = format!("{head}\n{}", brief(card.says, SAID));
        let mut more = String::new();
        if card.is_root {
            more.push_str(", peripheries=2");
        }
        if card.is_here {
            let _ = write!(more, ", {BLUE}, fillcolor=\"#bfdbfe\"");
        } else if !card.visits.is_empty() {
            let _ = write!(more, ", {BLUE}, fillcolor=\"#eff6ff\"");
        }
        let (id, label) = (quoted(card.id), quoted(label.trim_end()));
        let _ = writeln!(out, "  {id} [label={label}{more}];");
    }
    for card in &picture.cards {
        let from = quoted(card.id);
        for line in &card.lines {
            let (to, style) = match line.to {
                To::Card(at) => (quoted(picture.cards[at].id), ""),
                To::Return(at) => (quoted(picture.cards[at].id), ", style=dashed"),
                To::End => (
                    mark(
                        &mut out,
                        card.id,
                        "end",
                        "shape=doublecircle, label=\"\", width=0.15",
                    ),
                    "",
                ),
                To::Nowhere => (
                    mark(&mut out, card.id, "nowhere", "label=\"?\", color=red"),
                    ", style=dotted, color=red",
                ),
                To::Outside => (
                    mark(&mut out, card.id, "more", "label=\"…\""),
                    ", style=dotted",
                ),
            };
            let walked = if line.is_walked {
                format!(", {BLUE}")
            } else {
                String::new()
            };
            let label = quoted(&brief(&line.label, LABEL));
            let _ = writeln!(out, "  {from} -> {to} [label={label}{style}{walked}];");
        }
    }
    for (from, to) in &picture.jumps {
        let (from, to) = (
            quoted(picture.cards[*from].id),
            quoted(picture.cards[*to].id),
        );
        let _ = writeln!(out, "  {from} -> {to} [style=dashed, {BLUE}];");
    }
    if picture.left_out > 0 {
        let _ = writeln!(out, "  // {} more nodes are not drawn", picture.left_out);
    }
    out.push_str("}\n");
    out
}

/// A mark beside a node, for a way that leads to no node.
fn mark(out: &mut String, id: &str, what: &str, looks: &str) -> String {
    let name = quoted(&format!("{id} · {what}"));
    let _ = writeln!(out, "  {name} [{looks}];");
    name
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
