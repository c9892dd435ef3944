//! What compiles, what fits, and what a misfit is told.

use serde_json::json;

use super::*;

#[test]
fn a_reference_that_leads_out_is_refused() {
    for target in [
        "https://example.test/s.json",
        "file:///etc/passwd",
        "other.json",
    ] {
        let schema = json!({"properties": {"a": {"$ref": target}}});
        assert!(matches!(compile(&schema), Err(SchemaError::Remote(_))));
    }
    let inner = json!({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"});
    assert!(compile(&inner).is_ok());
}

#[test]
fn hostile_schemas_are_bounded() {
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({"not": deep});
    }
    assert_eq!(compile(&deep).err(), Some(SchemaError::TooDeep));
    let large = json!({"description": "x".repeat(MAX_BYTES)});
    assert_eq!(compile(&large).err(), Some(SchemaError::TooLarge));
    assert!(compile(&json!({"type": 3})).is_err());
    let backtracking = json!({"pattern": "^(a+)+$"});
    let validator = compile(&backtracking).unwrap();
    assert!(!fits(
        &validator,
        &json!(format!("{}!", "a".repeat(50_000)))
    ));
}

#[test]
fn enums_and_constants_are_named_to_the_last() {
    let many: Vec<String> = (0..300)
        .map(|at| format!("allowed-value-{at:03}"))
        .collect();
    let told = problem(&json!({"enum": many}), &json!("none"));
    assert!(many.iter().all(|value| told.contains(value)), "{told}");
    let constants: Vec<Value> = ["a", "b", "c", "d", "e", "f"]
        .map(|it| json!({"const": it}))
        .into();
    let told = problem(&json!({"anyOf": constants}), &json!("none"));
    assert_eq!(told, r#"value is not one of "a", "b", "c", "d", "e", "f""#);
}

fn fits(checker: &Checker, value: &Value) -> bool {
    checker.at_length(value).unwrap().is_empty()
}

#[track_caller]
fn problem(schema: &Value, value: &Value) -> String {
    let validator = compile_input(schema).unwrap();
    let problems = validator.quickly(value).unwrap();
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    problem.message.clone()
}

#[test]
fn a_property_with_a_default_need_not_be_sent() {
    let inner = json!({"type": "object", "required": ["kind", "name"],
        "properties": {"kind": {"default": "text"}, "name": {"type": "string"}}});
    let schema = json!({"type": "object", "required": ["scale", "fields"], "additionalProperties": false,
        "properties": {"scale": {"enum": ["css", "device"], "default": "css"}, "fields": {"type": "array", "items": inner}}});
    let validator = compile_input(&schema).unwrap();
    assert!(fits(&validator, &json!({"fields": [{"name": "a"}]})));
    assert!(
        !fits(&validator, &json!({"scale": "css"})),
        "fields has no default"
    );
    assert!(!fits(&validator, &json!({"scale": "odd", "fields": []})));
    assert!(!fits(&compile(&schema).unwrap(), &json!({"fields": []})));
    let literal = json!({"const": {"properties": {"a": {"default": 1}}, "required": ["a"]}});
    assert!(fits(&compile_input(&literal).unwrap(), &literal["const"]));
}

#[test]
fn every_value_that_is_allowed_is_named() {
    let many: Vec<String> = (0..40).map(|number| format!("kind-{number}")).collect();
    let said = problem(&json!({"enum": many}), &json!("secret"));
    assert!(
        many.iter().all(|one| said.contains(&format!("\"{one}\""))),
        "{said}"
    );
    assert!(!said.contains("secret"));
    let optional = json!({"anyOf": [{"enum": ["png", "jpeg"]}, {"type": "null"}]});
    let said = problem(&optional, &json!("gif"));
    assert!(said.contains(r#""png", "jpeg""#), "{said}");
    let thousands: Vec<usize> = (0..5000).collect();
    let said = problem(&json!({"enum": thousands}), &json!("x"));
    assert!(said.ends_with('…') && said.len() < 16_100, "{}", said.len());
}

#[test]
fn formats_are_asserted() {
    let validator = compile(&json!({"format": "date"})).unwrap();
    assert!(fits(&validator, &json!("2026-02-28")));
    assert!(!fits(&validator, &json!("2026-02-30")));
}

#[test]
fn schemas_without_an_end_or_with_too_many_patterns_are_refused() {
    for circular in [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}]})] {
        assert_eq!(compile(&circular).err(), Some(SchemaError::Circular));
    }
    let patterns = |count: usize| {
        let each = (0..count).map(|at| json!({"pattern": format!("a{at}")}));
        json!({"anyOf": each.collect::<Vec<_>>()})
    };
    assert!(compile(&patterns(100)).is_ok());
    let refused = compile(&patterns(MAX_PATTERNS + 1)).err();
    assert_eq!(refused, Some(SchemaError::TooExpensive));
}

#[test]
fn a_misfit_that_took_many_steps_is_not_explained() {
    let texts = json!({"items": {"allOf": vec![json!({"type": "string"}); 400]}});
    let checker = compile(&texts).unwrap();
    let problems = |values: u32| {
        let numbers = json!((0..values).collect::<Vec<_>>());
        checker.at_length(&numbers).unwrap()
    };
    assert_eq!(problems(2)[0].at, "/0");
    let unexplained = Problem {
        at: String::new(),
        message: "the value does not fit, and is too large to say where".to_owned(),
    };
    assert_eq!(problems(5_000), [unexplained]);
}
