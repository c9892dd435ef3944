//! Serper's interface to Google.

use reqwest::{
    Method, Url,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::json;

use super::{MAX_ANSWER, Raw, listed, place, refuse};
use crate::{
    error::{Kind, WebError},
    wire::{Incoming, Outgoing},
};

const NAME: &str = "serper";

pub(super) fn question(
    base: &Url,
    query: &str,
    most: usize,
    key: &HeaderValue,
) -> Result<Outgoing, WebError> {
    Ok(Outgoing {
        method: Method::POST,
        url: place(base, "search", &[])?,
        headers: vec![
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (HeaderName::from_static("x-api-key"), key.clone()),
        ],
        body: Some(json!({"q": query, "num": most}).to_string().into_bytes()),
        bytes: MAX_ANSWER,
        wants: None,
    })
}

pub(super) fn answer(incoming: &Incoming) -> Result<Vec<Raw>, WebError> {
    // Both a wrong key and an empty account are refusals of the key.
    let body = String::from_utf8_lossy(&incoming.body).to_ascii_lowercase();
    let is_empty = incoming.status == 400 && body.contains("credits");
    if incoming.status == 403 || is_empty {
        let message = format!("serper refuses our key (status {})", incoming.status);
        return Err(WebError::new(Kind::Auth, message));
    }
    refuse(NAME, incoming)?;
    let answer = super::json(NAME, incoming)?;
    listed(NAME, &answer["organic"], ["title", "link", "snippet"])
}
