//! Schemas and instances that are made to take long, each against the code that is in use.

use std::{fmt::Write as _, sync::mpsc, time::Duration};

use serde_json::{Map, Value, json};

use super::*;

/// How long one attack may hold a thread.
const PATIENCE: Duration = Duration::from_secs(12);

/// Nine levels of eight references each.
fn levels(keyword: &str, levels: usize, width: usize, leaf: Value) -> Value {
    let mut defs = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        let many = Value::Array(vec![next.clone(); width]);
        let made = match keyword {
            "not" => json!({"not": next, "allOf": many}),
            "if" => json!({"if": next, "then": next, "else": next}),
            "items" => json!({"allOf": vec![json!({"items": next}); width]}),
            "additionalProperties" => {
                json!({"allOf": vec![json!({"additionalProperties": next}); width]})
            }
            "patternProperties" => {
                let each = (0..width).map(|at| (format!("^a{{0,{at}}}"), next.clone()));
                json!({"patternProperties": each.collect::<Map<_, _>>()})
            }
            "dependentSchemas" => {
                let each = (0..width).map(|at| (format!("k{at}"), next.clone()));
                json!({"dependentSchemas": each.collect::<Map<_, _>>()})
            }
            "unevaluatedProperties" => {
                json!({"allOf": many, "unevaluatedProperties": false})
            }
            "unevaluatedItems" => json!({"anyOf": many, "unevaluatedItems": false}),
            "contains" => json!({"allOf": vec![json!({"contains": next}); width]}),
            "propertyNames" => json!({"allOf": vec![json!({"propertyNames": next}); width]}),
            "properties" => {
                let each = (0..width).map(|at| (format!("k{at}"), next.clone()));
                json!({"properties": each.collect::<Map<_, _>>()})
            }
            other => json!({other: many}),
        };
        defs.insert(format!("l{level}"), made);
    }
    defs.insert(format!("l{levels}"), leaf);
    json!({"$defs": defs, "$ref": "#/$defs/l0"})
}

fn nested(wrap: impl Fn(Value) -> Value, depth: usize, leaf: Value) -> Value {
    (0..depth).fold(leaf, |inner, _| wrap(inner))
}

fn arrays(depth: usize) -> Value {
    nested(|inner| json!([inner]), depth, json!(1))
}

fn objects(depth: usize) -> Value {
    nested(|inner| json!({"a": inner}), depth, json!(1))
}

fn flat(keys: usize) -> Value {
    let fields = (0..keys).map(|at| (format!("k{at}"), json!(at)));
    Value::Object(fields.collect())
}

/// A chain of references, none of which leads into the instance.
fn chain(links: usize) -> Value {
    let mut defs = Map::new();
    for at in 0..links {
        defs.insert(
            format!("c{at}"),
            json!({"$ref": format!("#/$defs/c{}", at + 1)}),
        );
    }
    defs.insert(format!("c{links}"), json!({"type": "integer"}));
    json!({"$defs": defs, "$ref": "#/$defs/c0"})
}

fn attacks() -> Vec<(&'static str, Value, Value)> {
    let never = json!({"const": "never"});
    let mut all = in_place(&never);
    all.extend(into_the_instance(&never));
    all.extend(cycles());
    all.extend(large());
    all
}

fn in_place(never: &Value) -> Vec<(&'static str, Value, Value)> {
    let mut all = Vec::new();
    for keyword in ["anyOf", "oneOf", "not", "if"] {
        all.push((
            keyword,
            levels(keyword, 9, 8, never.clone()),
            json!({"a": 1}),
        ));
        all.push((
            keyword,
            levels(keyword, 30, 2, never.clone()),
            json!({"a": 1}),
        ));
    }
    let anything = json!({"type": "object"});
    for keyword in ["allOf", "oneOf", "dependentSchemas"] {
        let seven = levels(keyword, 9, 8, anything.clone());
        all.push((keyword, seven, flat(8)));
    }
    all.push((
        "anyOf array",
        levels("unevaluatedItems", 9, 8, never.clone()),
        arrays(3),
    ));
    let evaluated = levels("unevaluatedProperties", 5, 3, anything);
    all.push(("unevaluatedProperties", evaluated, flat(2000)));
    let open = |inner| json!({"allOf": [inner], "unevaluatedProperties": {"type": "integer"}});
    all.push(("unevaluated nest", nested(open, 20, json!({})), flat(100)));
    all.push(("a chain of references", chain(9000), json!(1)));
    let dynamic = json!({"$dynamicAnchor": "n", "anyOf": [
        {"type": "array", "items": {"$dynamicRef": "#n"}}, {"items": {"$dynamicRef": "#n"}},
        {"items": {"$dynamicRef": "#n"}, "not": {}}, {"const": 2}]});
    all.push(("$dynamicRef", dynamic, arrays(100)));
    all
}

fn into_the_instance(never: &Value) -> Vec<(&'static str, Value, Value)> {
    let wide = nested(|inner| json!([inner, inner]), 6, json!(1));
    vec![
        ("items", levels("items", 40, 2, json!({})), arrays(60)),
        (
            "additionalProperties",
            levels("additionalProperties", 40, 2, json!({})),
            objects(60),
        ),
        (
            "patternProperties",
            levels("patternProperties", 30, 4, json!({})),
            objects(60),
        ),
        ("contains", levels("contains", 40, 2, json!({})), arrays(60)),
        ("contains", levels("contains", 9, 8, never.clone()), wide),
        (
            "propertyNames",
            levels("propertyNames", 9, 8, never.clone()),
            flat(3),
        ),
        (
            "properties",
            levels("properties", 40, 8, json!({})),
            flat(8),
        ),
    ]
}

fn cycles() -> Vec<(&'static str, Value, Value)> {
    let twice = json!({"anyOf": [
        {"items": {"$ref": "#"}, "contains": {"const": 3}}, {"items": {"$ref": "#"}}]});
    let union = json!({"$ref": "#/$defs/f", "$defs": {"f": {"anyOf": [
        {"properties": {"a": {"$ref": "#/$defs/f"}, "op": {"const": "and"}}, "required": ["op"]},
        {"properties": {"a": {"$ref": "#/$defs/f"}, "op": {"const": "or"}}, "required": ["op"]},
        {"properties": {"a": {"$ref": "#/$defs/f"}, "op": {"const": "no"}}, "required": ["op"]}]}}});
    let mut all = vec![
        ("two ways round a cycle", twice, arrays(100)),
        ("a union that refers to itself", union, objects(100)),
        (
            "a cycle at one place",
            json!({"allOf": [{"$ref": "#"}]}),
            json!(1),
        ),
        ("a reference to itself", json!({"$ref": "#"}), json!(1)),
        (
            "two at one place",
            json!({"$ref": "#/$defs/a", "$defs": {
            "a": {"not": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
            json!(1),
        ),
        (
            "a dynamic cycle at one place",
            json!({"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]}),
            json!(1),
        ),
        (
            "a cycle by anchor",
            json!({"$anchor": "a", "anyOf": [{"$ref": "#a"}]}),
            json!(1),
        ),
    ];
    let evaluated = json!({"$ref": "#/$defs/n", "$defs": {"n": {
        "anyOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}, {"properties": {"b": {}}}],
        "unevaluatedProperties": {"$ref": "#/$defs/n"}}}});
    all.push(("unevaluated in a cycle", evaluated, objects(100)));
    all
}

fn large() -> Vec<(&'static str, Value, Value)> {
    let many: Vec<Value> = (0..60_000).map(|at| json!({"a": {"b": at}})).collect();
    let same: Vec<Value> = vec![json!({"a": {"b": 1}}); 20_000];
    let allowed: Vec<Value> = (0..20_000).map(|at| json!([at, {"a": "b"}])).collect();
    let numbers: Vec<Value> = (0..100_000).map(|at| json!([at, {"a": "c"}])).collect();
    let distinct: Vec<Value> = (0..100_000).map(|at| json!(f64::from(at) + 0.5)).collect();
    let mut patterns = Map::new();
    let mut all_patterns = String::new();
    for at in 0..3000 {
        patterns.insert(format!("(a|b|ab)*{at}$"), json!({"type": "integer"}));
        write!(all_patterns, "{at}").unwrap();
    }
    let long_keys = (0..200).map(|at| (format!("{}{at}", "ab".repeat(2500)), json!(1)));
    vec![
        ("uniqueItems", json!({"uniqueItems": true}), json!(many)),
        (
            "uniqueItems of numbers",
            json!({"uniqueItems": true}),
            json!(distinct),
        ),
        (
            "uniqueItems alike",
            json!({"items": {"uniqueItems": true}}),
            json!([same]),
        ),
        (
            "a huge enum",
            json!({"items": {"enum": allowed}}),
            json!(numbers),
        ),
        (
            "patterns and keys",
            json!({"patternProperties": patterns}),
            Value::Object(long_keys.collect()),
        ),
        (
            "a large pattern",
            json!({"pattern": "[ab]*a[ab]{2000}c$"}),
            json!("ab".repeat(500_000)),
        ),
        (
            "larger patterns",
            json!({"allOf": vec![json!({"pattern": "([ab]{1,90}){1,90}c$"}); 40]}),
            json!("ab".repeat(500_000)),
        ),
        (
            "a pattern as an instance",
            json!({"format": "regex"}),
            json!("(((((a{1000}){1000}){1000}){1000}){1000})"),
        ),
        (
            "patterns as instances",
            json!({"items": {"format": "regex"}}),
            json!(vec![json!("((\\w{100}){100}){100}"); 10_000]),
        ),
        (
            "many errors",
            json!({"items": {"allOf": vec![json!({"type": "string"}); 400]}}),
            json!((0..100_000).collect::<Vec<_>>()),
        ),
    ]
}

#[test]
fn attacks_end_soon() {
    let mut slow = Vec::new();
    for (name, schema, instance) in attacks() {
        let (send, receive) = mpsc::channel();
        let at = std::time::Instant::now();
        std::thread::spawn(move || {
            let verdict = match compile(&schema) {
                Ok(checker) => format!("{:?}", checker.at_length(&instance).map(|it| it.len())),
                Err(error) => error.to_string(),
            };
            drop(send.send(verdict));
        });
        let verdict = receive.recv_timeout(PATIENCE);
        eprintln!("{name}: {:?} {verdict:?}", at.elapsed());
        if verdict.is_err() {
            slow.push(name);
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}
