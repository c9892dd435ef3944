//! Specs that say what answers must look like: paths into an answer, and what has to be there.
//!
//! A path is names and places between dots; `$json` goes on inside a text that holds JSON. A name that contains dots is
//! taken whole where it exists.

use serde_json::{Value, json};

use crate::{Command, Params, cost::estimate, tool::Tool};

/// Checks every assertion of a spec; what failed is told in words.
pub fn check(assertions: &[Value], answer: &Value) -> Vec<String> {
    assertions
        .iter()
        .filter_map(|one| failure(one, answer))
        .collect()
}

/// What an answer has at a path.
pub fn at(answer: &Value, path: &str) -> Option<Value> {
    if path.is_empty() {
        return Some(answer.clone());
    }
    // Names may hold dots themselves: the longest that is there wins.
    let ends = path
        .match_indices('.')
        .map(|(at, _)| at)
        .chain([path.len()]);
    for end in ends.collect::<Vec<_>>().into_iter().rev() {
        let (name, rest) = (&path[..end], path.get(end + 1..).unwrap_or(""));
        let inner = if name == "$json" {
            answer
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok())
        } else if let Some(all) = answer.as_array() {
            name.parse::<usize>()
                .ok()
                .and_then(|at| all.get(at))
                .cloned()
        } else {
            answer.get(name).cloned()
        };
        if let Some(found) = inner.as_ref().and_then(|inner| at(inner, rest)) {
            return Some(found);
        }
    }
    None
}

fn failure(assertion: &Value, answer: &Value) -> Option<String> {
    let path = assertion["path"].as_str().unwrap_or_default();
    let found = at(answer, path).unwrap_or(Value::Null);
    let checks = assertion.as_object()?;
    let wrong = checks
        .iter()
        .filter(|(name, _)| !["path", "note", "description"].contains(&name.as_str()));
    let wrong: Vec<String> = wrong
        .filter(|(name, wanted)| !holds(name, wanted, &found))
        .map(|(name, wanted)| format!("{name} {wanted}"))
        .collect();
    if wrong.is_empty() {
        return None;
    }
    let mut shown = found.to_string();
    if shown.len() > 160 {
        let end = (0..=160).rev().find(|at| shown.is_char_boundary(*at));
        shown.truncate(end.unwrap_or(0));
        shown.push('…');
    }
    Some(format!(
        "{path}: wanted {}, found {shown}",
        wrong.join(" and ")
    ))
}

fn holds(name: &str, wanted: &Value, found: &Value) -> bool {
    let length = || {
        let list = found.as_array().map(Vec::len);
        let map = || found.as_object().map(serde_json::Map::len);
        let text = || found.as_str().map(|text| text.chars().count());
        list.or_else(map).or_else(text)
    };
    let number = |value: &Value| value.as_f64();
    let count = wanted
        .as_u64()
        .and_then(|count| usize::try_from(count).ok());
    match name {
        "equals" => same(found, wanted),
        "not_equals" => !same(found, wanted),
        "length" => length() == count,
        "length_min" => length() >= count,
        "length_max" => length().is_some() && length() <= count,
        "min" => number(found)
            .zip(number(wanted))
            .is_some_and(|(a, b)| a >= b),
        "max" => number(found)
            .zip(number(wanted))
            .is_some_and(|(a, b)| a <= b),
        "contains" => contains(found, wanted),
        "not_contains" => !contains(found, wanted),
        "contains_any" => {
            let any = wanted.as_array().into_iter().flatten();
            any.into_iter()
                .any(|one| contains(found, one) || same(found, one))
        }
        "contains_item" => has_item(found, wanted),
        "not_contains_item" => !has_item(found, wanted),
        "exists" => found.is_null() != wanted.as_bool().unwrap_or(true),
        "is_null" => found.is_null() == wanted.as_bool().unwrap_or(true),
        "starts_with" => found
            .as_str()
            .zip(wanted.as_str())
            .is_some_and(|(text, start)| text.starts_with(start)),
        "next_actions_executable" => {
            let all = found.as_array();
            all.is_some_and(|all| !all.is_empty() && all.iter().all(is_executable))
        }
        "evidence_resolves" => evidence_resolves(found),
        "risk_schema_valid" => risks_are_valid(found),
        _ => false,
    }
}

/// Equal, with 1 and 1.0 taken for one another.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() < f64::EPSILON,
        _ => a == b,
    }
}

fn contains(found: &Value, wanted: &Value) -> bool {
    if let Some(all) = found.as_array() {
        return all.iter().any(|one| same(one, wanted));
    }
    let Some(wanted) = wanted.as_str() else {
        return false;
    };
    match found.as_object() {
        Some(map) => map.contains_key(wanted),
        None => found.as_str().is_some_and(|text| text.contains(wanted)),
    }
}

fn has_item(found: &Value, wanted: &Value) -> bool {
    let fits = |one: &Value| match wanted.as_object() {
        Some(fields) => fields
            .iter()
            .all(|(name, value)| same(&one[name.as_str()], value)),
        None => same(one, wanted),
    };
    found.as_array().is_some_and(|all| all.iter().any(fits))
}

/// Whether an action can be run as it stands: the command is there, takes these parameters and has a price.
pub fn is_executable(action: &Value) -> bool {
    let name = action["tool"].as_str().unwrap_or_default();
    let command = Command::named(name).or_else(|| Tool::named(name).map(|tool| tool.command));
    let Some(command) = command else {
        return false;
    };
    let Some(params) = action["params"].as_object() else {
        return false;
    };
    let arguments: Vec<&str> = crate::tool::arguments(command)
        .split_whitespace()
        .map(|word| word.trim_end_matches('*'))
        .collect();
    let is_known = |given: &String| arguments.contains(&given.replace('-', "_").as_str());
    params.keys().all(is_known) && estimate(command, &Params::of(&action["params"])).is_ok()
}

/// Whether every path of an evidence index leads somewhere in the answer it belongs to.
fn evidence_resolves(answer: &Value) -> bool {
    let index = answer["evidence_index"].as_object();
    index.is_some_and(|index| {
        index.values().all(|place| {
            let path = place["path"].as_str().unwrap_or_default();
            path.starts_with("request") || at(answer, path).is_some_and(|value| !value.is_null())
        })
    })
}

/// Whether every account of risks in an answer has the published shape.
fn risks_are_valid(answer: &Value) -> bool {
    fn collect<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
        if let Some(risks) = value
            .get("risk_taxonomy")
            .filter(|risks| risks.get("items").is_some())
        {
            found.push(risks);
        }
        let inner = value
            .as_object()
            .into_iter()
            .flat_map(serde_json::Map::values);
        inner
            .chain(value.as_array().into_iter().flatten())
            .for_each(|one| collect(one, found));
    }
    let mut found = Vec::new();
    collect(answer, &mut found);
    let known = json!(crate::view::RISK_CODES);
    let is_known = |code: &Value| contains(&known, code);
    !found.is_empty()
        && found.iter().all(|risks| {
            let items = risks["items"].as_array();
            let codes = risks["codes"].as_array();
            risks["schema_version"].is_string()
                && risks["known_codes"].as_array().map_or(0, Vec::len) >= 7
                && codes.is_some_and(|codes| codes.iter().all(is_known))
                && items.is_some_and(|items| {
                    items.iter().all(|item| {
                        is_known(&item["code"])
                            && ["low", "medium", "high"]
                                .contains(&item["severity"].as_str().unwrap_or_default())
                            && item["reason"].is_string()
                            && item["evidence_path"].is_string()
                    })
                })
        })
}

/// Names of fields whose values are never names of tools, though they may be spelled alike.
const WORDS: [&str; 2] = ["view", "kind"];

/// Puts the pack's prefix before the names of its tools, wherever they stand alone.
pub fn prefixed(value: &Value, prefix: &str) -> Value {
    if let Some(text) = value.as_str() {
        let is_tool = Command::ALL
            .iter()
            .any(|command| command.tool() == Some(text));
        return if is_tool {
            Value::from(format!("{prefix}{text}"))
        } else {
            value.clone()
        };
    }
    if let Some(all) = value.as_array() {
        return all.iter().map(|one| prefixed(one, prefix)).collect();
    }
    let Some(map) = value.as_object() else {
        return value.clone();
    };
    let path = map.get("path").and_then(Value::as_str);
    let last = path.and_then(|path| path.rsplit('.').next());
    if last.is_some_and(|last| WORDS.contains(&last)) {
        return value.clone();
    }
    map.iter()
        .map(|(name, one)| (name.clone(), prefixed(one, prefix)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_go_through_lists_names_with_dots_and_texts() {
        let answer = json!({"a": [{"b.c": 1}], "text": "{\"d\": [5]}"});
        assert_eq!(at(&answer, "a.0.b.c"), Some(json!(1)));
        assert_eq!(at(&answer, "text.$json.d.0"), Some(json!(5)));
        assert_eq!(at(&answer, "a.1"), None);
    }

    #[test]
    fn each_check_can_fail_and_can_hold() {
        let cases = [
            ("equals", json!(1), json!(1.0), json!(2)),
            ("not_equals", json!(1), json!(2), json!(1)),
            ("length", json!(2), json!([1, 2]), json!([1])),
            ("length_min", json!(2), json!([1, 2, 3]), json!([])),
            ("length_max", json!(1), json!([1]), json!([1, 2])),
            ("min", json!(5), json!(5), json!(4)),
            ("max", json!(5), json!(5), json!(6)),
            ("contains", json!("a"), json!(["a"]), json!(["b"])),
            ("contains", json!("b"), json!("abc"), json!("xyz")),
            ("not_contains", json!("a"), json!(["b"]), json!(["a"])),
            ("contains_any", json!(["a", "b"]), json!("b"), json!("c")),
            (
                "contains_item",
                json!({"x": 1}),
                json!([{"x": 1, "y": 2}]),
                json!([{"x": 2}]),
            ),
            (
                "not_contains_item",
                json!({"x": 1}),
                json!([]),
                json!([{"x": 1}]),
            ),
            ("exists", json!(true), json!(0), json!(null)),
            ("is_null", json!(true), json!(null), json!(0)),
            ("starts_with", json!("ab"), json!("abc"), json!("bc")),
            ("no_such_check", json!(1), json!("never"), json!("never")),
        ];
        for (name, wanted, good, bad) in cases {
            let fails = |value: &Value| {
                !check(&[json!({"path": "v", name: wanted})], &json!({"v": value})).is_empty()
            };
            assert_eq!(fails(&good), name == "no_such_check", "{name}");
            assert!(fails(&bad), "{name}");
        }
        assert!(!check(&[json!({"path": "gone", "equals": 1})], &json!({})).is_empty());
    }

    #[test]
    fn actions_with_parameters_nobody_takes_are_not_executable() {
        let action = |params: Value| json!({"tool": "products.get", "params": params});
        assert!(is_executable(&action(
            json!({"asin": "B0FIXTURE1", "full": true})
        )));
        assert!(!is_executable(&action(
            json!({"asin": "B0FIXTURE1", "fulll": true})
        )));
        assert!(!is_executable(&json!({"tool": "no.such", "params": {}})));
    }

    #[test]
    fn only_names_of_tools_get_the_prefix() {
        let spec = json!({"name": "tracking_list", "x": ["tracking_add", "products_get"], "tracking_list": 1});
        let expected = json!({"name": "keepa.tracking_list", "x": ["tracking_add", "keepa.products_get"], "tracking_list": 1});
        assert_eq!(prefixed(&spec, "keepa."), expected);
        let view = json!({"path": "data.view", "equals": "products_compare"});
        assert_eq!(prefixed(&view, "keepa."), view);
    }
}
