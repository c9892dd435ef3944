//! `tollgate call --output`: a picture or file of an answer, written where the person says.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use tollgate_core::Block;
use tollgate_engine::Outcome;

use super::{Scene, Stop};

/// Writes the first binary content of an answer.
pub(super) fn save(outcome: &Outcome, file: &Path, scene: &Scene<'_>) -> Result<(), Stop> {
    let mut found = outcome.blocks.get().iter().filter_map(content);
    let Some(bytes) = found.next() else {
        return Err(Stop::failed("the answer has nothing to write to a file"));
    };
    let path = scene.environment.current_dir.join(file);
    std::fs::write(&path, &bytes)
        .map_err(|error| Stop::usage(format!("{}: {error}", file.display())))?;
    let line = format!("{} has {} bytes", file.display(), bytes.len());
    scene.console.note(&line);
    Ok(())
}

/// The bytes of a picture, a sound or an embedded file.
fn content(block: &Block) -> Option<Vec<u8>> {
    let block = block.0.value();
    let data = block
        .get("data")
        .or_else(|| block.get("resource")?.get("blob"));
    STANDARD.decode(data.and_then(Value::as_str)?).ok()
}
