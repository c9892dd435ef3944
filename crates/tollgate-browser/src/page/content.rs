//! What a page says: its text in sections, its links and pictures.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{element::telling, hidden::Read, locate::judging};
use crate::{
    error::{Error, unless_gone},
    protocol::commands::{Argument, ResolveNode, Snapshot},
    tab::Tab,
};

const READ: &str = include_str!("content.js");

/// How much of a document is read at once, in bytes, rather more than what is told of it.
const PART: usize = 2 << 20;
/// How many shadow trees that are closed are read.
const MOST_TREES: usize = 100;
const PATIENCE: Duration = Duration::from_secs(15);

/// What a page says.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Content {
    /// Its title.
    pub title: String,
    /// Its text: what the page is about first, in the order of the page, then the rest.
    pub sections: Vec<Section>,
    /// Where it leads.
    pub links: Vec<PageLink>,
    /// What it shows.
    pub images: Vec<PageImage>,
    /// What it says of itself.
    pub metadata: BTreeMap<String, String>,
    /// Whether there is more in later parts.
    pub cut: bool,
    /// How many sections there are in all parts.
    #[serde(rename = "count")]
    pub total: usize,
    /// Whether something on it may hold a shadow tree that is closed.
    pub(crate) shy: bool,
}

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Section {
    /// The element it is in.
    pub tag: String,
    /// The text.
    pub text: String,
    /// How much it strikes the eye, from 0 to 1.
    pub attention: f64,
    /// The heading above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// Whether it is what the page is about, and no navigation or footer.
    #[serde(skip_serializing)]
    pub main: bool,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct PageLink {
    /// What it says.
    pub text: String,
    /// Where it leads.
    pub href: String,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct PageImage {
    /// What it shows, in words.
    pub alt: String,
    /// Where it is.
    pub src: String,
}

impl Tab {
    /// What the page says; a text of more than `longest` characters is several sections.
    pub async fn content(&self, longest: usize) -> Result<Content, Error> {
        self.content_from(longest, 0).await
    }

    /// The same for a part of a page that says more than is read at once. Each document of the
    /// page has parts of its own.
    pub async fn content_from(&self, longest: usize, part: usize) -> Result<Content, Error> {
        let read = judging(READ);
        let arguments = vec![json!(longest), telling(), json!([part, PART])];
        let arguments: Vec<Argument> = arguments.into_iter().map(Argument::Value).collect();
        let main = self.lock().main_frame.clone();
        let mut content = self
            .content_of(&self.session, &main, &read, &arguments)
            .await?;
        for (session, frames) in self.conversations() {
            if session == self.session {
                continue;
            }
            // One of its frames holds the others that share its process.
            let root = {
                let state = self.lock();
                let is_inner = |id: &&String| {
                    let parent = state.frames.get(*id).and_then(|it| it.parent.as_ref());
                    parent
                        .and_then(|id| state.frames.get(id))
                        .is_some_and(|it| it.session == session)
                };
                frames.iter().find(|id| !is_inner(id)).cloned()
            };
            let Some(root) = root else {
                continue;
            };
            let inner = self.content_of(&session, &root, &read, &arguments).await;
            if let Some(inner) = unless_gone(inner)? {
                content.sections.extend(inner.sections);
                content.cut |= inner.cut;
                content.total += inner.total;
                content.links.extend(inner.links);
                content.images.extend(inner.images);
            }
        }
        content.sections.sort_by_key(|section| !section.main);
        let mut seen = HashSet::new();
        content
            .links
            .retain(|link| seen.insert((link.href.clone(), link.text.clone())));
        let mut seen = HashSet::new();
        content
            .images
            .retain(|image| seen.insert(image.src.clone()));
        Ok(content)
    }

    /// What a document says. No script sees a shadow tree that is closed unless it is handed over,
    /// so where there may be one the browser is asked.
    async fn content_of(
        &self,
        session: &str,
        frame: &str,
        read: &str,
        arguments: &[Argument],
    ) -> Result<Content, Error> {
        let open: Content = self
            .run_with(session, frame, read, arguments.to_vec())
            .await?;
        if !open.shy {
            return Ok(open);
        }
        let trees = self.closed_trees(session, frame).await?;
        if trees.is_empty() {
            return Ok(open);
        }
        let arguments = arguments.iter().cloned().chain(trees).collect();
        self.run_with(session, frame, read, arguments).await
    }

    /// Something in each shadow tree that is closed.
    async fn closed_trees(&self, session: &str, frame: &str) -> Result<Vec<Argument>, Error> {
        let snapshot = Snapshot {
            computed_styles: Vec::new(),
        };
        let all = self.ask_in(session, &snapshot, PATIENCE).await?;
        let world = self.world(session, frame).await?;
        let mut trees = Vec::new();
        for document in &all.documents {
            let left = MOST_TREES - trees.len();
            for node in in_trees(&Read::new(document, &all.strings), left) {
                let resolve = ResolveNode {
                    backend_node_id: Some(node),
                    execution_context_id: Some(world),
                };
                // One of another document is not to be had in this world.
                let resolved = self.ask_in(session, &resolve, PATIENCE).await;
                let resolved = unless_gone(resolved)?.and_then(|it| it.object.object_id);
                trees.extend(resolved.map(Argument::ObjectId));
            }
        }
        Ok(trees)
    }
}

/// Nodes that stand for the closed shadow trees of a document, so many at most. What is told is
/// only in which kind of tree a node is, so what is below something that may hold a tree of its
/// own counts too, after what is surely one.
fn in_trees(read: &Read<'_>, most: usize) -> Vec<i64> {
    let Some(kinds) = &read.document.nodes.shadow_root_type else {
        return Vec::new();
    };
    let kinds = kinds.index.iter().zip(&kinds.value);
    let inside: BTreeSet<usize> = kinds
        .filter(|(_, kind)| read.word(**kind) == "closed")
        .map(|(node, _)| *node)
        .collect();
    let mut holders = HashSet::new();
    let mut found: Vec<(u8, i64)> = Vec::new();
    for node in &inside {
        let Some(holder) = read.above(*node).next() else {
            continue;
        };
        let rank = match read.name(holder) {
            _ if !inside.contains(&holder) => 0,
            name if name.contains('-') => 1,
            "ARTICLE" | "ASIDE" | "DIV" | "FOOTER" | "HEADER" | "MAIN" | "NAV" | "SECTION"
            | "SPAN" => 2,
            _ => continue,
        };
        if holders.insert(holder) {
            found.push((rank, read.backend(*node)));
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.truncate(most);
    found.into_iter().map(|(_, node)| node).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;
    use crate::protocol::commands::Documents;

    #[test]
    fn one_node_stands_for_a_closed_tree() {
        // html > (x-card > closed: (h2 > text), (x-inner > closed: p)), (p > text), (b > open: i)
        let names = [
            "HTML", "X-CARD", "H2", "#text", "X-INNER", "P", "P", "#text", "B", "I",
        ];
        let parents = [-1, 0, 1, 2, 1, 4, 0, 6, 0, 8];
        let strings: Vec<&str> = names.into_iter().chain(["closed", "open"]).collect();
        let all: Documents = from_value(json!({"strings": strings, "documents": [{
            "layout": {"nodeIndex": [], "bounds": []},
            "nodes": {
                "nodeName": (0..10).collect::<Vec<_>>(), "parentIndex": parents,
                "backendNodeId": (100..110).collect::<Vec<_>>(),
                "shadowRootType": {"index": [2, 3, 4, 5, 9], "value": [10, 10, 10, 10, 11]},
            },
        }]}))
        .unwrap();
        let read = Read::new(&all.documents[0], &all.strings);
        assert_eq!(in_trees(&read, 9), [102, 105]);
        assert_eq!(in_trees(&read, 1), [102]);
    }
}
