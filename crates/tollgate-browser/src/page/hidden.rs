//! Elements that are on a page but not drawn.
//!
//! No accessibility tree has them, so the documents themselves say what they are and how they
//! are called. What they hold is not told.

use std::collections::{HashMap, HashSet};

use super::element::{self, Bounds, Element, Kind, LONGEST_LABEL, State};
use crate::{
    error::Error,
    protocol::commands::{Document, Snapshot},
    tab::{Tab, logs::cut},
};

/// How far above a node its region and its name are looked for.
const DEEPEST: usize = 200;

impl Tab {
    /// Everything that could be used if it were drawn, beside the elements that are known.
    pub async fn hidden_elements(&self, known: &[Element]) -> Result<Vec<Element>, Error> {
        let known: HashSet<(&str, i64)> = known
            .iter()
            .map(|it| (it.session.as_str(), it.node))
            .collect();
        let patience = std::time::Duration::from_secs(15);
        let mut all = Vec::new();
        for (session, _) in self.conversations() {
            let is_main = session == self.session;
            let number = (!is_main).then(|| self.lock().number(&session));
            let snapshot = Snapshot {
                computed_styles: vec!["visibility"],
            };
            let laid = self.ask_in(&session, &snapshot, patience).await;
            let Some(laid) = self.heard(&session, laid)? else {
                continue;
            };
            for document in &laid.documents {
                let found = Read::new(document, &laid.strings).hidden(&session, number);
                all.extend(found);
            }
        }
        all.retain(|it| !known.contains(&(it.session.as_str(), it.node)));
        Ok(all)
    }
}

/// The first name that says something, as long as a label may be.
pub(super) fn first_name(names: &[Option<&str>]) -> String {
    let mut said = names.iter().flatten().filter(|it| !it.trim().is_empty());
    let words = said.next().copied().unwrap_or_default().split_whitespace();
    cut(&words.collect::<Vec<_>>().join(" "), LONGEST_LABEL)
}

/// A document that is looked through.
pub(super) struct Read<'a> {
    pub(super) document: &'a Document,
    strings: &'a [String],
}

impl<'a> Read<'a> {
    pub(super) fn new(document: &'a Document, strings: &'a [String]) -> Self {
        Self { document, strings }
    }

    pub(super) fn text(&self, index: Option<&i64>) -> &'a str {
        let index = index.and_then(|it| usize::try_from(*it).ok());
        let found = index.and_then(|it| self.strings.get(it));
        found.map(String::as_str).unwrap_or_default()
    }

    /// The number that the browser knows a node by.
    pub(super) fn backend(&self, node: usize) -> i64 {
        let all = &self.document.nodes.backend_node_id;
        all.get(node).copied().unwrap_or_default()
    }

    /// One of the words of the document.
    pub(super) fn word(&self, index: usize) -> &'a str {
        self.strings
            .get(index)
            .map(String::as_str)
            .unwrap_or_default()
    }

    pub(super) fn name(&self, node: usize) -> &'a str {
        self.text(self.document.nodes.node_name.get(node))
    }

    pub(super) fn attribute(&self, node: usize, wanted: &str) -> Option<&'a str> {
        let pairs = self.document.nodes.attributes.get(node)?;
        let mut pairs = pairs.chunks_exact(2);
        let pair = pairs.find(|pair| self.text(pair.first()) == wanted)?;
        Some(self.text(pair.get(1)))
    }

    /// The nodes above a node, the nearest first.
    pub(super) fn above(&self, node: usize) -> impl Iterator<Item = usize> {
        let parents = &self.document.nodes.parent_index;
        let parent = |node: usize| usize::try_from(*parents.get(node)?).ok();
        std::iter::successors(parent(node), move |it| parent(*it)).take(DEEPEST)
    }

    fn hidden(&self, session: &str, frame: Option<usize>) -> Vec<Element> {
        let layout = &self.document.layout;
        let drawn: HashSet<usize> = layout
            .node_index
            .iter()
            .zip(&layout.styles)
            .filter(|(_, styles)| self.text(styles.first()) == "visible")
            .map(|(node, _)| *node)
            .collect();
        let nodes = &self.document.nodes;
        let found: HashMap<usize, Kind> = (0..nodes.backend_node_id.len())
            .filter(|node| !drawn.contains(node))
            .filter_map(|node| Some((node, self.kind(node)?)))
            .collect();
        let mut said: HashMap<usize, Vec<&str>> = HashMap::new();
        for node in (0..nodes.node_value.len()).filter(|node| self.name(*node) == "#text") {
            let words = self.text(nodes.node_value.get(node)).split_whitespace();
            if let Some(holder) = self.above(node).find(|it| found.contains_key(it)) {
                said.entry(holder).or_default().extend(words);
            }
        }
        let mut all: Vec<Element> = found
            .into_iter()
            .map(|(node, kind)| {
                let words = said.remove(&node).unwrap_or_default();
                self.element(node, kind, &words.join(" "), session, frame)
            })
            .collect();
        all.sort_by_key(|it| it.node);
        all
    }

    fn element(
        &self,
        node: usize,
        kind: Kind,
        said: &str,
        session: &str,
        frame: Option<usize>,
    ) -> Element {
        let attribute = |name: &str| self.attribute(node, name);
        let is_named_inside = matches!(kind.r#type, "button" | "link" | "menuitem" | "tab");
        // What a field holds is not its name.
        let own = match self.name(node) {
            "INPUT" if is_named_inside => attribute("value").unwrap_or_default(),
            _ if is_named_inside => said,
            _ => "",
        };
        let names = [
            attribute("aria-label"),
            Some(own),
            attribute("placeholder"),
            attribute("title"),
        ];
        let label = first_name(&names);
        self.named(node, kind, label, (session, frame))
    }

    /// An element that goes by a label, not drawn anywhere yet; `place` is its conversation and
    /// the number of its frame.
    pub(super) fn named(
        &self,
        node: usize,
        kind: Kind,
        label: String,
        place: (&str, Option<usize>),
    ) -> Element {
        let attribute = |name: &str| self.attribute(node, name);
        let names: Vec<&str> = ["name", "id", "placeholder"]
            .into_iter()
            .filter_map(attribute)
            .chain([label.as_str()])
            .collect();
        let is_secret = element::is_secret(attribute("type"), attribute("autocomplete"), &names);
        let prefix = match is_secret && kind.actions.contains(&"type") {
            true => element::SECRET,
            false => kind.prefix,
        };
        let backend = self.backend(node);
        Element {
            id: element::id(prefix, &label, place.1, backend),
            r#type: kind.r#type,
            actions: kind.actions,
            state: State {
                visible: false,
                enabled: attribute("disabled").is_none(),
                focused: false,
                checked: None,
                value: None,
            },
            region: self.region(node),
            bounds: Bounds::default(),
            session: place.0.to_owned(),
            node: backend,
            label,
        }
    }

    fn kind(&self, node: usize) -> Option<Kind> {
        let told = self.attribute(node, "role").unwrap_or_default();
        let told = told.split_whitespace().next();
        if let Some(kind) = told.and_then(element::kind_of) {
            return Some(kind);
        }
        let role = match self.name(node) {
            "BUTTON" | "SUMMARY" => "button",
            "A" if self.attribute(node, "href").is_some() => "link",
            "TEXTAREA" => "textbox",
            "SELECT" => "combobox",
            "INPUT" => {
                let kind = self.attribute(node, "type").unwrap_or_default();
                match kind.to_ascii_lowercase().as_str() {
                    // Nobody is meant to use it, drawn or not.
                    "hidden" => return None,
                    "file" => return Some(element::FILE),
                    "button" | "submit" | "reset" | "image" => "button",
                    "checkbox" => "checkbox",
                    "radio" => "radio",
                    "search" => "searchbox",
                    _ => "textbox",
                }
            }
            _ => return None,
        };
        element::kind_of(role)
    }

    pub(super) fn region(&self, node: usize) -> &'static str {
        let landmark = |node: usize| {
            let role = self.attribute(node, "role").unwrap_or_default();
            Some(match (role, self.name(node)) {
                ("banner", _) | ("", "HEADER") => "header",
                ("navigation", _) | ("", "NAV") => "navigation",
                ("complementary", _) | ("", "ASIDE") => "sidebar",
                ("contentinfo", _) | ("", "FOOTER") => "footer",
                ("search", _) | ("", "SEARCH") => "search",
                ("dialog" | "alertdialog", _) | ("", "DIALOG") => "dialog",
                ("main", _) | ("", "MAIN") => "main",
                _ => return None,
            })
        };
        self.above(node).find_map(landmark).unwrap_or("main")
    }
}
