//! Checks of the bound on validation, on arbitrary bytes: a schema, a line `%%`, and a value.
//!
//! Invariant: a function returns for every input; it panics only where a property does not hold.

use std::time::{Duration, Instant};

use serde_json::Value;
use tollgate_core::depth::within_depth;

use super::{compile, compile_input};

/// What a validation of few steps may take on a slow machine, with checks of the compiler switched on.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whatever compiles is checked, or refused, within its bound of work; twice with the same result.
pub fn schema_budget(data: &[u8]) {
    let Some((schema, value)) = pair(data) else {
        return;
    };
    let begun = Instant::now();
    for checker in [compile(&schema), compile_input(&schema)]
        .into_iter()
        .flatten()
    {
        let quick = checker.quickly(&value);
        let all = checker.at_length(&value);
        assert!(begun.elapsed() < PATIENCE, "validation took too long");
        if let Some(quick) = quick {
            assert_eq!(Ok(quick), all, "a second check differs");
        }
    }
    assert!(begun.elapsed() < PATIENCE, "compiling took too long");
}

/// The schema and the value, both as deep as JSON may be.
fn pair(data: &[u8]) -> Option<(Value, Value)> {
    let text = std::str::from_utf8(data).ok()?;
    let (schema, value) = text.split_once("\n%%\n")?;
    let read = |text: &str| {
        let shallow = within_depth(text.as_bytes());
        shallow.then(|| serde_json::from_str(text).ok()).flatten()
    };
    Some((read(schema)?, read(value)?))
}
