//! `web.fetch`: one page as text. What does not fit into the answer is kept whole, and can be read on.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::{CallContext, ProviderError, toolset::Output};
use tollgate_web::{CacheUse, Content};

use super::{
    faults::told,
    pages::{self, Kept},
    tools::{Reader, completeness, shaped, written},
};

/// How many characters an answer has, if nobody says, and how many it can have.
const USUAL_CHARACTERS: usize = 100_000;
const MOST_CHARACTERS: usize = 1_000_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FetchArgs {
    /// The address, http or https.
    #[schemars(length(min = 8, max = 8192))]
    url: String,
    /// What to give of a page.
    #[serde(default)]
    format: Format,
    /// The character of the text to begin at; `next_start` of the answer before, to read on.
    #[serde(default)]
    start: usize,
    /// How many characters of the text to give at most.
    #[serde(default = "usual")]
    #[schemars(range(min = 1, max = MOST_CHARACTERS))]
    max_chars: usize,
}

fn usual() -> usize {
    USUAL_CHARACTERS
}

/// What to give of a page.
#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// Its main text as Markdown.
    #[default]
    Markdown,
    /// Its main text alone.
    Text,
    /// The HTML as it came.
    Raw,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Fetched {
    /// The address that was asked for.
    url: String,
    /// The address that answered.
    final_url: String,
    /// How it answered.
    status_code: u16,
    /// The declared type.
    content_type: Option<String>,
    /// The page's title.
    title: Option<String>,
    /// The text, or the part of it that was asked for.
    text: String,
    /// Whether there is more of the text than this, or of the page than is read.
    truncated: bool,
    /// How many characters the whole text has.
    total_chars: usize,
    /// Where to go on reading.
    next_start: Option<usize>,
    /// Where the whole text is kept, if it does not fit into the answer.
    artifact: Option<Kept>,
    /// How the text was found: `readability`, `whole_page`, or `none` if it is the body itself.
    extraction_method: String,
    /// Whether it was read before and used again.
    #[schemars(extend("x-volatile" = true))]
    cache_hit: bool,
    /// When it was read.
    #[schemars(extend("x-volatile" = true))]
    fetched_at: String,
}

pub(super) async fn run(
    reader: Arc<Reader>,
    args: FetchArgs,
    cx: CallContext,
) -> Result<Output<Fetched>, ProviderError> {
    let page = reader.fetcher.fetch(&args.url).await.map_err(told)?;
    let is_page = page.content == Content::Html && args.format != Format::Raw;
    let (mut page, extracted) = if is_page {
        let (page, extracted) = reader.extracted(page).await?;
        (page, Some(extracted))
    } else {
        (page, None)
    };
    let (title, whole, method) = match extracted {
        Some(found) if args.format == Format::Text => {
            (found.title, found.text, found.method.name())
        }
        Some(found) => (found.title, found.markdown, found.method.name()),
        None => (None, std::mem::take(&mut page.text), "none"),
    };
    let (text, total) = window(&whole, args.start, args.max_chars);
    let next = args.start.saturating_add(args.max_chars);
    let next_start = (next < total).then_some(next);
    let is_whole = text.len() == whole.len();
    let text = text.to_owned();
    let artifact = match is_whole {
        true => None,
        false => Some(pages::keep(&reader, &cx, &whole).await?),
    };
    let answer = Fetched {
        url: page.url,
        final_url: page.final_url,
        status_code: page.status,
        content_type: page.content_type,
        title,
        truncated: page.truncated || next_start.is_some(),
        total_chars: total,
        next_start,
        artifact,
        extraction_method: method.to_owned(),
        cache_hit: page.cache != CacheUse::Missed,
        fetched_at: written(page.fetched),
        text,
    };
    let (status, warnings) = completeness(answer.truncated, answer.text.is_empty());
    shaped(&answer, status, warnings)
}

/// So many characters of a text from one on, and how many it has in all.
fn window(text: &str, start: usize, most: usize) -> (&str, usize) {
    let mut from = text.len();
    let mut to = text.len();
    let mut total = 0;
    for (at, _) in text.char_indices() {
        if total == start {
            from = at;
        }
        if total == start.saturating_add(most) {
            to = at;
        }
        total += 1;
    }
    (&text[from..to.max(from)], total)
}

#[cfg(test)]
mod tests {
    use super::window;

    #[test]
    fn windows_add_up_to_the_text() {
        let text = "aé水z";
        assert_eq!(window(text, 0, 100), (text, 4));
        assert_eq!(window(text, 0, 2), ("aé", 4));
        assert_eq!(window(text, 2, 2), ("水z", 4));
        assert_eq!(window(text, 3, usize::MAX), ("z", 4));
        assert_eq!(window(text, 9, 2), ("", 4));
        assert_eq!(window("", 0, 2), ("", 0));
    }
}
