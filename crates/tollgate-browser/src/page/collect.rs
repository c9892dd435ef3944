//! The elements of a page, from its accessibility trees and the layout of its documents.
//!
//! The trees say what a thing is and how it is called, in shadow trees and frames too; the
//! layout says where it is and which kind of field it is. Frames with a process of their own
//! are asked apart.

use std::collections::{BTreeMap, HashMap};

use crate::{
    error::{Error, unless_gone},
    protocol::commands::{AxNode, AxValue, DescribeNode, Documents, FullTree, Snapshot},
    tab::Tab,
};

use super::{
    clickable::{self, Known},
    element::{self, Bounds, Element, HIDDEN, Kind, LONGEST_LABEL, State},
};
use crate::tab::logs::cut;

/// What the layout tells of a node.
#[derive(Debug, Default)]
pub(super) struct Laid {
    pub(super) bounds: Bounds,
    pub(super) attributes: HashMap<String, String>,
    pub(super) tag: String,
    /// Whether it listens to clicks.
    pub(super) is_clickable: bool,
}

/// Attributes that tell what a field is for.
const WANTED: &[&str] = &["type", "autocomplete", "name", "id", "placeholder"];

/// How many fields a document notes that it turned into others.
const MOST_TURNED: usize = 100;

impl Tab {
    /// Everything on the page that can be used, from top to bottom.
    pub async fn elements(&self) -> Result<Vec<Element>, Error> {
        let mut all = Vec::new();
        for (session, frames) in self.conversations() {
            let is_main = session == self.session;
            let found = self.elements_of(&session, &frames, is_main).await;
            all.extend(self.heard(&session, found)?.into_iter().flatten());
        }
        all.sort_by_key(|element| (element.bounds.y, element.bounds.x));
        Ok(all)
    }

    /// Each conversation about this page with its frames, the page's own first.
    pub(crate) fn conversations(&self) -> Vec<(String, Vec<String>)> {
        let state = self.lock();
        let mut grouped: BTreeMap<(bool, &str), Vec<String>> = BTreeMap::new();
        for (id, frame) in &state.frames {
            let key = (frame.session != self.session, frame.session.as_str());
            grouped.entry(key).or_default().push(id.clone());
        }
        grouped
            .into_iter()
            .map(|((_, session), frames)| (session.to_owned(), frames))
            .collect()
    }

    async fn elements_of(
        &self,
        session: &str,
        frames: &[String],
        is_main: bool,
    ) -> Result<Vec<Element>, Error> {
        let patience = std::time::Duration::from_secs(15);
        let snapshot = Snapshot {
            computed_styles: clickable::STYLES.to_vec(),
        };
        let (offset, number) = if is_main {
            ((0.0, 0.0), None)
        } else {
            let number = self.lock().number(session);
            let offset = self.offset_of(session).await?;
            let scrolled = self.scrolled().await?;
            ((offset.0 + scrolled.0, offset.1 + scrolled.1), Some(number))
        };
        let documents = self.ask_in(session, &snapshot, patience).await?;
        let laid = layout(&documents, offset);
        let mut found = Vec::new();
        for frame in frames {
            let tree = FullTree {
                frame_id: Some(frame.clone()),
            };
            let tree = self.ask_in(session, &tree, patience).await;
            let Some(tree) = unless_gone(tree)? else {
                continue;
            };
            let mut elements = from_tree(&tree.nodes, &laid, session, number, &[]);
            if elements.iter().any(Element::tells) {
                let mut turned = self.turned(session, frame).await?;
                if turned.len() >= MOST_TURNED {
                    // Nobody knows which others were.
                    let telling = elements.iter().filter(|it| it.tells());
                    turned.extend(telling.map(|it| it.node));
                }
                if !turned.is_empty() {
                    elements = from_tree(&tree.nodes, &laid, session, number, &turned);
                }
            }
            found.extend(elements);
        }
        let nodes = found.iter().map(|it| it.node).collect();
        let known = Known {
            nodes: &nodes,
            bounds: &|node| laid.get(&node).map(|it| it.bounds).unwrap_or_default(),
            session,
            frame: number,
        };
        found.extend(clickable::unnamed(&documents, &known));
        Ok(found)
    }
}

impl Tab {
    /// The nodes of a frame that were fields for passwords until the page showed what they hold.
    async fn turned(&self, session: &str, frame: &str) -> Result<Vec<i64>, Error> {
        const COUNT: &str = "() => globalThis.tollgate?.turned.length ?? 0";
        const ONE: &str = "(at) => globalThis.tollgate.turned[at]";
        let counted = self.run_in::<usize>(session, frame.to_owned(), COUNT, Vec::new());
        let count = unless_gone(counted.await)?.unwrap_or_default();
        let mut nodes = Vec::new();
        for at in 0..count {
            let object = self.object_in(session, frame, ONE, at.into()).await?;
            let Some(object_id) = object else {
                continue;
            };
            let patience = std::time::Duration::from_secs(15);
            let describe = DescribeNode { object_id };
            let described = self.ask_in(session, &describe, patience).await?;
            nodes.push(described.node.backend_node_id);
        }
        Ok(nodes)
    }
}

/// What is known of each node, by its number.
fn layout(all: &Documents, offset: (f64, f64)) -> HashMap<i64, Laid> {
    let mut laid: HashMap<i64, Laid> = HashMap::new();
    let mut offsets: HashMap<usize, (f64, f64)> = HashMap::from([(0, offset)]);
    let text = |index: i64| {
        let index = usize::try_from(index).ok();
        index
            .and_then(|index| all.strings.get(index))
            .map(String::as_str)
    };
    for (number, document) in all.documents.iter().enumerate() {
        let offset = offsets.get(&number).copied().unwrap_or(offset);
        let mut boxes: HashMap<usize, Bounds> = HashMap::new();
        for (node, rectangle) in document
            .layout
            .node_index
            .iter()
            .zip(&document.layout.bounds)
        {
            boxes
                .entry(*node)
                .or_insert_with(|| Bounds::of(rectangle, offset));
        }
        // Documents come before those that they hold.
        if let Some(held) = &document.nodes.content_document_index {
            for (node, inner) in held.index.iter().zip(&held.value) {
                let (Some(place), Some(within)) = (boxes.get(node), all.documents.get(*inner))
                else {
                    continue;
                };
                let place = (place.x as f64, place.y as f64);
                let scrolled = (within.scroll_offset_x, within.scroll_offset_y);
                offsets.insert(*inner, (place.0 - scrolled.0, place.1 - scrolled.1));
            }
        }
        for (index, backend) in document.nodes.backend_node_id.iter().enumerate() {
            let attributes = document.nodes.attributes.get(index);
            let attributes: HashMap<String, String> = attributes
                .into_iter()
                .flat_map(|pairs| pairs.chunks_exact(2))
                .filter_map(|pair| Some((text(pair[0])?, text(pair[1])?)))
                .filter(|(name, _)| WANTED.contains(name))
                .map(|(name, value)| (name.to_owned(), cut(value, LONGEST_LABEL)))
                .collect();
            let bounds = boxes.get(&index).copied();
            let tag = document.nodes.node_name.get(index).copied().and_then(text);
            if bounds.is_some() || !attributes.is_empty() || tag == Some("OPTION") {
                let is_clickable = document.nodes.is_clickable.index.binary_search(&index);
                let known = Laid {
                    bounds: bounds.unwrap_or_default(),
                    attributes,
                    tag: tag.unwrap_or_default().to_owned(),
                    is_clickable: is_clickable.is_ok(),
                };
                laid.insert(*backend, known);
            }
        }
    }
    laid
}

pub(super) fn from_tree(
    nodes: &[AxNode],
    laid: &HashMap<i64, Laid>,
    session: &str,
    frame: Option<usize>,
    turned: &[i64],
) -> Vec<Element> {
    let by_id: HashMap<&str, &AxNode> = nodes
        .iter()
        .map(|node| (node.node_id.as_str(), node))
        .collect();
    let nothing = Laid::default();
    let chosen = chosen(nodes, &by_id);
    nodes
        .iter()
        .filter(|node| !node.ignored)
        .filter_map(|node| {
            let backend = node.backend_node_id?;
            let laid = laid.get(&backend).unwrap_or(&nothing);
            let attribute = |name: &str| laid.attributes.get(name).map(String::as_str);
            let kind = kind(node, laid, &by_id)?;
            let name = node.name.as_ref().map(AxValue::text).unwrap_or_default();
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            let label = if name.is_empty() {
                attribute("placeholder").unwrap_or_default().to_owned()
            } else {
                name
            };
            let names: Vec<&str> = ["name", "id", "placeholder"]
                .iter()
                .filter_map(|name| attribute(name))
                .chain([label.as_str()])
                .collect();
            let is_field = matches!(kind.r#type, "textbox" | "searchbox" | "combobox");
            let input = match turned.contains(&backend) {
                true => Some("password"),
                false => attribute("type"),
            };
            let is_secret = element::is_secret(input, attribute("autocomplete"), &names);
            let value = match chosen.get(node.node_id.as_str()) {
                Some(names) => Some(names.join(", ")),
                None => node.value.as_ref().map(AxValue::text),
            };
            let value = value
                .filter(|value| is_field && !value.is_empty())
                .map(|value| {
                    if is_secret {
                        HIDDEN.to_owned()
                    } else {
                        cut(&value, LONGEST_LABEL)
                    }
                });
            let is_typed = kind.actions.contains(&"type");
            let prefix = match is_secret && is_typed {
                true => element::SECRET,
                false => kind.prefix,
            };
            Some(Element {
                id: element::id(prefix, &label, frame, backend),
                r#type: kind.r#type,
                label: cut(&label, LONGEST_LABEL),
                actions: kind.actions,
                state: State {
                    visible: !laid.bounds.is_empty(),
                    enabled: !is_set(node, "disabled"),
                    focused: is_set(node, "focused"),
                    checked: property(node, "checked").map(|it| it == "true"),
                    value,
                },
                region: region(node, &by_id),
                bounds: laid.bounds,
                session: session.to_owned(),
                node: backend,
            })
        })
        .collect()
}

/// What kind of element a node is, if it is one that can be used.
fn kind(node: &AxNode, laid: &Laid, by_id: &HashMap<&str, &AxNode>) -> Option<Kind> {
    let role = node.role.as_ref()?.text();
    let kind = element::kind_of(&role)?;
    let is_drawn_by_page = laid.tag != "SELECT";
    Some(match kind.r#type {
        _ if laid.attributes.get("type").is_some_and(|it| it == "file") => element::FILE,
        "combobox" if property(node, "editable").is_some() => element::EDITABLE_LIST,
        "combobox" if is_drawn_by_page => element::DRAWN_LIST,
        // Those of the browser's own lists are chosen through the list.
        "option" if laid.tag == "OPTION" => return None,
        "gridcell" if !laid.is_clickable && !is_set(node, "focusable") => return None,
        // The parts of a date are set as one, and its calendar is none of the page's.
        "textbox" | "button" if is_part_of_date(node, by_id) => return None,
        _ => kind,
    })
}

fn is_part_of_date(node: &AxNode, by_id: &HashMap<&str, &AxNode>) -> bool {
    let dates = ["Date", "DateTime", "InputTime"];
    above(node, by_id)
        .take(4)
        .filter_map(|it| it.role.as_ref())
        .any(|role| dates.contains(&role.text().as_str()))
}

/// What is chosen in lists that let several be chosen, by the lists.
fn chosen<'n>(
    nodes: &'n [AxNode],
    by_id: &HashMap<&str, &'n AxNode>,
) -> HashMap<&'n str, Vec<String>> {
    let is = |node: &AxNode, role: &str| node.role.as_ref().is_some_and(|it| it.text() == role);
    let mut chosen: HashMap<&str, Vec<String>> = HashMap::new();
    for option in nodes.iter().filter(|it| is(it, "option")) {
        if !is_set(option, "selected") {
            continue;
        }
        let mut lists = above(option, by_id).take(4);
        if let Some(list) = lists.find(|it| is(it, "listbox")) {
            let name = option.name.as_ref().map(AxValue::text).unwrap_or_default();
            chosen.entry(&list.node_id).or_default().push(name);
        }
    }
    chosen
}

/// The nodes above a node, the nearest first. A tree that is deeper is cut short.
fn above<'n>(
    node: &'n AxNode,
    by_id: &HashMap<&str, &'n AxNode>,
) -> impl Iterator<Item = &'n AxNode> {
    let parent = |node: &&'n AxNode| by_id.get(node.parent_id.as_deref()?).copied();
    std::iter::successors(parent(&node), parent).take(200)
}

fn property(node: &AxNode, name: &str) -> Option<String> {
    let found = node
        .properties
        .iter()
        .find(|property| property.name == name);
    found.map(|property| property.value.text())
}

fn is_set(node: &AxNode, name: &str) -> bool {
    property(node, name).as_deref() == Some("true")
}

/// The landmark a node is in.
fn region(node: &AxNode, by_id: &HashMap<&str, &AxNode>) -> &'static str {
    let landmark = |node: &AxNode| {
        let role = node.role.as_ref().map(AxValue::text).unwrap_or_default();
        Some(match role.as_str() {
            "banner" => "header",
            "navigation" => "navigation",
            "complementary" => "sidebar",
            "contentinfo" => "footer",
            "search" => "search",
            "dialog" | "alertdialog" => "dialog",
            "main" => "main",
            _ => return None,
        })
    };
    above(node, by_id).find_map(landmark).unwrap_or("main")
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn the_nearest_landmark_is_the_region() {
        let node = |id: &str, parent: Option<&str>, role: &str| -> AxNode {
            let role = json!({"value": role});
            let node = json!({"nodeId": id, "parentId": parent, "role": role});
            from_value(node).unwrap()
        };
        for (outer, inner, expected) in [
            ("main", "banner", "header"),
            ("banner", "navigation", "navigation"),
            ("banner", "list", "header"),
            ("list", "complementary", "sidebar"),
            ("list", "contentinfo", "footer"),
            ("banner", "search", "search"),
            ("contentinfo", "main", "main"),
            ("main", "dialog", "dialog"),
            ("banner", "alertdialog", "dialog"),
            ("list", "listitem", "main"),
        ] {
            let nodes = [
                node("1", None, "RootWebArea"),
                node("2", Some("1"), outer),
                node("3", Some("2"), inner),
                node("4", Some("3"), "button"),
            ];
            let by_id = nodes.iter().map(|it| (it.node_id.as_str(), it)).collect();
            assert_eq!(region(&nodes[3], &by_id), expected, "{inner} in {outer}");
        }
    }
}
