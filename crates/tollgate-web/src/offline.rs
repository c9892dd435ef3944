//! Sample pages that are always there, so that searching, reading and reporting can be tried without a network.
//!
//! Their host has a name that is kept free for samples and can be nobody's site, so answering for it hides nothing.

use std::sync::OnceLock;

use reqwest::{
    Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};

use crate::{extract::extract, relevance::Corpus, wire::Incoming, words::terms};

/// The host of the sample pages; their sites are below it.
pub const OFFLINE_HOST: &str = "offline.example";

const ROBOTS: &str = include_str!("../offline/robots.txt");
const SAMPLES: [(&str, &str, &str); 9] = [
    (
        "news",
        "/cooler-water",
        include_str!("../offline/en-news.html"),
    ),
    (
        "docs",
        "/water-temperature",
        include_str!("../offline/en-docs.html"),
    ),
    (
        "forum",
        "/what-temperature",
        include_str!("../offline/en-forum.html"),
    ),
    (
        "shop",
        "/kettle-kt2",
        include_str!("../offline/en-product.html"),
    ),
    (
        "news",
        "/zh/lucha-shuiwen",
        include_str!("../offline/zh-news.html"),
    ),
    (
        "docs",
        "/zh/shezhi-shuiwen",
        include_str!("../offline/zh-docs.html"),
    ),
    (
        "forum",
        "/zh/duoshao-du",
        include_str!("../offline/zh-forum.html"),
    ),
    (
        "shop",
        "/zh/kt2",
        include_str!("../offline/zh-product.html"),
    ),
    (
        "archive",
        "/closed/tables",
        include_str!("../offline/en-closed.html"),
    ),
];

/// The answer of a sample site, if it is one that is asked.
pub(crate) fn answer(url: &Url) -> Option<Incoming> {
    let site = url.host_str()?.strip_suffix(OFFLINE_HOST)?;
    let site = match site.strip_suffix('.') {
        Some(site) => site,
        None if site.is_empty() => site,
        None => return None,
    };
    let sample = SAMPLES
        .iter()
        .find(|(name, path, _)| *name == site && *path == url.path());
    let (status, kind, body) = match (url.path(), sample) {
        ("/robots.txt", _) => (200, "text/plain; charset=utf-8", ROBOTS),
        (_, Some((_, _, page))) => (200, "text/html; charset=utf-8", *page),
        (_, None) => (
            404,
            "text/plain; charset=utf-8",
            "There is no such sample page.",
        ),
    };
    Some(Incoming {
        status,
        headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]),
        body: body.as_bytes().to_vec(),
        truncated: false,
    })
}

/// A sample page as a search shows it.
pub(crate) struct Sample {
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) snippet: String,
}

struct Shelf {
    samples: Vec<Sample>,
    corpus: Corpus,
}

/// The sample pages about a question, best first; all of them if none is about it.
pub(crate) fn find(question: &str) -> Vec<&'static Sample> {
    static SHELF: OnceLock<Shelf> = OnceLock::new();
    let shelf = SHELF.get_or_init(read);
    let scores = shelf.corpus.scores(&terms(question));
    let mut found: Vec<(f64, &Sample)> = scores.into_iter().zip(&shelf.samples).collect();
    if found.iter().any(|(score, _)| *score > 0.0) {
        found.retain(|(score, _)| *score > 0.0);
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    }
    found.into_iter().map(|(_, sample)| sample).collect()
}

fn read() -> Shelf {
    let mut samples = Vec::new();
    let mut texts = Vec::new();
    for (site, path, html) in SAMPLES {
        let url = format!("https://{site}.{OFFLINE_HOST}{path}");
        let page = extract(html, Some(&url));
        let title = page.title.unwrap_or_default();
        // A title says what a page is about, so it counts twice.
        texts.push(terms(&format!("{title}\n{title}\n{}", page.text)));
        let words: Vec<&str> = page.text.split_whitespace().collect();
        let snippet = words.join(" ").chars().take(160).collect();
        samples.push(Sample {
            url,
            title,
            snippet,
        });
    }
    Shelf {
        samples,
        corpus: Corpus::new(texts),
    }
}
