//! Input that is wrong, hostile or broken off: the right error, and nothing else disturbed.

mod budgets;
mod connections;
mod headers;
mod limits;
mod messages;
mod refusals;
mod sessions;
mod strangers;
mod vanished;

use super::peer::{Ask, Gate};
use crate::support::TestEnv;

/// How many endings have this code.
fn endings(env: &TestEnv, code: &str) -> usize {
    let rows = env.recorded();
    let endings = rows.iter().filter(|row| row["kind"] == "ending");
    endings.filter(|row| row["error_code"] == code).count()
}

const MALFORMED: &str = "tool.gate.request.malformed";

/// Fails the test unless others are served as if nothing had happened.
#[track_caller]
fn undisturbed(gate: &Gate) {
    let done = gate.call("text.stats", serde_json::json!({"text": "hello"}));
    assert_eq!(done["structuredContent"]["characters"], 5);
}

/// A good call.
fn good() -> Ask {
    Ask::call("text.stats", serde_json::json!({"text": "hello"}))
}
