//! Pages side by side.

use serde_json::json;

use super::{Site, both_ways, fits, run, world};
use crate::support::Lines;

#[test]
fn pages_are_compared_field_by_field() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let (north, south) = (site.url("/north"), site.url("/south"));
    let inputs = json!({"urls": [north, south]});
    let (run, kept) = both_ways(&mut lines, "multi_tab_compare", &inputs);
    assert_eq!(run["status"], "succeeded", "{run:#}");
    let result = &run["result"];
    assert_eq!(
        result["summary"],
        json!({"total": 2, "succeeded": 2, "failed": 0})
    );
    let wanted = json!(["Lamp", "From 6 crowns", "In stock"]);
    assert_eq!(result["snapshots"][1]["topSections"], wanted, "{run:#}");
    // Titles differ in case and space only, and both pages have one link.
    let diffs = result["diffs"].as_array().unwrap();
    assert_eq!(diffs.len(), 1, "{run:#}");
    assert_eq!(diffs[0]["field"], "topSections");
    assert_eq!(diffs[0]["changedPositions"], json!([2]));
    assert_eq!(diffs[0]["values"][&south], wanted);
    assert_eq!(kept["diffs"], result["diffs"]);
    fits(&mut lines, "multi_tab_compare", result);
    lines.end();
    lines.wait();
    env.whole();
}

#[test]
fn a_page_that_fails_leaves_the_others_to_be_compared() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let (north, script) = (site.url("/north"), site.url("/script"));
    let inputs = json!({
        "urls": [site.url("/broken"), north, script],
        "compare": {"fields": ["title", "elementCount"], "numericTolerance": 0},
    });
    let ran = run(&mut lines, "multi_tab_compare", inputs, "auto");
    assert_eq!(ran["data"]["status"], "partial_success", "{ran:#}");
    let result = &ran["data"]["result"];
    assert_eq!(result["snapshots"][0]["success"], false);
    assert_eq!(
        result["snapshots"][0]["error"]["errorCode"], "EXECUTION_ERROR",
        "{ran:#}"
    );
    let diffs = result["diffs"].as_array().unwrap();
    assert_eq!(diffs.len(), 1, "{ran:#}");
    assert_eq!(
        (&diffs[0]["field"], &diffs[0]["values"][&script]),
        (&json!("title"), &json!("Drawn"))
    );
    // One page is nothing to compare, and below half the run has failed.
    let inputs = json!({"urls": [site.url("/broken"), site.url("/broken?2"), north]});
    let ran = run(&mut lines, "multi_tab_compare", inputs, "auto");
    let code = &ran["error"]["details"]["stepErrorCode"];
    assert_eq!(code, "EXECUTION_ERROR", "{ran:#}");
    let result = &ran["data"]["result"];
    assert_eq!(
        (&result["diffs"], &result["summary"]["succeeded"]),
        (&json!([]), &json!(1))
    );
    fits(&mut lines, "multi_tab_compare", result);
    lines.end();
    lines.wait();
}

#[test]
fn what_is_not_read_cannot_be_compared() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let urls = json!([site.url("/north"), site.url("/south")]);
    let many: Vec<String> = (0..11).map(|it| site.url(&format!("/held/{it}"))).collect();
    for inputs in [
        json!({"urls": urls, "extract": {"pageInfo": false}}),
        json!({"urls": urls, "extract": {"pageInfo": false}, "compare": {"fields": ["title"]}}),
        json!({"urls": urls, "extract": {"content": false}, "compare": {"topSections": 2}}),
        json!({"urls": urls, "compare": {"topSections": 21}}),
        json!({"urls": urls, "compare": {"fields": ["price"]}}),
        json!({"urls": many}),
        json!({"urls": []}),
    ] {
        let ran = run(&mut lines, "multi_tab_compare", inputs.clone(), "auto");
        assert_eq!(
            ran["error"]["errorCode"], "INVALID_PARAMETER",
            "{inputs} {ran:#}"
        );
    }
    lines.end();
    lines.wait();
}
