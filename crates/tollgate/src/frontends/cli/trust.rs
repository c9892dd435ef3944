//! `tollgate trust`.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, Stop, console::Console};
use crate::config::{Environment, TrustError, TrustStore};

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The project's folder
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Stop trusting it
    #[arg(long)]
    pub(crate) remove: bool,
    /// Say how it stands, change nothing
    #[arg(long, conflicts_with = "remove")]
    pub(crate) status: bool,
}

pub(super) fn run(
    args: &Trust,
    environment: &Environment,
    console: &Console,
) -> Result<Exit, Stop> {
    let store = TrustStore::of_user(environment).map_err(refused)?;
    let dir = environment.current_dir.join(&args.dir);
    let said = if args.status {
        let trusted = store.is_trusted(&dir, environment).map_err(refused)?;
        if trusted {
            "trusted"
        } else {
            "not trusted: it may only narrow"
        }
        .to_owned()
    } else if args.remove {
        let was = store.untrust(&dir).map_err(refused)?;
        if was {
            "no longer trusted"
        } else {
            "it was not trusted"
        }
        .to_owned()
    } else {
        let digest = store.trust(&dir, environment).map_err(refused)?;
        format!("trusted as it is now ({digest}); a change asks again")
    };
    if console.is_json() {
        console.json(&serde_json::json!({"dir": dir.display().to_string(), "standing": said}))?;
    } else {
        console.line(&said)?;
    }
    Ok(Exit::Ok)
}

fn refused(error: TrustError) -> Stop {
    let mut stop = Stop::usage(error.to_string());
    if let TrustError::Invalid(problems) = &error {
        let problems = problems.iter().map(|problem| format!("  {problem}"));
        stop.lines.extend(problems);
    }
    stop
}
