//! Pictures of markup that the program itself has made, for those who draw charts.
//!
//! Invariant: what is drawn reaches nothing. The browser is started for the picture, leads
//! nowhere, and is gone before the picture is handed over.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tollgate_browser::{Admission, Boundary, Browser, Error, Options, Owner};

use super::Settings;

/// Leads nowhere.
struct Closed;

impl Boundary for Closed {
    fn admit(&self, _: String, _: u16) -> Admission {
        Box::pin(async { Err("a drawing reaches nothing".to_owned()) })
    }
}

/// Draws markup as PNG, twice as many points wide and high.
pub async fn paint(
    settings: &Settings,
    markup: &str,
    width: f64,
    height: f64,
) -> Result<Vec<u8>, String> {
    if !settings.is_enabled {
        return Err("the browser is turned off (`browser.enabled`)".to_owned());
    }
    let browser = Browser::new(settings.browser());
    let drawn = draw(&browser, markup, width, height).await;
    browser.close().await;
    let picture = drawn.map_err(|error| error.to_string())?;
    STANDARD.decode(picture).map_err(|error| error.to_string())
}

async fn draw(
    browser: &Arc<Browser>,
    markup: &str,
    width: f64,
    height: f64,
) -> Result<String, Error> {
    let owner = Owner {
        principal: "tollgate".to_owned(),
        conversation: "paint".to_owned(),
    };
    let options = Options {
        is_headless: true,
        ttl: None,
        boundary: Arc::new(Closed),
        roots: Vec::new(),
        keeper: None,
    };
    let session = browser.create(&owner, options)?;
    let (_, tab) = session.open().await?;
    let picture = tab.paint(markup, width, height).await?;
    Ok(picture.base64)
}
