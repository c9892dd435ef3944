//! Drawing markup of our own.

use super::Tab;
use crate::{
    error::Error,
    protocol::commands::{Clip, Screenshot},
    tab::picture::{Format, LARGEST, Picture},
};

/// How many points of the picture make one of the page, for screens that show that many.
const SCALE: f64 = 2.0;

/// Puts markup where the page was; what is still loading would not be in the picture.
const SHOW: &str = "async (markup) => { document.documentElement.innerHTML = markup; \
    document.body.style.margin = 0; await document.fonts.ready; return true; }";

impl Tab {
    /// Shows markup in place of the page and takes a picture of its upper left corner.
    pub async fn paint(&self, markup: &str, width: f64, height: f64) -> Result<Picture, Error> {
        let _: bool = self.run(SHOW, vec![markup.into()]).await?;
        let (wide, high) = (width.clamp(1.0, LARGEST), height.clamp(1.0, LARGEST));
        let shot = Screenshot {
            format: Format::Png.as_str(),
            capture_beyond_viewport: true,
            quality: None,
            clip: Some(Clip {
                x: 0.0,
                y: 0.0,
                width: wide,
                height: high,
                scale: SCALE,
            }),
        };
        let picture = self.ask(&shot).await?;
        Ok(Picture {
            base64: picture.data,
            width: wide,
            height: high,
            cut: width > LARGEST || height > LARGEST,
        })
    }
}
