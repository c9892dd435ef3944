//! Brave's interface for programs.

use reqwest::{
    Url,
    header::{ACCEPT, HeaderName, HeaderValue},
};
use serde_json::{Value, json};

use super::{Raw, get, listed, place, refuse};
use crate::{
    error::{Kind, WebError},
    wire::{Incoming, Outgoing},
};

const NAME: &str = "brave";

pub(super) fn question(
    base: &Url,
    query: &str,
    most: usize,
    key: &HeaderValue,
) -> Result<Outgoing, WebError> {
    let pairs = [("q", query), ("count", &most.to_string())];
    let url = place(base, "res/v1/web/search", &pairs)?;
    let headers = vec![
        (ACCEPT, HeaderValue::from_static("application/json")),
        (HeaderName::from_static("x-subscription-token"), key.clone()),
    ];
    Ok(get(url, headers))
}

pub(super) fn answer(incoming: &Incoming) -> Result<Vec<Raw>, WebError> {
    let says = || -> Option<String> {
        let body: Value = serde_json::from_slice(&incoming.body).ok()?;
        Some(body["error"]["code"].as_str()?.to_owned())
    };
    // A wrong key is 422 here.
    if incoming.status == 422 && says().is_some_and(|code| code.starts_with("SUBSCRIPTION_TOKEN")) {
        return Err(WebError::new(
            Kind::Auth,
            "brave refuses our key (status 422)",
        ));
    }
    refuse(NAME, incoming)?;
    let answer = super::json(NAME, incoming)?;
    // Where nothing was found there is no list.
    let empty = json!([]);
    let is_empty = answer["web"].is_null() && answer["type"] == "search";
    let list = if is_empty {
        &empty
    } else {
        &answer["web"]["results"]
    };
    listed(NAME, list, ["title", "url", "description"])
}
