//! What a page says: its text in sections, its links and pictures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{element::telling, locate::judging};
use crate::{error::Error, tab::Tab};

const READ: &str = include_str!("content.js");

/// How many sections of a document are read at once.
pub const SECTIONS_AT_ONCE: usize = 4000;

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
    /// Whether there is more than is read at once.
    pub cut: bool,
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

    /// The same for a part of a page that says more than is read at once.
    pub async fn content_from(&self, longest: usize, part: usize) -> Result<Content, Error> {
        let read = judging(READ);
        let window = json!([part * SECTIONS_AT_ONCE, SECTIONS_AT_ONCE]);
        let arguments = vec![json!(longest), telling(), window];
        let mut content: Content = self.run(&read, arguments.clone()).await?;
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
            let inner = self
                .run_in::<Content>(&session, root, &read, arguments.clone())
                .await;
            match inner {
                Ok(inner) => {
                    content.sections.extend(inner.sections);
                    content.cut |= inner.cut;
                    content.links.extend(inner.links);
                    content.images.extend(inner.images);
                }
                // A frame that went away meanwhile says nothing.
                Err(Error::Protocol(_) | Error::Script(_)) => {}
                Err(error) => return Err(error),
            }
        }
        content.sections.sort_by_key(|section| !section.main);
        let mut seen = std::collections::HashSet::new();
        content
            .links
            .retain(|link| seen.insert((link.href.clone(), link.text.clone())));
        let mut seen = std::collections::HashSet::new();
        content
            .images
            .retain(|image| seen.insert(image.src.clone()));
        Ok(content)
    }
}
