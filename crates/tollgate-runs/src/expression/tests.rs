//! The language, example by example.

use serde_json::{Value, json};

use super::{Expression, Scope, Shape, evaluate::LONGEST, is_true};
use crate::read::read;

fn scope<'a>(inputs: &'a Value, run: &'a Value) -> Scope<'a> {
    Scope {
        inputs,
        run,
        item: None,
        data: None,
        steps: None,
    }
}

fn worth(text: &str) -> Value {
    let inputs =
        json!({"n": 3, "list": ["a", "b"], "text": "héllo", "deep": {"x y": [10, 20]}, "no": null});
    let run = json!({"id": "run_1"});
    let expression = Expression::parse(text).unwrap();
    expression.evaluate(&scope(&inputs, &run)).into_owned()
}

#[test]
fn expressions_are_worth_what_they_say() {
    for (text, value) in [
        ("inputs.n", json!(3)),
        ("{{ inputs.n }}", json!(3)),
        ("inputs.n >= 3 && size(inputs.list) < 3", json!(true)),
        ("inputs.n == 3.0", json!(true)),
        ("!exists(inputs.no) || false", json!(true)),
        ("inputs.deep['x y'][1]", json!(20)),
        ("inputs.list[7].a.b", Value::Null),
        ("default(inputs.missing, 'x')", json!("x")),
        ("size(inputs.text)", json!(5)),
        ("contains(inputs.list, 'b')", json!(true)),
        ("min(inputs.n, 2, 9)", json!(2)),
        ("join(inputs.list, '-')", json!("a-b")),
        ("if(inputs.n > 2, 'many', 'few')", json!("many")),
        ("if(inputs.no, 'many', null)", Value::Null),
        ("first(inputs.text, 2)", json!("hé")),
        ("first(inputs.list, 1)", json!(["a"])),
        ("first(inputs.list, 9)", json!(["a", "b"])),
        ("first(inputs.list, inputs.no)", json!(["a", "b"])),
        ("first(inputs.n, 0)", json!(3)),
        ("inputs.text < 3", json!(false)),
        ("-1 < 0", json!(true)),
        ("(1 == 2) || (2 == 2)", json!(true)),
        ("steps.a.data", Value::Null),
        ("run.id != null", json!(true)),
    ] {
        assert_eq!(worth(text), value, "{text}");
    }
    assert!(is_true(&json!("x")) && !is_true(&json!([])));
}

#[test]
fn what_is_joined_again_and_again_stays_bounded() {
    let mut nested = "inputs.text".to_owned();
    for _ in 0..20 {
        nested = format!("join(inputs.many, {nested})");
    }
    let inputs = json!({"many": ["a", "b", "\u{e9}", "c", "d"], "text": "h\u{e9}llo"});
    let expression = Expression::parse(&nested).unwrap();
    let worth = expression.evaluate(&scope(&inputs, &Value::Null));
    assert!(worth.as_str().unwrap().len() <= LONGEST);
}

#[test]
fn what_makes_no_sense_is_refused_when_it_is_read() {
    let deep = "!".repeat(100) + "true";
    let long = "1 == 1 && ".repeat(1000) + "true";
    for text in [
        "", "a.", "a[", "a[x]", "1 +", "size()", "nope(1)", "'open", "a b", "(1", "a == ", "a $ b",
        &deep, &long,
    ] {
        assert!(Expression::parse(text).is_err(), "{text}");
    }
}

#[test]
fn shapes_keep_types_and_leave_out_what_is_not_there() {
    let node = read(
        "{a: '{{ inputs.list }}', b: 'n={{ inputs.n }}!', c: '{{ inputs.no }}', d: [1, '{{ inputs.no }}'], e: x}",
    )
    .unwrap();
    let shape = Shape::read(&node).unwrap();
    let inputs = json!({"n": 3, "list": [1]});
    let filled = shape.fill(&scope(&inputs, &Value::Null));
    assert_eq!(
        filled,
        json!({"a": [1], "b": "n=3!", "d": [1, null], "e": "x"})
    );
    assert!(shape.is_known_early());
    assert!(Shape::read(&read("a: '{{ open'").unwrap()).is_err());
}
