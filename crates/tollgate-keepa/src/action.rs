//! What could be done next: a command with parameters that can be run as they stand.
//!
//! Invariant: the cost shown is the one the estimate gives for exactly these parameters.

use serde_json::{Map, Value, json};

use crate::{Command, Params, cost::estimate, tool::Tool};

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

/// How a person would type it; nobody parses this.
fn command_line(command: Command, params: &Value) -> String {
    let mut words: Vec<String> = command.name().split('.').map(str::to_owned).collect();
    let none = Map::new();
    for (name, value) in params.as_object().unwrap_or(&none) {
        let flag = format!("--{}", name.replace('_', "-"));
        match value {
            Value::Bool(true) => words.push(flag),
            Value::Bool(false) | Value::Null => {}
            Value::String(text) if name == "asin" => words.push(text.clone()),
            Value::String(text) => words.extend([flag, text.clone()]),
            Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                words.extend([flag, value.to_string()]);
            }
        }
    }
    words.join(" ")
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
