//! `tollgate servers import`: servers that other programs start themselves, taken behind the
//! gate.
//!
//! Invariant: nothing is written unless that is asked for, what is there already stays as
//! it is, and the text that comes out, read as TOML, is the old document with the new
//! servers at its end.

mod draft;
mod source;
mod variables;

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::PathBuf,
};

use serde_json::{Value, json};
use toml::Table;

use super::super::{
    Exit, Scene, Stop,
    arguments::Import,
    console::{Paint, visible},
    init::{Found, painted, unified},
};
use crate::config::{SourceRole, user_file};
use draft::{Around, Draft, Kept};

const OWN: &str = "it is Tollgate itself";

/// What became of one server.
struct Fate {
    theirs: String,
    file: String,
    /// Its name here, if it is there afterwards.
    name: Option<String>,
    outcome: Outcome,
    notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Added,
    /// There is a server of this name.
    Kept,
    /// It is Tollgate itself.
    Own,
    LeftOut(String),
}

pub(super) fn run(args: &Import, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let target = target(scene)?;
    let failed = |error: io::Error| Stop::failed(format!("{}: {error}", target.display()));
    let found = Found::read(&target).map_err(failed)?;
    let old: Table = found.text.parse().map_err(|error: toml::de::Error| {
        Stop::failed(format!("{} is not valid TOML: {error}", target.display()))
    })?;
    let sources = source::read(args, scene)?;
    let folder = found.path.parent().unwrap_or(&found.path).join("secrets");
    let around = Around {
        environment: &scene.environment,
        secrets: &folder,
    };
    let mut names = servers_of(&old);
    let mut drafts: Vec<Draft> = Vec::new();
    let mut fates = Vec::new();
    let wanted = |name: &String| args.only.is_empty() || args.only.contains(name);
    for foreign in sources.servers.iter().filter(|one| wanted(&one.name)) {
        let name = draft::name(&foreign.name);
        let mut fate = Fate {
            theirs: foreign.name.clone(),
            file: foreign.file.display().to_string(),
            name: None,
            outcome: Outcome::Added,
            notes: Vec::new(),
        };
        if draft::is_own(foreign) {
            fate.outcome = Outcome::Own;
        } else if names.contains(&name) {
            fate.name = Some(name);
            fate.outcome = Outcome::Kept;
        } else {
            match draft::draft(foreign, name.clone(), &around) {
                Ok(draft) => {
                    fate.notes.clone_from(&draft.notes);
                    fate.name = Some(name.clone());
                    names.push(name);
                    drafts.push(draft);
                }
                Err(why) => fate.outcome = Outcome::LeftOut(why),
            }
        }
        fates.push(fate);
    }
    let text = appended(&found.text, &old, &drafts).ok_or_else(|| {
        let sections: Vec<String> = drafts.iter().map(Draft::section).collect();
        Stop::failed(format!(
            "{} is written in a way that only a person can edit; nothing was written. Add this to it:\n{}",
            target.display(),
            sections.join("\n")
        ))
    })?;
    let secrets: Vec<&Kept> = drafts.iter().flat_map(|draft| &draft.secrets).collect();
    let writes = args.write && !drafts.is_empty();
    let mut backup = None;
    if writes {
        keep(&secrets)?;
        backup = found.replace(&text).map_err(failed)?;
    }
    let report = Report {
        path: found.path.display().to_string(),
        diff: unified(&found.path.display().to_string(), &found.text, &text),
        secrets: secrets
            .iter()
            .map(|kept| kept.file.display().to_string())
            .collect(),
        backup: backup.map(|path| path.display().to_string()),
        written: writes,
        notes: sources.notes,
        fates,
    };
    report.show(scene)?;
    // What could not be taken over is a mistake of whoever wanted it taken over.
    let is_bad = |fate: &Fate| matches!(fate.outcome, Outcome::LeftOut(_));
    Ok(if report.fates.iter().any(is_bad) {
        Exit::Usage
    } else {
        Exit::Ok
    })
}

/// The file that is added to: the one that was named, else the user's.
fn target(scene: &Scene<'_>) -> Result<PathBuf, Stop> {
    let mut sources = scene.config.sources.iter();
    let named = sources.find(|source| source.role == SourceRole::Named);
    named
        .map(|source| source.path.clone())
        .or_else(|| user_file(&scene.environment))
        .ok_or_else(|| Stop::failed("there is no home folder, so there is no file to write"))
}

/// The names of the servers that a document has, also of those switched off.
fn servers_of(document: &Table) -> Vec<String> {
    let servers = document.get("mcp").and_then(|mcp| mcp.get("servers"));
    let servers = servers
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten();
    servers
        .filter_map(|server| server.get("name")?.as_str().map(str::to_owned))
        .collect()
}

/// The text with the servers at its end, if that says what it should.
fn appended(text: &str, old: &Table, drafts: &[Draft]) -> Option<String> {
    let mut all = text.to_owned();
    let mut wanted = old.clone();
    for draft in drafts {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        if !all.trim().is_empty() {
            all.push('\n');
        }
        let section = draft.section();
        let alone: Table = section.parse().ok()?;
        let server = alone
            .get("mcp")?
            .get("servers")?
            .as_array()?
            .first()?
            .clone();
        let mcp = wanted.entry("mcp").or_insert_with(|| Table::new().into());
        let servers = mcp.as_table_mut()?.entry("servers");
        let servers = servers.or_insert_with(|| toml::Value::Array(Vec::new()));
        servers.as_array_mut()?.push(server);
        all.push_str(&section);
    }
    let reread: Table = all.parse().ok()?;
    (reread == wanted).then_some(all)
}

/// Writes secrets where only their owner can read them; one that is there already and says
/// something else is not touched.
fn keep(secrets: &[&Kept]) -> Result<(), Stop> {
    for kept in secrets {
        let failed = |error: io::Error| Stop::failed(format!("{}: {error}", kept.file.display()));
        if let Some(folder) = kept.file.parent() {
            let mut builder = DirBuilder::new();
            let made = builder.recursive(true).mode(0o700).create(folder);
            made.map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        let opened = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&kept.file);
        match opened {
            Ok(mut file) => {
                let written = file.write_all(kept.value.reveal().as_bytes());
                written.and_then(|()| file.sync_all()).map_err(failed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = fs::read_to_string(&kept.file).map_err(failed)?;
                if there != *kept.value.reveal() {
                    return Err(Stop::failed(format!(
                        "{} holds another secret; nothing was written to the configuration",
                        kept.file.display()
                    )));
                }
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

/// What was done, or would be.
struct Report {
    path: String,
    diff: String,
    secrets: Vec<String>,
    backup: Option<String>,
    written: bool,
    notes: Vec<String>,
    fates: Vec<Fate>,
}

impl Report {
    fn show(&self, scene: &Scene<'_>) -> Result<(), Stop> {
        let console = scene.console;
        if console.is_json() {
            let servers: Vec<Value> = self.fates.iter().map(Fate::json).collect();
            console.json(&json!({
                "file": self.path, "written": self.written, "backup": self.backup,
                "diff": self.diff, "secret_files": self.secrets, "servers": servers,
                "notes": self.notes,
            }))?;
            return Ok(());
        }
        for note in &self.notes {
            console.note(&visible(note));
        }
        if self.fates.is_empty() {
            console.line("no server was found in the files of other programs")?;
            return Ok(());
        }
        for fate in &self.fates {
            fate.show(scene)?;
        }
        if self.diff.is_empty() {
            console.line("there is nothing to add")?;
            return Ok(());
        }
        for line in self.diff.lines() {
            console.line(&painted(line, console))?;
        }
        let did = if self.written {
            "was kept"
        } else {
            "would be kept"
        };
        for file in &self.secrets {
            console.line(&format!("a secret {did} in {}", visible(file)))?;
        }
        if !self.written {
            console.line("nothing was written: this is what --write adds")?;
            return Ok(());
        }
        console.line(&format!("written: {}", visible(&self.path)))?;
        match &self.backup {
            Some(backup) => console.line(&format!("backup: {}", visible(backup)))?,
            None => console.line("backup: none, the file is new")?,
        }
        console.line("next: `tollgate servers status` starts each of them; then take them out of the other program's file, and set it up with `tollgate init`")?;
        if scene.environment.text("MCP_SERVERS_JSON").is_some() {
            console.note("MCP_SERVERS_JSON is set and no longer counts: the file names servers");
        }
        Ok(())
    }
}

impl Fate {
    fn word(&self) -> &'static str {
        match self.outcome {
            Outcome::Added => "added",
            Outcome::Kept => "kept",
            Outcome::LeftOut(_) | Outcome::Own => "left_out",
        }
    }

    fn json(&self) -> Value {
        let reason = match &self.outcome {
            Outcome::LeftOut(why) => Some(why.as_str()),
            Outcome::Kept => Some("a server of this name is there already"),
            Outcome::Own => Some(OWN),
            Outcome::Added => None,
        };
        json!({"name": self.theirs, "from": self.file, "as": self.name,
               "outcome": self.word(), "reason": reason, "notes": self.notes})
    }

    fn show(&self, scene: &Scene<'_>) -> Result<(), Stop> {
        let console = scene.console;
        let (theirs, file) = (visible(&self.theirs), visible(&self.file));
        let line = match (&self.outcome, &self.name) {
            (Outcome::Added, Some(name)) => {
                console.paint(Paint::Good, &format!("+ {name}: `{theirs}` of {file}"))
            }
            (Outcome::LeftOut(why), _) => {
                let why = visible(why);
                console.paint(
                    Paint::Warn,
                    &format!("! `{theirs}` of {file} is left out: {why}"),
                )
            }
            (Outcome::Own, _) => format!("= `{theirs}` of {file} is left out: {OWN}"),
            (Outcome::Added | Outcome::Kept, _) => {
                format!("= `{theirs}` of {file}: a server of this name is there already")
            }
        };
        console.line(&line)?;
        for note in &self.notes {
            console.line(&format!("  {}", visible(note)))?;
        }
        Ok(())
    }
}
