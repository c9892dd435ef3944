//! `tollgate init`: sets up an agent's program.
//!
//! Invariant: a client's file is never left half written or unreadable, and nothing in it but
//! the one entry changes.

mod arguments;
mod clients;
mod dialogs;
mod diff;
mod edit;
mod entry;
mod file;
mod json;
mod scan;
mod tables;

use serde_json::{Map, Value, json};

use super::{
    Cli, Exit, Stop,
    console::{Console, Paint, visible},
};
use crate::config::Environment;

pub(crate) use arguments::Init;
pub(super) use clients::CLIENTS;
use clients::Format;
pub(crate) use clients::{Client, Scope};
pub(super) use dialogs::with_dialogs;
pub(super) use diff::unified;
use edit::{Edit, EditError, Existing};
pub(crate) use entry::{LOCAL_URL, typed};
use entry::{server_name, server_url};
pub(super) use file::Found;
use json::Comments;
pub(super) use scan::blanked;

/// What was done, or would be.
struct Report<'a> {
    args: &'a Init,
    entry: Map<String, Value>,
    path: String,
    diff: String,
    backup: Option<String>,
}

pub(super) fn run(
    args: &Init,
    cli: &Cli,
    environment: &Environment,
    console: &Console,
) -> Result<Exit, Stop> {
    set_up(args, None, (cli, environment), console)
}

/// Writes the entry; `installation` names this client to the server that it will start.
fn set_up(
    args: &Init,
    installation: Option<&str>,
    (cli, environment): (&Cli, &Environment),
    console: &Console,
) -> Result<Exit, Stop> {
    let client = &args.client;
    let place = client.place(args.scope).ok_or_else(|| {
        Stop::usage(format!(
            "{} has no file for a project; leave --scope out",
            client.title
        ))
    })?;
    let path = place
        .path(environment)
        .ok_or_else(|| Stop::failed("there is no home folder, so there is no file to change"))?;
    let entry = entry::entry(args, installation, cli, environment)?;
    let failed = |error| Stop::failed(format!("{}: {error}", path.display()));
    let found = Found::read(&path).map_err(failed)?;
    let edited = edited(args, &entry, &found)?;

    let path = found.path.display().to_string();
    let diff = unified(&path, &found.text, &edited);
    let backup = if diff.is_empty() || args.print {
        None
    } else {
        found.replace(&edited).map_err(failed)?
    };
    let report = Report {
        args,
        entry,
        path,
        diff,
        backup: backup.map(|path| path.display().to_string()),
    };
    report.show(console)?;
    Ok(Exit::Ok)
}

/// The file's text with the entry in it.
fn edited(args: &Init, entry: &Map<String, Value>, found: &Found) -> Result<String, Stop> {
    let client = &args.client;
    let edit = Edit {
        key: client.key,
        name: &args.name,
        entry,
        existing: if args.force {
            Existing::Replaced
        } else {
            Existing::Kept
        },
    };
    let (edited, language) = match client.format {
        Format::Json => (json::set(&found.text, &edit, Comments::Refused), "JSON"),
        Format::JsonWithComments => (json::set(&found.text, &edit, Comments::Allowed), "JSON"),
        Format::Toml => (tables::set(&found.text, &edit), "TOML"),
    };
    let path = found.path.display();
    edited.map_err(|error| match error {
        EditError::Broken(reason) => Stop::failed(format!(
            "{path} is not valid {language}: {reason}\nnothing was written; correct the file and run this again"
        )),
        EditError::NotATable => Stop::failed(format!(
            "{path}: `{}` is not a table of servers; nothing was written",
            client.key
        )),
        EditError::Differs => Stop::usage(format!(
            "{path} has another entry `{}`; --force replaces it, --name NAME adds one beside it, --force --print shows the difference",
            args.name
        )),
        EditError::ByHand => Stop::failed(format!(
            "{path} is written in a way that only a person can edit; nothing was written\nadd this to `{}`: {}",
            client.key,
            json!({ &args.name: entry })
        )),
    })
}

impl Report<'_> {
    fn show(&self, console: &Console) -> Result<(), Stop> {
        let changes = !self.diff.is_empty();
        if console.is_json() {
            console.json(&json!({
                "client": self.args.client.id,
                "path": self.path,
                "changed": changes && !self.args.print,
                "backup": self.backup,
                "diff": self.diff,
                "entry": self.entry,
            }))?;
            return Ok(());
        }
        let title = self.args.client.title;
        let path = visible(&self.path);
        if !changes {
            console.line(&format!("{title} is already set up: {path}"))?;
            return Ok(());
        }
        for line in self.diff.lines() {
            console.line(&painted(line, console))?;
        }
        if self.args.print {
            console.line("nothing was written: this is what would change")?;
            return Ok(());
        }
        console.line(&format!("{title} is set up: {path}"))?;
        match &self.backup {
            Some(backup) => console.line(&format!("backup: {}", visible(backup)))?,
            None => console.line("backup: none, the file is new")?,
        }
        self.advise(console)
    }

    /// What to do now, at the client and in the conversation.
    fn advise(&self, console: &Console) -> Result<(), Stop> {
        if let Some(url) = &self.args.http {
            let url = visible(url);
            console.line(&format!("first: see that the server runs at {url}"))?;
        }
        console.line(&format!("next: {}", self.args.client.next))?;
        console.line(&format!(
            "then say to the agent: \"Use the `{}` server: find a tool with tools.search, then call it.\"",
            self.args.name
        ))?;
        Ok(())
    }
}

/// A line of a difference; tabs stay, whatever else would move the cursor does not.
pub(super) fn painted(line: &str, console: &Console) -> String {
    let pieces: Vec<String> = line.split('\t').map(visible).collect();
    let shown = pieces.join("\t");
    match line.as_bytes().first() {
        Some(b'+') => console.paint(Paint::Good, &shown),
        Some(b'-') => console.paint(Paint::Bad, &shown),
        Some(b'@') => console.paint(Paint::Faint, &shown),
        Some(_) | None => shown,
    }
}
