//! Examples of every rule of elision, and its invariants for any JSON.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn limits(bytes: usize) -> TextLimits {
    TextLimits {
        bytes,
        string_bytes: usize::MAX,
    }
}

#[track_caller]
fn shortened(value: &Value, bytes: usize) -> Value {
    let elision = elided(&value.to_string(), limits(bytes)).unwrap();
    assert!(!elision.is_complete, "{}", elision.text);
    assert!(elision.text.len() <= bytes, "{}", elision.text);
    serde_json::from_str(&elision.text).unwrap()
}

/// An object as `get_task_run` answers it.
fn run() -> Value {
    let step = |number: usize| {
        json!({"stepId": format!("step-{number}"), "status": "succeeded",
            "output": {"text": "A page about bridges. ".repeat(60), "links": vec!["https://example.org/"; 40]}})
    };
    json!({
        "runId": "run-1", "status": "running", "templateId": "batch_extract_pages",
        "progress": {"percent": 62.5, "currentStep": "extract", "completedSteps": 25, "totalSteps": 40},
        "steps": (0..40).map(step).collect::<Vec<_>>(),
        "result": {"items": (0..200).map(|at| json!({"url": format!("https://example.org/{at}"), "text": "x".repeat(900)})).collect::<Vec<_>>()},
        "metrics": {"elapsedMs": 10_250, "retries": 1, "bytesRead": 1_048_576},
        "summary": "25 of 40 pages were read. ".repeat(12),
        "error": null,
    })
}

#[test]
fn progress_metrics_status_and_summary_of_a_run_stay() {
    let run = run();
    assert!(run.to_string().len() > 200_000);
    let short = shortened(&run, 16_384);
    for name in [
        "runId",
        "status",
        "templateId",
        "progress",
        "metrics",
        "summary",
        "error",
    ] {
        assert_eq!(short[name], run[name], "{name}");
    }
    assert_eq!(short["steps"][0]["stepId"], "step-0");
    assert_eq!(short["result"]["items"][0]["url"], "https://example.org/0");
    let said = short["steps"].as_array().unwrap().last().unwrap();
    assert!(said.as_str().unwrap().ends_with(" more items"), "{said}");
}

#[test]
fn small_objects_stand_in_a_list_as_they_are() {
    let rows = json!([{"a": 1}, {"b": [2, 3]}, {"c": "four"}]);
    let short = shortened(&json!({"rows": rows, "text": "long ".repeat(9000)}), 4096);
    assert_eq!(short["rows"], rows);
    let text = short["text"].as_str().unwrap();
    assert!(text.starts_with("long long"), "{text}");
    assert!(text.ends_with("… (45000 bytes in all)"), "{text}");
}

#[test]
fn a_list_keeps_its_first_items_and_counts_the_rest() {
    let rows: Vec<Value> = (0..1000)
        .map(|id| json!({"id": id, "name": "Brücke"}))
        .collect();
    let short = shortened(&json!({"total": 1000, "rows": rows}), 2048);
    let kept = short["rows"].as_array().unwrap();
    let (note, kept) = kept.split_last().unwrap();
    assert!(kept.len() > 40, "{}", kept.len());
    assert_eq!(kept, &rows[..kept.len()]);
    assert_eq!(note, &json!(format!("… {} more items", 1000 - kept.len())));
}

#[test]
fn large_items_of_a_list_share_its_room() {
    let product = |id: usize| json!({"asin": format!("B{id:09}"), "history": vec![id; 9000], "title": "Lamp"});
    let products: Vec<Value> = (0..20).map(product).collect();
    let short = shortened(&json!({"products": products}), 16_384);
    let kept = short["products"].as_array().unwrap();
    assert!(kept.len() >= 5, "{}", kept.len());
    assert_eq!(kept[3]["asin"], "B000000003");
    assert_eq!(kept[3]["title"], "Lamp");
}

#[test]
fn more_fields_than_fit_are_counted_and_scalars_come_first() {
    let mut wide = serde_json::Map::new();
    for number in 0..900 {
        wide.insert(format!("list{number}"), json!([1, 2, 3]));
    }
    wide.insert("verdict".to_owned(), json!("uncertain"));
    let short = shortened(&Value::Object(wide), 1024);
    assert_eq!(short["verdict"], "uncertain");
    let fields = short.as_object().unwrap();
    let missing = 901 - (fields.len() - 1);
    assert_eq!(short["…"], format!("{missing} more fields"));
}

#[test]
fn strings_are_cut_between_characters_and_numbers_keep_their_spelling() {
    let text = format!(
        r#"{{"n":12345678901234567890123.10,"t":"{}"}}"#,
        "关".repeat(200)
    );
    let short = elided(&text, limits(256)).unwrap().text;
    assert!(
        short.starts_with(r#"{"n":12345678901234567890123.10,"t":"关关"#),
        "{short}"
    );
    assert!(short.ends_with("关… (600 bytes in all)\"}"), "{short}");
}

#[test]
fn one_string_has_a_limit_of_its_own() {
    let json = json!({"a": "é".repeat(3000), "b": [{"c": "x".repeat(100)}]}).to_string();
    let limits = TextLimits {
        bytes: 16_384,
        string_bytes: 4096,
    };
    let elision = elided(&json, limits).unwrap();
    let short: Value = serde_json::from_str(&elision.text).unwrap();
    let cut = short["a"].as_str().unwrap();
    assert!(cut.len() <= 4096 && cut.len() > 4000, "{}", cut.len());
    assert_eq!(short["b"][0]["c"], "x".repeat(100));
    assert!(!elision.is_complete);
    assert_eq!(
        elided(
            &json,
            TextLimits {
                bytes: 16_384,
                string_bytes: 6000
            }
        ),
        None
    );
}

#[test]
fn half_characters_and_endless_numbers_are_no_trouble() {
    let odd = format!(
        r#"{{"a":["\ud800{0}"],"\udfff{0}":1,"n":{1}}}"#,
        "x".repeat(500),
        "9".repeat(500)
    );
    for bytes in [48, 100, 300, 1000] {
        let short = elided(&odd, limits(bytes)).unwrap().text;
        assert!(short.len() <= bytes, "{short}");
        assert!(serde_json::from_str::<Value>(&short).is_ok(), "{short}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
        (1..2000_usize).prop_map(|count| Value::from("关\"\n\u{1}".repeat(count))),
    ];
    leaf.prop_recursive(5, 200, 24, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..24).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,12}", inner, 0..24)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Whether a shortened value is one that its original can be shortened to.
fn is_of(short: &Value, whole: &Value) -> bool {
    match (short, whole) {
        (Value::String(short), Value::String(whole)) => {
            short == whole
                || short.split_once("… (").is_some()
                    && short.ends_with(&format!("… ({} bytes in all)", whole.len()))
                    && whole.starts_with(short.rsplit_once("… (").map_or("", |it| it.0))
        }
        (Value::Array(short), Value::Array(whole))
            if short.len() == whole.len()
                && short
                    .iter()
                    .zip(whole)
                    .all(|(short, whole)| is_of(short, whole)) =>
        {
            true
        }
        (Value::Array(short), Value::Array(whole)) => {
            let Some((note, kept)) = short.split_last() else {
                return false;
            };
            let left = whole.len() - kept.len();
            note == &Value::from(format!("… {left} more items"))
                && kept
                    .iter()
                    .zip(whole)
                    .all(|(short, whole)| is_of(short, whole))
        }
        (Value::Object(short), Value::Object(whole)) => {
            let kept = |name: &String| whole.contains_key(name);
            short.iter().all(|(name, value)| {
                whole.get(name).is_some_and(|whole| is_of(value, whole))
                    || name == NOTE
                        && *value
                            == format!(
                                "{} more fields",
                                whole.len() - short.keys().filter(|name| kept(name)).count()
                            )
            })
        }
        (short, whole) => short == whole,
    }
}

proptest! {
    #[test]
    fn what_comes_out_fits_is_json_and_part_of_the_whole(value in any_json(), bytes in 48..6000_usize, longest in 48..3000_usize) {
        let json = value.to_string();
        let limits = TextLimits { bytes, string_bytes: longest };
        match elided(&json, limits) {
            None => prop_assert!(json.len() <= bytes),
            Some(elision) => {
                prop_assert!(elision.text.len() <= bytes, "{} of {bytes}", elision.text.len());
                let short: Value = serde_json::from_str(&elision.text).unwrap();
                let whole: Value = serde_json::from_str(&json).unwrap();
                prop_assert!(is_of(&short, &whole), "{short}");
                prop_assert_eq!(elided(&json, limits).unwrap(), elision);
            }
        }
    }

    #[test]
    fn scalars_stay_while_they_fit(value in any_json(), scalars in prop::collection::vec(any::<i64>(), 1..20)) {
        let mut fields = serde_json::Map::new();
        fields.insert("large".to_owned(), value);
        for (number, scalar) in scalars.iter().enumerate() {
            fields.insert(format!("s{number}"), Value::from(*scalar));
        }
        let json = Value::Object(fields).to_string();
        if let Some(elision) = elided(&json, limits(1024)) {
            let short: Value = serde_json::from_str(&elision.text).unwrap();
            for (number, scalar) in scalars.iter().enumerate() {
                prop_assert_eq!(&short[format!("s{number}")], &Value::from(*scalar));
            }
        }
    }
}

#[test]
fn what_says_how_it_went_goes_before_hundreds_of_small_fields() {
    let mut result: serde_json::Map<String, Value> = (0..400)
        .map(|at| (format!("field{at}"), json!("x".repeat(60))))
        .collect();
    let summary = json!({"succeeded": 25, "failed": 15, "reasons": vec!["no answer"; 9]});
    result.insert("summary".to_owned(), summary.clone());
    let short = shortened(&json!({"status": "failed", "result": result}), 4096);
    assert_eq!(short["status"], "failed");
    assert_eq!(short["result"]["summary"], summary);
}
