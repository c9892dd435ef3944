//! From an id to the node it names, and to the place of that node on the screen.
//!
//! Invariant: a node is held in our own world of its frame, so what is asked of it is answered
//! by the browser and not by functions that the page put in their place.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::{
    element::{self, Element},
    matching,
};
use crate::{
    error::{Error, Near},
    protocol::commands::{ContentQuads, DescribeNode, FrameOwner, ResolveNode},
    tab::Tab,
};

const PATIENCE: Duration = Duration::from_secs(15);

/// The first element of a selector that can be seen.
const SEEN: &str = "(selector) => [...document.querySelectorAll(selector)]\
    .find((one) => one.checkVisibility({ visibilityProperty: true }))";

/// Whether a node of this document is part of it; nothing if it is a node of another one.
const THERE: &str = "function() { \
    return this.ownerDocument === document ? { connected: this.isConnected } : null; }";

/// What tells whether a field is for a secret: its kind, what it is filled in with, its names.
const FACTS: &str = "function() { \
    const read = (name) => this.getAttribute(name) ?? ''; \
    if (this.localName === 'select') return { names: [] }; \
    const near = read('aria-labelledby').split(/\\s+/).filter(Boolean).slice(0, 10) \
        .map((id) => this.getRootNode().getElementById?.(id)); \
    const said = [...(this.labels ?? []), ...near].map((one) => one?.textContent ?? ''); \
    const names = ['name', 'id', 'placeholder', 'aria-label', 'title'].map(read); \
    return { kind: read('type'), autocomplete: read('autocomplete'), \
        names: [...names, ...said].map((name) => name.replace(/\\s+/g, ' ').slice(0, 200)) }; }";

/// A node that is there.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    /// What it goes by now.
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) node: i64,
    pub(crate) object: String,
}

#[derive(Deserialize)]
struct There {
    connected: bool,
}

#[derive(Deserialize)]
struct Facts {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    autocomplete: String,
    names: Vec<String>,
}

impl Tab {
    /// The element with an id, as it is now.
    pub async fn element(&self, id: &str) -> Result<Element, Error> {
        let handle = self.locate(id).await?;
        let all = self.elements().await?;
        let found = all
            .into_iter()
            .find(|it| it.node == handle.node && it.session == handle.session);
        found.ok_or_else(|| Error::ElementNotFound {
            id: id.to_owned(),
            near: Vec::new(),
        })
    }

    /// The first element that a selector finds and that can be seen, in the main frame.
    pub async fn selected(&self, selector: &str) -> Result<Option<Element>, Error> {
        let frame = self.lock().main_frame.clone();
        let Some(object) = self.object_in(frame, SEEN, json!(selector)).await? else {
            return Ok(None);
        };
        let describe = DescribeNode { object_id: object };
        let described = self.ask_in(&self.session, &describe, PATIENCE).await?;
        let node = described.node.backend_node_id;
        let all = self.elements().await?;
        let mut all = all.into_iter();
        Ok(all.find(|it| it.node == node && it.session == self.session))
    }

    /// Finds the node of an id: itself, or, if the page drew it anew, the only one that is
    /// called the same.
    pub(crate) async fn locate(&self, id: &str) -> Result<Handle, Error> {
        let named = element::parse(id);
        if let Some(named) = &named
            && let Some(session) = self.session_of(named.frame)
            && let Some(object) = self.object(&session, named.node).await?
        {
            return Ok(Handle {
                id: id.to_owned(),
                session,
                node: named.node,
                object,
            });
        }
        let all = self.elements().await?;
        let stem = named.map(|named| named.stem);
        let same = |element: &&Element| {
            let other = element::parse(&element.id);
            stem.is_some() && other.map(|other| other.stem) == stem && element.state.visible
        };
        let mut alike = all.iter().filter(same);
        if let (Some(element), None) = (alike.next(), alike.next())
            && let Some(object) = self.object(&element.session, element.node).await?
        {
            return Ok(Handle {
                id: element.id.clone(),
                session: element.session.clone(),
                node: element.node,
                object,
            });
        }
        let words = stem
            .as_deref()
            .map_or(id, |stem| stem.split_once('_').map_or(stem, |it| it.1));
        let near = matching::find(&all, &words.replace('_', " "));
        let near = near.into_iter().map(|candidate| Near {
            id: candidate.id,
            label: candidate.label,
            score: candidate.score,
        });
        Err(Error::ElementNotFound {
            id: id.to_owned(),
            near: near.collect(),
        })
    }

    /// Finds a field to write into. One for secrets goes by an id that says so, or what is
    /// written there would be taken for something that anybody may see.
    pub(crate) async fn locate_field(&self, id: &str) -> Result<Handle, Error> {
        let handle = self.locate(id).await?;
        let facts: Facts = self
            .run_on(&handle.session, &handle.object, FACTS, Vec::new())
            .await?;
        let names: Vec<&str> = facts.names.iter().map(String::as_str).collect();
        let is_secret = element::is_secret(Some(&facts.kind), Some(&facts.autocomplete), &names);
        let (prefix, rest) = handle.id.split_once('_').unwrap_or(("", &handle.id));
        if !is_secret || prefix == element::SECRET {
            return Ok(handle);
        }
        let near = Near {
            id: format!("{}_{rest}", element::SECRET),
            label: rest.to_owned(),
            score: 1.0,
        };
        Err(Error::ElementNotFound {
            id: id.to_owned(),
            near: vec![near],
        })
    }

    fn session_of(&self, frame: Option<usize>) -> Option<String> {
        let Some(number) = frame else {
            return Some(self.session.clone());
        };
        let state = self.lock();
        let found = state.numbers.iter().find(|(_, known)| **known == number);
        let session = found.map(|(session, _)| session.clone())?;
        let is_there = state.frames.values().any(|frame| frame.session == session);
        is_there.then_some(session)
    }

    /// The node in our world of its frame, if it is still part of the page.
    async fn object(&self, session: &str, node: i64) -> Result<Option<String>, Error> {
        for frame in self.frames_of(session) {
            let found = self.object_of(session, &frame, node).await;
            match found {
                Ok(Some((object, there))) => return Ok(there.connected.then_some(object)),
                // It is in another frame, or its frame went away meanwhile.
                Ok(None) | Err(Error::Protocol(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    async fn object_of(
        &self,
        session: &str,
        frame: &str,
        node: i64,
    ) -> Result<Option<(String, There)>, Error> {
        let resolve = ResolveNode {
            backend_node_id: Some(node),
            execution_context_id: Some(self.world(session, frame).await?),
        };
        let resolved = self.ask_in(session, &resolve, PATIENCE).await?;
        let Some(object) = resolved.object.object_id else {
            return Ok(None);
        };
        let there: Option<There> = self.run_on(session, &object, THERE, Vec::new()).await?;
        Ok(there.map(|there| (object, there)))
    }

    /// The frames of a conversation, the one that holds the others first.
    fn frames_of(&self, session: &str) -> Vec<String> {
        let state = self.lock();
        let is_inner = |id: &str| {
            let parent = state.frames.get(id).and_then(|it| it.parent.as_ref());
            let parent = parent.and_then(|id| state.frames.get(id));
            parent.is_some_and(|it| it.session == session)
        };
        let of = state.frames.iter().filter(|(_, it)| it.session == session);
        let mut frames: Vec<String> = of.map(|(id, _)| id.clone()).collect();
        frames.sort_by_key(|id| is_inner(id));
        frames
    }

    /// The middle of a node on the screen; nothing if it is not drawn.
    pub(crate) async fn middle(&self, handle: &Handle) -> Result<Option<(f64, f64)>, Error> {
        let quads = ContentQuads {
            backend_node_id: Some(handle.node),
            ..ContentQuads::default()
        };
        let quads = match self.ask_in(&handle.session, &quads, PATIENCE).await {
            Ok(answer) => answer.quads,
            Err(Error::Protocol(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(middle) = quads.iter().find_map(|quad| middle_of(quad)) else {
            return Ok(None);
        };
        let offset = self.offset_of(&handle.session).await?;
        Ok(Some((middle.0 + offset.0, middle.1 + offset.1)))
    }

    /// Where a frame with a process of its own begins on the screen.
    pub(crate) async fn offset_of(&self, session: &str) -> Result<(f64, f64), Error> {
        let mut offset = (0.0, 0.0);
        let mut session = session.to_owned();
        // Frames within frames within frames: at some depth nothing can be seen any more.
        for _ in 0..10 {
            if session == self.session {
                break;
            }
            let above = {
                let state = self.lock();
                let root = state.frames.iter().find(|(_, frame)| {
                    let parent = frame.parent.as_ref().and_then(|id| state.frames.get(id));
                    frame.session == session && parent.is_none_or(|it| it.session != session)
                });
                root.map(|(id, frame)| {
                    let parent = frame.parent.as_ref().and_then(|id| state.frames.get(id));
                    let above = parent.map_or(self.session.clone(), |it| it.session.clone());
                    (id.clone(), above)
                })
            };
            let Some((frame, above)) = above else {
                break;
            };
            let owner = FrameOwner { frame_id: frame };
            let owner = self.ask_in(&above, &owner, PATIENCE).await?;
            let quads = ContentQuads {
                backend_node_id: Some(owner.backend_node_id),
                ..ContentQuads::default()
            };
            let quads = self.ask_in(&above, &quads, PATIENCE).await?;
            if let Some([x, y, ..]) = quads.quads.first().map(Vec::as_slice) {
                offset = (offset.0 + x, offset.1 + y);
            }
            session = above;
        }
        Ok(offset)
    }
}

/// The middle of a quadrilateral that has an area.
fn middle_of(quad: &[f64]) -> Option<(f64, f64)> {
    let &[x1, y1, x2, y2, x3, y3, x4, y4] = quad else {
        return None;
    };
    let area =
        (x1 * y2 - x2 * y1) + (x2 * y3 - x3 * y2) + (x3 * y4 - x4 * y3) + (x4 * y1 - x1 * y4);
    (area.abs() > 1.0).then_some(((x1 + x2 + x3 + x4) / 4.0, (y1 + y2 + y3 + y4) / 4.0))
}
