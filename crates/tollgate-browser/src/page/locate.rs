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
    protocol::commands::{BoxModel, ContentQuads, DescribeNode, FrameOwner, ResolveNode},
    tab::{Tab, state::KnownFrame},
};

const PATIENCE: Duration = Duration::from_secs(15);

/// The first element of a selector that can be seen.
const SEEN: &str = "(selector) => [...document.querySelectorAll(selector)]\
    .find((one) => one.checkVisibility({ visibilityProperty: true }))";

/// Whether a node of this document is part of it, and whose document that is; nothing if it is a
/// node of another one.
const THERE: &str = "function() { \
    if (this.ownerDocument !== document) return null; \
    const site = origin !== 'null' ? origin \
        : /^https?:$/.test(location.protocol) ? location.origin : location.protocol + '//'; \
    return { connected: this.isConnected, site }; }";

/// The frame that keys go to, if they go to one.
const FOCUSED: &str = "() => { \
    let one = document.activeElement; \
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement; \
    return ['iframe', 'frame'].includes(one?.localName) ? one : null; }";

/// What an element says that no screen reader knows.
const SAID: &str = "function() { \
    return (this.getAttribute('aria-label') || this.innerText || this.value || '').slice(0, 200); }";

/// Frames within frames within frames: at some depth nothing can be seen any more.
const DEEPEST: usize = 10;

/// Which element is meant, and at which site it has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'t> {
    /// What it goes by.
    pub id: &'t str,
    /// The origin of the document it is in; any if there is none.
    pub site: Option<&'t str>,
}

impl<'t> From<&'t str> for Target<'t> {
    fn from(id: &'t str) -> Self {
        Self { id, site: None }
    }
}

impl<'t> From<&'t String> for Target<'t> {
    fn from(id: &'t String) -> Self {
        Self { id, site: None }
    }
}

/// What tells whether a field is for a secret: its kind, also one that it had before the page
/// showed what it holds, what it is filled in with, and its names.
const FACTS: &str = "function() { \
    const read = (name) => this.getAttribute(name) ?? ''; \
    if (this.localName === 'select') return { kind: '', autocomplete: '', names: [] }; \
    const near = read('aria-labelledby').split(/\\s+/).filter(Boolean).slice(0, 10) \
        .map((id) => this.getRootNode().getElementById?.(id)); \
    const said = [...(this.labels ?? []), ...near].map((one) => one?.textContent ?? ''); \
    const names = ['name', 'id', 'placeholder', 'aria-label', 'title'].map(read); \
    const turned = (globalThis.tollgate?.turned ?? []).includes(this); \
    return { kind: turned ? 'password' : read('type'), autocomplete: read('autocomplete'), \
        names: [...names, ...said].map((name) => name.replace(/\\s+/g, ' ').slice(0, 200)) }; }";

/// A function that may ask `isSecret(field, telling)`, of a page.
pub(crate) fn judging(function: &str) -> String {
    let is_secret = element::IS_SECRET;
    format!(
        "(...all) => {{ const facts = {FACTS}, isSecret = {is_secret}; return ({function})(...all); }}"
    )
}

/// A node that is there.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    /// What it goes by now.
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) frame: String,
    pub(crate) node: i64,
    pub(crate) object: String,
    /// The origin of the document it is in.
    pub(crate) site: String,
}

#[derive(Deserialize)]
struct There {
    connected: bool,
    site: String,
}

#[derive(Deserialize)]
struct Facts {
    kind: String,
    autocomplete: String,
    names: Vec<String>,
}

impl Tab {
    /// The element with an id, as it is now.
    pub async fn element(&self, id: &str) -> Result<Element, Error> {
        let (_, element) = self.find_among(id).await?;
        Ok(element)
    }

    /// The element with an id, and the origin of the document it is in.
    pub async fn pointed_at(&self, id: &str) -> Result<(Element, String), Error> {
        let (handle, element) = self.find(id).await?;
        Ok((element, handle.site))
    }

    /// A node among the elements of its page; something plain if it is none of them.
    async fn seen(&self, all: &[Element], handle: &Handle) -> Result<Element, Error> {
        let listed = all
            .iter()
            .find(|it| it.node == handle.node && it.session == handle.session);
        match listed {
            Some(element) => Ok(element.clone()),
            None => self.plain(handle).await,
        }
    }

    /// The first element that a selector finds and that can be seen, in the main frame.
    pub async fn selected(&self, selector: &str) -> Result<Option<Element>, Error> {
        let frame = self.lock().main_frame.clone();
        let found = self.object_in(&self.session, &frame, SEEN, json!(selector));
        let Some(object) = found.await? else {
            return Ok(None);
        };
        let describe = DescribeNode { object_id: object };
        let described = self.ask_in(&self.session, &describe, PATIENCE).await?;
        let node = described.node.backend_node_id;
        let handle = self.handle(&self.session, node).await?;
        match handle {
            Some(handle) => {
                let all = self.elements().await?;
                self.seen(&all, &handle).await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// The origin of the document that keys go to.
    pub async fn focused_site(&self) -> Result<String, Error> {
        const SITE: &str = "() => origin !== 'null' ? origin \
            : /^https?:$/.test(location.protocol) ? location.origin : location.protocol + '//'";
        let mut frame = self.lock().main_frame.clone();
        let mut session = self.session.clone();
        for _ in 0..DEEPEST {
            let inner = self.object_in(&session, &frame, FOCUSED, json!(null));
            let Some(object) = inner.await? else {
                break;
            };
            let describe = DescribeNode { object_id: object };
            let described = self.ask_in(&session, &describe, PATIENCE).await?;
            let Some(inner) = described.node.frame_id else {
                break;
            };
            let known = self.lock().frames.get(&inner).cloned();
            session = known.map_or(session, |it| it.session);
            frame = inner;
        }
        self.run_in(&session, frame, SITE, Vec::new()).await
    }

    /// Finds the node of an id: itself, as long as it is called what the id says, or, if the page
    /// drew it anew, the only one that is called the same. One at another site than is meant is
    /// not touched.
    pub(crate) async fn locate(&self, target: impl Into<Target<'_>>) -> Result<Handle, Error> {
        let Target { id, site } = target.into();
        let (handle, _) = self.find(id).await?;
        match site {
            Some(site) if site != handle.site => Err(Error::OtherSite {
                id: handle.id,
                site: handle.site,
            }),
            Some(_) | None => Ok(handle),
        }
    }

    async fn find(&self, id: &str) -> Result<(Handle, Element), Error> {
        if let Some(named) = element::parse(id)
            && let Some(session) = self.session_of(named.frame)
            && let Some(handle) = self.handle(&session, named.node).await?
            && let Some(element) = self.alone(&handle, named.frame).await?
            && element::parse(&element.id).is_some_and(|now| now.stem == named.stem)
        {
            let id = id.to_owned();
            return Ok((Handle { id, ..handle }, element));
        }
        self.find_among(id).await
    }

    /// The same among all elements of the page.
    async fn find_among(&self, id: &str) -> Result<(Handle, Element), Error> {
        let named = element::parse(id);
        let all = self.elements().await?;
        if let Some(named) = &named
            && let Some(session) = self.session_of(named.frame)
            && let Some(handle) = self.handle(&session, named.node).await?
        {
            let element = self.seen(&all, &handle).await?;
            // Pages use nodes again for something else, and numbers are easily guessed.
            if element::parse(&element.id).is_some_and(|now| now.stem == named.stem) {
                let id = id.to_owned();
                return Ok((Handle { id, ..handle }, element));
            }
        }
        let stem = named.map(|named| named.stem);
        let same = |element: &&Element| {
            let other = element::parse(&element.id);
            stem.is_some() && other.map(|other| other.stem) == stem && element.state.visible
        };
        let mut alike = all.iter().filter(same);
        if let (Some(element), None) = (alike.next(), alike.next())
            && let Some(handle) = self.handle(&element.session, element.node).await?
        {
            let id = element.id.clone();
            return Ok((Handle { id, ..handle }, element.clone()));
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

    /// Something that is nothing by its role, and can still be clicked.
    async fn plain(&self, handle: &Handle) -> Result<Element, Error> {
        let label: String = self
            .run_on(&handle.session, &handle.object, SAID, Vec::new())
            .await?;
        Ok(Element::plain(&label, &handle.session, handle.node))
    }

    /// Finds a field to write into. One for secrets goes by an id that says so, or what is
    /// written there would be taken for something that anybody may see.
    pub(crate) async fn locate_field(&self, target: Target<'_>) -> Result<Handle, Error> {
        let handle = self.locate(target).await?;
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
            id: target.id.to_owned(),
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
    async fn handle(&self, session: &str, node: i64) -> Result<Option<Handle>, Error> {
        for frame in self.frames_of(session) {
            match self.handle_in(session, &frame, node).await {
                Ok(Some((handle, there))) => return Ok(there.connected.then_some(handle)),
                // It is in another frame, or its frame went away meanwhile.
                Ok(None) | Err(Error::Protocol(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    async fn handle_in(
        &self,
        session: &str,
        frame: &str,
        node: i64,
    ) -> Result<Option<(Handle, There)>, Error> {
        let resolve = ResolveNode {
            backend_node_id: Some(node),
            execution_context_id: Some(self.world(session, frame).await?),
        };
        let resolved = self.ask_in(session, &resolve, PATIENCE).await?;
        let Some(object) = resolved.object.object_id else {
            return Ok(None);
        };
        let there: Option<There> = self.run_on(session, &object, THERE, Vec::new()).await?;
        Ok(there.map(|there| {
            let handle = Handle {
                id: String::new(),
                session: session.to_owned(),
                frame: frame.to_owned(),
                node,
                object,
                site: there.site.clone(),
            };
            (handle, there)
        }))
    }

    /// The element that holds a frame; nothing for the one that is the page.
    pub(crate) async fn holder(&self, frame: &str) -> Result<Option<Handle>, Error> {
        let above = {
            let state = self.lock();
            let parent = state.frames.get(frame).and_then(|it| it.parent.clone());
            parent.and_then(|id| Some((state.frames.get(&id)?.session.clone(), id)))
        };
        let Some((session, parent)) = above else {
            return Ok(None);
        };
        let owner = FrameOwner {
            frame_id: frame.to_owned(),
        };
        let owner = self.ask_in(&session, &owner, PATIENCE).await?;
        let node = owner.backend_node_id;
        let found = self.handle_in(&session, &parent, node).await?;
        Ok(found.map(|(handle, _)| handle))
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
        self.on_screen(&handle.session, middle).await.map(Some)
    }

    /// Where a frame with a process of its own begins on the screen.
    pub(crate) async fn offset_of(&self, session: &str) -> Result<(f64, f64), Error> {
        self.on_screen(session, (0.0, 0.0)).await
    }

    /// Where a place of a conversation's own window is on the screen, whatever the pages around
    /// it do with the frame that shows it.
    async fn on_screen(&self, session: &str, place: (f64, f64)) -> Result<(f64, f64), Error> {
        const ROOM: &str = "() => [innerWidth, innerHeight]";
        let mut place = place;
        let mut session = session.to_owned();
        for _ in 0..DEEPEST {
            if session == self.session {
                break;
            }
            let Some((frame, above)) = self.root_of(&session) else {
                break;
            };
            let room: (f64, f64) = self
                .run_in(&session, frame.clone(), ROOM, Vec::new())
                .await?;
            let owner = FrameOwner { frame_id: frame };
            let owner = self.ask_in(&above, &owner, PATIENCE).await?;
            let shown = BoxModel {
                backend_node_id: Some(owner.backend_node_id),
            };
            let shown = self.ask_in(&above, &shown, PATIENCE).await?;
            if let &[x, y, right_x, right_y, _, _, down_x, down_y] = &*shown.model.content {
                let (along, down) = (place.0 / room.0.max(1.0), place.1 / room.1.max(1.0));
                place = (
                    x + along * (right_x - x) + down * (down_x - x),
                    y + along * (right_y - y) + down * (down_y - y),
                );
            }
            session = above;
        }
        Ok(place)
    }

    /// The outermost frame of a conversation, and the conversation of the one that holds it.
    fn root_of(&self, session: &str) -> Option<(String, String)> {
        let state = self.lock();
        let parent = |frame: &KnownFrame| frame.parent.as_ref().and_then(|id| state.frames.get(id));
        let (id, frame) = state.frames.iter().find(|(_, frame)| {
            frame.session == session && parent(frame).is_none_or(|it| it.session != session)
        })?;
        let above = parent(frame).map_or(self.session.clone(), |it| it.session.clone());
        Some((id.clone(), above))
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
