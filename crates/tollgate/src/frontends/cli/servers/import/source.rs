//! Servers as other programs' files describe them.
//!
//! Files are only read. Comments and trailing commas are taken everywhere, since people
//! write them everywhere.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::super::super::{
    Scene, Stop,
    arguments::Import,
    init::{CLIENTS, Client, Found, blanked},
};

/// Keys that hold servers by name, in any program's file.
const KEYS: [&str; 4] = ["mcpServers", "servers", "context_servers", "mcp_servers"];
/// Folders in which a project keeps its programs' settings.
const SETTINGS: [&str; 4] = [".vscode", ".cursor", ".codex", ".zed"];

/// One server of another program.
pub(super) struct Foreign {
    pub(super) name: String,
    pub(super) entry: Value,
    pub(super) file: PathBuf,
    /// The folder that relative things are seen from.
    pub(super) root: PathBuf,
}

/// What was found, and files that could not be read.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) servers: Vec<Foreign>,
    pub(super) notes: Vec<String>,
}

/// Reads the file that was named, else every file that is known.
pub(super) fn read(args: &Import, scene: &Scene<'_>) -> Result<Sources, Stop> {
    let mut found = Sources::default();
    if let Some(file) = &args.file {
        let file = scene.environment.current_dir.join(file);
        let shown = file.display();
        if !file.exists() {
            return Err(Stop::usage(format!(
                "{shown} is not there; name the file of another program, or none to read those that are known"
            )));
        }
        let document = document(&file).map_err(|why| Stop::failed(format!("{shown}: {why}")))?;
        found.take(&file, tables(&document, &KEYS, scene), scene);
        if found.servers.is_empty() {
            let keys = KEYS.join("`, `");
            return Err(Stop::failed(format!(
                "{shown} names no servers: there is nothing below `{keys}`"
            )));
        }
        return Ok(found);
    }
    let wanted = |client: &&Client| args.from.is_none_or(|from| from.id == client.id);
    for client in CLIENTS.iter().filter(wanted) {
        let paths = client.places.iter();
        for file in paths.filter_map(|place| place.path(&scene.environment)) {
            if !file.is_file() {
                continue;
            }
            match document(&file) {
                Ok(document) => found.take(&file, tables(&document, &[client.key], scene), scene),
                Err(why) => {
                    let shown = file.display();
                    found
                        .notes
                        .push(format!("{}: {shown}: {why}", client.title));
                }
            }
        }
    }
    Ok(found)
}

impl Sources {
    fn take(&mut self, file: &Path, tables: Vec<&Map<String, Value>>, scene: &Scene<'_>) {
        for (name, entry) in tables.into_iter().flatten() {
            self.servers.push(Foreign {
                name: name.clone(),
                entry: entry.clone(),
                file: file.to_owned(),
                root: root(file, &scene.environment.current_dir),
            });
        }
    }
}

/// Reads a file as a tree, whatever it is written in.
fn document(file: &Path) -> Result<Value, String> {
    let text = Found::read(file).map_err(|error| error.to_string())?.text;
    if file.extension().is_some_and(|ending| ending == "toml") {
        return toml::from_str(&text).map_err(|error| error.to_string());
    }
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(&blanked(&text)).map_err(|error| format!("not JSON: {error}"))
}

/// The tables of servers in a document: its own, those in editor settings, and those that
/// a program keeps for the current folder.
fn tables<'a>(
    document: &'a Value,
    keys: &[&str],
    scene: &Scene<'_>,
) -> Vec<&'a Map<String, Value>> {
    let here = scene.environment.current_dir.to_string_lossy();
    let places = [
        document,
        &document["mcp"],
        &document["projects"][here.as_ref()],
    ];
    let below = |place: &'a Value| keys.iter().filter_map(move |key| place[*key].as_object());
    places.into_iter().flat_map(below).collect()
}

/// The project that a file belongs to, else the current folder.
fn root(file: &Path, here: &Path) -> PathBuf {
    let Some(folder) = file.parent() else {
        return here.to_owned();
    };
    let is_settings = |name: &std::ffi::OsStr| SETTINGS.iter().any(|known| name == *known);
    if folder.file_name().is_some_and(is_settings) {
        return folder.parent().unwrap_or(folder).to_owned();
    }
    if file.file_name().is_some_and(|name| name == ".mcp.json") {
        return folder.to_owned();
    }
    here.to_owned()
}
