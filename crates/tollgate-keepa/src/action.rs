//! What could be done next: a command with parameters that can be run as they stand.
//!
//! Invariant: the cost shown is the one the estimate gives for exactly these parameters.

use serde_json::{Map, Value, json};

use crate::{
    Command, Params,
    cost::estimate,
    tool::{Tool, bare},
};

/// One action, as views show it.
pub fn action(command: Command, params: &Value, reason: &str) -> Value {
    let budget = estimate(command, &Params::of(params)).unwrap_or_default();
    let cli = command_line(command, params);
    let mut action = json!({
        "tool": command.name(),
        "params": params,
        "cli": cli,
        "command": cli,
        "reason": reason,
        "estimated_tokens": budget.estimated_tokens,
        "requires_confirmation": budget.requires_confirmation,
    });
    if let Some(tool) = Tool::of(command) {
        action["mcp_tool"] = Value::from(tool.name());
    }
    action
}

/// How a person would type it, behind `tollgate keepa`; agents use the parameters.
fn command_line(command: Command, params: &Value) -> String {
    let mut words: Vec<String> = command
        .name()
        .split('.')
        .map(|word| word.replace('_', "-"))
        .collect();
    let none = Map::new();
    let params = params.as_object().unwrap_or(&none);
    let bare = bare(command);
    let of_bare = bare.and_then(|name| params.get(name));
    words.extend(of_bare.into_iter().flat_map(several));
    for (name, value) in params
        .iter()
        .filter(|(name, _)| Some(name.as_str()) != bare)
    {
        let flag = format!("--{}", name.replace('_', "-"));
        match value {
            Value::Bool(true) => words.push(flag),
            Value::Bool(false) | Value::Null => {}
            Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                for one in several(value) {
                    words.extend([flag.clone(), one]);
                }
            }
        }
    }
    words.join(" ")
}

/// A value as words of a shell: a list of plain things is several.
fn several(value: &Value) -> Vec<String> {
    let is_plain = |one: &Value| one.is_string() || one.is_number();
    match value.as_array() {
        Some(all) if all.iter().all(is_plain) => all.iter().map(quoted).collect(),
        _ => vec![quoted(value)],
    }
}

/// One word of a shell.
fn quoted(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,@%+=".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_says_what_it_costs() {
        let params = json!({"asin": "B0FIXTURE1", "domain": "US", "full": true, "offers": "20"});
        let shown = action(Command::ProductsGet, &params, "to see who sells it");
        assert_eq!(shown["estimated_tokens"], 13);
        assert_eq!(shown["requires_confirmation"], true);
        assert_eq!(
            shown["cli"],
            "products get B0FIXTURE1 --domain US --full --offers 20"
        );
        assert_eq!(shown["tool"], "products.get");
        assert_eq!(shown["mcp_tool"], "keepa.products_get");
    }
}
