//! `tollgate trust`.

use std::path::PathBuf;

use clap::Args;

use super::{
    Exit, Stop,
    console::{Console, visible},
    terminal,
};
use crate::config::{Environment, Proposal, TrustError, TrustStore};

/// Settings that are shown before a project is trusted, and characters of each.
const SHOWN_SETTINGS: usize = 100;
const SHOWN_VALUE: usize = 240;

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
        let proposal = Proposal::read(&dir, environment).map_err(refused)?;
        terminal::typed_code(&shown(&proposal))?;
        store.trust(&proposal).map_err(refused)?;
        let digest = &proposal.digest;
        format!("trusted as it is now ({digest}); a change asks again")
    };
    if console.is_json() {
        console.json(&serde_json::json!({"dir": dir.display().to_string(), "standing": said}))?;
    } else {
        console.line(&said)?;
    }
    Ok(Exit::Ok)
}

/// What the human reads before typing the code.
fn shown(proposal: &Proposal) -> String {
    let mut shown = format!(
        "\nTRUST A PROJECT\n  its tollgate.toml then counts like your own: it can start programs, open folders and hosts,\n  and raise limits; it does not say whose dialogs count as a human\n  folder     {}\n  digest     {}\n",
        visible(&proposal.dir),
        proposal.digest
    );
    for (key, value) in proposal.settings.iter().take(SHOWN_SETTINGS) {
        let line = visible(&format!("{key} = {value}"));
        let left = line.chars().count().saturating_sub(SHOWN_VALUE);
        let start: String = line.chars().take(SHOWN_VALUE).collect();
        shown.push_str(&match left {
            0 => format!("  sets       {start}\n"),
            left => format!("  sets       {start}… ({left} characters more)\n"),
        });
    }
    let more = proposal.settings.len().saturating_sub(SHOWN_SETTINGS);
    if more > 0 {
        shown.push_str(&format!("  sets       {more} more: read the file\n"));
    }
    shown
}

fn refused(error: TrustError) -> Stop {
    let mut stop = Stop::usage(error.to_string());
    if let TrustError::Invalid(problems) = &error {
        let problems = problems.iter().map(|problem| format!("  {problem}"));
        stop.lines.extend(problems);
    }
    stop
}
