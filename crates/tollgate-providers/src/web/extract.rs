//! `web.extract`: the main text of a page, and what is known of it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::{CallContext, ProviderError, toolset::Output};
use tollgate_web::{Content, extract};

use super::{
    faults::told,
    tools::{Reader, completeness, shaped},
    view::PageContent,
};

/// How long the HTML that a caller brings along may be.
const MAX_HTML: u32 = 4 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtractArgs {
    /// The address of the page; with `html`, what its links are relative to.
    #[serde(default)]
    #[schemars(length(min = 8, max = 8192))]
    url: Option<String>,
    /// The page itself, instead of fetching it.
    #[serde(default)]
    #[schemars(length(min = 1, max = MAX_HTML))]
    html: Option<String>,
    /// Whose lists of hosts count beside those of all connections; for `browser`, what a server says along with an error is a page too.
    #[serde(default)]
    boundary: Boundary,
    /// With it the answer has `content`: the page as browser.get_page_content gives one, with so many characters of its text.
    #[serde(default)]
    #[schemars(range(min = 1, max = 50_000))]
    content_length: Option<usize>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Boundary {
    #[default]
    Web,
    Browser,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ExtractAnswer {
    /// The address that answered, or the one that was given.
    url: Option<String>,
    /// How it answered; absent if nothing was fetched.
    status_code: Option<u16>,
    /// The title.
    title: Option<String>,
    /// Who wrote it.
    byline: Option<String>,
    /// When, as the page writes it.
    published: Option<String>,
    /// The language.
    language: Option<String>,
    /// The name of the site.
    site: Option<String>,
    /// A short summary.
    excerpt: Option<String>,
    /// The main text as Markdown.
    markdown: String,
    /// The main text alone.
    text: String,
    /// Its links, each address once.
    links: Vec<FoundLink>,
    /// Its tables, as rows of cells.
    tables: Vec<Vec<Vec<String>>>,
    /// Whether the page was longer than is read.
    truncated: bool,
    /// How the text was found: `readability` or `whole_page`.
    extraction_method: String,
    /// Whether scripts seem to draw what matters of the page; a browser shows it then.
    needs_script: bool,
    /// The page in sections, if `content_length` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<PageContent>,
}

#[derive(Serialize, JsonSchema)]
struct FoundLink {
    /// What it says.
    text: String,
    /// Where it leads.
    url: String,
}

pub(super) async fn run(
    reader: Arc<Reader>,
    args: ExtractArgs,
    cx: CallContext,
) -> Result<Output<ExtractAnswer>, ProviderError> {
    let (url, status, truncated, found) = match (args.html, args.url) {
        (Some(html), url) => {
            let base = url.clone();
            let find = move || extract(&html, base.as_deref());
            let found = reader.places.work(find).await?;
            (url, None, false, found)
        }
        (None, Some(url)) => {
            let page = match args.boundary {
                Boundary::Browser => reader.as_browser(cx.trust).fetch_any(&url).await,
                Boundary::Web => reader.fetcher.fetch(&url).await,
            };
            let page = page.map_err(told)?;
            if page.content != Content::Html {
                return Err(ProviderError {
                    next_steps: vec!["web.fetch".to_owned()],
                    ..ProviderError::rejected(
                        "the answer is not a page; web.fetch gives it as it is",
                    )
                });
            }
            let (page, found) = reader.extracted(page).await?;
            (
                Some(page.final_url),
                Some(page.status),
                page.truncated,
                found,
            )
        }
        (None, None) => return Err(ProviderError::rejected("give `url` or `html`")),
    };
    let content = args.content_length.map(|most| {
        let url = url.as_deref().unwrap_or_default();
        PageContent::of(&found, url, most, truncated)
    });
    let (shape, warnings) = completeness(truncated, found.text.is_empty());
    let links = found.links.into_iter().map(|link| FoundLink {
        text: link.text,
        url: link.url,
    });
    let answer = ExtractAnswer {
        url,
        status_code: status,
        title: found.title,
        byline: found.byline,
        published: found.published,
        language: found.language,
        site: found.site,
        excerpt: found.excerpt,
        markdown: found.markdown,
        text: found.text,
        links: links.collect(),
        tables: found.tables,
        truncated,
        extraction_method: found.method.name().to_owned(),
        needs_script: found.needs_script,
        content,
    };
    shaped(&answer, shape, warnings)
}
