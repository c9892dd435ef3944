//! What each argument may be.
//!
//! Switches and numbers are also taken as texts where the API spells them so.

use serde_json::{Map, Value, json};

use crate::{Command, params::ALIASES, plan};

pub(super) fn arguments_of(text: &'static str) -> impl Iterator<Item = (&'static str, bool)> {
    text.split_whitespace()
        .map(|word| match word.strip_suffix('*') {
            Some(name) => (name, true),
            None => (word, false),
        })
}

/// The schema of a command's arguments between blanks.
pub(super) fn schema(command: Command, arguments: &'static str) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, is_required) in arguments_of(arguments) {
        properties.insert(name.to_owned(), bounded(name, argument_of(command, name)));
        if is_required {
            required.push(name);
        }
    }
    // Other names for the same take the same values, and say so without its description.
    for (alias, name) in ALIASES {
        if !["asins", "output", "cache_ttl_seconds"].contains(&alias) {
            continue;
        }
        if let Some(mut same) = properties.get(name).cloned() {
            if let Some(fields) = same.as_object_mut() {
                fields.shift_remove("description");
            }
            properties.insert(alias.to_owned(), same);
        }
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The longest option, id or key.
const OPTION: usize = 200;
/// The longest question or heading.
const WORDS: usize = 8000;
/// The longest path.
const PATH: usize = 4096;
/// The longest address.
const URL: usize = 8192;
/// The longest list that is written as one text.
const LIST: usize = 64 << 10;
/// The longest result that is handed on as a text: what the largest message can hold.
const BODY: usize = 256 << 20;
/// The most entries of a list.
const ENTRIES: usize = 10_000;

/// The same schema, with a bound for every text and list it admits, by what the argument is.
fn bounded(name: &str, mut schema: Value) -> Value {
    let (text, entry) = match name {
        "term" | "goal" | "title" | "label" | "name" | "id" | "root" | "prefer_source"
        | "target_id" | "query" | "question" => (WORDS, WORDS),
        "asin"
        | "code"
        | "seller"
        | "category"
        | "fields"
        | "series"
        | "window_days"
        | "temporal_window_days" => (LIST, OPTION),
        "input" => (LIST, PATH),
        "out" | "out_dir" | "chunks_dir" | "fixture" | "product_fixture" | "selection_file"
        | "tests_dir" | "package_dir" | "eval_dir" | "manifest" => (PATH, PATH),
        "url" | "uri" | "endpoint" => (URL, URL),
        "selection" | "target" | "commands" | "graph" | "payload" | "tracking" | "trackings"
        | "artifact" | "artifacts" | "resource_uri" | "resource_uris" => (BODY, BODY),
        _ => (OPTION, OPTION),
    };
    let admits = |schema: &Value, wanted: &str| {
        let kind = &schema["type"];
        let mut listed = kind.as_array().into_iter().flatten();
        kind == wanted || listed.any(|one| one == wanted)
    };
    if admits(&schema, "string") {
        schema["maxLength"] = json!(text);
    }
    if admits(&schema, "array") {
        schema["maxItems"] = json!(ENTRIES);
        if schema
            .get("items")
            .is_some_and(|items| admits(items, "string"))
        {
            schema["items"]["maxLength"] = json!(entry);
        }
    }
    schema
}

/// An argument by which an earlier result is handed on.
pub(super) fn runtime(name: &str) -> Value {
    bounded(name, handed_on(name))
}

fn handed_on(name: &str) -> Value {
    let about = "An earlier result: a keepa:// address, cache key, file or the result itself.";
    match name {
        "resource_uri" => json!({"type": "string", "description": about}),
        "resource_uris" => json!({"type": "array", "items": {"type": "string"}}),
        "artifacts" => json!({"type": ["array", "object"]}),
        "artifact" => json!({"type": ["string", "object"]}),
        _ => json!({"type": "object"}),
    }
}

/// What an argument of a command may be, where one name means different things.
pub fn argument_of(command: Command, name: &str) -> Value {
    let words = |words: &[&str], about: &str| json!({"enum": words, "description": about});
    let size = |about: &str| json!({"type": ["integer", "string"], "description": about});
    match (command, name) {
        (Command::WorkflowPlan | Command::TokensPlan, "name") => words(&plan::NAMES, "Which plan."),
        (Command::ProductsCompare, "view") => words(
            &["summary", "research", "deal", "audit"],
            "How much to show.",
        ),
        (Command::ReportsBuild, "format") => {
            words(&["markdown", "json", "csv"], "How it is written.")
        }
        (Command::HistoryExport, "format") => {
            words(&["json", "jsonl", "csv"], "How rows are written.")
        }
        (Command::ChartsRender, "format") => words(
            &["svg", "png"],
            "How it is drawn: lines, or points by the browser (what `out` ends with if absent, else svg).",
        ),
        (Command::GraphsImage, "range") => size("How many days are drawn."),
        (Command::GraphsImage, "width" | "height") => size("How large, in points."),
        (Command::GraphsImage, "title") => {
            json!({"type": ["string", "integer", "boolean"], "description": "1 writes the title, 0 does not."})
        }
        (Command::GraphsImage, "yzoom") => {
            json!({"type": ["string", "integer", "boolean"], "description": "1 cuts the axis to what is there, 0 does not."})
        }
        (Command::TrackingList, "per_page") => {
            json!({"type": "integer", "minimum": 1, "description": "Trackings a page."})
        }
        (Command::DocsRead, "page") => json!({"type": "string", "description": "A page by name."}),
        _ => argument(name),
    }
}

/// What an argument may be. Switches and numbers are also taken as texts, the way the API spells them.
pub fn argument(name: &str) -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let list = |about: &str| {
        json!({
            "type": ["string", "array"], "items": {"type": "string"}, "description": about,
        })
    };
    let switch = |about: &str| json!({"type": "boolean", "description": about});
    let count = |least: u64, about: &str| json!({"type": "integer", "minimum": least, "description": about});
    let option =
        |about: &str| json!({"type": ["string", "integer", "boolean"], "description": about});
    match name {
        "asin" => list("One or more ASINs."),
        "code" => list("UPC, EAN or ISBN-13 instead of ASINs."),
        "seller" => list("One or more seller ids."),
        "domain" => text("US (if absent), GB, DE, FR, JP, CA, IT, ES, IN, MX or BR."),
        "full" => switch("History, statistics, videos and A+ at once; costs nothing extra."),
        "agent_view" => switch("Answer with the view rather than the raw body."),
        "view" => json!({
            "enum": ["raw", "agent", "summary", "research", "deal", "audit"],
            "description": "How much to show.",
        }),
        "fields" => list("Sections to show instead of the view's."),
        "history_limit" => count(0, "Points of each history; 0 for none."),
        "temporal_window_days" | "window_days" => json!({
            "type": ["integer", "string", "array"], "items": {"type": "integer"},
            "description": "Windows of change, in days.",
        }),
        "keep_history_points" => switch("Rows keep histories, for charts."),
        "stats_window" => option("Days the statistics look back; 0 is all."),
        "history"
        | "stats"
        | "days"
        | "rating"
        | "buybox"
        | "videos"
        | "aplus"
        | "update"
        | "stock"
        | "code_limit"
        | "only_live_offers"
        | "historical_variations"
        | "page"
        | "range"
        | "month"
        | "year"
        | "variations"
        | "sublist"
        | "rental"
        | "all"
        | "width"
        | "height" => option("As Keepa has it."),
        "yzoom" | "amazon" | "new" | "used" | "salesrank" | "bb" | "bbu" | "fba" | "fbm" | "ld"
        | "wd" => option("1 draws it, 0 does not."),
        "cBackground" | "cFont" | "cAmazon" | "cNew" | "cUsed" | "cSales" | "cFBA" | "cFBM"
        | "cBB" | "cBBU" | "cLD" | "cWD" => text("A colour as six hexadecimal digits."),
        "offers" => option("Offers to fetch, 20 to 100; 6 tokens a page of ten."),
        "fixture" => text("Answer from this sample."),
        "product_fixture" => text("The sample for products that are read along."),
        "chunks_dir" => text("Folder for one file per section."),
        "dry_run" => switch("Only say what it would cost."),
        "yes" => switch("Accept the cost."),
        "from_cache" => json!({
            "type": ["boolean", "string"],
            "description": "Only from this session: true, or the key of an answer.",
        }),
        "no_cache" => switch("Ask Keepa anew."),
        "cache_ttl" => count(0, "Seconds an answer may be reused."),
        "term" => text("Words to search for."),
        "category" => json!({"type": ["string", "integer"], "description": "A category's number."}),
        "limit" => count(1, "Most products to list."),
        "hydrate_top" => count(0, "Leading products to read along."),
        "per_page" => count(1, "Products a page."),
        "sales_rank_max" => count(1, "Worst sales rank."),
        "min_reviews" => count(0, "Fewest reviews."),
        "out" => text("File to write to."),
        "out_dir" => text("Folder to write to."),
        "selection" => json!({"type": ["object", "string"], "description": "The query's fields."}),
        "selection_file" => text("A file that holds the selection."),
        "max_tokens" => count(1, "Most tokens it may cost; never sent."),
        "storefront" => switch("The products they sell, too (9 tokens more)."),
        "parents" => switch("The categories above, too."),
        "name" => text("Its name."),
        "goal" => text("What the research is for; `deal` shows deals."),
        "input" => list("Files with earlier results."),
        "graph" => {
            json!({"type": ["object", "array"], "description": "Graphs, or results that hold some."})
        }
        "payload" => json!({"type": ["object", "array"], "description": "Earlier results."}),
        "root" => text("The id of the new root."),
        "label" => text("What the new root is called."),
        "prefer_source" => text("The source that wins conflicts: its place or its root."),
        "title" => text("A heading."),
        "id" => text("An id for it."),
        "uri" => text("A keepa:// address."),
        "query" | "question" => json!({
            "type": ["string", "object"], "description": "What is looked for, in words.",
        }),
        "hint_type" | "target_type" => json!({
            "enum": ["asin", "code", "seller", "category", "keyword", "fixture", "evidence"],
        }),
        "target_id" => text("What it is called."),
        "target" => json!({"type": ["object", "string"]}),
        "target_command" => text("The command to price."),
        "params" => json!({"type": "object", "description": "Its parameters."}),
        "commands" => json!({
            "type": "array", "description": "Several of them: {command, params}.",
            "items": {"type": ["object", "string"]},
        }),
        "tests_dir" | "package_dir" => text("One of the two folders of samples."),
        "eval_dir" => text("Folder with specs to run."),
        "manifest" => text("The list of evidence."),
        "no_manifest" => switch("Leave the list alone."),
        "run_eval" => switch("Run the specs afterwards."),
        "format" => json!({"enum": ["markdown", "json", "jsonl", "csv", "svg", "png"]}),
        "asins_only" => switch("Only their numbers."),
        "since" => json!({"type": ["integer", "string"], "description": "A Keepa minute."}),
        "revise" => switch("Also those that were read before."),
        "series" => list("Histories by name; `all` for every one."),
        "include_missing" => switch("Moments without a value, too."),
        "endpoint" => text("The path at Keepa."),
        "tracking" | "trackings" => json!({"type": ["array", "object"]}),
        "url" => text("Where notifications go."),
        "list" => text("The name of a list of trackings."),
        "command" => text("A command's name."),
        "entry" => text("The key of a kept answer."),
        "refill_rate" => count(0, "Tokens a minute of the account."),
        "tokens_left" => json!({"type": "integer", "description": "The balance now."}),
        _ => json!({}),
    }
}
