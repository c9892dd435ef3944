//! `tollgate browser profiles`: logins that are kept, handed on or deleted.
//!
//! Invariant: only `export` shows what sites know somebody by, and it writes a file that nobody
//! else can read unless told to print it.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde_json::json;
use tollgate_core::{Timestamp, TrustLevel};
use tollgate_providers::browser::{
    profile_owner,
    profiles::{ProfileError, ProfileName, Profiles},
};

use super::{Exit, Scene, Stop, principal};

#[derive(Debug, Args)]
pub(crate) struct BrowserCommand {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// List, export, import and delete profiles: logins that are kept
    Profiles {
        #[command(subcommand)]
        action: Action,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the profiles of everybody, with their sites
    List,
    /// Write a profile in the form that browser drivers call a storage state
    Export {
        #[command(flatten)]
        which: Which,
        /// Write here instead of NAME.json; `-` prints it
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Make a profile of a storage state; one of that name is replaced
    Import {
        #[command(flatten)]
        which: Which,
        /// The file
        file: PathBuf,
    },
    /// Delete a profile
    Delete {
        #[command(flatten)]
        which: Which,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The profile
    name: String,
    /// Whose it is, as `list` says [default: yours]
    #[arg(long, value_name = "OWNER")]
    owner: Option<String>,
}

impl Which {
    fn owner(&self) -> String {
        let own = || profile_owner(TrustLevel::Local, &principal());
        self.owner.clone().unwrap_or_else(own)
    }

    fn name(&self) -> Result<ProfileName, Stop> {
        ProfileName::new(&self.name).map_err(Stop::usage)
    }
}

impl From<ProfileError> for Stop {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::Unknown(_) => Self::usage(error.to_string()),
            ProfileError::TooMany
            | ProfileError::Sealed(_)
            | ProfileError::Unreadable(_)
            | ProfileError::Folder(_) => Self::failed(error.to_string()),
        }
    }
}

pub(super) fn run(command: &BrowserCommand, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let What::Profiles { action } = &command.what;
    let config = &scene.config;
    let settings = config
        .browser
        .settings(&config.state.dir, &scene.environment);
    let profiles = Profiles::new(&settings.root, settings.vault);
    match action {
        Action::List => list(&profiles, scene),
        Action::Export { which, output } => export(&profiles, which, output.as_deref(), scene),
        Action::Import { which, file } => {
            let path = scene.environment.current_dir.join(file);
            let unusable = |why: String| Stop::usage(format!("{}: {why}", file.display()));
            let text = std::fs::read(&path).map_err(|error| unusable(error.to_string()))?;
            // What the reader says could quote what it read.
            let state = serde_json::from_slice(&text)
                .map_err(|_| unusable("it is no storage state".to_owned()))?;
            profiles.import(&which.owner(), &which.name()?, state)?;
            told(scene, which, "imported")
        }
        Action::Delete { which } => {
            profiles.delete(&which.owner(), &which.name()?)?;
            told(scene, which, "deleted")
        }
    }
}

fn told(scene: &Scene<'_>, which: &Which, what: &str) -> Result<Exit, Stop> {
    if scene.console.is_json() {
        scene
            .console
            .json(&json!({"profile": which.name, "done": what}))?;
    } else {
        scene
            .console
            .note(&format!("the profile `{}` was {what}", which.name));
    }
    Ok(Exit::Ok)
}

fn list(profiles: &Profiles, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let all = profiles.list()?;
    if scene.console.is_json() {
        scene.console.json(&json!({"profiles": all}))?;
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        scene
            .console
            .note("no profile is kept; browser.create_session makes one");
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = all
        .into_iter()
        .map(|it| {
            let saved = i64::try_from(it.saved).unwrap_or_default();
            let sites = it.problem.unwrap_or_else(|| it.sites.join(" "));
            let saved = Timestamp(saved * 1000).to_string();
            vec![it.name, it.owner, saved, it.cookies.to_string(), sites]
        })
        .collect();
    let head = ["PROFILE", "OWNER", "SAVED", "COOKIES", "SITES"];
    scene.console.table(&head, &rows)?;
    Ok(Exit::Ok)
}

fn export(
    profiles: &Profiles,
    which: &Which,
    output: Option<&Path>,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    let name = which.name()?;
    let state = profiles.export(&which.owner(), &name)?;
    if output == Some(Path::new("-")) {
        scene.console.json(&state)?;
        return Ok(Exit::Ok);
    }
    let own = PathBuf::from(format!("{name}.json"));
    let file = output.unwrap_or(&own);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let unusable = |error: std::io::Error| Stop::usage(format!("{}: {error}", file.display()));
    let mut opened = options
        .open(scene.environment.current_dir.join(file))
        .map_err(unusable)?;
    let text =
        serde_json::to_vec_pretty(&state).map_err(|error| Stop::failed(error.to_string()))?;
    opened.write_all(&text).map_err(unusable)?;
    if scene.console.is_json() {
        let file = file.display().to_string();
        scene
            .console
            .json(&json!({"profile": which.name, "file": file}))?;
    } else {
        let file = file.display();
        scene
            .console
            .note(&format!("{file} holds logins: whoever has it is logged in"));
    }
    Ok(Exit::Ok)
}
