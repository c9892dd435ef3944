//! From another program's entry to one of ours.
//!
//! Invariant: nothing that looks like a secret is written into the configuration or shown;
//! it becomes a reference to a variable, or to a file that only its owner may read.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tollgate_core::Secret;

use super::{
    super::super::init::LOCAL_URL,
    source::Foreign,
    variables::{self, Piece},
};
use crate::config::{Environment, is_server_address, looks_secret, one_program};

/// A server as it would be written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) name: String,
    command: Option<String>,
    args: Vec<String>,
    cwd: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    plain_env: BTreeMap<String, String>,
    disabled: bool,
    pub(super) secrets: Vec<Kept>,
    pub(super) notes: Vec<String>,
}

/// A secret that moves into a file of its own.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) file: PathBuf,
    pub(super) value: Secret<String>,
}

/// What is known while an entry is read.
pub(super) struct Around<'a> {
    pub(super) environment: &'a Environment,
    /// Where secrets go.
    pub(super) secrets: &'a Path,
}

/// A name as servers have them here.
pub(super) fn name(theirs: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let lower = theirs.to_lowercase();
    let words: Vec<String> = lower
        .split(|c: char| !fits(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let name: String = words.join("_").chars().take(60).collect();
    if name.is_empty() {
        "server".to_owned()
    } else {
        name
    }
}

/// Whether an entry of another program starts this one.
pub(super) fn is_own(from: &Foreign) -> bool {
    let text = |key: &str| from.entry.get(key).and_then(Value::as_str);
    let command = match from.entry.get("command") {
        Some(Value::Object(inner)) => inner.get("path").and_then(Value::as_str),
        other => other.and_then(Value::as_str),
    };
    let program = command.and_then(|command| Path::new(command).file_stem());
    program.is_some_and(|program| program == "tollgate") || text("url") == Some(LOCAL_URL)
}

/// The draft of an entry, or why it is left out.
pub(super) fn draft(from: &Foreign, name: String, around: &Around<'_>) -> Result<Draft, String> {
    let entry = from.entry.as_object().ok_or("it is not a table")?;
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let kind = text("type").or_else(|| text("transport"));
    match kind.unwrap_or("stdio") {
        "stdio" | "http" | "streamable-http" | "streamableHttp" | "streamable_http" => {}
        "sse" => return Err("it speaks the older HTTP with two addresses (`sse`)".to_owned()),
        other => {
            let shown: String = other.chars().take(40).collect();
            return Err(format!("its kind `{shown}` is unknown"));
        }
    }
    let mut draft = Drafting {
        from,
        around,
        draft: Draft {
            name,
            ..Draft::default()
        },
    };
    // Zed once kept the program in a table of its own.
    let command = match entry.get("command") {
        Some(Value::Object(inner)) => inner.get("path").and_then(Value::as_str),
        other => other.and_then(Value::as_str),
    };
    let url = text("url")
        .or_else(|| text("serverUrl"))
        .or_else(|| text("httpUrl"));
    match (command, url) {
        (Some(command), _) => draft.program(command, entry)?,
        (None, Some(url)) => draft.address(url, entry)?,
        (None, None) => return Err("it has neither a program nor an address".to_owned()),
    }
    draft.draft.disabled |= entry.get("disabled") == Some(&Value::Bool(true))
        || entry.get("enabled") == Some(&Value::Bool(false));
    if entry.contains_key("envFile") {
        let note = "its `envFile` is not read: name what it needs in `env`";
        draft.draft.notes.push(note.to_owned());
    }
    Ok(draft.draft)
}

struct Drafting<'a> {
    from: &'a Foreign,
    around: &'a Around<'a>,
    draft: Draft,
}

impl Drafting<'_> {
    fn program(
        &mut self,
        command: &str,
        entry: &serde_json::Map<String, Value>,
    ) -> Result<(), String> {
        let inner = entry.get("command").filter(|command| command.is_object());
        let part = |key: &str| inner.and_then(|inner| inner.get(key)).or(entry.get(key));
        let args = match part("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(args)) => args
                .iter()
                .map(plain)
                .collect::<Option<_>>()
                .ok_or("its arguments are not texts")?,
            Some(_) => return Err("its arguments are not a list".to_owned()),
        };
        one_program(command, &args)?;
        self.draft.command = Some(self.open_text(command));
        self.draft.args = args.iter().map(|arg| self.open_text(arg)).collect();
        for arg in &args {
            if looks_secret("", arg) {
                let note = "an argument looks like a secret and stays as it is: give it to the server in `env` if you can";
                self.draft.notes.push(note.to_owned());
                break;
            }
        }
        let cwd = part("cwd").and_then(Value::as_str);
        let cwd = cwd.map(|cwd| self.open_text(cwd));
        self.draft.cwd = self.folder(cwd);
        let env = part("env").and_then(Value::as_object);
        for (key, value) in env.into_iter().flatten() {
            let Some(value) = plain(value) else {
                return Err(format!("its variable `{key}` is not a text"));
            };
            self.variable(key, &value);
        }
        Ok(())
    }

    /// Where a program starts: what is named from a project's folder is looked for there, wherever
    /// the gate itself runs.
    fn folder(&self, given: Option<String>) -> Option<String> {
        let root = &self.from.root;
        let below = |word: &str| {
            let is_path = word.contains(['/', '.']) && Path::new(word).is_relative();
            is_path && !word.starts_with(['$', '~'])
        };
        match given {
            Some(folder) if folder.starts_with(['$', '~']) => Some(folder),
            Some(folder) => Some(root.join(folder).display().to_string()),
            None => {
                let words = self.draft.command.iter().chain(&self.draft.args);
                let mut found = words.filter(|word| below(word) && root.join(word).exists());
                found.next().map(|_| root.display().to_string())
            }
        }
    }

    fn address(&mut self, url: &str, entry: &serde_json::Map<String, Value>) -> Result<(), String> {
        let filled = self.open_text(url);
        if !is_server_address(&filled) {
            return Err("its address is not a plain http or https address".to_owned());
        }
        self.draft.url = Some(filled);
        if looks_secret("", url) {
            let note = "its address looks as if it held a secret and stays as it is: give it in `headers` if you can";
            self.draft.notes.push(note.to_owned());
        }
        let headers = entry.get("headers").or(entry.get("http_headers"));
        let headers = headers.and_then(Value::as_object);
        for (key, value) in headers.into_iter().flatten() {
            let Some(value) = plain(value) else {
                return Err(format!("its header `{key}` is not a text"));
            };
            let reference = self.reference(key, &value);
            self.draft.headers.insert(key.clone(), reference);
        }
        Ok(())
    }

    fn pieces(&self, text: &str) -> Vec<Piece> {
        variables::pieces(text, &self.from.root, self.around.environment)
    }

    /// A text that is written out; what nobody can fill in here switches the server off.
    fn open_text(&mut self, text: &str) -> String {
        let pieces = self.pieces(text);
        match variables::filled(&pieces, self.around.environment) {
            Ok(filled) if filled == text || !looks_secret("", &filled) => filled,
            Ok(_) | Err(_) => {
                self.draft.disabled = true;
                self.draft.notes.push(format!(
                    "it is switched off: `{text}` has to be filled in by hand"
                ));
                text.to_owned()
            }
        }
    }

    /// One variable of the environment.
    fn variable(&mut self, key: &str, value: &str) {
        let pieces = self.pieces(value);
        if variables::is_open(&pieces) || looks_secret(key, value) {
            let reference = self.reference(key, value);
            self.draft.env.insert(key.to_owned(), reference);
            return;
        }
        let filled = variables::filled(&pieces, self.around.environment);
        let filled = filled.unwrap_or_else(|_| value.to_owned());
        self.draft.plain_env.insert(key.to_owned(), filled);
    }

    /// A reference in the place of a value.
    fn reference(&mut self, key: &str, value: &str) -> String {
        let pieces = self.pieces(value);
        if let Some(variable) = variables::only_variable(&pieces) {
            return format!("env:{variable}");
        }
        if variables::is_open(&pieces) {
            let own = key
                .to_uppercase()
                .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            let variable = format!("{}_{own}", self.draft.name.to_uppercase());
            self.draft.notes.push(format!(
                "set the environment variable {variable} to what `{key}` should be"
            ));
            return format!("env:{variable}");
        }
        if self.around.environment.text(key) == Some(value) {
            return format!("env:{key}");
        }
        let plain = key.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_");
        let file = self
            .around
            .secrets
            .join(format!("{}.{plain}", self.draft.name));
        let reference = format!("file:{}", file.display());
        self.draft.secrets.push(Kept {
            file,
            value: Secret::new(value.to_owned()),
        });
        reference
    }
}

/// A text, or something that is written like one.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(set) => Some(set.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Draft {
    /// The section of the configuration.
    pub(super) fn section(&self) -> String {
        let mut text = "[[mcp.servers]]\n".to_owned();
        let mut add = |key: &str, value: toml::Value| text.push_str(&format!("{key} = {value}\n"));
        let table = |all: &BTreeMap<String, String>| {
            let pairs = all
                .iter()
                .map(|(key, value)| (key.clone(), value.clone().into()));
            toml::Value::Table(pairs.collect())
        };
        add("name", self.name.clone().into());
        for (key, value) in [
            ("command", &self.command),
            ("cwd", &self.cwd),
            ("url", &self.url),
        ] {
            if let Some(value) = value {
                add(key, value.clone().into());
            }
        }
        if !self.args.is_empty() {
            add("args", self.args.clone().into());
        }
        for (key, all) in [
            ("headers", &self.headers),
            ("env", &self.env),
            ("plain_env", &self.plain_env),
        ] {
            if !all.is_empty() {
                add(key, table(all));
            }
        }
        if self.disabled {
            add("disabled", true.into());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drafted(entry: Value) -> Result<Draft, String> {
        let from = Foreign {
            name: "My Server".to_owned(),
            entry,
            file: "/p/.vscode/mcp.json".into(),
            root: "/p".into(),
        };
        let environment = Environment::default();
        let around = Around {
            environment: &environment,
            secrets: Path::new("/c/secrets"),
        };
        draft(&from, name("My Server"), &around)
    }

    #[test]
    fn secrets_become_references_and_the_rest_stays() {
        let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let draft = drafted(json!({
            "command": "npx",
            "args": ["-y", "server", "${workspaceFolder}/data", 5],
            "env": {"GITHUB_TOKEN": key, "API_KEY": "${input:key}", "OTHER": "${env:MINE}",
                    "MODE": "fast", "PORT": 8080, "NOTE": key},
        }));
        let draft = draft.unwrap();
        insta::assert_snapshot!(draft.section(), @r#"
        [[mcp.servers]]
        name = "my_server"
        command = "npx"
        args = ["-y", "server", "/p/data", "5"]
        env = { API_KEY = "env:MY_SERVER_API_KEY", GITHUB_TOKEN = "file:/c/secrets/my_server.GITHUB_TOKEN", NOTE = "file:/c/secrets/my_server.NOTE", OTHER = "env:MINE" }
        plain_env = { MODE = "fast", PORT = "8080" }
        "#);
        assert_eq!(draft.secrets.len(), 2);
        assert!(draft.notes[0].contains("MY_SERVER_API_KEY"));
    }

    #[test]
    fn addresses_have_headers_by_reference_only() {
        let draft = drafted(json!({
            "type": "http", "url": "https://x.example/mcp", "disabled": true,
            "headers": {"Authorization": "Bearer ${TOKEN}", "X-Team": "blue"},
        }));
        insta::assert_snapshot!(draft.unwrap().section(), @r#"
        [[mcp.servers]]
        name = "my_server"
        url = "https://x.example/mcp"
        headers = { Authorization = "env:MY_SERVER_AUTHORIZATION", X-Team = "file:/c/secrets/my_server.X_Team" }
        disabled = true
        "#);
    }

    #[test]
    fn what_cannot_be_taken_over_is_left_out_with_a_reason() {
        for (entry, why) in [
            (json!(5), "not a table"),
            (json!({}), "neither a program nor an address"),
            (json!({"command": "x", "args": "y"}), "not a list"),
            (json!({"command": "x", "args": [[]]}), "not texts"),
            (
                json!({"command": "x", "env": {"A": []}}),
                "`A` is not a text",
            ),
            (
                json!({"command": "npx -y foo"}),
                "write `command = \"npx\"` and `args = [\"-y\",\"foo\"]`",
            ),
            (json!({"type": "sse", "url": "http://x"}), "`sse`"),
            (json!({"type": "ws", "url": "ws://x"}), "`ws` is unknown"),
        ] {
            let left = drafted(entry.clone()).unwrap_err();
            assert!(left.contains(why), "{entry}: {left}");
        }
        let off = drafted(json!({"command": "x", "args": ["--key", "${input:key}"]})).unwrap();
        assert!(off.section().contains("disabled = true"));
    }

    #[test]
    fn names_are_spelled_as_servers_have_them() {
        for (theirs, ours) in [
            ("GitHub", "github"),
            ("my-server.v2", "my_server_v2"),
            ("__", "server"),
            ("über", "ber"),
        ] {
            assert_eq!(name(theirs), ours);
        }
    }
}
