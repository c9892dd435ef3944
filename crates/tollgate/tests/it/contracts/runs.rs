//! The shapes of runs: every example of document 004, request or answer, fits our schemas.

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

/// How many examples the document has: every request and every answer.
const EXAMPLES: usize = 20;

/// A tool, what it is asked, and what it answers: the document's own fields and values, where
/// those are not words.
fn examples() -> Vec<(&'static str, Vec<Value>, Vec<Value>)> {
    let going = json!({
        "runId": "run_123", "templateId": "batch_extract_pages", "status": "running",
        "progress": {"totalSteps": 20, "doneSteps": 8}, "metrics": {"elapsedMs": 5230},
    });
    let succeeded = json!({
        "runId": "run_123", "templateId": "batch_extract_pages", "status": "succeeded",
        "progress": {"totalSteps": 2, "doneSteps": 2}, "metrics": {"elapsedMs": 3200},
        "result": {
            "summary": {"total": 2, "succeeded": 2, "failed": 0},
            "items": [{"url": "https://example.com/a", "title": "Page A", "success": true}],
        },
    });
    let partly = json!({
        "runId": "run_123", "templateId": "batch_extract_pages", "status": "partial_success",
        "progress": {"totalSteps": 20, "doneSteps": 20}, "metrics": {"elapsedMs": 18_022},
        "result": {"summary": {"total": 10, "succeeded": 9, "failed": 1}, "items": []},
        "artifacts": [{"artifactId": "art_1", "type": "json", "size": 12_043}],
    });
    // The form of its section 7.2, as a run that failed carries it.
    let failed = json!({
        "runId": "run_123", "templateId": "batch_extract_pages", "status": "failed",
        "progress": {"totalSteps": 20, "doneSteps": 8}, "metrics": {"elapsedMs": 5230},
        "error": {
            "error": "a step did not work", "errorCode": "STEP_EXECUTION_FAILED",
            "recoverHint": "use fewer pages at once",
            "details": {
                "runId": "run_123", "failedStep": "navigate",
                "stepErrorCode": "NAVIGATION_TIMEOUT",
            },
        },
    });
    let run_id = json!({"runId": "run_123"});
    vec![
        (
            "get_runtime_profile",
            vec![json!({})],
            vec![json!({
                "runtimeVersion": "0.2.0",
                "limits": {"maxConcurrentRuns": 5, "maxRunTimeoutMs": 900_000, "maxArtifactInlineBytes": 262_144},
            })],
        ),
        (
            "list_task_templates",
            vec![json!({})],
            vec![json!({"templates": [{
                "templateId": "batch_extract_pages", "version": "1.0.0", "name": "Many pages",
                "trustLevelSupport": ["local", "remote"],
                "limits": {"maxUrls": 1000, "maxConcurrency": 5},
                "inputsSchema": {"type": "object"}, "outputsSchema": {"type": "object"},
            }]})],
        ),
        (
            "run_task_template",
            vec![json!({
                "templateId": "batch_extract_pages", "templateVersion": "1.0.0",
                "sessionId": "sess_xxx", "inputs": {"urls": ["https://example.com/a"]},
                "options": {"timeoutMs": 120_000, "mode": "auto"},
            })],
            vec![
                json!({"runId": "run_123", "status": "queued", "createdAt": 1_739_145_600_000_i64}),
                succeeded,
            ],
        ),
        (
            "get_task_run",
            vec![run_id.clone()],
            vec![going, partly, failed],
        ),
        (
            "list_task_runs",
            vec![
                json!({"status": "running", "templateId": "batch_extract_pages", "limit": 20, "offset": 0}),
            ],
            vec![json!({"runs": [{
                "runId": "run_123", "templateId": "batch_extract_pages", "status": "running",
                "createdAt": 1_739_145_600_000_i64, "updatedAt": 1_739_145_605_230_i64,
            }]})],
        ),
        (
            "cancel_task_run",
            vec![run_id],
            vec![json!({"cancelRequested": true, "currentStatus": "running"})],
        ),
        artifact_examples(),
    ]
}

fn artifact_examples() -> (&'static str, Vec<Value>, Vec<Value>) {
    let asked = vec![
        json!({"artifactId": "art_1", "offset": 0, "limit": 262_144}),
        json!({"artifactId": "art_2"}),
        json!({"artifactId": "art_2", "offset": 262_144}),
    ];
    let answered = vec![
        json!({
            "artifactId": "art_1", "mimeType": "application/json", "size": 1024,
            "data": "bnVsbA==", "complete": true,
        }),
        json!({
            "artifactId": "art_2", "mimeType": "text/csv", "size": 5_242_880,
            "data": "YSxiCg==", "offset": 0, "bytesReturned": 262_144, "complete": false,
        }),
    ];
    ("get_artifact", asked, answered)
}

#[tokio::test]
async fn every_request_and_answer_fits() {
    let specs = specs().await;
    let mut checked = 0;
    for (tool, asked, answers) in examples() {
        let spec = specs
            .iter()
            .find(|spec| spec.name.as_str() == tool)
            .unwrap();
        checked += asked.len() + answers.len();
        for request in asked {
            check(tool, &spec.input_schema, &request);
        }
        for answer in answers {
            check(tool, spec.output_schema.as_deref().unwrap(), &answer);
        }
    }
    assert_eq!(checked, EXAMPLES);
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
