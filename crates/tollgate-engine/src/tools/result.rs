//! `result.*`: large results, read on by the piece.
//!
//! What did not fit into an answer is kept for a while, for the session it was made
//! for, exactly as it was cleaned.

use std::sync::Arc;

use regex_automata::meta::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use tollgate_core::{
    CallContext, Payload, ProviderError, SessionKey, StoreError, Tool, ToolSet,
    canonical::hex_digest,
    store::{Batch, Change},
};

use super::{Handle, engine, from_store};
use crate::call::{Caller, Gateway, Inner};

const NAMESPACE: &str = "gate.results";
/// The most text of one answer.
const MAX_TEXT: usize = 64 << 10;
/// The most memory a regular expression may take.
const REGEX_BYTES: usize = 1 << 20;

impl Gateway {
    /// Keeps what did not fit into the answer of a call.
    pub async fn keep_result(
        &self,
        caller: &Caller,
        id: &str,
        data: &Payload,
    ) -> Result<(), StoreError> {
        if !self
            .0
            .may_write(&caller.session.principal, data.raw().len())
        {
            return Err(StoreError::Full);
        }
        let change = keeping(&self.0, &caller.session, id, data);
        let batch = Batch {
            changes: vec![change],
            ..Batch::default()
        };
        match self.store().commit(batch).await {
            Ok(_) | Err(StoreError::Conflict) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Keeps a result for those who read on.
pub(crate) fn keeping(inner: &Inner, session: &SessionKey, id: &str, data: &Payload) -> Change {
    let at = inner.clock.now();
    Change::PutState {
        namespace: NAMESPACE.to_owned(),
        principal: session.principal.clone(),
        key: key(session, id),
        version: None,
        value: data.raw().as_bytes().to_vec(),
        until: Some(at.plus(inner.settings.result_keep)),
        at,
    }
}

/// A result belongs to its session; the same id of another session is another result.
fn key(session: &SessionKey, id: &str) -> String {
    let text = format!("{}\n{id}", session.handle);
    hex_digest(text.as_bytes())
}

async fn kept(inner: &Inner, cx: &CallContext, id: &str) -> Result<String, ProviderError> {
    let id = id.rsplit('/').next().unwrap_or(id);
    let found = inner
        .store
        .state(
            NAMESPACE,
            &cx.principal,
            &key(&cx.session, id),
            inner.clock.now(),
        )
        .await
        .map_err(from_store)?;
    let bytes = found.map(|found| found.value).ok_or_else(|| {
        let shown = inner.cleaner.preview(&inner.cleaner.line(id), 64);
        ProviderError {
            suggestion: Some(
                "Repeat the call that made it; large results are kept for a while.".to_owned(),
            ),
            ..ProviderError::not_found(format!("no result `{shown}` of this session is kept"))
        }
    })?;
    String::from_utf8(bytes).map_err(ProviderError::unavailable)
}

/// A result as a resource: its beginning, or one piece of it.
pub(super) async fn whole_or_piece(
    inner: &Inner,
    cx: &CallContext,
    id: &str,
    piece: Option<usize>,
    limit: usize,
) -> Result<(String, Value), ProviderError> {
    let text = kept(inner, cx, id).await?;
    let size = inner.settings.result_piece;
    let (from, length) = match piece {
        Some(piece) => (piece.saturating_mul(size), size),
        None => (0, limit),
    };
    if from > 0 && from >= text.len() {
        let message = format!("the result has {} pieces", text.len().div_ceil(size));
        return Err(ProviderError::not_found(message));
    }
    let part = cut(&text, from, length);
    let meta = json!({
        "tollgate/total_bytes": text.len(),
        "tollgate/pieces": text.len().div_ceil(size),
        "tollgate/truncated": part.len() < text.len(),
    });
    Ok((part.to_owned(), meta))
}

/// A piece of text by bytes, on character boundaries: adjoining pieces add up to the whole.
fn cut(text: &str, from: usize, length: usize) -> &str {
    let start = text.floor_char_boundary(from.min(text.len()));
    let end = text.floor_char_boundary(from.saturating_add(length).min(text.len()));
    &text[start..end.max(start)]
}

pub(super) fn add(tools: ToolSet<Handle>) -> ToolSet<Handle> {
    tools
        .tool(
            Tool::read(
                "result.slice",
                "Read part of a large result",
                "Reads on in a result that was too large for its answer: by JSON pointer, bytes or lines. \
                 Use the id from `mcp_resource_manifest`. Success: the text and where to go on (`next_offset`). \
                 Unknown id: the result has ended or belongs to another session; repeat its call.",
            )
            .sets(&["gate", "results"]),
            slice,
        )
        .tool(
            Tool::read(
                "result.search",
                "Search a large result",
                "Finds text or a regular expression in a result that was too large for its answer. \
                 Success: matches with their byte offsets, to read around with result.slice. \
                 No match is an empty list, not an error. \
                 Fails when the result has ended; repeat its call.",
            )
            .sets(&["gate", "results"]),
            search,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SliceArgs {
    /// The id of the result, or its address.
    #[schemars(length(min = 1, max = 256))]
    result: String,
    /// A JSON pointer to the part that is meant, such as `/items/3`; a string is read as its text.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pointer: String,
    /// The first byte.
    #[serde(default)]
    offset: usize,
    /// How many bytes at most.
    #[serde(default = "some_text")]
    #[schemars(range(min = 1, max = 65536))]
    length: usize,
    /// The first line, from 1; lines are counted instead of bytes.
    #[schemars(range(min = 1))]
    line: Option<usize>,
    /// How many lines.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10000))]
    lines: usize,
}

fn some_text() -> usize {
    16 << 10
}

fn hundred() -> usize {
    100
}

#[derive(Serialize, JsonSchema)]
struct Slice {
    /// The id of the result.
    #[schemars(extend("x-identifier" = true))]
    result: String,
    pointer: String,
    /// Where the text begins, in bytes of the part that is meant.
    offset: usize,
    /// The bytes of the part that is meant.
    total_bytes: usize,
    /// The lines of the part that is meant.
    total_lines: usize,
    /// Where to go on; absent at the end.
    next_offset: Option<usize>,
    /// The text, as it was cleaned when it was kept.
    #[schemars(extend("x-identifier" = true))]
    text: String,
}

async fn slice(
    handle: Arc<Handle>,
    args: SliceArgs,
    cx: CallContext,
) -> Result<Slice, ProviderError> {
    let inner = engine(&handle)?;
    let whole = kept(&inner, &cx, &args.result).await?;
    let part = part_of(&whole, &args.pointer)?;
    let (offset, text) = match args.line {
        Some(line) => {
            let lines = lines_of(&part, line, args.lines);
            (lines.0, cut(lines.1, 0, MAX_TEXT))
        }
        None => {
            let text = cut(&part, args.offset, args.length.min(MAX_TEXT));
            (part.floor_char_boundary(args.offset.min(part.len())), text)
        }
    };
    let next = offset + text.len();
    Ok(Slice {
        result: args.result,
        pointer: args.pointer,
        offset,
        total_bytes: part.len(),
        total_lines: part.lines().count(),
        next_offset: (next < part.len()).then_some(next),
        text: text.to_owned(),
    })
}

/// Some lines, and where the first of them begins.
fn lines_of(text: &str, first: usize, count: usize) -> (usize, &str) {
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let start = starts.nth(first.saturating_sub(1)).unwrap_or(text.len());
    let end = starts.nth(count.saturating_sub(1)).unwrap_or(text.len());
    (start, &text[start..end.max(start)])
}

/// The part a JSON pointer leads to: the text of a string, else JSON as it was spelled.
fn part_of(whole: &str, pointer: &str) -> Result<String, ProviderError> {
    let lost = || ProviderError::not_found(format!("the result has nothing at `{pointer}`"));
    let mut raw: Box<RawValue> = serde_json::from_str(whole).map_err(ProviderError::unavailable)?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(ProviderError::rejected("a JSON pointer begins with `/`"));
    }
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        raw = if raw.get().starts_with('{') {
            let mut fields: std::collections::HashMap<String, Box<RawValue>> =
                serde_json::from_str(raw.get()).map_err(|_| lost())?;
            fields.remove(&step).ok_or_else(lost)?
        } else {
            let items: Vec<Box<RawValue>> = serde_json::from_str(raw.get()).map_err(|_| lost())?;
            let at: usize = step.parse().map_err(|_| lost())?;
            items.into_iter().nth(at).ok_or_else(lost)?
        };
    }
    let text = serde_json::from_str::<String>(raw.get());
    Ok(text.unwrap_or_else(|_| raw.get().to_owned()))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    /// The id of the result, or its address.
    #[schemars(length(min = 1, max = 256))]
    result: String,
    /// What to find.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// Whether the query is a regular expression.
    #[serde(default)]
    regex: bool,
    /// A JSON pointer to the part that is meant.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pointer: String,
    /// How many matches at most.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// How many bytes to show on each side.
    #[serde(default = "eighty")]
    #[schemars(range(max = 1000))]
    context: usize,
}

fn twenty() -> usize {
    20
}

fn eighty() -> usize {
    80
}

#[derive(Serialize, JsonSchema)]
struct Matches {
    #[schemars(extend("x-identifier" = true))]
    result: String,
    pointer: String,
    matches: Vec<Match>,
    /// Whether there are more.
    more: bool,
}

#[derive(Serialize, JsonSchema)]
struct Match {
    /// The byte where it begins.
    offset: usize,
    /// The line it is on, from 1.
    line: usize,
    /// The match with what is around it, as it was cleaned when it was kept.
    #[schemars(extend("x-identifier" = true))]
    text: String,
}

async fn search(
    handle: Arc<Handle>,
    args: SearchArgs,
    cx: CallContext,
) -> Result<Matches, ProviderError> {
    let inner = engine(&handle)?;
    let whole = kept(&inner, &cx, &args.result).await?;
    let part = part_of(&whole, &args.pointer)?;
    let places: Vec<(usize, usize)> = if args.regex {
        let regex = Regex::builder()
            .configure(Regex::config().nfa_size_limit(Some(REGEX_BYTES)))
            .build(&args.query)
            .map_err(|error| {
                ProviderError::rejected(format!("the expression cannot be used: {error}"))
            })?;
        regex
            .find_iter(&part)
            .filter(|found| !found.is_empty())
            .take(args.limit + 1)
            .map(|found| (found.start(), found.end()))
            .collect()
    } else {
        part.match_indices(&args.query)
            .take(args.limit + 1)
            .map(|(at, text)| (at, at + text.len()))
            .collect()
    };
    let more = places.len() > args.limit;
    let mut matches = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for (start, end) in places.into_iter().take(args.limit) {
        line += part[counted..start].matches('\n').count();
        counted = start;
        let from = part.floor_char_boundary(start.saturating_sub(args.context));
        let to = part
            .floor_char_boundary((end.min(start + MAX_TEXT / 100) + args.context).min(part.len()));
        matches.push(Match {
            offset: start,
            line,
            text: part[from..to.max(from)].to_owned(),
        });
    }
    Ok(Matches {
        result: args.result,
        pointer: args.pointer,
        matches,
        more,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up_whatever_the_characters() {
        let text = "aé关💶".repeat(50);
        for length in 1..9 {
            let pieces: String = (0..text.len().div_ceil(length))
                .map(|piece| cut(&text, piece * length, length))
                .collect();
            assert_eq!(pieces, text, "{length}");
        }
    }

    #[test]
    fn pointers_lead_to_text_and_to_json_as_spelled() {
        let whole = r#"{"a":[{"b/c":"two\nlines"},1.50]}"#;
        assert_eq!(part_of(whole, "/a/0/b~1c").unwrap(), "two\nlines");
        assert_eq!(part_of(whole, "/a/1").unwrap(), "1.50");
        assert_eq!(part_of(whole, "").unwrap(), whole);
        for lost in ["/x", "/a/7", "/a/x", "/a/1/0", "a"] {
            assert!(part_of(whole, lost).is_err(), "{lost}");
        }
    }

    #[test]
    fn lines_are_counted_from_one() {
        let text = "one\ntwo\nthree";
        assert_eq!(lines_of(text, 1, 1), (0, "one\n"));
        assert_eq!(lines_of(text, 2, 9), (4, "two\nthree"));
        assert_eq!(lines_of(text, 9, 1), (13, ""));
    }
}
