//! The JSON-line log: exactly the events and fields of document 001, section 6.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tollgate_core::{ErrorCode, ProviderError};
use tollgate_engine::{Request, record::LogEvent};
use tollgate_testkit::fakes::{fails, says};

use crate::support::{Setup, World, request, spec_kept, spec_read};

#[tokio::test]
async fn every_call_writes_the_events_and_fields_of_the_document() {
    let world = shop().await;
    world.call("shelf.look", "{}").await;
    world.call("shelf.look", "{}").await;
    world.call("shelf.doubt", "{}").await;
    world
        .ask(Request {
            attempt: 2,
            ..request("shelf.fails", "{}")
        })
        .await;
    world.call("shelf.unheard_of", "{}").await;
    let lines: Vec<String> = world.log.written().into_iter().map(steady).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    {"event":"agent_tool_call","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.look","status":"running","duration_ms":null,"error_code":null,"warnings_count":null,"provider":null,"cache_hit":null}
    {"event":"agent_tool_done","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.look","status":"completed","duration_ms":0,"error_code":null,"warnings_count":1,"provider":"fake","cache_hit":false}
    {"event":"agent_reflect_pass","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.look","status":"completed","duration_ms":0,"error_code":null,"warnings_count":1,"provider":"fake","cache_hit":false}
    {"event":"agent_tool_call","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.look","status":"running","duration_ms":null,"error_code":null,"warnings_count":null,"provider":null,"cache_hit":null}
    {"event":"agent_tool_done","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.look","status":"completed","duration_ms":0,"error_code":null,"warnings_count":1,"provider":"fake","cache_hit":true}
    {"event":"agent_tool_call","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.doubt","status":"running","duration_ms":null,"error_code":null,"warnings_count":null,"provider":null,"cache_hit":null}
    {"event":"agent_tool_done","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.doubt","status":"completed","duration_ms":0,"error_code":null,"warnings_count":0,"provider":"fake","cache_hit":false}
    {"event":"agent_reflect_fail","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.doubt","status":"completed","duration_ms":0,"error_code":null,"warnings_count":0,"provider":"fake","cache_hit":false}
    {"event":"agent_tool_call","session_id":"s1","request_id":"[call]","iteration":2,"tool":"shelf.fails","status":"running","duration_ms":null,"error_code":null,"warnings_count":null,"provider":null,"cache_hit":null}
    {"event":"agent_tool_done","session_id":"s1","request_id":"[call]","iteration":2,"tool":"shelf.fails","status":"error","duration_ms":0,"error_code":"tool.provider.run.failed","warnings_count":0,"provider":"fake","cache_hit":false}
    {"event":"agent_tool_call","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.unheard_of","status":"running","duration_ms":null,"error_code":null,"warnings_count":null,"provider":null,"cache_hit":null}
    {"event":"agent_tool_done","session_id":"s1","request_id":"[call]","iteration":1,"tool":"shelf.unheard_of","status":"error","duration_ms":0,"error_code":"tool.gate.resolve.unknown_tool","warnings_count":0,"provider":null,"cache_hit":false}
    "#);
}

#[test]
fn the_events_are_those_of_the_document() {
    let all = [
        LogEvent::AgentPlanStart,
        LogEvent::AgentPlanDone,
        LogEvent::AgentToolCall,
        LogEvent::AgentToolDone,
        LogEvent::AgentReflectPass,
        LogEvent::AgentReflectFail,
        LogEvent::AgentAggregateStart,
        LogEvent::AgentAggregateDone,
        LogEvent::AgentFinalizeDone,
    ];
    let names: Vec<_> = all.iter().map(|event| json!(event)).collect();
    assert_eq!(
        names,
        [
            "agent_plan_start",
            "agent_plan_done",
            "agent_tool_call",
            "agent_tool_done",
            "agent_reflect_pass",
            "agent_reflect_fail",
            "agent_aggregate_start",
            "agent_aggregate_done",
            "agent_finalize_done",
        ]
    );
}

#[tokio::test]
async fn a_name_that_carries_a_secret_is_logged_without_it() {
    let world = shop().await;
    world
        .call(
            "mail ann@example.com https://x.test/?token=abcdef0123456789",
            "{}",
        )
        .await;
    let text: String = world.log.written().iter().map(Value::to_string).collect();
    assert!(!text.contains("ann@example.com"), "{text}");
    assert!(!text.contains("abcdef0123456789"), "{text}");
}

/// The line without what differs from run to run.
fn steady(mut line: Value) -> String {
    assert_eq!(line["request_id"].as_str().unwrap().len(), 32);
    line["request_id"] = json!("[call]");
    if line["duration_ms"].is_u64() {
        line["duration_ms"] = json!(0);
    }
    line.to_string()
}

async fn shop() -> World {
    Setup::new()
        .tool(
            spec_kept("shelf.look"),
            says(json!({"mail": "ann@example.com"})),
        )
        .tool(
            spec_read("shelf.doubt"),
            says(json!({"verdict": "uncertain"})),
        )
        .tool(
            spec_read("shelf.fails"),
            fails(|| ProviderError::new(ErrorCode::ToolFailed, "no")),
        )
        .build()
        .await
}
