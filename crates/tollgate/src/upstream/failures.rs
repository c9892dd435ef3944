//! Why servers could not be reached, remembered for the commands that come next.
//!
//! Invariant: what is remembered is clean, ends by itself, and holds only for a server that is
//! still reached in the same way.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tollgate_core::Timestamp;

/// The command that asks every server again.
const STATUS: &str = "`tollgate servers status`";
/// For how long nobody waits for a server that was waited for in vain.
const REMEMBERED: Duration = Duration::from_secs(600);

/// A folder with a file for each server that failed.
pub(crate) struct Failures {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Failure {
    at: Timestamp,
    settings: String,
    reason: String,
}

impl Failures {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Names of servers are plain words, so they are names of files.
    fn file(&self, server: &str) -> PathBuf {
        self.folder.join(format!("{server}.failure.json"))
    }

    pub(super) fn keep(
        &self,
        server: &str,
        settings: &str,
        reason: &str,
        at: Timestamp,
    ) -> io::Result<()> {
        let failure = Failure {
            at,
            settings: settings.to_owned(),
            reason: reason.to_owned(),
        };
        let mut folder = DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.folder)?;
        // Whoever reads half of it knows nothing, and waits.
        fs::write(self.file(server), serde_json::to_vec(&failure)?)
    }

    pub(super) fn forget(&self, server: &str) -> io::Result<()> {
        match fs::remove_file(self.file(server)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(super) fn last(&self, server: &str, settings: &str, now: Timestamp) -> Option<String> {
        let text = fs::read(self.file(server)).ok()?;
        let failure: Failure = serde_json::from_slice(&text).ok()?;
        let is_young = now.is_within(failure.at, failure.at.plus(REMEMBERED));
        let holds = is_young && failure.settings == settings;
        holds.then(|| {
            let reason = &failure.reason;
            if reason.contains(STATUS) {
                format!("{reason} (seen a short while ago)")
            } else {
                format!("{reason} (seen a short while ago; {STATUS} tries again)")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_remembered_for_a_while_and_for_the_same_server() {
        let folder = tempfile::tempdir().unwrap();
        let failures = Failures::new(folder.path());
        let at = Timestamp(1_000);
        assert_eq!(failures.last("s", "a", at), None);
        failures.keep("s", "a", "no such file", at).unwrap();
        let told = failures.last("s", "a", at.plus(Duration::from_secs(60)));
        assert!(told.unwrap().starts_with("no such file"));
        assert_eq!(failures.last("s", "b", at), None, "it was changed");
        assert_eq!(failures.last("t", "a", at), None);
        let late = at.plus(REMEMBERED + Duration::from_secs(1));
        assert_eq!(failures.last("s", "a", late), None);
        failures.forget("s").unwrap();
        failures.forget("s").unwrap();
        assert_eq!(failures.last("s", "a", at), None);
    }
}
