//! One element by itself, without the rest of its page: on a large one that is what takes time.
//!
//! Invariant: it goes by the same id as in the list of all elements. What can be told only among
//! the others is not told here at all.

use std::{collections::HashMap, time::Duration};

use serde::Deserialize;

use super::{
    collect::{Laid, from_tree},
    element::{Bounds, Element},
    locate::Handle,
};
use crate::{
    error::{Error, unless_gone},
    protocol::commands::PartialTree,
    tab::Tab,
};

const PATIENCE: Duration = Duration::from_secs(15);

/// What the layout would tell of a node; nothing if it is a part that the browser made of another
/// one, or if too many fields were turned into others to know all of them.
const LAID: &str = "function() { \
    const root = this.getRootNode(), turned = globalThis.tollgate?.turned ?? []; \
    const made = ['input', 'textarea', 'select', 'video', 'audio', 'details', 'meter', 'progress']; \
    if (!this.getAttribute || turned.length >= 100 || made.includes(root.host?.localName)) return null; \
    const box = this.getBoundingClientRect(), attributes = {}; \
    for (const name of ['type', 'autocomplete', 'name', 'id', 'placeholder']) { \
        const said = this.getAttribute(name); \
        if (said !== null) attributes[name] = said.slice(0, 200); } \
    return { tag: this.nodeName, attributes, turned: turned.includes(this), \
        bounds: [box.x + scrollX, box.y + scrollY, box.width, box.height] }; }";

#[derive(Deserialize)]
struct Told {
    tag: String,
    attributes: HashMap<String, String>,
    turned: bool,
    bounds: Vec<f64>,
}

impl Tab {
    /// What a node is, if its role tells; its region and what is chosen in it are not looked for.
    pub(super) async fn alone(
        &self,
        handle: &Handle,
        frame: Option<usize>,
    ) -> Result<Option<Element>, Error> {
        let session = &handle.session;
        let told = self.run_on::<Option<Told>>(session, &handle.object, LAID, Vec::new());
        let Some(told) = unless_gone(told.await)?.flatten() else {
            return Ok(None);
        };
        let tree = PartialTree {
            backend_node_id: Some(handle.node),
            fetch_relatives: false,
        };
        let tree = self.ask_in(session, &tree, PATIENCE).await;
        let Some(tree) = unless_gone(tree)? else {
            return Ok(None);
        };
        let turned: &[i64] = if told.turned { &[handle.node] } else { &[] };
        let laid = Laid {
            bounds: Bounds::of(&told.bounds, (0.0, 0.0)),
            attributes: told.attributes,
            tag: told.tag,
            is_clickable: false,
        };
        let laid = HashMap::from([(handle.node, laid)]);
        let found = from_tree(&tree.nodes, &laid, session, frame, turned);
        Ok(found.into_iter().find(|it| it.node == handle.node))
    }
}
