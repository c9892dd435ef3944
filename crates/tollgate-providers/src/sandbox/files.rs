//! `sandbox.write_files` and `sandbox.collect_outputs`.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tollgate_core::{CallContext, ProviderError, toolset::bounds};
use tollgate_sandbox::{Entry, EntryKind, Purpose, Workspace};

use super::work::{Work, hex, misuse};

/// The most that one answer of `sandbox.collect_outputs` holds; as JSON it can be twice that.
const MAX_COLLECTED: u64 = 6 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteArgs {
    /// The files to write.
    #[serde(default)]
    #[schemars(length(max = 200))]
    files: Vec<NewFile>,
    /// Files and folders to delete first.
    #[serde(default)]
    #[schemars(length(max = 200), inner(length(min = 1, max = 1024)))]
    delete: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewFile {
    /// Where, below the workspace.
    #[schemars(length(min = 1, max = 1024))]
    path: String,
    /// The content, as text.
    #[serde(default)]
    #[schemars(length(max = bounds::TEXT), extend("x-code" = true))]
    content: Option<String>,
    /// The content, as base64.
    #[serde(default)]
    #[schemars(length(max = bounds::TEXT), extend("x-code" = true))]
    base64: Option<String>,
    /// Whether it can be run as a program.
    #[serde(default)]
    executable: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Written {
    /// What was written.
    written: Vec<WrittenFile>,
    /// What was deleted.
    deleted: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct WrittenFile {
    path: String,
    bytes: u64,
    #[schemars(extend("x-identifier" = true))]
    sha256: String,
}

pub(super) async fn write_files(
    work: Arc<Work>,
    args: WriteArgs,
    cx: CallContext,
) -> Result<Written, ProviderError> {
    let mut files = Vec::new();
    for file in args.files {
        let bytes = match (file.content, file.base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(coded)) => STANDARD.decode(coded).map_err(|_| {
                ProviderError::rejected(format!("the content of `{}` is not base64", file.path))
            })?,
            (None, None) | (Some(_), Some(_)) => {
                return Err(ProviderError::rejected(format!(
                    "send either `content` or `base64` for `{}`",
                    file.path
                )));
            }
        };
        files.push((file.path, bytes, file.executable));
    }
    let delete = args.delete;
    work.with_workspace(&cx, move |work, workspace, _| {
        for path in &delete {
            workspace.remove(path).map_err(misuse)?;
        }
        let mut written = Vec::new();
        for (path, bytes, executable) in files {
            let kind = if executable {
                Purpose::Program
            } else {
                Purpose::Data
            };
            workspace
                .write(&path, &bytes, kind, &work.quota())
                .map_err(misuse)?;
            written.push(WrittenFile {
                path,
                bytes: bytes.len() as u64,
                sha256: hex(&Sha256::digest(&bytes)),
            });
        }
        Ok(Written {
            written,
            deleted: delete,
        })
    })
    .await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CollectArgs {
    /// Files to give; a folder ends with `/`. All, if nothing is said.
    #[serde(default)]
    #[schemars(length(max = 200), inner(length(min = 1, max = 1024)))]
    paths: Option<Vec<String>>,
    /// Whether contents are given, or only names, sizes and digests.
    #[serde(default = "yes")]
    contents: bool,
    /// How much of each file is given.
    #[serde(default = "piece")]
    #[schemars(range(min = 1, max = 4_194_304))]
    max_bytes: u64,
    /// Where in each file to begin.
    #[serde(default)]
    offset: u64,
}

fn yes() -> bool {
    true
}

fn piece() -> u64 {
    64 << 10
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Collected {
    /// What is in the workspace, in the order of paths.
    files: Vec<OutputFile>,
    /// Whether this is all that was asked for.
    complete: bool,
    /// Files whose content is not here to its end, because they or all together are too large.
    left_out: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct OutputFile {
    /// Below the workspace.
    path: String,
    /// `file`, `folder`, `link` or `other`.
    kind: &'static str,
    /// Of all of it.
    bytes: u64,
    /// Of all of it; for plain files.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-identifier" = true))]
    sha256: Option<String>,
    /// The content, if it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// The content, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// Whether there is more after this piece.
    truncated: bool,
}

pub(super) async fn collect_outputs(
    work: Arc<Work>,
    args: CollectArgs,
    cx: CallContext,
) -> Result<Collected, ProviderError> {
    let paths: Option<Vec<String>> = args.paths.map(|paths| {
        let below = |path: &String| {
            let below = path.strip_prefix("/workspace/").unwrap_or(path);
            below.strip_prefix("./").unwrap_or(below).to_owned()
        };
        paths.iter().map(below).collect()
    });
    work.with_workspace(&cx, move |work, workspace, _| {
        let most = usize::try_from(work.settings.limits.files).unwrap_or(usize::MAX);
        let (entries, is_all) = workspace.list(most).map_err(misuse)?;
        let wanted = |entry: &Entry| {
            let is_named = |path: &String| match path.strip_suffix('/') {
                Some(_) => entry.path.starts_with(path.as_str()),
                None => entry.path == *path,
            };
            paths
                .as_ref()
                .is_none_or(|paths| paths.iter().any(is_named))
        };
        let chosen: Vec<Entry> = entries.into_iter().filter(wanted).collect();
        for path in paths.iter().flatten() {
            let is_there = |entry: &Entry| entry.path.starts_with(path.as_str());
            if !path.ends_with('/') && !chosen.iter().any(is_there) {
                // The same check and words as for reading it.
                workspace.read(path, 0, 0).map_err(misuse)?;
            }
        }
        let mut left = if args.contents { MAX_COLLECTED } else { 0 };
        let mut collected = Collected {
            files: Vec::new(),
            complete: is_all,
            left_out: Vec::new(),
        };
        for entry in chosen {
            let take = args.max_bytes.min(left);
            let file = output(workspace, &entry, args.offset, take)?;
            let given = |text: &Option<String>| text.as_ref().map_or(0, String::len) as u64;
            left = left.saturating_sub(given(&file.content) + given(&file.base64));
            if file.truncated && args.contents {
                collected.complete = false;
                collected.left_out.push(file.path.clone());
            }
            collected.files.push(file);
        }
        Ok(collected)
    })
    .await
}

fn output(
    workspace: &Workspace,
    entry: &Entry,
    offset: u64,
    take: u64,
) -> Result<OutputFile, ProviderError> {
    let mut file = OutputFile {
        path: entry.path.clone(),
        kind: match entry.kind {
            EntryKind::File => "file",
            EntryKind::Folder => "folder",
            EntryKind::Link => "link",
            EntryKind::Other => "other",
        },
        bytes: entry.bytes,
        sha256: None,
        content: None,
        base64: None,
        truncated: false,
    };
    if entry.kind != EntryKind::File {
        return Ok(file);
    }
    // Its size is bounded by the quota, so all of it may be read for the digest.
    let Ok((whole, total)) = workspace.read(&entry.path, 0, u64::MAX) else {
        // A name that is no text, or a file nobody may read, hides itself and not the others.
        file.truncated = true;
        return Ok(file);
    };
    file.bytes = total;
    file.sha256 = Some(hex(&Sha256::digest(&whole)));
    let from = usize::try_from(offset)
        .unwrap_or(usize::MAX)
        .min(whole.len());
    let rest = &whole[from..];
    let take = usize::try_from(take).unwrap_or(usize::MAX);
    let piece = &rest[..take.min(rest.len())];
    file.truncated = piece.len() < rest.len();
    if take == 0 {
        return Ok(file);
    }
    match text(piece) {
        Some(text) => file.content = Some(text.to_owned()),
        None => file.base64 = Some(STANDARD.encode(piece)),
    }
    Ok(file)
}

/// A piece as text, if it is; a character is never cut in two, the piece is then base64.
fn text(piece: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(piece).ok()?;
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    (!text.chars().any(is_control)).then_some(text)
}
