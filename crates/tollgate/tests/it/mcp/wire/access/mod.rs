//! Who may speak to `tollgate serve`, how much, and until when.

mod announced;
mod anonymous;
mod figures;
mod load;
mod oauth;
mod shutdown;
mod tokens;

use super::peer::Ask;
use crate::support::TestEnv;

/// Callers without a token beside those with one.
pub(super) const BESIDE: &str = "[serve]\nanonymous = true\n";

/// Makes a token for calling, with these bounds.
pub(super) fn bearer(env: &TestEnv, bounds: &[&str]) -> String {
    let mut arguments = vec!["token", "create", "--quiet"];
    arguments.extend(bounds);
    env.run(&arguments).exits(0).out.trim().to_owned()
}

fn list() -> Ask {
    Ask::modern("tools/list", serde_json::json!({}))
}
