//! `docs.propose_edit`, `docs.apply_edit` and `docs.revert`.

use std::{io, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::{
    CallContext, ErrorCode, ProviderError, Tool, ToolCall, ToolSet, canonical::hex_digest,
};

use super::{
    Settings,
    edit::{self, Conflict, Edit, Reason, Refused},
    kept::{Applied, Proposal, Shelf},
    place::{self, Content, Place, PlaceError},
};

const PROPOSE: &str = "docs.propose_edit";
const APPLY: &str = "docs.apply_edit";
const REVERT: &str = "docs.revert";

/// The longest difference: a person has to be able to read all of it.
const MAX_DIFF: usize = 64 << 10;

/// What the tools share.
pub(super) struct Desk {
    settings: Settings,
    /// Files change one after the other.
    turn: tokio::sync::Mutex<()>,
}

impl Desk {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            turn: tokio::sync::Mutex::default(),
        }
    }

    fn proposals(&self) -> Shelf {
        Shelf::proposals(self.settings.proposal_ttl)
    }

    fn versions(&self) -> Shelf {
        Shelf::versions(self.settings.keep)
    }
}

pub(super) fn all(desk: Arc<Desk>) -> ToolSet<Desk> {
    let mut propose = Tool::read(
        PROPOSE,
        "Propose an edit of a document",
        "Works out a change of a text file and shows it as a unified diff; writes nothing. Name the file as \
         `folder/path`, and for each edit either `old` (text that stands in the file once) or `start_line` and \
         `end_line`, and `new`. All edits speak of the file as it is now. Success: `proposal_id`, `diff` and its \
         `digest`; show the diff to the user and call docs.apply_edit. `conflicts` says which edits do not fit: \
         read the file again and propose anew. Not text, too large or outside the folders: rejected.",
    )
    .sets(&["documents"]);
    propose.annotations.open_world = true;
    let apply = Tool {
        confirm: true,
        ..Tool::write(
            APPLY,
            "Apply a proposed edit",
            "Makes exactly the change that docs.propose_edit has shown, after a human has agreed to that diff. \
             Success: the file is the new version, and docs.revert can take it back. Fails if the file has \
             changed since: nothing is written; propose the edit anew. An unknown proposal has ended or is somebody else's.",
        )
        .sets(&["documents"])
    };
    let revert = Tool {
        confirm: true,
        ..Tool::write(
            REVERT,
            "Take an applied edit back",
            "Puts back the version that was there before docs.apply_edit, after a human has agreed. Success: the \
             file is what it was. Fails if the file has changed since it was applied: nothing is written; propose \
             an edit instead.",
        )
        .sets(&["documents"])
    };
    ToolSet::sharing("docs", desk)
        .tool(propose, propose_edit)
        .tool(apply, apply_edit)
        .tool(revert, revert_edit)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProposeArgs {
    /// The file: the name of its folder, `/`, and the path below it.
    #[schemars(length(min = 3, max = 1024))]
    file: String,
    /// The changes, all of the file as it is now.
    #[schemars(length(min = 1, max = 200))]
    edits: Vec<Edit>,
    /// Makes a fresh file, whose lines are inserted at `start_line` 1, `end_line` 0.
    #[serde(default)]
    create: bool,
    /// The SHA-256 of the version you have read; another version is a conflict.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    base_digest: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Proposed {
    /// What docs.apply_edit wants; absent if there are conflicts.
    #[schemars(extend("x-identifier" = true, "x-volatile" = true))]
    proposal_id: Option<String>,
    /// The file, links followed.
    file: String,
    /// The change, as a unified diff.
    diff: Option<String>,
    /// The SHA-256 of the diff.
    #[schemars(extend("x-identifier" = true))]
    digest: Option<String>,
    /// The SHA-256 of the file as it is; absent if there is none yet.
    #[schemars(extend("x-identifier" = true))]
    base_digest: Option<String>,
    /// The SHA-256 of the file as it would be.
    #[schemars(extend("x-identifier" = true))]
    new_digest: Option<String>,
    /// The edits that do not fit, and why.
    conflicts: Vec<Conflict>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApplyArgs {
    /// The `proposal_id` that docs.propose_edit gave.
    #[schemars(length(min = 1, max = 64))]
    proposal_id: String,
}

#[derive(Serialize, JsonSchema)]
struct Changed {
    /// What docs.revert wants.
    #[schemars(extend("x-identifier" = true, "x-volatile" = true))]
    proposal_id: String,
    /// The file.
    file: String,
    /// Whether this call changed it; not if it was that version already.
    changed: bool,
    /// The SHA-256 of the diff that was agreed to.
    #[schemars(extend("x-identifier" = true))]
    digest: String,
    /// The SHA-256 of the version before; absent if there was no file.
    #[schemars(extend("x-identifier" = true))]
    old_digest: Option<String>,
    /// The SHA-256 of the version now; absent if there is no file any more.
    #[schemars(extend("x-identifier" = true))]
    new_digest: Option<String>,
    /// If this call changed it: whether it is certain that no other program was writing the file
    /// at that moment. False where its file system cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    exclusive: Option<bool>,
}

async fn propose_edit(
    desk: Arc<Desk>,
    args: ProposeArgs,
    cx: CallContext,
) -> Result<Proposed, ProviderError> {
    let shared = Arc::clone(&desk);
    let worked = tokio::task::spawn_blocking(move || work_out(&shared.settings, &args));
    let (proposed, proposal) = worked.await.map_err(ProviderError::unavailable)??;
    if let (Some(proposal), Some(id)) = (&proposal, &proposed.proposal_id) {
        let now = desk.settings.clock.now();
        desk.proposals().put(&cx, id, proposal, now).await?;
    }
    Ok(proposed)
}

fn work_out(
    settings: &Settings,
    args: &ProposeArgs,
) -> Result<(Proposed, Option<Proposal>), ProviderError> {
    let most = settings.file_bytes;
    let place = place::find(&settings.roots, &args.file).map_err(refused)?;
    let content = place.read(most).map_err(refused)?;
    match (&content, args.create) {
        (None, false) => return Err(refused(PlaceError::NotFound(place.file))),
        (Some(_), true) => return Err(refused(PlaceError::Exists(place.file))),
        (None, true) | (Some(_), false) => {}
    }
    let old = content.as_ref().map(|content| content.text.as_str());
    let base = content.as_ref().map(|content| content.digest.clone());
    let mut proposed = Proposed {
        proposal_id: None,
        file: place.file.clone(),
        diff: None,
        digest: None,
        base_digest: base.clone(),
        new_digest: None,
        conflicts: Vec::new(),
    };
    if args.base_digest.is_some() && args.base_digest != base {
        proposed.conflicts.push(Conflict {
            edit: None,
            reason: Reason::FileChanged,
            message: "the file is not the version whose digest you gave; read it again".to_owned(),
            lines: Vec::new(),
        });
        return Ok((proposed, None));
    }
    let edited = match edit::apply(old.unwrap_or_default(), &args.edits, most) {
        Ok(edited) => edited,
        Err(Refused::Conflicts(conflicts)) => {
            proposed.conflicts = conflicts;
            return Ok((proposed, None));
        }
        Err(Refused::TooLarge) => return Err(refused(PlaceError::TooLarge(place.file, most))),
    };
    if edited.text.contains('\0') {
        return Err(ProviderError::rejected("a text may not hold a zero byte"));
    }
    if edited.lines.is_empty() && content.is_some() {
        return Err(ProviderError::rejected("these edits change nothing"));
    }
    let mut proposal = Proposal {
        file: place.file,
        base,
        made: hex_digest(edited.text.as_bytes()),
        text: edited.text,
        digest: String::new(),
        lines: edited.lines,
    };
    let diff = proposal.diff(old);
    if diff.len() > MAX_DIFF {
        return Err(ProviderError {
            suggestion: Some("Propose it in parts that a person can read.".to_owned()),
            ..ProviderError::rejected(format!("the difference is larger than {MAX_DIFF} bytes"))
        });
    }
    proposal.digest = hex_digest(diff.as_bytes());
    proposed.proposal_id = Some(proposal.id());
    proposed.digest = Some(proposal.digest.clone());
    proposed.new_digest = Some(proposal.made.clone());
    proposed.diff = Some(diff);
    Ok((proposed, Some(proposal)))
}

/// Where a change stands: the file, and the version that is there now.
struct Standing {
    place: Place,
    content: Option<Content>,
}

impl Standing {
    fn digest(&self) -> Option<&str> {
        self.content.as_ref().map(|content| content.digest.as_str())
    }
}

/// Looks at the file of a change as it is now.
async fn standing(desk: &Arc<Desk>, file: &str) -> Result<Standing, ProviderError> {
    let (desk, file) = (Arc::clone(desk), file.to_owned());
    let look = tokio::task::spawn_blocking(move || {
        let settings = &desk.settings;
        let place = place::find(&settings.roots, &file).map_err(refused)?;
        if place.file != file {
            return Err(changed(&file, None, None));
        }
        let content = place.read(settings.file_bytes).map_err(refused)?;
        Ok(Standing { place, content })
    });
    look.await.map_err(ProviderError::unavailable)?
}

/// The proposal, and its file if that is still the version it changes, or the one it makes.
async fn proposal(
    desk: &Arc<Desk>,
    cx: &CallContext,
    id: &str,
) -> Result<(Proposal, Standing), ProviderError> {
    let found: Option<Proposal> = desk.proposals().get(cx, id).await?;
    let applied = match found {
        Some(_) => None,
        None => desk.versions().get::<Applied>(cx, id).await?,
    };
    let found = found.or_else(|| applied.map(|applied| applied.proposal));
    let proposal = found
        .filter(|found| found.id() == id)
        .ok_or_else(|| unknown(id))?;
    let standing = standing(desk, &proposal.file).await?;
    let now = standing.digest();
    if now != proposal.base.as_deref() && now != Some(proposal.made.as_str()) {
        return Err(changed(&proposal.file, proposal.base.as_deref(), now));
    }
    Ok((proposal, standing))
}

/// The change that was made, and its file if that is still the version it made, or the one before.
async fn made(
    desk: &Arc<Desk>,
    cx: &CallContext,
    id: &str,
) -> Result<(Applied, Standing), ProviderError> {
    let found: Option<Applied> = desk.versions().get(cx, id).await?;
    let applied = found
        .filter(|found| found.proposal.id() == id)
        .ok_or_else(|| unknown(id))?;
    let proposal = &applied.proposal;
    let standing = standing(desk, &proposal.file).await?;
    let now = standing.digest();
    if now != Some(proposal.made.as_str()) && now != proposal.base.as_deref() {
        return Err(changed(&proposal.file, Some(proposal.made.as_str()), now));
    }
    Ok((applied, standing))
}

async fn apply_edit(
    desk: Arc<Desk>,
    args: ApplyArgs,
    cx: CallContext,
) -> Result<Changed, ProviderError> {
    let _turn = desk.turn.lock().await;
    let id = args.proposal_id;
    let (proposal, standing) = proposal(&desk, &cx, &id).await?;
    let mut answer = Changed {
        proposal_id: id.clone(),
        file: proposal.file.clone(),
        changed: false,
        digest: proposal.digest.clone(),
        old_digest: proposal.base.clone(),
        new_digest: Some(proposal.made.clone()),
        exclusive: None,
    };
    if standing.digest() != Some(proposal.made.as_str()) {
        let old = standing
            .content
            .as_ref()
            .map(|content| content.text.clone());
        let applied = Applied { proposal, old };
        // The old version is kept before it is replaced, never after.
        let now = desk.settings.clock.now();
        desk.versions().put(&cx, &id, &applied, now).await?;
        answer.exclusive = Some(write(standing, Some(applied.proposal.text)).await?);
        answer.changed = true;
    }
    // The file is that version, whatever becomes of the proposal; it ends by itself.
    drop(desk.proposals().forget(&cx, &id).await);
    Ok(answer)
}

async fn revert_edit(
    desk: Arc<Desk>,
    args: ApplyArgs,
    cx: CallContext,
) -> Result<Changed, ProviderError> {
    let _turn = desk.turn.lock().await;
    let id = args.proposal_id;
    let (applied, standing) = made(&desk, &cx, &id).await?;
    let is_back = standing.digest() == applied.proposal.base.as_deref();
    let mut answer = Changed {
        proposal_id: id,
        file: applied.proposal.file.clone(),
        changed: !is_back,
        digest: hex_digest(applied.reverse_diff().as_bytes()),
        old_digest: Some(applied.proposal.made.clone()),
        new_digest: applied.proposal.base.clone(),
        exclusive: None,
    };
    if !is_back {
        answer.exclusive = Some(write(standing, applied.old).await?);
    }
    Ok(answer)
}

/// Replaces the version that was looked at; says whether it is certain that nobody else was
/// writing the file.
async fn write(standing: Standing, text: Option<String>) -> Result<bool, ProviderError> {
    let write = tokio::task::spawn_blocking(move || {
        let Standing { place, content } = standing;
        match (text, &content) {
            (Some(text), content) => place.put(&text, content.as_ref()),
            (None, Some(content)) => place.remove(content),
            (None, None) => Ok(true),
        }
    });
    let written = write.await.map_err(ProviderError::unavailable)?;
    written.map_err(refused)
}

/// What a human sees before agreeing.
pub(super) async fn preview(
    desk: &Arc<Desk>,
    call: &ToolCall,
    cx: &CallContext,
) -> Result<Option<String>, ProviderError> {
    let id = call.arguments.value()["proposal_id"].as_str();
    let id = id.unwrap_or_default();
    let (file, diff) = match call.tool.as_str() {
        APPLY => {
            let (proposal, standing) = proposal(desk, cx, id).await?;
            let old = standing.content.as_ref().map(|it| it.text.as_str());
            let is_made = standing.digest() == Some(proposal.made.as_str());
            let diff = if is_made {
                "the file is that version already\n".to_owned()
            } else {
                proposal.diff(old)
            };
            (proposal.file, diff)
        }
        REVERT => {
            let (applied, _) = made(desk, cx, id).await?;
            let diff = applied.reverse_diff();
            (applied.proposal.file, diff)
        }
        _ => return Ok(None),
    };
    let digest = hex_digest(diff.as_bytes());
    Ok(Some(format!("file    {file}\nsha256  {digest}\n\n{diff}")))
}

fn unknown(id: &str) -> ProviderError {
    let shown: String = id.chars().take(40).collect();
    ProviderError {
        suggestion: Some("Propose the edit anew with docs.propose_edit.".to_owned()),
        next_steps: vec![PROPOSE.to_owned()],
        ..ProviderError::not_found(format!(
            "there is no `{shown}` of yours: it has ended, never was, or is somebody else's"
        ))
    }
}

/// The file is another one than everybody thought.
fn changed(file: &str, expected: Option<&str>, now: Option<&str>) -> ProviderError {
    let mut error = refused(PlaceError::Changed(file.to_owned()));
    let facts = [("expected_digest", expected), ("current_digest", now)];
    for (name, value) in facts {
        error.details.insert(name.to_owned(), value.into());
    }
    error
}

/// What a file that cannot be edited means to the caller.
fn refused(error: PlaceError) -> ProviderError {
    let rejected = ErrorCode::InputRejected;
    let (code, reason, suggestion) = match &error {
        PlaceError::UnknownRoot(_) => (
            ErrorCode::NotFound,
            "unknown_folder",
            "Name the file as `folder/path`; the operator sets the folders in `docs.roots`.",
        ),
        PlaceError::BadPath(_) => (
            rejected,
            "bad_path",
            "Name the file as `folder/path`, without `..`; links must stay below the folder.",
        ),
        PlaceError::NotFound(_) => (
            ErrorCode::NotFound,
            "not_found",
            "Check the name, or set `create` for a fresh file in a folder that exists.",
        ),
        PlaceError::Exists(_) => (rejected, "exists", "Leave `create` out to edit it."),
        PlaceError::NotAFile(_) | PlaceError::NotText(_) => (
            rejected,
            "not_text",
            "Only text files in UTF-8 can be edited.",
        ),
        PlaceError::TooLarge(..) => (rejected, "too_large", "Edit a smaller file."),
        PlaceError::Changed(_) => (
            rejected,
            "file_changed",
            "Nothing was written. Read the file again and propose the edit anew.",
        ),
        PlaceError::Busy(_) => (
            rejected,
            "file_busy",
            "Nothing was written. Close the file in the program that has it open, then repeat this call.",
        ),
        PlaceError::Stranded(..) => (ErrorCode::Unavailable, "stranded", "Tell the user."),
        PlaceError::Io(cause) if is_full(cause) => (
            ErrorCode::Unavailable,
            "disk_full",
            "Nothing was changed: the disk is full. Tell the user.",
        ),
        PlaceError::Io(_) => (
            ErrorCode::Unavailable,
            "io",
            "Tell the operator; the file may be read-only.",
        ),
    };
    let mut refusal = ProviderError {
        suggestion: Some(suggestion.to_owned()),
        ..ProviderError::new(code, error.to_string())
    };
    refusal.details.insert("reason".to_owned(), reason.into());
    if matches!(error, PlaceError::Changed(_)) {
        refusal.next_steps.push(PROPOSE.to_owned());
    }
    refusal.source = Some(Box::new(error));
    refusal
}

fn is_full(error: &io::Error) -> bool {
    let kind = error.kind();
    matches!(
        kind,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
