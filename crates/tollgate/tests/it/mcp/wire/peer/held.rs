//! A tool that runs until a test lets it end, so that nothing depends on how long anything takes.

use std::fs;

use serde_json::{Value, json};

use crate::{support::TestEnv, upstream::section};

/// One call of a server behind the gate that is under way as long as a test wants.
pub(in super::super) struct Held {
    file: String,
}

impl Held {
    /// The tool; nobody vouches for it, so it is a side effect.
    pub(in super::super) const TOOL: &'static str = "mcp.s.wait";

    /// A user whose gate knows the tool from the start; `own` is for the server's section.
    pub(in super::super) fn with(own: &str, config: &str) -> (TestEnv, Self) {
        let env = TestEnv::with_config(&format!("{}{config}", section("s", "legacy", own)));
        env.run(&["mcp", "status"]).exits(0);
        let held = Self {
            file: env.path("let-it-end").display().to_string(),
        };
        (env, held)
    }

    pub(in super::super) fn call(&self) -> Value {
        json!({"name": Self::TOOL, "arguments": {"until": self.file}})
    }

    /// Lets it end.
    pub(in super::super) fn end(&self) {
        fs::write(&self.file, "").unwrap();
    }
}
