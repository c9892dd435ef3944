//! Generated pages, and the examples in pages that people wrote.

use serde_json::Value;
use tollgate_core::{ErrorCode, Retry, ToolSpec};
use tollgate_engine::policy::Table;

use super::{check_file, documents, fenced, specs};
use crate::support::TestEnv;

#[test]
fn the_page_of_errors_is_generated() {
    let mut page = String::from(
        "# Errors\n\n\
         Generated from the table in `crates/tollgate-core/src/error.rs` by `cargo xtask bless`; do not edit.\n\n\
         Every failure carries a `kind`, a `code` and what to do, in the same shape at every front end.\n\
         Codes are added, never renamed.\n\
         `can_retry` says for the call at hand whether repeating it is safe and may help.\n",
    );
    for code in ErrorCode::ALL {
        let retry = match code.retry() {
            Retry::Never => "the same call fails the same way",
            Retry::Later => "the call did not happen; wait, then repeat it",
            Retry::WhenHarmless => {
                "the call may have happened; repeat it only if that does no harm"
            }
        };
        page.push_str(&format!(
            "\n## `{code}`\n\nKind `{}`.\n{}\n\nWhat to do: {}\n\nRetry: {retry}.\n",
            code.kind(),
            sentences(code.meaning().trim()),
            sentences(code.advice()),
        ));
    }
    check_file("docs/errors.md", &page);
}

/// One sentence a line.
fn sentences(text: &str) -> String {
    text.replace(". ", ".\n")
}

#[tokio::test]
async fn the_page_of_tools_is_generated() {
    let specs = specs().await;
    let mut page = String::from(
        "# Tools\n\n\
         Generated from the tools themselves by `cargo xtask bless`; do not edit.\n\n\
         These are the tools every installation has, `docs.*` once there are folders to edit; `tollgate tools list` shows yours.\n\
         Schemas are in `contracts/tools/` and in `tollgate tools show NAME`.\n\
         L0 reads, L1 writes, L2 runs code or reaches the network freely; what L1 and L2 do needs a human's consent unless a rule of yours says otherwise.\n\n\
         | tool | can | what |\n|---|---|---|\n",
    );
    for spec in &specs {
        let name = spec.name.as_str();
        let link = name.replace('.', "");
        let can = spec.capability.described();
        page.push_str(&format!(
            "| [`{name}`](#{link}) | {can} | {} |\n",
            spec.title
        ));
    }
    for spec in &specs {
        page.push_str(&section(spec));
    }
    check_file("docs/tools.md", &page);
}

fn section(spec: &ToolSpec) -> String {
    let mut text = format!(
        "\n## `{}`\n\n{}\n",
        spec.name.as_str(),
        sentences(&spec.description)
    );
    let required: Vec<&str> = spec.input_schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = spec.input_schema["properties"].as_object();
    if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
        text.push_str("\n| argument | type | | meaning |\n|---|---|---|---|\n");
        for (name, schema) in fields {
            let must = if required.contains(&name.as_str()) {
                "required"
            } else {
                ""
            };
            let about = schema["description"].as_str().unwrap_or_default();
            let about = about.replace('\n', " ").replace('|', "\\|");
            text.push_str(&format!(
                "| `{name}` | {} | {must} | {about} |\n",
                kind(schema)
            ));
        }
    } else {
        text.push_str("\nIt takes no arguments.\n");
    }
    text
}

/// The type of an argument, in a word or two.
fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("`{}`", word.as_str().unwrap_or_default()))
            .collect();
        return words.join(", ");
    }
    match &schema["type"] {
        Value::String(one) => one.clone(),
        Value::Array(several) => {
            let names: Vec<&str> = several.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any".to_owned(),
    }
}

#[test]
fn every_toml_example_in_the_documentation_holds() {
    let mut examples = Vec::new();
    for (page, text) in documents() {
        let blocks = fenced(&text, &["toml"]).into_iter();
        examples.extend(blocks.map(|(line, text)| (page.clone(), line, text)));
    }
    assert!(examples.len() > 3, "{examples:?}");
    for (page, line, text) in examples {
        let parsed: toml::Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{page}:{line}: {error}"));
        if parsed.contains_key("case") {
            Table::parse(&text).unwrap_or_else(|error| panic!("{page}:{line}: {error}"));
        } else if parsed.contains_key("rule") || parsed.contains_key("phrase") {
            tollgate_sanitize::Sanitizer::from_rules(&[&text])
                .unwrap_or_else(|error| panic!("{page}:{line}: {error}"));
        } else if !parsed.contains_key("package") && !parsed.contains_key("dependencies") {
            let env = TestEnv::with_config(&text);
            for file in named_files(&parsed) {
                env.write(&format!("config/tollgate/{file}"), "");
            }
            let ran = env.run(&["policy", "check"]);
            assert_eq!(ran.code, 0, "{page}:{line}: {}", ran.err);
        }
    }
}

/// Files an example names, which are the reader's own.
fn named_files(config: &toml::Table) -> Vec<String> {
    let lists = [("policy", "files"), ("sanitize", "rules")];
    lists
        .iter()
        .filter_map(|(table, key)| config.get(*table)?.get(*key)?.as_array())
        .flatten()
        .filter_map(|file| Some(file.as_str()?.to_owned()))
        .collect()
}
