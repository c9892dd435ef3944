//! `tollgate call --output`: a picture or file of an answer, written where the person says.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use tollgate_core::{Block, Payload};
use tollgate_engine::Outcome;

use super::{Scene, Stop};

/// Writes the first binary content of an answer, or the artifact that it is.
pub(super) fn save(outcome: &Outcome, file: &Path, scene: &Scene<'_>) -> Result<(), Stop> {
    let data = outcome.envelope.get().data.as_ref().map(Payload::value);
    let mut found = outcome.blocks.get().iter().filter_map(content);
    let Some(bytes) = found.next().or_else(|| piece(data?)) else {
        return Err(Stop::failed("the answer has nothing to write to a file"));
    };
    let is_piece = data.is_some_and(|data| data["complete"] == false);
    let path = scene.environment.current_dir.join(file);
    std::fs::write(&path, &bytes)
        .map_err(|error| Stop::usage(format!("{}: {error}", file.display())))?;
    let mut line = format!("{} has {} bytes", file.display(), bytes.len());
    if is_piece {
        line.push_str(", which is not all of it; `offset` in the arguments reads on");
    }
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

/// The bytes of what `get_artifact` answers.
fn piece(data: &Value) -> Option<Vec<u8>> {
    data.get("artifactId")?;
    STANDARD.decode(data.get("data")?.as_str()?).ok()
}
