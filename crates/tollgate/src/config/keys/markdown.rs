//! The page `docs/config.md`, made from the schema.

use std::fmt::{self, Write};

use serde_json::Value;

use super::{
    super::{narrow::Rule, overrides},
    Leaf,
};

const INTRO: &str = include_str!("intro.md");

/// The documentation of every key.
pub fn markdown() -> String {
    let mut page = INTRO.to_owned();
    // Writing to a text cannot fail.
    let _ = variables(&mut page).and_then(|()| sections(&mut page));
    page
}

fn variables(page: &mut String) -> fmt::Result {
    page.push_str(
        "## Environment variables\n\n\
         `TOLLGATE_<SECTION>_<KEY>` sets a key: `TOLLGATE_STATE_DIR` sets `state.dir`, and \
         `TOLLGATE_PROVIDER_CHOICE` sets `provider_choice`, which has no section.\n\
         The entries of a list are separated by commas, and an empty variable counts as unset.\n\
         Keys with a free name in them, such as `profiles.<name>.inactive`, have no variable.\n\
         An unknown `TOLLGATE_` variable is an error.\n\n\
         | variable | meaning |\n|---|---|\n",
    );
    for (name, key) in overrides::short_names() {
        writeln!(page, "| `{name}` | short for `{key}` |")?;
    }
    for (name, meaning) in overrides::RESERVED {
        writeln!(page, "| `{name}` | {meaning} |")?;
    }
    Ok(())
}

fn sections(page: &mut String) -> fmt::Result {
    let mut current = None;
    for leaf in super::leaves() {
        let section = section(&leaf);
        if current.as_ref() != Some(&section) {
            if section.is_empty() {
                page.push_str("\n## Above the first section\n\n");
                page.push_str(
                    "These keys belong to no section, so they stand at the top of the file.\n\n",
                );
            } else {
                let about = super::find(&parents(&leaf)).map_or("", description);
                writeln!(page, "\n## `[{section}]`\n\n{about}\n")?;
            }
            page.push_str("| key | values | default | untrusted | meaning |\n");
            page.push_str("|---|---|---|---|---|\n");
            current = Some(section);
        }
        row(page, &leaf)?;
        entries(page, &leaf)?;
    }
    Ok(())
}

/// The keys of each entry of a list of tables, as a section of their own.
fn entries(page: &mut String, leaf: &Leaf) -> fmt::Result {
    let below = super::entries(leaf);
    if below.is_empty() {
        return Ok(());
    }
    let about = leaf.schema.get("items").map_or("", description);
    writeln!(page, "\n## `[[{}]]`\n\n{about}\n", leaf.path.join("."))?;
    page.push_str("| key | values | meaning |\n|---|---|---|\n");
    for leaf in below {
        let key = leaf.path.join(".");
        let (values, about) = (values(leaf.schema), description(leaf.schema));
        writeln!(page, "| `{key}` | {values} | {about} |")?;
    }
    Ok(())
}

fn row(page: &mut String, leaf: &Leaf) -> fmt::Result {
    let key = leaf.path.last().map_or("", String::as_str);
    let default = match leaf.schema.get("default") {
        Some(Value::Array(entries)) if entries.len() > 3 => "all of them".to_owned(),
        Some(value) => format!("`{value}`"),
        None => String::new(),
    };
    writeln!(
        page,
        "| `{key}` | {} | {default} | {} | {} |",
        values(leaf.schema),
        Rule::of(leaf.schema).describe(),
        description(leaf.schema),
    )
}

fn parents(leaf: &Leaf) -> Vec<String> {
    let end = leaf.path.len().saturating_sub(1);
    leaf.path[..end].to_vec()
}

fn section(leaf: &Leaf) -> String {
    parents(leaf).join(".")
}

fn description(schema: &Value) -> &str {
    schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or("")
}

/// What a key may hold.
fn values(schema: &Value) -> String {
    let words = super::words(schema);
    if !words.is_empty() {
        let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        return quoted.join(", ");
    }
    let bound = |name| schema.get(name).filter(|bound| bound.is_number());
    let format = schema.get("format").and_then(Value::as_str);
    match (schema.get("type").and_then(Value::as_str), format) {
        (Some("array"), _) => {
            let inner = schema.get("items").unwrap_or(&Value::Null);
            format!("list: {}", values(inner))
        }
        (Some("integer" | "number"), _) => match (bound("minimum"), bound("maximum")) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            _ => "number".to_owned(),
        },
        (_, Some("path")) => "path".to_owned(),
        (_, Some("path-or-stderr")) => "path, or `stderr`".to_owned(),
        (_, Some("http-address" | "server-address")) => "address".to_owned(),
        (_, Some("safe-address")) => "https address".to_owned(),
        (Some("object"), _) => "table".to_owned(),
        (Some("boolean"), _) => "`true`, `false`".to_owned(),
        (_, Some("secret-reference")) => "`env:NAME` or `file:PATH`".to_owned(),
        _ => "text".to_owned(),
    }
}
