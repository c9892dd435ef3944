//! What a project's file may change before the user trusts it.
//!
//! The rule of each key stands beside the key in [`super::keys::raw`] as `x-untrusted`; a key
//! without one is ignored, so a key that is added later is safe until somebody thinks.

use std::path::Path;

use serde_json::Value as Json;
use toml::Value;

use super::{
    Dialogs,
    env::Environment,
    error::Notice,
    files, keys,
    layer::{self, Layer, Setting, dotted},
    trust::Standing,
};

/// Which dialogs count as a human: a project, trusted or not, and the environment may only narrow it, because an agent
/// writes both.
pub(super) const DIALOGS: [&str; 2] = ["consent", "dialogs"];

/// How an untrusted project may change a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Not at all.
    Ignore,
    /// To a smaller number.
    Lower,
    /// To a larger number.
    Raise,
    /// By adding entries to a list.
    Add,
    /// If the user left it unset.
    Fill,
}

impl Rule {
    /// The rule of a key.
    pub(super) fn of(schema: &Json) -> Self {
        match schema.get("x-untrusted").and_then(Json::as_str) {
            Some("lower") => Self::Lower,
            Some("raise") => Self::Raise,
            Some("add") => Self::Add,
            Some("fill") => Self::Fill,
            _ => Self::Ignore,
        }
    }

    /// The rule as the documentation says it.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Ignore => "no",
            Self::Lower => "lower",
            Self::Raise => "raise",
            Self::Add => "add",
            Self::Fill => "if unset",
        }
    }

    fn refusal(self) -> &'static str {
        match self {
            Self::Ignore => "cannot set this",
            Self::Lower => "can only lower this",
            Self::Raise => "can only raise this",
            Self::Add => "can only add to this",
            Self::Fill => "cannot change what you have set",
        }
    }
}

/// Keeps of an untrusted project's layer what narrows the user's, and says what it dropped.
pub(super) fn narrow(
    user: &Layer,
    project: &Layer,
    dir: &Path,
    standing: Standing,
) -> (Layer, Vec<Notice>) {
    let who = match standing {
        Standing::Changed => "a project that changed since you trusted it",
        Standing::Unknown | Standing::Trusted => "an untrusted project",
    };
    let mut kept = Layer::default();
    let mut notices = Vec::new();
    let defaults = layer::defaults();
    for (path, wanted) in &project.settings {
        let rule = keys::find(path).map_or(Rule::Ignore, Rule::of);
        let current = user.settings.get(path).map(|setting| &setting.value);
        let current = current.or_else(|| defaults.get(path));
        match apply(rule, current, &wanted.value) {
            Some(value) => {
                let origin = wanted.origin.clone();
                kept.settings
                    .insert(path.clone(), Setting { value, origin });
            }
            // A table without a key in it asks for nothing.
            None if wanted.value.is_table() => {}
            None => notices.push(Notice {
                origin: wanted.origin.clone(),
                key: Some(dotted(path)),
                message: format!(
                    "ignored: {who} {}; read its files, then run `tollgate trust {}`",
                    rule.refusal(),
                    dir.display()
                ),
            }),
        }
    }
    (kept, notices)
}

/// The value that results, or nothing if the change is not a narrowing one.
fn apply(rule: Rule, current: Option<&Value>, wanted: &Value) -> Option<Value> {
    match (rule, current) {
        (Rule::Lower, Some(current)) => {
            (number(wanted)? <= number(current)?).then(|| wanted.clone())
        }
        (Rule::Raise, Some(current)) => {
            (number(wanted)? >= number(current)?).then(|| wanted.clone())
        }
        (Rule::Add, Some(Value::Array(current))) => {
            let added = wanted
                .as_array()?
                .iter()
                .filter(|one| !current.contains(one));
            Some(Value::Array(current.iter().chain(added).cloned().collect()))
        }
        (Rule::Fill | Rule::Lower | Rule::Add, None) => Some(wanted.clone()),
        (Rule::Fill | Rule::Add, Some(_)) | (Rule::Raise, None) | (Rule::Ignore, _) => None,
    }
}

/// Takes `consent.dialogs` out of a layer that may not let more dialogs count as a human than the layers below it.
pub(super) fn take_wider_dialogs(below: &Layer, layer: &mut Layer) -> Option<Setting> {
    let path = DIALOGS.map(str::to_owned).to_vec();
    let read = |value: &Value| value.clone().try_into::<Dialogs>().ok();
    let said = |layer: &Layer| read(&layer.settings.get(&path)?.value);
    let before = said(below).or_else(|| read(layer::defaults().get(&path)?));
    let is_wider = said(layer)? > before.unwrap_or(Dialogs::None);
    is_wider.then(|| layer.take(&DIALOGS))?
}

/// Why such a value counts for nothing, and what to do.
pub(super) fn wider_dialogs(
    setting: &Setting,
    who: &str,
    environment: &Environment,
) -> (String, String) {
    let own = files::user_file(environment);
    let own = own.map_or_else(
        || "your own tollgate.toml".to_owned(),
        |it| it.display().to_string(),
    );
    let value = setting.value.as_str().unwrap_or_default();
    (
        format!("`{value}` lets more dialogs count as a human, and {who} may only narrow this"),
        format!(
            "set it in {own}, or run `tollgate init --client NAME --trust-dialogs` at a terminal"
        ),
    )
}

fn number(value: &Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64))
}
