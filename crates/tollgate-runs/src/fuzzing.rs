//! Checks of templates and of their expressions on arbitrary bytes, for the fuzz targets and the tests that repeat
//! them.
//!
//! Invariant: a function returns for every input; it panics only where a property does not hold.

use serde_json::{Value, json};

use crate::{
    expression::{Expression, Scope, is_true},
    graph::mermaid,
    parse,
};

/// The largest value that an expression of this length may come to, over inputs of a few bytes.
const LARGEST: usize = 64 << 20;

/// An expression is worth the same each time and stays small; a template is read the same each time or has problems.
pub fn template_expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(expression) = Expression::parse(text) {
        check_expression(&expression, text);
    }
    match parse("t.yaml", text) {
        Ok(template) => {
            let again = parse("t.yaml", text).map(|it| it.digest);
            assert_eq!(again.as_ref(), Ok(&template.digest), "read twice");
            assert!(template.calls().all(|(id, _)| !id.is_empty()));
            assert!(!mermaid(&template).is_empty(), "a drawing");
        }
        Err(problems) => assert!(!problems.is_empty(), "refused without a problem"),
    }
}

fn check_expression(expression: &Expression, text: &str) {
    let inputs = json!({
        "n": 3, "list": ["a", "b", "c", 4, null, [1], {"k": "v"}, 0.5], "text": "h\u{e9}llo",
        "deep": {"x y": [10, 20]}, "no": null,
    });
    let run = json!({"id": "run_1"});
    let item = json!({"url": "u", "n": 2});
    let scope = Scope {
        inputs: &inputs,
        run: &run,
        item: Some((&item, 1)),
        data: Some(&inputs),
        steps: None,
    };
    let worth = expression.evaluate(&scope);
    assert!(size(&worth) <= LARGEST, "a small expression is worth a lot");
    assert_eq!(worth, expression.evaluate(&scope), "worth something else");
    assert_eq!(is_true(&worth), is_true(&worth.clone()));
    if !text.contains("{{") && !text.contains("}}") {
        let marked = Expression::parse(&format!("{{{{ {text} }}}}"));
        assert_eq!(marked.as_ref(), Ok(expression), "with braces");
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
    }
}
