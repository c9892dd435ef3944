//! What a gateway says of itself while its state is held, full, unsynced or replaced.

mod crash;
mod disk;
mod hangup;
mod shim;
mod stopped;
mod unacknowledged;

use serde_json::Value;

/// The error that the result of a call is.
#[track_caller]
fn failure(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}
