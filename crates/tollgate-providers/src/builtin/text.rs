//! `text.*`: counting, cutting, finding, replacing and comparing text.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::{CallContext, ProviderError, Tool, ToolSet};

use super::{Shared, pattern};

/// The longest text a tool takes, well inside the door's own limit.
const MAX_TEXT: usize = 1 << 20;

pub(super) fn add(tools: ToolSet<Shared>) -> ToolSet<Shared> {
    tools
        .tool(
            Tool::read(
                "text.stats",
                "Count text",
                "Counts characters, bytes, words and lines of a text. \
                 Use it to check lengths before sending text on. \
                 Always succeeds; an empty text counts zero. Success: the counts.",
            )
            .sets(&["gate"])
            .cached(),
            stats,
        )
        .tool(
            Tool::read(
                "text.lines",
                "Take lines of a text",
                "Returns some lines of a text with their numbers. \
                 Use it to quote or to page through long text. \
                 A start past the end gives no lines and says how many there are. \
                 Success: the lines. Always succeeds.",
            )
            .sets(&["gate"])
            .cached(),
            lines,
        )
        .tool(
            Tool::read(
                "text.find",
                "Find in a text",
                "Finds a literal text or a regular expression (linear time, no look-around) and says where each match is. \
                 No match gives an empty list. \
                 A pattern that cannot be compiled is rejected with the reason. Success: the matches.",
            )
            .sets(&["gate"])
            .cached(),
            find,
        )
        .tool(
            Tool::read(
                "text.replace",
                "Replace in a text",
                "Replaces every occurrence of a literal text or regular expression and returns the new text and the count. \
                 Writes nothing anywhere. \
                 Success: the new text. A pattern that cannot be compiled is rejected.",
            )
            .sets(&["gate"])
            .cached(),
            replace,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatsArgs {
    /// The text.
    #[schemars(length(max = "MAX_TEXT"))]
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Stats {
    characters: usize,
    bytes: usize,
    /// Runs of characters between white space.
    words: usize,
    lines: usize,
}

async fn stats(_: Arc<Shared>, args: StatsArgs, _: CallContext) -> Result<Stats, ProviderError> {
    let text = &args.text;
    Ok(Stats {
        characters: text.chars().count(),
        bytes: text.len(),
        words: text.split_whitespace().count(),
        lines: text.lines().count(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LinesArgs {
    /// The text.
    #[schemars(length(max = "MAX_TEXT"))]
    text: String,
    /// The first line, from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    from: usize,
    /// How many lines at most.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10_000))]
    count: usize,
}

fn one() -> usize {
    1
}

fn hundred() -> usize {
    100
}

#[derive(Serialize, JsonSchema)]
struct Lines {
    /// All the lines there are.
    total: usize,
    lines: Vec<Line>,
}

#[derive(Serialize, JsonSchema)]
struct Line {
    number: usize,
    text: String,
}

async fn lines(_: Arc<Shared>, args: LinesArgs, _: CallContext) -> Result<Lines, ProviderError> {
    let numbered = (1..).zip(args.text.lines());
    Ok(Lines {
        total: args.text.lines().count(),
        lines: numbered
            .skip(args.from.saturating_sub(1))
            .take(args.count)
            .map(|(number, text)| Line {
                number,
                text: text.to_owned(),
            })
            .collect(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindArgs {
    /// The text to look in.
    #[schemars(length(max = "MAX_TEXT"))]
    text: String,
    /// What to look for.
    #[schemars(length(min = 1, max = 1000))]
    pattern: String,
    /// Whether the pattern is a regular expression.
    #[serde(default)]
    regex: bool,
    /// How many matches at most.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

#[derive(Serialize, JsonSchema)]
struct Matches {
    matches: Vec<Match>,
    /// Whether there are more.
    more: bool,
}

#[derive(Serialize, JsonSchema)]
struct Match {
    /// From 1.
    line: usize,
    /// In characters, from 1.
    column: usize,
    text: String,
}

async fn find(_: Arc<Shared>, args: FindArgs, _: CallContext) -> Result<Matches, ProviderError> {
    let pattern = pattern::compile(&args.pattern, args.regex)?;
    let mut found = Vec::new();
    let (mut line, mut line_start, mut seen) = (1, 0, 0);
    for hit in pattern.find_iter(&args.text).take(args.limit + 1) {
        for (at, _) in args.text[seen..hit.start()].match_indices('\n') {
            line += 1;
            line_start = seen + at + 1;
        }
        seen = hit.start();
        found.push(Match {
            line,
            column: args.text[line_start..hit.start()].chars().count() + 1,
            text: args.text[hit.range()].to_owned(),
        });
    }
    let more = found.len() > args.limit;
    found.truncate(args.limit);
    Ok(Matches {
        matches: found,
        more,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplaceArgs {
    /// The text to change.
    #[schemars(length(max = "MAX_TEXT"))]
    text: String,
    /// What to look for.
    #[schemars(length(min = 1, max = 1000))]
    pattern: String,
    /// What to put there, as it is.
    #[schemars(length(max = 10_000))]
    with: String,
    /// Whether the pattern is a regular expression.
    #[serde(default)]
    regex: bool,
}

#[derive(Serialize, JsonSchema)]
struct Replaced {
    text: String,
    count: usize,
}

async fn replace(
    _: Arc<Shared>,
    args: ReplaceArgs,
    _: CallContext,
) -> Result<Replaced, ProviderError> {
    let pattern = pattern::compile(&args.pattern, args.regex)?;
    let mut text = String::with_capacity(args.text.len());
    let (mut count, mut from) = (0, 0);
    for hit in pattern.find_iter(&args.text) {
        text.push_str(&args.text[from..hit.start()]);
        text.push_str(&args.with);
        from = hit.end();
        count += 1;
        if text.len() > 4 * MAX_TEXT {
            return Err(ProviderError::rejected("the result would be too long"));
        }
    }
    text.push_str(&args.text[from..]);
    Ok(Replaced { text, count })
}
