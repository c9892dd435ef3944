//! Tools that answer at once, or after saying how far they are.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::{Answer, CallContext, Event, LogLevel};

use super::native;

/// One red pixel, as PNG.
pub(super) const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// A WAV file without a single sample.
const AUDIO: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// How long a tool that reports takes between two reports.
const PAUSE: Duration = Duration::from_millis(50);

/// A result that is one text.
pub(super) fn text(said: &str) -> Answer {
    native(json!({"content": [{"type": "text", "text": said}]}))
}

/// Answers one of the tools below; nothing if it is none of them.
pub(super) async fn call(tool: &str, arguments: &Value, cx: &CallContext) -> Option<Answer> {
    let image = json!({"type": "image", "data": IMAGE, "mimeType": "image/png"});
    Some(match tool {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => native(json!({"content": [image]})),
        "test_audio_content" => native(json!({"content": [
            {"type": "audio", "data": AUDIO, "mimeType": "audio/wav"},
        ]})),
        "test_embedded_resource" => native(json!({"content": [embedded(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]})),
        "test_multiple_content_types" => native(json!({"content": [
            {"type": "text", "text": "Multiple content types test:"},
            image,
            embedded(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ]})),
        "test_error_handling" => native(json!({
            "isError": true,
            "content": [{
                "type": "text",
                "text": "This tool intentionally returns an error for testing",
            }],
        })),
        "test_tool_with_progress" => with_progress(cx).await,
        "test_tool_with_logging" | "test_logging_tool" => with_logging(tool, cx).await,
        "test_reconnection" => {
            // Whoever hears something before the answer is answered by a stream.
            log(cx, "the answer takes a moment");
            pause(cx).await;
            text("the answer came after a pause")
        }
        "test_header_param" => {
            let region = arguments["region"].as_str().unwrap_or("nowhere");
            text(&format!("the region is {region}"))
        }
        "json_schema_2020_12_tool" => text(&format!("the arguments fit: {arguments}")),
        "test_changing_tool" => text("this tool comes and goes"),
        _ => return None,
    })
}

fn embedded(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({
        "type": "resource",
        "resource": {"uri": uri, "mimeType": mime_type, "text": text},
    })
}

async fn with_progress(cx: &CallContext) -> Answer {
    for done in [0.0, 50.0, 100.0] {
        cx.events.emit(Event::Progress {
            done,
            total: Some(100.0),
            message: Some(format!("{done} of 100")),
        });
        pause(cx).await;
    }
    text("three reports of progress were made")
}

/// The modern suite waits half a second only, so nothing is paused for it.
async fn with_logging(tool: &str, cx: &CallContext) -> Answer {
    let lines = [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ];
    for line in lines {
        log(cx, line);
        if tool == "test_tool_with_logging" {
            pause(cx).await;
        }
    }
    text("three lines were logged")
}

fn log(cx: &CallContext, line: &str) {
    cx.events.emit(Event::Log {
        level: LogLevel::Info,
        logger: Some(super::ID.to_owned()),
        data: json!(line),
    });
}

async fn pause(cx: &CallContext) {
    tokio::select! {
        () = tokio::time::sleep(PAUSE) => {}
        () = cx.cancel.cancelled() => {}
    }
}
