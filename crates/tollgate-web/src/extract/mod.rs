//! The main text of a page, without what surrounds it.
//!
//! The page is a stranger's. One whose tree would cost much more than its length is not given to the parser of trees; it is
//! read as a stream instead, which is linear. Where a tag has more attributes than people write, only the words between the
//! tags are read.

mod lang;
mod shell;
mod table;
mod tags;
mod tokens;
mod trial;
mod write;

use reqwest::Url;

pub(crate) use tokens::{Piece, attribute, stream};
pub(crate) use write::plain;

/// What the tree of a page may take. Browsers stop at a depth of 512; pages of people need a few dozen looks for a tag.
const TREE: trial::Bounds = trial::Bounds {
    open: 1000,
    elements: 250_000,
    looks: 50_000_000,
};
/// How many attributes a tag may have, and how many where tags are not likely to be meant as such.
const MAX_ATTRIBUTES: usize = 500;
const MAX_HIDDEN_ATTRIBUTES: usize = 2000;
/// How many links are listed.
const MAX_LINKS: usize = 500;

/// How the text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The part of the page that reads like its main text.
    Readability,
    /// All of its text: no part stood out, or it nests too deep.
    Whole,
}

impl Method {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Readability => "readability",
            Self::Whole => "whole_page",
        }
    }
}

/// A link in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What it says.
    pub text: String,
    /// Where it leads.
    pub url: String,
}

/// A piece of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The element it is in.
    pub tag: &'static str,
    /// The text.
    pub text: String,
    /// The heading above it.
    pub heading: Option<String>,
}

/// A picture that has words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What it shows, in words.
    pub alt: String,
    /// Where it is.
    pub src: String,
}

/// The main text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted {
    /// The title.
    pub title: Option<String>,
    /// Who wrote it.
    pub byline: Option<String>,
    /// When, as the page writes it.
    pub published: Option<String>,
    /// The language, as the page says or as its script tells.
    pub language: Option<String>,
    /// The name of the site.
    pub site: Option<String>,
    /// A short summary.
    pub excerpt: Option<String>,
    /// The text as Markdown.
    pub markdown: String,
    /// The text alone.
    pub text: String,
    /// The text in pieces.
    pub sections: Vec<Section>,
    /// Its links, each address once.
    pub links: Vec<Link>,
    /// Its pictures.
    pub images: Vec<Image>,
    /// Its tables, as rows of cells.
    pub tables: Vec<Vec<Vec<String>>>,
    /// How it was found.
    pub method: Method,
    /// Whether the page's scripts seem to draw what matters of it.
    pub needs_script: bool,
}

/// Takes the main text out of a page; `url` is what relative links are relative to.
pub fn extract(html: &str, url: Option<&str>) -> Extracted {
    let base = url.and_then(|text| Url::parse(text).ok());
    let has_too_many = tags::attributes(html) > MAX_ATTRIBUTES
        || tags::attributes_anywhere(html) > MAX_HIDDEN_ATTRIBUTES;
    let stripped;
    let html = if has_too_many {
        let words = tags::strip(html);
        stripped = words.replace('&', "&amp;").replace('<', "&lt;");
        &stripped
    } else {
        html
    };
    let article = trial::fits(html, TREE)
        .then(|| {
            let options = legible::Options::new().max_elems_to_parse(TREE.elements);
            let url = base.as_ref().map(Url::as_str);
            legible::parse(html, url, Some(options)).ok()
        })
        .flatten();
    let (source, method) = match &article {
        Some(article) => (article.content.as_str(), Method::Readability),
        None => (html, Method::Whole),
    };
    let written = write::write(source, base.as_ref(), MAX_LINKS);
    let given = |pick: fn(&legible::Article) -> Option<&String>| {
        let text = article.as_ref().and_then(pick)?;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then_some(text)
    };
    let title = given(|article| Some(&article.title)).or(written.title);
    Extracted {
        title,
        byline: given(|article| article.byline.as_ref()),
        published: given(|article| article.published_time.as_ref()).or_else(|| dated(html)),
        language: given(|article| article.lang.as_ref())
            .or_else(|| lang::of_script(&written.text).map(str::to_owned)),
        site: given(|article| article.site_name.as_ref()),
        excerpt: given(|article| article.excerpt.as_ref()),
        needs_script: shell::is_shell(html, &written.text),
        markdown: written.markdown,
        text: written.text,
        sections: written.sections,
        links: written.links,
        images: written.images,
        tables: written.tables,
        method,
    }
}

/// The first date that the page marks as one.
fn dated(html: &str) -> Option<String> {
    html.match_indices("<time").take(50).find_map(|(start, _)| {
        let tag = &html[start..];
        let tag = &tag[..tag.find('>')?];
        let rest = &tag[tag.find("datetime=")? + "datetime=".len()..];
        let value = rest.trim_start_matches(['"', '\'']);
        let value = &value[..value.find(['"', '\'', ' ']).unwrap_or(value.len())];
        let is_date = value.len() >= 10 && value.len() <= 40 && value.as_bytes()[4] == b'-';
        is_date.then(|| value.to_owned())
    })
}
