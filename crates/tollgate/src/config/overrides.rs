//! The two layers above the files: `TOLLGATE_*` variables and flags of the command line.

use std::ffi::{OsStr, OsString};

use super::{
    env::Environment,
    error::{ConfigError, Origin},
    keys::{self, Leaf},
    layer::{Layer, Setting, dotted},
    leaf, suggest,
};

const PREFIX: &str = "TOLLGATE_";

/// Short names for keys that are set often.
const SHORT: &[(&str, &str)] = &[
    ("TOLLGATE_KEEPA_FIXTURES", "keepa.fixture_dirs"),
    ("TOLLGATE_LOG", "log.level"),
];

/// Variables that mean something but are no key of the configuration.
pub(super) const RESERVED: &[(&str, &str)] = &[
    (
        "TOLLGATE_APPROVER_TOKEN",
        "the approver's token for `tollgate approvals approve` and `tollgate review resolve`",
    ),
    (
        "TOLLGATE_BLESS",
        "set by `cargo xtask bless` to rewrite committed snapshots",
    ),
    ("TOLLGATE_CONFIG", "a file, as with `--config`"),
    (
        "TOLLGATE_SESSION",
        "the session's handle, as with `--session`",
    ),
];

/// A value given by a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The flag as typed, for messages: `--toolsets`.
    pub flag: String,
    /// The dotted key it sets: `discovery.toolsets`.
    pub key: String,
    /// The value as text; the entries of a list are separated by commas.
    pub value: String,
}

/// The variable that sets a key, if one can.
pub(super) fn variable(leaf: &Leaf) -> Option<String> {
    let is_list_of_tables = leaf.schema.get("items").is_some_and(keys::is_table);
    if is_list_of_tables || leaf.path.iter().any(|name| name == keys::ANY) {
        return None;
    }
    Some(spelled(&leaf.path.join(".")))
}

/// The variable of a dotted key.
fn spelled(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// The short names of variables with the key each sets.
pub(super) fn short_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHORT.iter().copied()
}

/// Reads the layer of environment variables.
pub(super) fn from_environment(environment: &Environment, errors: &mut Vec<ConfigError>) -> Layer {
    let mut reader = Reader::new(environment, errors);
    let mut given = environment
        .variables
        .iter()
        .filter(|(name, value)| is_ours(name) && !value.is_empty())
        .peekable();
    if given.peek().is_none() {
        return reader.layer;
    }
    let leaves = keys::leaves();
    for (name, value) in given {
        let name = name.to_string_lossy();
        if RESERVED.iter().any(|(reserved, _)| *reserved == name) {
            continue;
        }
        let origin = Origin::Variable(name.clone().into_owned());
        match (path_of(&name, &leaves), value.to_str()) {
            (None, _) => reader.errors.push(unknown(&name, &leaves, origin)),
            (Some(path), None) => {
                let error = ConfigError::new(origin, "the value is not text");
                reader.errors.push(error.at(dotted(&path)));
            }
            (Some(path), Some(text)) => reader.put(path, text, origin),
        }
    }
    reader.layer
}

/// Reads the layer of flags.
pub(super) fn from_flags(
    flags: &[Override],
    environment: &Environment,
    errors: &mut Vec<ConfigError>,
) -> Layer {
    let mut reader = Reader::new(environment, errors);
    for flag in flags {
        let path: Vec<String> = flag.key.split('.').map(str::to_owned).collect();
        let origin = Origin::Flag(flag.flag.clone());
        if keys::find(&path).is_some_and(|found| !keys::is_table(found)) {
            reader.put(path, &flag.value, origin);
            continue;
        }
        let known: Vec<String> = keys::leaves().iter().map(|l| l.path.join(".")).collect();
        let mut error = ConfigError::new(origin, "unknown key").at(&flag.key);
        if let Some(meant) = suggest::nearest(&flag.key, known.iter().map(String::as_str)) {
            error = error.hint(format!("did you mean `{meant}`?"));
        }
        reader.errors.push(error);
    }
    reader.layer
}

/// Turns texts into the values their keys hold.
struct Reader<'a> {
    environment: &'a Environment,
    layer: Layer,
    errors: &'a mut Vec<ConfigError>,
}

impl<'a> Reader<'a> {
    fn new(environment: &'a Environment, errors: &'a mut Vec<ConfigError>) -> Self {
        Self {
            environment,
            layer: Layer::default(),
            errors,
        }
    }

    fn put(&mut self, path: Vec<String>, text: &str, origin: Origin) {
        let Some(schema) = keys::find(&path) else {
            return;
        };
        let mut value = leaf::from_text(text, schema);
        let base = &self.environment.current_dir;
        let faults = leaf::check(&mut value, schema, &|text| {
            self.environment.absolute(base, text)
        });
        for fault in &faults {
            let key = dotted(&path) + &fault.place;
            let mut error = ConfigError::new(origin.clone(), &fault.message).at(key);
            error.hint.clone_from(&fault.hint);
            self.errors.push(error);
        }
        if faults.is_empty() {
            self.layer.settings.insert(path, Setting { value, origin });
        }
    }
}

fn is_ours(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

fn path_of(name: &str, leaves: &[Leaf]) -> Option<Vec<String>> {
    if let Some((_, key)) = SHORT.iter().find(|(short, _)| *short == name) {
        return Some(key.split('.').map(str::to_owned).collect());
    }
    leaves
        .iter()
        .find(|leaf| variable(leaf).is_some_and(|known| known == name))
        .map(|leaf| leaf.path.clone())
}

fn unknown(name: &str, leaves: &[Leaf], origin: Origin) -> ConfigError {
    let mut known: Vec<String> = leaves.iter().filter_map(variable).collect();
    known.extend(SHORT.iter().map(|(name, _)| (*name).to_owned()));
    known.extend(RESERVED.iter().map(|(name, _)| (*name).to_owned()));
    let error = ConfigError::new(origin, "no such setting");
    if let Some(today) = keys::renamed(|old| spelled(old) == name) {
        return error.hint(format!("it is now {}", spelled(today)));
    }
    match suggest::nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => error.hint(format!("did you mean {meant}?")),
        None => error.hint("variables are TOLLGATE_<SECTION>_<KEY>, such as TOLLGATE_STATE_DIR"),
    }
}

/// The file that `TOLLGATE_CONFIG` names.
pub(super) fn config_file(environment: &Environment) -> Option<&OsString> {
    environment
        .variables
        .get(OsStr::new("TOLLGATE_CONFIG"))
        .filter(|value| !value.is_empty())
}
