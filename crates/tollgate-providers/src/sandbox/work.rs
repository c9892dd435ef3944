//! What the tools share: the runner, and the workspace of each conversation.

use std::{
    fmt::Write as _,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tollgate_core::{CallContext, ErrorCode, ProviderError, SessionKey};
use tollgate_sandbox::{
    Cgroups, Helper, Limits, Quota, Refused, RunError, Runner, Runners, Standing, Stop, Workspace,
    WorkspaceError, sweep,
};

use super::Settings;

/// How long a call waits for another one of the same conversation.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the tools share.
pub(super) struct Work {
    pub(super) settings: Settings,
    runners: OnceLock<Runners>,
}

/// Every way to run code here.
pub(super) fn runners(settings: &Settings) -> Runners {
    Runners::new(&Helper::this_program(), Cgroups::find(), &settings.root)
}

impl Work {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            runners: OnceLock::new(),
        }
    }

    /// The runner the settings ask for. Blocks while tiers are tried for the first time.
    pub(super) fn runner(&self) -> Result<Arc<dyn Runner>, ProviderError> {
        let runners = self.runners.get_or_init(|| {
            // What cannot be swept today is swept another day.
            let _ = sweep(&self.settings.root, self.settings.keep);
            runners(&self.settings)
        });
        runners
            .choose(self.settings.choice, self.settings.least)
            .map_err(|refused| nothing_works(&refused))
    }

    pub(super) fn quota(&self) -> Quota {
        Quota {
            bytes: self.settings.limits.disk,
            files: self.settings.limits.files,
        }
    }

    /// Does something with the workspace of this conversation while no other call does.
    pub(super) async fn with_workspace<T: Send + 'static>(
        self: &Arc<Self>,
        cx: &CallContext,
        act: impl FnOnce(&Self, &Workspace, &Stop) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let stop = Stop::new().map_err(ProviderError::unavailable)?;
        let (work, name, told) = (Arc::clone(self), name(&cx.session), stop.clone());
        let mut acting = tokio::task::spawn_blocking(move || {
            let workspace = Workspace::open(&work.settings.root, &name).map_err(misuse)?;
            let held = workspace.hold(&told, PATIENCE).map_err(misuse)?;
            let acted = act(&work, &workspace, &told);
            drop(held);
            acted
        });
        let acted = tokio::select! {
            acted = &mut acting => acted,
            () = cx.cancel.cancelled() => {
                // It is not left alone: it ends in order, and everything in it.
                stop.set();
                acting.await
            }
        };
        acted.map_err(ProviderError::unavailable)?
    }
}

/// Removes the workspace of a conversation that is over, if it has one.
pub(super) async fn leave(root: &Path, conversation: &SessionKey) {
    let (root, name) = (root.to_owned(), name(conversation));
    let leaving = tokio::task::spawn_blocking(move || {
        if !root.join(&name).exists() {
            return;
        }
        // What cannot be removed now is swept another day.
        let Ok(stop) = Stop::new() else { return };
        let Ok(workspace) = Workspace::open(&root, &name) else {
            return;
        };
        if let Ok(held) = workspace.hold(&stop, PATIENCE) {
            let _ = workspace.discard(held);
        }
    });
    drop(leaving.await);
}

/// A folder name that says nothing and is the same for the same conversation.
fn name(conversation: &SessionKey) -> String {
    let mut hash = Sha256::new();
    hash.update(conversation.principal.as_str());
    hash.update([0]);
    hash.update(&conversation.handle);
    hex(&hash.finalize()[..16])
}

/// Lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Callers learn which tiers were tried; why each does not work may name paths of the host.
fn nothing_works(refused: &Refused) -> ProviderError {
    let said = |standing: &Standing| {
        let why = if standing.tier < refused.least {
            "less than the settings accept"
        } else {
            "does not work here"
        };
        format!("{}: {why}", standing.tier)
    };
    let reasons = |standing: &Standing| {
        let why = standing.state.as_ref().err();
        format!("{}: {}", standing.tier, why.map_or("works", String::as_str))
    };
    let join = |words: Vec<String>| words.join("; ");
    ProviderError {
        detail: Some(join(refused.tried.iter().map(said).collect())),
        suggestion: Some(
            "Nothing was run. Tell the operator: `tollgate doctor` lists the tiers and what they need."
                .to_owned(),
        ),
        source: Some(join(refused.tried.iter().map(reasons).collect()).into()),
        ..ProviderError::new(ErrorCode::Unsupported, refused.to_string())
    }
}

/// What a failed run means to the caller.
pub(super) fn failure(error: RunError) -> ProviderError {
    let (code, message) = match &error {
        RunError::Build { stage, .. } => (
            ErrorCode::SpawnFailed,
            format!("the sandbox could not be built ({stage}); nothing was run"),
        ),
        RunError::Start { .. } => (
            ErrorCode::SpawnFailed,
            "the interpreter could not be started; nothing was run".to_owned(),
        ),
        RunError::Stopped => (ErrorCode::Cancelled, error.to_string()),
        RunError::Lost(_) => (
            ErrorCode::Unavailable,
            "the sandbox ended without a report".to_owned(),
        ),
    };
    ProviderError {
        source: Some(Box::new(error)),
        ..ProviderError::new(code, message)
    }
}

/// What a wrong use of the workspace means to the caller.
pub(super) fn misuse(error: WorkspaceError) -> ProviderError {
    let message = error.to_string();
    let (code, suggestion) = match &error {
        WorkspaceError::BadPath(_) => (
            ErrorCode::InputRejected,
            Some("Use a relative path without `..`, such as `data/table.csv`."),
        ),
        WorkspaceError::NotAFile(_) => (
            ErrorCode::InputRejected,
            Some("Links, folders and pipes are listed but never followed; name a plain file."),
        ),
        WorkspaceError::NotFound(_) => (
            ErrorCode::NotFound,
            Some("List what is there with `sandbox.collect_outputs`."),
        ),
        WorkspaceError::Full(_) => (
            ErrorCode::InputRejected,
            Some("Write less, or delete files with `sandbox.write_files` and `delete`."),
        ),
        WorkspaceError::Busy => (
            ErrorCode::RateLimited,
            Some("Wait for the other call, then repeat this one."),
        ),
        WorkspaceError::Io(_) => {
            return ProviderError {
                source: Some(Box::new(error)),
                ..ProviderError::new(
                    ErrorCode::Unavailable,
                    "the workspace cannot be read or written",
                )
            };
        }
    };
    ProviderError {
        suggestion: suggestion.map(str::to_owned),
        retry_after: matches!(error, WorkspaceError::Busy).then_some(Duration::from_secs(1)),
        ..ProviderError::new(code, message)
    }
}

/// The caller's limits, which may only be lower than the operator's.
pub(super) fn lowered(
    most: &Limits,
    wanted: &super::tools::WantedLimits,
) -> Result<Limits, ProviderError> {
    fn lower<T: PartialOrd + std::fmt::Display>(
        name: &str,
        most: T,
        wanted: Option<T>,
    ) -> Result<T, ProviderError> {
        match wanted {
            Some(wanted) if wanted > most => Err(ProviderError::rejected(format!(
                "`limits.{name}` may be at most {most} here"
            ))),
            Some(wanted) => Ok(wanted),
            None => Ok(most),
        }
    }
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let wall = lower("wall_ms", millis(most.wall), wanted.wall_ms)?;
    let cpu = lower("cpu_ms", millis(most.cpu), wanted.cpu_ms)?;
    Ok(Limits {
        wall: Duration::from_millis(wall),
        cpu: Duration::from_millis(cpu),
        memory: lower("memory_bytes", most.memory, wanted.memory_bytes)?,
        processes: lower("processes", most.processes, wanted.processes)?,
        output: lower("output_bytes", most.output, wanted.output_bytes)?,
        ..*most
    })
}
