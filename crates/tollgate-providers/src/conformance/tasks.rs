//! Tools that take their time, for clients that understand tasks.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::{Answer, CallContext, Deferral, ErrorCode, InputAsk, ProviderError};

use super::{
    answers::text,
    asks::{Heard, ask, form},
    native,
};

/// How long a job takes that takes no particular time.
const JOB: Duration = Duration::from_millis(200);

/// Whether a call is better made as a task.
pub(super) fn deferral(tool: &str, has_answers: bool) -> Deferral {
    match tool {
        "slow_compute" | "protocol_error_job" | "confirm_delete" | "multi_input" => {
            Deferral::Possible
        }
        "failing_job" => Deferral::Required,
        // It asks first, and takes its time only then.
        "test_tool_with_task" if has_answers => Deferral::Required,
        _ => Deferral::Never,
    }
}

/// Answers one of the tools below; nothing if it is none of them.
pub(super) async fn call(
    tool: &str,
    arguments: &Value,
    cx: &CallContext,
) -> Option<Result<Answer, ProviderError>> {
    let heard = Heard(cx.responses.as_ref());
    Some(match tool {
        "greet" => {
            let name = arguments["name"].as_str().unwrap_or("World");
            Ok(text(&format!("Hello, {name}!")))
        }
        "slow_compute" => {
            let seconds = arguments["seconds"]
                .as_f64()
                .unwrap_or(0.0)
                .clamp(0.0, 600.0);
            let label = arguments["label"].as_str().unwrap_or("nothing");
            let said = format!("{label} took {seconds} seconds");
            after(Duration::from_secs_f64(seconds), cx, || Ok(text(&said))).await
        }
        "failing_job" => {
            let failed = json!({
                "isError": true,
                "content": [{"type": "text", "text": "the job failed, as it always does"}],
            });
            after(JOB, cx, || Ok(native(failed))).await
        }
        "protocol_error_job" => {
            let broken = ProviderError::new(ErrorCode::Internal, "the job broke");
            after(JOB, cx, || Err(broken)).await
        }
        "confirm_delete" => {
            let file = arguments["filename"].as_str().unwrap_or("a file");
            Ok(match heard.chosen("confirm", "confirm") {
                Some(true) => text(&format!("{file} would be deleted")),
                Some(false) => text(&format!("{file} stays")),
                None => ask(vec![("confirm", confirm(file))], String::new()),
            })
        }
        "multi_input" => Ok(several(&heard)),
        "test_tool_with_task" => match heard.field("user_name", "name") {
            Some(name) => {
                let said = format!("the task of {name} is done");
                after(JOB, cx, || Ok(text(&said))).await
            }
            None => Ok(ask(
                vec![("user_name", name("What is your name?"))],
                String::new(),
            )),
        },
        _ => return None,
    })
}

/// Two questions at once; whoever answers one still owes the other.
fn several(heard: &Heard<'_>) -> Answer {
    let names = (heard.field("first", "name"), heard.field("second", "name"));
    match names {
        (Some(first), Some(second)) => text(&format!("{first} and {second}")),
        (_, _) => ask(
            vec![
                ("first", name("Who is the first?")),
                ("second", name("Who is the second?")),
            ],
            String::new(),
        ),
    }
}

fn confirm(file: &str) -> InputAsk {
    let message = format!("Delete {file}?");
    form(
        &message,
        json!({"confirm": {"type": "boolean"}}),
        &["confirm"],
    )
}

fn name(message: &str) -> InputAsk {
    form(message, json!({"name": {"type": "string"}}), &["name"])
}

/// Answers after a while, unless it is called off.
async fn after(
    time: Duration,
    cx: &CallContext,
    answer: impl FnOnce() -> Result<Answer, ProviderError>,
) -> Result<Answer, ProviderError> {
    tokio::select! {
        () = tokio::time::sleep(time) => answer(),
        () = cx.cancel.cancelled() => {
            Err(ProviderError::new(ErrorCode::Cancelled, "it was called off"))
        }
    }
}
