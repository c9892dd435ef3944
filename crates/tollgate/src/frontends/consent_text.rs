//! What every view of a question says alike: code, plan, and what is not shown letter by letter.
//!
//! Invariant: a view that was changed says so, at a terminal and in a client's dialog. Lines of
//! code, and of what a call would do, begin with a mark, so that none can pass for one of ours.

use serde_json::Value;
use tollgate_sanitize::visible;

/// The mark before lines that are not ours.
const MARK: &str = "| ";

/// The code of a call, each piece below its argument's name.
pub(crate) fn code(preview: &Value) -> Vec<(String, String)> {
    let blocks = preview["code"].as_array().into_iter().flatten();
    blocks
        .enumerate()
        .map(|(index, block)| {
            let text = |name: &str| block[name].as_str().unwrap_or_default();
            let head = format!("code {} (`{}`)", index + 1, text("argument"));
            (head, marked(text("text")))
        })
        .collect()
}

/// Lines that are not ours, each with the mark.
pub(crate) fn marked(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("{MARK}{line}")).collect();
    lines.join("\n")
}

/// The template that a run is made of, and its steps.
pub(crate) fn plan(preview: &Value) -> Vec<(&'static str, String)> {
    let Some(plan) = preview.get("plan") else {
        return Vec::new();
    };
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let template = format!("{} {}", text(plan, "template"), text(plan, "version"));
    let mut lines = vec![("template", template)];
    for step in plan["steps"].as_array().into_iter().flatten() {
        let id = text(step, "id");
        match step["for_each"].as_array() {
            None => lines.push(("step", format!("{id}: {}", text(step, "tool")))),
            Some(inner) => lines.extend(inner.iter().map(|each| {
                let (name, tool) = (text(each, "id"), text(each, "tool"));
                ("step", format!("{id}, each: {name}: {tool}"))
            })),
        }
    }
    lines
}

/// Says what of the arguments is not shown as it is.
pub(crate) fn changes(preview: &Value) -> Vec<(&'static str, String)> {
    let count = |name: &str| preview[name].as_u64().unwrap_or_default();
    let mut notices = Vec::new();
    if count("hidden_characters") > 0 {
        let hidden = count("hidden_characters");
        notices.push(("LEFT OUT", format!("{hidden} more characters of arguments")));
    }
    if preview["cleaned"] == true {
        notices.push((
            "CLEANED",
            format!(
                "secrets that are masked: {}; characters that move, hide or repeat text and are spelled out: {}",
                count("masked"),
                count("spelled_out"),
            ),
        ));
    }
    notices.extend(placeholders(preview));
    notices
}

/// Says which redacted value goes from where to where.
fn placeholders(preview: &Value) -> Vec<(&'static str, String)> {
    let text = |value: &Value| visible(value.as_str().unwrap_or_default()).into_owned();
    let all = preview["placeholders"].as_array().into_iter().flatten();
    let asked = all.filter(|it| it["asks"] == true);
    let told = asked.map(|it| {
        let objects = it["read_from"].as_array().into_iter().flatten();
        let objects: Vec<String> = objects.map(text).collect();
        let from = match objects.is_empty() {
            true => String::new(),
            false => format!(" from {}", objects.join(", ")),
        };
        let (placeholder, read_by) = (text(&it["placeholder"]), text(&it["read_by"]));
        let (length, goes_to) = (&it["length"], text(&it["goes_to"]));
        let value = format!("{placeholder} ({length} characters, read by {read_by}{from})");
        ("SENDS", format!("{value} to {goes_to}"))
    });
    told.collect()
}

/// The same for what the call would do.
pub(crate) fn effect_changes(preview: &Value) -> Vec<(&'static str, String)> {
    let hidden = preview["effect_hidden_characters"].as_u64();
    let mut notices = Vec::new();
    if let Some(hidden) = hidden.filter(|it| *it > 0) {
        notices.push(("LEFT OUT", format!("{hidden} more characters of this")));
    }
    if preview["effect_cleaned"] == true {
        let text = "some of this is masked, or spelled out because it moves, hides or repeats text";
        notices.push(("CLEANED", text.to_owned()));
    }
    notices
}
