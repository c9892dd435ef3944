//! The page of DuckDuckGo that works without scripts.
//!
//! It is made for people: advertisements are left out, addresses are taken out of its own, and where it asks for a human we stop.

use html5ever::tokenizer::{Tag, TagKind};
use reqwest::{
    Url,
    header::{ACCEPT, HeaderValue},
};

use super::{Raw, get, place, refuse};
use crate::{
    error::{Kind, WebError},
    extract::{Piece, attribute, stream},
    wire::{Incoming, Outgoing},
};

const NAME: &str = "ddg_html";

pub(super) fn question(base: &Url, query: &str) -> Result<Outgoing, WebError> {
    let url = place(base, "html/", &[("q", query)])?;
    Ok(get(
        url,
        vec![(ACCEPT, HeaderValue::from_static("text/html"))],
    ))
}

pub(super) fn answer(incoming: &Incoming) -> Result<Vec<Raw>, WebError> {
    let page = String::from_utf8_lossy(&incoming.body);
    if incoming.status == 202 || asks_for_a_human(&page) {
        let message = "DuckDuckGo wants to see a human";
        return Err(WebError::new(Kind::CaptchaRequired, message));
    }
    refuse(NAME, incoming)?;
    let found = results(&page);
    let says_none = page.contains("no-results") || page.contains("No results");
    if found.is_empty() && !says_none {
        let message = "the page of DuckDuckGo does not look as we know it";
        return Err(WebError::new(Kind::Parse, message));
    }
    Ok(found)
}

/// Whether the page holds the form for humans; results may speak of it.
fn asks_for_a_human(page: &str) -> bool {
    let mut asks = false;
    stream(page, |piece| {
        if let Piece::Tag(tag) = piece {
            let names = ["id", "class"]
                .into_iter()
                .filter_map(|one| attribute(tag, one));
            let mut names = names.flat_map(str::split_whitespace);
            asks |= names.any(|name| name == "challenge-form" || name.starts_with("anomaly-modal"));
        }
    });
    asks
}

#[derive(Clone, Copy, PartialEq)]
enum Within {
    Title,
    Snippet,
}

fn results(page: &str) -> Vec<Raw> {
    let mut found: Vec<Raw> = Vec::new();
    let mut is_advertisement = false;
    let mut within = None;
    stream(page, |piece| match piece {
        Piece::Tag(tag) if tag.kind == TagKind::EndTag => {
            if matches!(&*tag.name, "a" | "h2" | "div") {
                within = None;
            }
        }
        Piece::Tag(tag) => {
            if has_class(tag, "result") {
                is_advertisement = has_class(tag, "result--ad");
            } else if has_class(tag, "result__a") {
                let url = attribute(tag, "href").and_then(target);
                within = url.filter(|_| !is_advertisement).map(|url| {
                    found.push(Raw {
                        url,
                        ..Raw::default()
                    });
                    Within::Title
                });
            } else if has_class(tag, "result__snippet") && !is_advertisement {
                within = Some(Within::Snippet);
            }
        }
        Piece::Text(text) => {
            if let (Some(within), Some(last)) = (within, found.last_mut()) {
                let to = match within {
                    Within::Title => &mut last.title,
                    Within::Snippet => &mut last.snippet,
                };
                // The tokens are decoded; what follows reads markup.
                to.push_str(&text.replace('&', "&amp;").replace('<', "&lt;"));
            }
        }
    });
    found
}

fn has_class(tag: &Tag, class: &str) -> bool {
    attribute(tag, "class").is_some_and(|all| all.split_whitespace().any(|one| one == class))
}

/// Where a link of the page really leads; advertisements lead through another page.
fn target(href: &str) -> Option<String> {
    let base = Url::parse("https://duckduckgo.com/").ok()?;
    let url = base.join(href).ok()?;
    let is_theirs = url
        .host_str()
        .is_some_and(|host| host.ends_with("duckduckgo.com"));
    if !is_theirs {
        return Some(url.to_string());
    }
    let mut pairs = url.query_pairs();
    let (_, target) = pairs.find(|(name, _)| name == "uddg")?;
    (url.path() == "/l/").then(|| target.into_owned())
}
