//! Elements that no role tells of: what listens to clicks, text that can be edited, areas of
//! pictures, and fields for files that only their labels show.
//!
//! Invariant: what is part of an element that is known is not listed beside it, and what only
//! holds such elements and hears their clicks is not listed at all.

use std::collections::{HashMap, HashSet};

use super::{
    element::{self, Bounds, Element, Kind, LONGEST_LABEL},
    hidden::{Read, first_name},
};
use crate::protocol::commands::Documents;

/// The styles of a snapshot that [`unnamed`] reads.
pub(super) const STYLES: [&str; 2] = ["cursor", "visibility"];

/// A text of more characters is not the name of something to click.
const LONGEST_NAME: usize = 120;

/// What of a page is known already.
pub(super) struct Known<'k> {
    pub(super) nodes: &'k HashSet<i64>,
    pub(super) bounds: &'k dyn Fn(i64) -> Bounds,
    pub(super) session: &'k str,
    pub(super) frame: Option<usize>,
}

/// Everything of a snapshot that can be used although nothing says so.
pub(super) fn unnamed(all: &Documents, known: &Known<'_>) -> Vec<Element> {
    let mut found = Vec::new();
    for document in &all.documents {
        let read = Read::new(document, &all.strings);
        found.extend(Look::new(&read, known).all());
    }
    found
}

struct Look<'l> {
    read: &'l Read<'l>,
    known: &'l Known<'l>,
    clickable: HashSet<usize>,
    /// Nodes that are drawn and can be seen, and whether the mouse says that they can be clicked.
    drawn: HashMap<usize, bool>,
    /// Nodes that hold elements which are known.
    holding: HashSet<usize>,
    /// Boxes to tick that are not drawn.
    unseen: Vec<usize>,
}

impl<'l> Look<'l> {
    fn new(read: &'l Read<'l>, known: &'l Known<'l>) -> Self {
        let document = read.document;
        let layout = &document.layout;
        let drawn = layout.node_index.iter().zip(&layout.styles);
        let drawn: HashMap<usize, bool> = drawn
            .filter(|(_, styles)| read.text(styles.get(1)) == "visible")
            .map(|(node, styles)| (*node, read.text(styles.first()) == "pointer"))
            .collect();
        let mut holding = HashSet::new();
        for (node, backend) in document.nodes.backend_node_id.iter().enumerate() {
            if known.nodes.contains(backend) {
                for above in read.above(node) {
                    if !holding.insert(above) {
                        break;
                    }
                }
            }
        }
        let is_unseen = |node: &usize| {
            let kind = read.attribute(*node, "type").unwrap_or_default();
            read.name(*node) == "INPUT" && matches!(kind, "checkbox" | "radio")
        };
        let unseen = (0..document.nodes.backend_node_id.len())
            .filter(|node| !drawn.contains_key(node) && is_unseen(node))
            .collect();
        Self {
            unseen,
            read,
            known,
            clickable: document.nodes.is_clickable.index.iter().copied().collect(),
            drawn,
            holding,
        }
    }

    fn all(&self) -> Vec<Element> {
        let nodes = &self.read.document.nodes.backend_node_id;
        let picked: Vec<(usize, Kind)> = (0..nodes.len())
            .filter(|node| !self.is_known(*node))
            .filter_map(|node| Some((node, self.kind(node)?)))
            .collect();
        let clicked: HashSet<usize> = picked.iter().map(|(node, _)| *node).collect();
        let found = picked.into_iter().filter_map(|(node, kind)| {
            // A click on what is inside of something to click is one on that.
            let is_inside = |it: usize| clicked.contains(&it) || self.is_known(it);
            if kind.r#type == "any" && self.read.above(node).any(is_inside) {
                return None;
            }
            self.element(node, kind)
        });
        found.collect()
    }

    fn is_known(&self, node: usize) -> bool {
        self.known.nodes.contains(&self.read.backend(node))
    }

    fn kind(&self, node: usize) -> Option<Kind> {
        let attribute = |name: &str| self.read.attribute(node, name);
        match self.read.name(node) {
            "HTML" | "BODY" | "#document" | "OPTION" | "OPTGROUP" | "SELECT" | "TEXTAREA"
            | "IFRAME" | "FRAME" | "VIDEO" | "AUDIO" | "OBJECT" | "EMBED" => return None,
            "AREA" => return attribute("href").and(element::kind_of("link")),
            "INPUT" => {
                let is_file = attribute("type").is_some_and(|it| it.eq_ignore_ascii_case("file"));
                return is_file.then_some(element::FILE);
            }
            "LABEL" => return self.has_unseen_field(node).then_some(element::ANY),
            _ => {}
        }
        let has_pointer = *self.drawn.get(&node)?;
        let is_edited = attribute("contenteditable").is_some_and(|it| it != "false");
        if is_edited && !self.is_edited_above(node) {
            return Some(element::EDITABLE);
        }
        let is_focused = attribute("tabindex").is_some_and(|it| !it.trim().starts_with('-'));
        let is_heard = self.clickable.contains(&node);
        let is_meant = match self.holding.contains(&node) {
            true => is_heard && has_pointer,
            false => is_heard || is_focused,
        };
        is_meant.then_some(element::ANY)
    }

    fn is_edited_above(&self, node: usize) -> bool {
        let is_edited = |it: usize| self.read.attribute(it, "contenteditable").is_some();
        self.read.above(node).any(is_edited)
    }

    /// Whether a label stands for a box to tick that is not drawn.
    fn has_unseen_field(&self, label: usize) -> bool {
        let wanted = self.read.attribute(label, "for");
        let is_its = |node: &usize| match wanted {
            Some(id) => self.read.attribute(*node, "id") == Some(id),
            None => self.read.above(*node).any(|it| it == label),
        };
        self.drawn.contains_key(&label) && self.unseen.iter().any(is_its)
    }

    /// The label of a field that is drawn.
    fn label_of(&self, field: usize) -> Option<usize> {
        let above = self.read.above(field);
        let around = above.into_iter().find(|it| self.read.name(*it) == "LABEL");
        let id = self.read.attribute(field, "id");
        let count = self.read.document.nodes.backend_node_id.len();
        let beside = || {
            (0..count).find(|it| {
                self.read.name(*it) == "LABEL"
                    && id.is_some()
                    && self.read.attribute(*it, "for") == id
            })
        };
        around
            .or_else(beside)
            .filter(|it| self.drawn.contains_key(it))
    }

    fn element(&self, node: usize, kind: Kind) -> Option<Element> {
        let attribute = |name: &str| self.read.attribute(node, name);
        // What cannot be seen is where its label is; without one nobody is meant to use it.
        let shown = match kind.r#type {
            "file" if !self.drawn.contains_key(&node) => self.label_of(node)?,
            _ => node,
        };
        let said = match kind.r#type {
            "any" | "file" => self.said(shown),
            // What is written is not the name of what is written into.
            _ => String::new(),
        };
        let names = [
            attribute("aria-label"),
            attribute("alt"),
            Some(said.as_str()),
            attribute("title"),
            attribute("data-placeholder"),
            attribute("placeholder"),
        ];
        let label = first_name(&names);
        let bounds = (self.known.bounds)(self.read.backend(shown));
        let is_area = self.read.name(node) == "AREA";
        if kind.r#type == "any" && label.chars().count() > LONGEST_NAME {
            return None;
        }
        if bounds.is_empty() && !is_area {
            return None;
        }
        let place = (self.known.session, self.known.frame);
        let mut element = self.read.named(node, kind, label, place);
        element.state.visible = true;
        element.bounds = bounds;
        Some(element)
    }

    /// The beginning of what is written inside of a node.
    fn said(&self, holder: usize) -> String {
        let nodes = &self.read.document.nodes;
        let mut said = String::new();
        // Nodes come in the order of the document, so what is inside follows.
        for node in holder + 1..nodes.node_value.len() {
            if !self.read.above(node).any(|it| it == holder) {
                break;
            }
            if self.read.name(node) == "#text" {
                said.push_str(self.read.text(nodes.node_value.get(node)));
                said.push(' ');
            }
            if said.len() > LONGEST_LABEL * 4 {
                break;
            }
        }
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
