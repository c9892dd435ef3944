//! One layer of the configuration: values with the place each was said.
//!
//! A layer is checked against the schema as it is read, so merging layers cannot fail.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value as Json;
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue, ValueDeserializer},
};

use super::{
    env::Environment,
    error::{ConfigError, Notice, Origin},
    keys, leaf, suggest,
};

/// Names from the outermost table to a value.
pub(super) type KeyPath = Vec<String>;

/// The values one source sets.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    pub settings: BTreeMap<KeyPath, Setting>,
    /// Entries that were left out, and why.
    pub notices: Vec<Notice>,
}

/// One value and who said it.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub value: Value,
    pub origin: Origin,
}

/// How much of the name of a bad entry is shown.
const SHOWN_NAME: usize = 64;

/// What other programs call the servers they start.
const OTHERS_KEYS: [&str; 2] = ["mcpServers", "mcp_servers"];
const OTHERS_HINT: &str = "this is how other programs name servers; put it into a file of its own and run \
    `tollgate servers import FILE --write`, or write `[[mcp.servers]]` sections";

const DEFAULTS: &str = include_str!("keys/defaults.toml");

impl Layer {
    /// Reads a file's text; every problem is added to `errors`.
    pub(super) fn parse(
        text: &str,
        file: &Path,
        environment: &Environment,
        errors: &mut Vec<ConfigError>,
    ) -> Self {
        let (table, broken) = DeTable::parse_recoverable(text);
        let mut reader = Reader {
            file,
            base: file.parent().unwrap_or(Path::new("/")),
            lines: Lines::of(text),
            is_json: text.trim_start().starts_with('{'),
            names_servers: OTHERS_KEYS.iter().any(|key| text.contains(key)),
            environment,
            layer: Self::default(),
            errors: Vec::new(),
        };
        if broken.is_empty() {
            reader.table(table.get_ref(), keys::root(), &mut Vec::new());
        }
        reader.syntax(&broken);
        reader.errors.sort_by_key(line_of);
        errors.append(&mut reader.errors);
        reader.layer
    }

    /// Lays another layer over this one.
    pub(super) fn extend(&mut self, over: Self) {
        for (path, setting) in over.settings {
            // A table of free names that is said to be empty is there, but empties nothing.
            let is_empty_table = is_empty(&setting.value);
            let has_below = self
                .settings
                .keys()
                .any(|known| known.len() > path.len() && known.starts_with(&path));
            if !(is_empty_table && has_below) {
                self.settings.insert(path, setting);
            }
        }
    }

    /// Takes one value out of the layer.
    pub(super) fn take(&mut self, path: &[&str]) -> Option<Setting> {
        let path: KeyPath = path.iter().map(|name| (*name).to_owned()).collect();
        self.settings.remove(&path)
    }

    /// The files this layer names that must exist.
    pub(super) fn referenced(&self) -> Vec<PathBuf> {
        let named = |(path, setting): (&KeyPath, &Setting)| {
            let schema = keys::find(path)?.get("items")?;
            schema.get("x-exists")?;
            Some(paths(&setting.value))
        };
        self.settings.iter().filter_map(named).flatten().collect()
    }

    /// The defaults with this layer over them, as one table.
    pub(super) fn over_defaults(&self) -> Result<Table, toml::de::Error> {
        let mut table: Table = toml::from_str(DEFAULTS)?;
        for (path, setting) in &self.settings {
            put(&mut table, path, setting.value.clone());
        }
        Ok(table)
    }
}

/// The default of every key that has one.
pub(super) fn defaults() -> BTreeMap<KeyPath, Value> {
    let table: Table = toml::from_str(DEFAULTS).unwrap_or_default();
    let mut found = BTreeMap::new();
    flatten(&Value::Table(table), &mut Vec::new(), &mut found);
    found
}

fn flatten(value: &Value, path: &mut KeyPath, found: &mut BTreeMap<KeyPath, Value>) {
    let Value::Table(table) = value else {
        found.insert(path.clone(), value.clone());
        return;
    };
    for (name, below) in table {
        path.push(name.clone());
        flatten(below, path, found);
        path.pop();
    }
}

/// The entries of a list of paths.
pub(super) fn paths(value: &Value) -> Vec<PathBuf> {
    let entries = value.as_array().into_iter().flatten();
    entries
        .filter_map(Value::as_str)
        .map(PathBuf::from)
        .collect()
}

fn is_empty(value: &Value) -> bool {
    value.as_table().is_some_and(Table::is_empty)
}

fn put(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        // A section that says nothing leaves the defaults as they are.
        [name] if is_empty(&value) && table.get(name).is_some_and(Value::is_table) => {}
        [name] => {
            table.insert(name.clone(), value);
        }
        [name, rest @ ..] => {
            let below = table
                .entry(name.clone())
                .or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(below) = below {
                put(below, rest, value);
            }
        }
    }
}

/// A path as people write it, with quotes where a name needs them.
pub(super) fn dotted(path: &[String]) -> String {
    let name = |name: &String| {
        let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !name.is_empty() && name.chars().all(bare) {
            name.clone()
        } else {
            format!("{name:?}")
        }
    };
    path.iter().map(name).collect::<Vec<_>>().join(".")
}

/// Walks a file and the schema together.
struct Reader<'a> {
    file: &'a Path,
    base: &'a Path,
    lines: Lines,
    /// Whether the text begins like JSON.
    is_json: bool,
    /// Whether it has what other programs call the servers they start.
    names_servers: bool,
    environment: &'a Environment,
    layer: Layer,
    errors: Vec<ConfigError>,
}

impl Reader<'_> {
    /// One slip can make the parser stumble over the same line several times.
    fn syntax(&mut self, broken: &[toml::de::Error]) {
        if !broken.is_empty() && self.is_json {
            let message = "this is JSON, and a configuration is TOML";
            let mut error = ConfigError::new(self.origin(Some(1)), message);
            error.hint = Some(match self.names_servers {
                true => format!(
                    "move it to another file, such as servers.json, and run `tollgate servers import servers.json --write`; \
                     then every server is a section `[[mcp.servers]]` of {}",
                    self.file.display()
                ),
                false => {
                    "`key = value` lines below `[section]` lines; docs/config.md has every key"
                        .to_owned()
                }
            });
            self.errors.push(error);
            return;
        }
        let mut said = BTreeSet::new();
        for error in broken {
            let line = error.span().map(|span| self.lines.at(span.start));
            if said.insert(line) {
                let message = error.message().lines().collect::<Vec<_>>().join("; ");
                let message = format!("not TOML: {message}");
                self.errors
                    .push(ConfigError::new(self.origin(line), message));
            }
        }
    }

    fn table(&mut self, table: &DeTable<'_>, schema: &Json, path: &mut KeyPath) {
        if table.is_empty() && !path.is_empty() {
            let origin = self.origin(None);
            let value = Value::Table(Table::new());
            let setting = Setting { value, origin };
            self.layer.settings.insert(path.clone(), setting);
        }
        for (key, value) in table {
            let name: &str = key.get_ref();
            let line = self.lines.at(key.span().start);
            path.push(name.to_owned());
            let known = schema.get("properties").and_then(|all| all.get(name));
            match known.or_else(|| keys::free_names(schema)) {
                Some(below) => self.value(value, below, path, line),
                None => self.unknown(schema, path, line),
            }
            path.pop();
        }
    }

    fn value(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        schema: &Json,
        path: &mut KeyPath,
        line: usize,
    ) {
        match (value.get_ref(), keys::is_table(schema)) {
            (DeValue::Table(table), true) => self.table(table, schema, path),
            (_, true) => {
                let found = leaf::kind(value.get_ref().type_str());
                self.fail(
                    path,
                    line,
                    &format!("expected a table, found {found}"),
                    None,
                );
            }
            (_, false) => self.leaf(value, schema, path, line),
        }
    }

    fn leaf(&mut self, value: &Spanned<DeValue<'_>>, schema: &Json, path: &KeyPath, line: usize) {
        let read = Value::deserialize(ValueDeserializer::from(value.clone()));
        let mut read = match read {
            Ok(read) => read,
            Err(_) if value.get_ref().is_integer() => {
                return self.fail(path, line, "the number is too large", None);
            }
            Err(error) => return self.fail(path, line, error.message(), None),
        };
        let mut faults = leaf::check(&mut read, schema, &|text| {
            self.environment.absolute(self.base, text)
        });
        if schema.get("x-skips-bad-entries").is_some() {
            faults = self.leave_out(&mut read, faults, path, line);
        }
        for fault in &faults {
            let key = dotted(path) + &fault.place;
            let mut error = ConfigError::new(self.origin(Some(line)), &fault.message).at(key);
            error.hint.clone_from(&fault.hint);
            self.errors.push(error);
        }
        if faults.is_empty() {
            let setting = Setting {
                value: read,
                origin: self.origin(Some(line)),
            };
            self.layer.settings.insert(path.clone(), setting);
        }
    }

    /// Takes bad entries out of a list, each with a notice; gives what is wrong with the list
    /// itself.
    fn leave_out(
        &mut self,
        list: &mut Value,
        faults: Vec<leaf::Fault>,
        path: &KeyPath,
        line: usize,
    ) -> Vec<leaf::Fault> {
        let Value::Array(entries) = list else {
            return faults;
        };
        let (bad, others): (Vec<_>, Vec<_>) = faults
            .into_iter()
            .partition(|fault| fault.entry().is_some());
        let named = |at: usize| {
            let name = entries.get(at).and_then(|entry| entry.get("name"));
            let name = name.and_then(Value::as_str).unwrap_or_default();
            name.chars().take(SHOWN_NAME).collect::<String>()
        };
        for fault in &bad {
            let Some((at, place)) = fault.entry() else {
                continue;
            };
            let hint = fault.hint.as_ref();
            let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
            let colon = if place.is_empty() { "" } else { ": " };
            let message = format!(
                "the server `{}` is left out: {place}{colon}{}{hint}",
                named(at),
                fault.message
            );
            self.layer.notices.push(Notice {
                origin: self.origin(Some(line)),
                key: Some(format!("{}[{at}]", dotted(path))),
                message,
            });
        }
        let gone: BTreeSet<usize> = bad
            .iter()
            .filter_map(|fault| Some(fault.entry()?.0))
            .collect();
        let mut at = 0;
        entries.retain(|_| {
            at += 1;
            !gone.contains(&(at - 1))
        });
        others
    }

    fn unknown(&mut self, schema: &Json, path: &KeyPath, line: usize) {
        let (name, table) = match path.split_last() {
            Some((name, table)) => (name.as_str(), table),
            None => ("", [].as_slice()),
        };
        let known: Vec<&str> = keys::properties(schema).map(|(k, _)| k.as_str()).collect();
        let hint = if OTHERS_KEYS.contains(&name) {
            OTHERS_HINT.to_owned()
        } else if let Some(today) = keys::renamed(|old| old == dotted(path)) {
            format!("it is now {}", written(today))
        } else if let Some(meant) = suggest::nearest(name, known.iter().copied()) {
            format!("did you mean `{meant}`?")
        } else if let Some(place) = elsewhere(name) {
            format!("it belongs at {}", written(&place))
        } else if table.is_empty() {
            format!("there are {}", known.join(", "))
        } else {
            format!("[{}] has {}", dotted(table), known.join(", "))
        };
        self.fail(path, line, "unknown key", Some(hint));
    }

    fn fail(&mut self, path: &KeyPath, line: usize, message: &str, hint: Option<String>) {
        let mut error = ConfigError::new(self.origin(Some(line)), message).at(dotted(path));
        error.hint = hint;
        self.errors.push(error);
    }

    fn origin(&self, line: Option<usize>) -> Origin {
        Origin::File {
            path: self.file.to_owned(),
            line,
        }
    }
}

/// A key as it is to be written, with its place if it has no section.
fn written(key: &str) -> String {
    if key.contains('.') {
        format!("`{key}`")
    } else {
        format!("`{key}`, above the first section")
    }
}

/// Where a key of this name exists, if it is exactly one place.
fn elsewhere(name: &str) -> Option<String> {
    let mut places = keys::leaves()
        .into_iter()
        .filter(|leaf| leaf.path.last().is_some_and(|last| last == name));
    let place = places.next()?;
    places.next().is_none().then(|| place.path.join("."))
}

fn line_of(error: &ConfigError) -> Option<usize> {
    match &error.origin {
        Origin::File { line, .. } => *line,
        Origin::Defaults | Origin::Variable(_) | Origin::Flag(_) => None,
    }
}

/// Where each line begins.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    /// The line, counted from one, of a byte.
    fn at(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte)
    }
}
