//! SearXNG's JSON; an instance has to have that format switched on.

use reqwest::{
    Url,
    header::{ACCEPT, HeaderValue},
};

use super::{Raw, get, json, listed, place, refuse};
use crate::{
    error::{Kind, WebError},
    wire::{Incoming, Outgoing},
};

const NAME: &str = "searxng";

pub(super) fn question(base: &Url, query: &str) -> Result<Outgoing, WebError> {
    let url = place(base, "search", &[("q", query), ("format", "json")])?;
    Ok(get(
        url,
        vec![(ACCEPT, HeaderValue::from_static("application/json"))],
    ))
}

pub(super) fn answer(incoming: &Incoming) -> Result<Vec<Raw>, WebError> {
    if incoming.status == 403 {
        let message = "searxng refuses to answer (status 403); its settings must list `json` under search.formats";
        return Err(WebError::new(Kind::Forbidden, message));
    }
    refuse(NAME, incoming)?;
    let answer = json(NAME, incoming)?;
    let found = listed(NAME, &answer["results"], ["title", "url", "content"])?;
    let silent = answer["unresponsive_engines"].as_array();
    if let Some(silent) = silent.filter(|silent| found.is_empty() && !silent.is_empty()) {
        let why = silent.iter().filter_map(|pair| pair[1].as_str());
        let why: Vec<String> = why.map(str::to_lowercase).collect();
        let says = |word: &str| why.iter().any(|reason| reason.contains(word));
        let kind = if says("captcha") {
            Kind::CaptchaRequired
        } else if says("too many requests") {
            Kind::TooManyRequests
        } else if says("timeout") {
            Kind::Timeout
        } else {
            Kind::BadGateway
        };
        return Err(WebError::new(
            kind,
            "none of the engines behind searxng answered",
        ));
    }
    Ok(found)
}
