//! Pictures of a page.

use super::Tab;
use crate::{
    error::Error,
    protocol::commands::{Clip, ContentQuads, LayoutMetrics, Screenshot, ScrollIntoView},
};

/// The largest picture in one direction; more of a page is not drawn.
pub(super) const LARGEST: f64 = 8000.0;

/// The kinds of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Exact.
    Png,
    /// Small.
    Jpeg,
    /// Smaller.
    Webp,
}

impl Format {
    /// As the protocol says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
        }
    }
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Its bytes, as base64.
    pub base64: String,
    /// How wide, in the page's pixels.
    pub width: f64,
    /// How high.
    pub height: f64,
    /// Whether the page goes on where the picture ends.
    pub cut: bool,
}

impl Tab {
    /// A picture of what can be seen, of the whole page, or of one element.
    pub async fn picture(
        &self,
        format: Format,
        quality: u32,
        full_page: bool,
        element: Option<&str>,
    ) -> Result<Picture, Error> {
        let metrics = self.ask(&LayoutMetrics {}).await?;
        let view = metrics.css_visual_viewport;
        let all = metrics.css_content_size;
        let mut clip = Clip {
            x: view.page_x,
            y: view.page_y,
            width: view.client_width,
            height: view.client_height,
            scale: 1.0,
        };
        if let Some(id) = element {
            clip = self.around(id, clip).await?;
        } else if full_page {
            clip = Clip {
                x: 0.0,
                y: 0.0,
                width: all.width,
                height: all.height,
                scale: 1.0,
            };
        }
        let cut = clip.width > LARGEST || clip.height > LARGEST;
        clip.width = clip.width.clamp(1.0, LARGEST);
        clip.height = clip.height.clamp(1.0, LARGEST);
        let shot = Screenshot {
            format: format.as_str(),
            capture_beyond_viewport: full_page || element.is_some(),
            quality: (format != Format::Png).then_some(quality),
            clip: Some(clip),
        };
        let veiled = self.veil().await?;
        let picture = self.ask(&shot).await;
        self.unveil(veiled).await;
        let picture = picture?;
        Ok(Picture {
            base64: picture.data,
            width: clip.width,
            height: clip.height,
            cut,
        })
    }

    /// The rectangle around an element, on the page.
    async fn around(&self, id: &str, view: Clip) -> Result<Clip, Error> {
        let handle = self.locate(id).await?;
        let node = Some(handle.node);
        let scroll = ScrollIntoView {
            backend_node_id: node,
        };
        // What cannot be scrolled to can still be looked at.
        let _ = self.ask_in(&handle.session, &scroll, super::PATIENCE).await;
        let scrolled = self.scrolled().await?;
        let offset = self.offset_of(&handle.session).await?;
        let quads = ContentQuads {
            backend_node_id: node,
            ..ContentQuads::default()
        };
        let quads = match self.ask_in(&handle.session, &quads, super::PATIENCE).await {
            Ok(answer) => answer.quads,
            Err(Error::Protocol(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        let points: Vec<f64> = quads.into_iter().flatten().collect();
        let edge = |start: usize, pick: fn(f64, f64) -> f64| {
            points.iter().skip(start).step_by(2).copied().reduce(pick)
        };
        let edges = (
            edge(0, f64::min),
            edge(1, f64::min),
            edge(0, f64::max),
            edge(1, f64::max),
        );
        let (Some(left), Some(top), Some(right), Some(bottom)) = edges else {
            return Err(Error::Invalid(format!("`{id}` is not visible")));
        };
        Ok(Clip {
            x: left + offset.0 + scrolled.0,
            y: top + offset.1 + scrolled.1,
            width: right - left,
            height: bottom - top,
            scale: view.scale,
        })
    }
}
