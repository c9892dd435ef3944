//! What a process that stays reads again when it is told to (SIGHUP): the log file is opened anew,
//! and the policy files are read.
//!
//! Invariants: policies that cannot be used change nothing, those in force stay; no call is
//! called off.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    sync::Arc,
};

use tollgate_engine::{Cleaner, Gateway, WeakGateway, policy::Source};

use crate::{
    config::{self, Config, Environment, Level, PolicyFile, PolicyScope},
    logfile::LogFile,
    skills::{self, BaseRules, Book},
    wire::{self, WireError},
};

/// The event under which it is written down.
const EVENT: &str = "signal.hangup";
/// Problems of policies that are named.
const MOST_NAMED: usize = 5;

/// What is read again, and where it is put.
pub(crate) struct Reload {
    pub(crate) gateway: WeakGateway,
    pub(crate) book: Arc<Book>,
    pub(crate) rules: BaseRules,
    pub(crate) files: PolicyFiles,
    pub(crate) log: Option<Arc<LogFile>>,
    pub(crate) cleaner: Cleaner,
}

/// Where policies are read from.
#[derive(Debug, Clone)]
pub(crate) struct PolicyFiles {
    /// What the configuration named at the start.
    named: Vec<PolicyFile>,
    /// The user's folder, which may have other files by now.
    folder: Option<PathBuf>,
}

impl PolicyFiles {
    pub(crate) fn new(config: &Config, environment: &Environment) -> Self {
        Self {
            named: config.policy.clone(),
            folder: config::policy_folder(environment),
        }
    }

    /// The files there are now, in the order in which they are loaded.
    fn list(&self) -> io::Result<Vec<PolicyFile>> {
        let Some(folder) = &self.folder else {
            return Ok(self.named.clone());
        };
        let full = |path| PolicyFile {
            path,
            scope: PolicyScope::Full,
        };
        let mut files: Vec<_> = config::policies_in(folder)?.into_iter().map(full).collect();
        let elsewhere = |file: &&PolicyFile| {
            file.scope != PolicyScope::Full || file.path.parent() != Some(folder.as_path())
        };
        files.extend(self.named.iter().filter(elsewhere).cloned());
        Ok(files)
    }

    fn read(&self) -> Result<Vec<Source>, WireError> {
        let files = self.list().map_err(|source| WireError::File {
            path: self.folder.clone().unwrap_or_default(),
            source,
        })?;
        wire::sources_of(&files)
    }
}

impl Reload {
    /// Reads everything again and says what came of it, unless the gateway is gone.
    pub(crate) async fn run(&self) {
        let Some(gateway) = self.gateway.upgrade() else {
            return;
        };
        self.reopen_log().await;
        match self.read_policies(&gateway).await {
            Ok(files) => self.say(
                Level::Info,
                &format!(
                    "SIGHUP: {files} policy files were read again and are in force; a changed \
                     configuration takes effect when the process is started again"
                ),
            ),
            Err(why) => self.say(
                Level::Error,
                &format!("SIGHUP: the policies in force stay, because {why}"),
            ),
        }
    }

    async fn reopen_log(&self) {
        let Some(log) = self.log.clone() else {
            return;
        };
        match tokio::task::spawn_blocking(move || log.reopen()).await {
            Ok(Ok(true)) => self.say(Level::Info, "SIGHUP: the log file was opened again"),
            Ok(Ok(false)) | Err(_) => {}
            Ok(Err(error)) => self.say(
                Level::Error,
                &format!("SIGHUP: the log file cannot be opened again: {error}"),
            ),
        }
    }

    /// Puts the policies in force as their files say now; gives the number of files.
    async fn read_policies(&self, gateway: &Gateway) -> Result<usize, String> {
        let mut rules = self.rules.lock().await;
        let (book, files) = (Arc::clone(&self.book), self.files.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let sources = files.read()?;
            let (skills, policies) = skills::compiled(book.load(), &sources)?;
            Ok::<_, WireError>((sources, skills, policies))
        });
        let (sources, skills, policies) = reading
            .await
            .map_err(|_| "reading them crashed".to_owned())?
            .map_err(|error| reason(&error))?;
        // The shipped policy is no file.
        let files = sources.len() - 1;
        *rules = sources;
        gateway.replace_skills(skills, policies).await;
        Ok(files)
    }

    fn say(&self, level: Level, message: &str) {
        let message = self.cleaner.line(message);
        match &self.log {
            Some(log) => log.note(level, EVENT, "gateway", &message),
            // Nobody would hear of rules that are not in force.
            None if level == Level::Error => drop(writeln!(io::stderr(), "{message}")),
            None => {}
        }
    }
}

fn reason(error: &WireError) -> String {
    let WireError::Policy(problems) = error else {
        return error.to_string();
    };
    let named = problems.iter().take(MOST_NAMED).map(ToString::to_string);
    format!("{error}: {}", named.collect::<Vec<_>>().join("; "))
}
