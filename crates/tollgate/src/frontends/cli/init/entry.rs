//! What is written into a client's file: one entry, for a program to start or a URL to reach.

use std::path::Path;

use serde_json::{Map, Value};

use super::clients::{Client, Lookup};
use crate::{
    config::Environment,
    frontends::cli::{Cli, Stop, init::Init},
};

/// Where a server listens unless told otherwise.
pub(crate) const LOCAL_URL: &str = "http://127.0.0.1:7420/mcp";

const NAME: &str = "tollgate";
const PROGRAM: &str = if cfg!(windows) {
    "tollgate.exe"
} else {
    "tollgate"
};

/// Checks a server's name: clients make tool names of it.
pub(crate) fn server_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.is_empty() || text.len() > 64 || !text.chars().all(is_plain) {
        return Err("a name has 1 to 64 letters, digits, `_` or `-`".to_owned());
    }
    Ok(text.to_owned())
}

/// Checks the address of a server.
pub(crate) fn server_url(text: &str) -> Result<String, String> {
    let url = reqwest::Url::parse(text).map_err(|error| error.to_string())?;
    match url.scheme() {
        "http" | "https" => Ok(text.to_owned()),
        other => Err(format!("`{other}` is neither http nor https")),
    }
}

/// The entry for this client, its keys in the order in which they are written.
pub(super) fn entry(
    args: &Init,
    installation: Option<&str>,
    cli: &Cli,
    environment: &Environment,
) -> Result<Map<String, Value>, Stop> {
    let Some(url) = &args.http else {
        let command = command(args.client.lookup, environment)?;
        return Ok(stdio(
            &args.client,
            command,
            arguments(args, installation, cli, environment)?,
        ));
    };
    let Some(http) = args.client.http else {
        let title = args.client.title;
        return Err(Stop::usage(format!(
            "{title} reads no URL from its file; leave --http out, so that it starts the server itself"
        )));
    };
    if [&cli.profile, &cli.session].iter().any(|it| it.is_some()) || cli.config.is_some() {
        return Err(Stop::usage(
            "--profile, --session and --config belong to the server that runs; they cannot be set by a client that only knows its URL",
        ));
    }
    let mut entry = fixed(http.fields);
    entry.insert(http.url.to_owned(), url.clone().into());
    Ok(entry)
}

fn stdio(client: &Client, command: String, arguments: Vec<String>) -> Map<String, Value> {
    let mut entry = fixed(client.stdio);
    entry.insert("command".to_owned(), command.into());
    entry.insert("args".to_owned(), arguments.into());
    entry
}

fn fixed(fields: &[(&str, &str)]) -> Map<String, Value> {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), Value::from(*value));
    fields.iter().map(pair).collect()
}

/// `mcp`, and whatever was typed for it.
fn arguments(
    args: &Init,
    installation: Option<&str>,
    cli: &Cli,
    environment: &Environment,
) -> Result<Vec<String>, Stop> {
    let mut all = vec!["mcp".to_owned()];
    let mut pass = |flag: &str, value: String| all.extend([flag.to_owned(), value]);
    if let Some(file) = &cli.config {
        pass("--config", text(&environment.current_dir.join(file))?);
    }
    if let Some(session) = &cli.session {
        pass("--session", session.clone());
    }
    if let Some(profile) = &cli.profile {
        pass("--profile", profile.clone());
    }
    if !args.toolsets.is_empty() {
        pass("--toolsets", args.toolsets.join(","));
    }
    if let Some(key) = installation {
        pass("--installation", key.to_owned());
    }
    Ok(all)
}

/// What starts this very program in a shell.
pub(crate) fn typed(environment: &Environment) -> String {
    let path = command(Lookup::ByName, environment).unwrap_or_else(|_| NAME.to_owned());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if path.chars().all(is_plain) {
        return path;
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// The bare name where that starts this very program, else its whole path.
fn command(lookup: Lookup, environment: &Environment) -> Result<String, Stop> {
    let running = environment.executable.as_deref();
    let running = running.filter(|file| file.is_file()).ok_or_else(|| {
        Stop::failed("the file of the running program is gone or unknown; start it again")
    })?;
    let found = environment
        .on_path(PROGRAM)
        .filter(|file| is_same(file, running));
    match (found, lookup) {
        (Some(_), Lookup::ByName) => Ok(NAME.to_owned()),
        // The place on the search path outlives an update that moves what it links to.
        (Some(found), Lookup::ByPath) => text(&found),
        (None, Lookup::ByName | Lookup::ByPath) => text(running),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

fn text(path: &Path) -> Result<String, Stop> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Stop::failed(format!("{} is not UTF-8", path.display())))
}
