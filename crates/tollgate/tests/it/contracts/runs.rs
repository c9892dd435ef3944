//! The shapes of runs: examples of every request and answer, as others write them, fit our schemas.

use serde_json::{Value, json};
use tollgate_core::{ErrorCode, Failure, envelope};

use super::specs;

fn check(name: &str, schema: &Value, example: &Value) {
    let validator = jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap();
    let problems: Vec<String> = validator
        .iter_errors(example)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{name}: {problems:?}\n{example}");
}

/// A tool, what it is asked, and what it answers.
fn examples() -> Vec<(&'static str, Value, Vec<Value>)> {
    let started = json!({"runId": "run_7", "status": "queued", "createdAt": 1_739_000_000_000_i64});
    let going = json!({
        "runId": "run_7", "templateId": "sample_pages", "status": "running",
        "progress": {"totalSteps": 12, "doneSteps": 5}, "metrics": {"elapsedMs": 4100},
    });
    let succeeded = json!({
        "runId": "run_7", "templateId": "sample_pages", "status": "succeeded",
        "progress": {"totalSteps": 1, "doneSteps": 1}, "metrics": {"elapsedMs": 900},
        "result": {
            "summary": {"total": 1, "succeeded": 1, "failed": 0},
            "items": [{"url": "https://docs.example/one", "title": "One", "success": true}],
        },
    });
    let partly = json!({
        "runId": "run_7", "templateId": "sample_pages", "status": "partial_success",
        "progress": {"totalSteps": 12, "doneSteps": 12}, "metrics": {"elapsedMs": 16_000},
        "result": {"summary": {"total": 6, "succeeded": 5, "failed": 1}, "items": []},
        "artifacts": [{"artifactId": "art_9", "type": "json", "size": 2048}],
    });
    let whole = json!({
        "artifactId": "art_9", "mimeType": "application/json", "size": 4,
        "data": "bnVsbA==", "complete": true,
    });
    let piece = json!({
        "artifactId": "art_9", "mimeType": "text/csv", "size": 700_000,
        "data": "YSxiCg==", "offset": 0, "bytesReturned": 4, "complete": false,
    });
    vec![
        (
            "get_runtime_profile",
            json!({}),
            vec![json!({
                "runtimeVersion": "0.2.0",
                "limits": {"maxConcurrentRuns": 5, "maxRunTimeoutMs": 900_000, "maxArtifactInlineBytes": 262_144},
            })],
        ),
        (
            "list_task_templates",
            json!({}),
            vec![json!({"templates": [{
                "templateId": "sample_pages", "version": "1.0.0", "name": "Sample pages",
                "trustLevelSupport": ["local", "remote"],
                "limits": {"maxUrls": 100, "maxConcurrency": 2},
                "inputsSchema": {"type": "object"}, "outputsSchema": {"type": "object"},
            }]})],
        ),
        (
            "run_task_template",
            json!({
                "templateId": "sample_pages", "templateVersion": "1.0.0", "sessionId": "sess_a",
                "inputs": {"urls": ["https://docs.example/one"]},
                "options": {"timeoutMs": 60_000, "mode": "auto"},
            }),
            vec![started, succeeded.clone()],
        ),
        (
            "get_task_run",
            json!({"runId": "run_7"}),
            vec![going, succeeded, partly],
        ),
        (
            "list_task_runs",
            json!({"status": "running", "templateId": "sample_pages", "limit": 20, "offset": 0}),
            vec![json!({"runs": [{
                "runId": "run_7", "templateId": "sample_pages", "status": "running",
                "createdAt": 1_739_000_000_000_i64, "updatedAt": 1_739_000_001_000_i64,
            }]})],
        ),
        (
            "cancel_task_run",
            json!({"runId": "run_7"}),
            vec![json!({"cancelRequested": true, "currentStatus": "running"})],
        ),
        (
            "get_artifact",
            json!({"artifactId": "art_9", "offset": 0, "limit": 262_144}),
            vec![whole, piece],
        ),
    ]
}

#[tokio::test]
async fn every_request_and_answer_fits() {
    let specs = specs().await;
    for (tool, asked, answers) in examples() {
        let spec = specs
            .iter()
            .find(|spec| spec.name.as_str() == tool)
            .unwrap();
        check(tool, &spec.input_schema, &asked);
        for answer in answers {
            check(tool, spec.output_schema.as_deref().unwrap(), &answer);
        }
    }
}

#[test]
fn an_error_carries_the_documents_code_hint_and_details() {
    let failure = Failure {
        document_code: Some("STEP_EXECUTION_FAILED".to_owned()),
        recover_hint: Some("try a smaller batch".to_owned()),
        ..Failure::new(ErrorCode::ToolFailed, "a step failed")
            .with("runId", "run_7")
            .with("failedStep", "open")
            .with("stepErrorCode", "NAVIGATION_TIMEOUT")
    };
    let shown = json!(failure);
    assert_eq!(shown["errorCode"], "STEP_EXECUTION_FAILED");
    assert_eq!(shown["recoverHint"], "try a smaller batch");
    assert_eq!(shown["details"]["failedStep"], "open");
    let schema = envelope::schema(None);
    check("error", &schema["properties"]["error"], &shown);
}
