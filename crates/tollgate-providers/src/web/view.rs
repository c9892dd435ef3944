//! A page that was read over HTTP, in the form in which the browser gives the content of one.
//!
//! Whoever reads many pages need not know which way each of them came.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_web::{Extracted, Section};

/// The longest section, in characters.
const SECTION: usize = 500;
/// How many sections, links and pictures are shown.
const SECTIONS: usize = 50;
const LINKS: usize = 50;
const IMAGES: usize = 20;

/// What a page says, as browser.get_page_content gives it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageContent {
    title: String,
    url: String,
    sections: Vec<PageSection>,
    total_sections: usize,
    /// Whether there is more than is shown.
    truncated: bool,
    links: Vec<PageLink>,
    images: Vec<PageImage>,
    metadata: BTreeMap<&'static str, String>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct PageSection {
    /// The element it is in.
    tag: &'static str,
    text: String,
    /// The heading above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    heading: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PageLink {
    text: String,
    href: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PageImage {
    alt: String,
    src: String,
}

impl PageContent {
    /// At most so many characters of a page; `is_cut` says that more of it was not even read.
    pub(super) fn of(found: &Extracted, url: &str, most: usize, is_cut: bool) -> Self {
        let all: Vec<PageSection> = found.sections.iter().flat_map(pieces).collect();
        let total_sections = all.len();
        let (sections, is_whole) = fitting(all, most);
        let is_beside = found.links.len() > LINKS || found.images.len() > IMAGES;
        let metadata = [
            ("author", &found.byline),
            ("date", &found.published),
            ("description", &found.excerpt),
            ("language", &found.language),
            ("site", &found.site),
        ];
        let known = metadata
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)));
        let links = found.links.iter().take(LINKS).map(|link| PageLink {
            text: link.text.clone(),
            href: link.url.clone(),
        });
        let images = found.images.iter().take(IMAGES).map(|image| PageImage {
            alt: image.alt.clone(),
            src: image.src.clone(),
        });
        Self {
            title: found.title.clone().unwrap_or_default(),
            url: url.to_owned(),
            sections,
            total_sections,
            truncated: is_cut || is_beside || !is_whole,
            links: links.collect(),
            images: images.collect(),
            metadata: known.collect(),
        }
    }
}

/// A section as pieces that are not too long; between words, where there is room for one.
fn pieces(section: &Section) -> Vec<PageSection> {
    let mut pieces = Vec::new();
    let mut rest = section.text.as_str();
    while !rest.is_empty() {
        let end = rest
            .char_indices()
            .nth(SECTION)
            .map_or(rest.len(), |(at, _)| at);
        let is_last = end == rest.len();
        let space = rest[..end].rfind(char::is_whitespace).filter(|at| *at > 0);
        let end = if is_last { end } else { space.unwrap_or(end) };
        pieces.push(PageSection {
            tag: section.tag,
            text: rest[..end].to_owned(),
            heading: section.heading.clone(),
        });
        rest = rest[end..].trim_start();
    }
    pieces
}

/// The first sections of so many characters together; whether those are all.
fn fitting(all: Vec<PageSection>, most: usize) -> (Vec<PageSection>, bool) {
    let total = all.len();
    let mut left = most;
    let mut shown = Vec::new();
    for mut section in all.into_iter().take(SECTIONS) {
        let length = section.text.chars().count();
        if length > left {
            section.text = section.text.chars().take(left).collect();
            if left > 0 {
                shown.push(section);
            }
            return (shown, false);
        }
        left -= length;
        shown.push(section);
    }
    let is_whole = shown.len() == total;
    (shown, is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(html: &str, most: usize) -> PageContent {
        let url = "https://a.test/";
        PageContent::of(&tollgate_web::extract(html, Some(url)), url, most, false)
    }

    #[test]
    fn a_page_comes_in_sections_below_their_headings() {
        // What reads like the title of the page is its title.
        let html = "<title>Ferries</title><h1>Ferries</h1><p>From the old pier.</p>\
                    <h2>Fares</h2><ul><li>Ada</li><li>Bob</li></ul><pre>a\n b</pre>\
                    <p>See <a href=/more>more</a>.</p>";
        let shown = page(html, 4000);
        let sections: Vec<(&str, &str, Option<&str>)> = shown
            .sections
            .iter()
            .map(|it| (it.tag, it.text.as_str(), it.heading.as_deref()))
            .collect();
        assert_eq!(
            sections,
            [
                ("p", "From the old pier.", None),
                ("h2", "Fares", None),
                ("li", "Ada", Some("Fares")),
                ("li", "Bob", Some("Fares")),
                ("pre", "a\n b", Some("Fares")),
                ("p", "See more.", Some("Fares")),
            ]
        );
        assert_eq!(shown.links[0].href, "https://a.test/more");
        assert_eq!((shown.total_sections, shown.truncated), (6, false));
    }

    #[test]
    fn long_texts_are_several_sections_and_no_more_than_was_asked_for() {
        let words = "文字 and words ".repeat(200);
        let html = format!("<title>T</title><p>{words}</p>");
        let shown = page(&html, 50_000);
        let long = shown.sections.iter().map(|it| it.text.chars().count());
        assert!(long.max().is_some_and(|longest| longest <= SECTION));
        let joined: Vec<&str> = shown.sections.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(joined.join(" "), words.trim());
        let cut = page(&html, 700);
        let told: usize = cut.sections.iter().map(|it| it.text.chars().count()).sum();
        assert_eq!((told, cut.truncated), (700, true));
        assert_eq!(cut.total_sections, shown.total_sections);
    }
}
