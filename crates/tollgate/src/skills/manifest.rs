//! Manifests of skills: which tools belong together, which runs they allow, how careful
//! they are.
//!
//! Invariant: a [`Manifest`] that exists was checked; what it forbids, it forbids on its own
//! behalf or as its own rules say, and it never permits anything.

use std::{path::Path, sync::Arc};

use tollgate_knowledge::{Field, Format, Item, Kind, Place, Problem, ProblemCode, fields};

/// The most tools, run types or templates of one skill.
const MOST_NAMES: usize = 200;
/// Every field, for whoever misspells one.
const KNOWN: [&str; 6] = [
    "skill_name",
    "description",
    "required_tools",
    "allowed_run_types",
    "risk_policy",
    "templates",
];

/// What a skill's file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The name everybody uses.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: String,
    /// Tools it needs; a pattern may end in `*`.
    pub(crate) required_tools: Vec<String>,
    /// Templates whose runs it allows.
    pub(crate) allowed_run_types: Vec<String>,
    /// Templates it works with.
    pub(crate) templates: Vec<String>,
    /// How careful it is.
    pub(crate) risk: Risk,
}

/// How careful a skill is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Risk {
    /// A named level.
    Level(Level),
    /// Rules in Cedar that forbid.
    Rules(String),
}

/// A named level of care; each forbids what calls on behalf of the skill must not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Nothing beyond the rules in force.
    Standard,
    /// Every call needs a human.
    Careful,
    /// Only reads.
    ReadOnly,
    /// Only callers on this machine.
    Local,
}

impl Level {
    const ALL: [Self; 4] = [Self::Standard, Self::Careful, Self::ReadOnly, Self::Local];

    /// The level as files spell it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Careful => "careful",
            Self::ReadOnly => "read_only",
            Self::Local => "local",
        }
    }

    /// What it forbids, in Cedar.
    const fn forbids(self) -> Option<&'static str> {
        match self {
            Self::Standard => None,
            Self::Careful => Some("context.consent < 2"),
            Self::ReadOnly => Some("context.capability > 0 || !resource.read_only"),
            Self::Local => Some("context.trust != \"local\""),
        }
    }
}

impl Manifest {
    /// The rules that hold while it is on; all of them forbid.
    pub(crate) fn rules(&self) -> Option<String> {
        match &self.risk {
            Risk::Rules(text) => Some(text.clone()),
            Risk::Level(level) => level.forbids().map(|condition| {
                let (name, level) = (&self.name, level.as_str());
                format!(
                    "@id(\"skill.{name}.{level}\")\n\
                     @reason(\"The skill `{name}` is `{level}`.\")\n\
                     forbid (principal, action == Action::\"call\", resource)\n\
                     when {{ context has skill && context.skill == \"{name}\" && ({condition}) }};\n"
                )
            }),
        }
    }

    /// The level, or `rules`.
    pub(crate) fn risk_name(&self) -> &'static str {
        match &self.risk {
            Risk::Level(level) => level.as_str(),
            Risk::Rules(_) => "rules",
        }
    }
}

/// Reads a manifest; `file` is what problems call it.
pub(crate) fn parse(file: &str, text: &str) -> Result<Manifest, Vec<Problem>> {
    let format = Format::of(Path::new(file)).unwrap_or(Format::Yaml);
    let fields = fields(file, text, format).map_err(|problem| vec![problem])?;
    let mut reading = Reading {
        file: Arc::from(file),
        fields,
        problems: Vec::new(),
    };
    let manifest = reading.manifest();
    reading.problems.sort_by_key(|problem| problem.place);
    match manifest.filter(|_| reading.problems.is_empty()) {
        Some(manifest) => Ok(manifest),
        None => Err(reading.problems),
    }
}

/// The fields of a manifest, and what is wrong with them.
struct Reading<'t> {
    file: Arc<str>,
    fields: Vec<Field<'t>>,
    problems: Vec<Problem>,
}

impl<'t> Reading<'t> {
    fn complain(&mut self, code: ProblemCode, place: Place, message: String) {
        let problem = Problem::new(code, &self.file, place, message);
        self.problems.push(problem);
    }

    fn wrong(&mut self, name: &str, wanted: &str, item: &Item<'_>) {
        let message = format!("`{name}` is {wanted}, and this is {}", item.what());
        self.complain(ProblemCode::Field, item.place, message);
    }

    fn take(&mut self, name: &str) -> Option<Item<'t>> {
        let at = self.fields.iter().position(|field| field.key == name)?;
        Some(self.fields.remove(at).value)
    }

    fn needed_text(&mut self, name: &str) -> Option<(String, Place)> {
        let Some(item) = self.take(name) else {
            let start = Place { line: 1, column: 1 };
            self.complain(ProblemCode::Field, start, format!("`{name}` is missing"));
            return None;
        };
        match &item.kind {
            Kind::Text(text) if !text.trim().is_empty() => Some((text.to_string(), item.place)),
            Kind::Null
            | Kind::Bool(_)
            | Kind::Number(_)
            | Kind::Text(_)
            | Kind::List(_)
            | Kind::Map(_) => {
                self.wrong(name, "a text", &item);
                None
            }
        }
    }

    fn manifest(&mut self) -> Option<Manifest> {
        let name = self.needed_text("skill_name");
        if let Some((name, place)) = name.as_ref().filter(|(name, _)| !is_name(name)) {
            let message = format!("`{name}` is no name: up to 48 small letters, digits and `_`");
            self.complain(ProblemCode::Field, *place, message);
        }
        let description = self.needed_text("description");
        let required_tools = self.names("required_tools");
        if required_tools.is_empty() {
            let start = Place { line: 1, column: 1 };
            let message = "`required_tools` names at least one tool".to_owned();
            self.complain(ProblemCode::Field, start, message);
        }
        let allowed_run_types = self.names("allowed_run_types");
        let templates = self.names("templates");
        let risk = self.risk();
        for field in std::mem::take(&mut self.fields) {
            let known = KNOWN.join(", ");
            let message = format!("`{}` is not known here; there are {known}", field.key);
            self.complain(ProblemCode::UnknownField, field.place, message);
        }
        Some(Manifest {
            name: name?.0,
            description: description?.0,
            required_tools,
            allowed_run_types,
            templates,
            risk,
        })
    }

    fn names(&mut self, name: &str) -> Vec<String> {
        let Some(item) = self.take(name) else {
            return Vec::new();
        };
        let Kind::List(items) = &item.kind else {
            self.wrong(name, "a list of names", &item);
            return Vec::new();
        };
        if let Some(surplus) = items.get(MOST_NAMES) {
            let message = format!("`{name}` holds at most {MOST_NAMES}");
            self.complain(ProblemCode::Limit, surplus.place, message);
        }
        let mut all: Vec<String> = Vec::new();
        for item in items.iter().take(MOST_NAMES) {
            let Kind::Text(text) = &item.kind else {
                self.wrong(name, "a list of names", item);
                continue;
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            let stem = text.strip_suffix('*').unwrap_or(text);
            if stem.is_empty() || !stem.chars().all(plain) {
                let message = format!("`{text}` is no name of `{name}`");
                self.complain(ProblemCode::Field, item.place, message);
            } else if all.iter().any(|known| known == text) {
                let message = format!("`{text}` stands here twice");
                self.complain(ProblemCode::Duplicate, item.place, message);
            } else {
                all.push(text.to_string());
            }
        }
        all
    }

    fn risk(&mut self) -> Risk {
        let standard = Risk::Level(Level::Standard);
        let Some(item) = self.take("risk_policy") else {
            return standard;
        };
        let text = item.word().unwrap_or_default();
        let text = text.trim();
        if let Some(level) = Level::ALL.into_iter().find(|level| level.as_str() == text) {
            return Risk::Level(level);
        }
        if text.contains("forbid") || text.contains("permit") {
            return Risk::Rules(text.to_owned());
        }
        let levels = Level::ALL.map(Level::as_str).join(", ");
        let message = format!("`risk_policy` is one of {levels}, or rules in Cedar that forbid");
        self.complain(ProblemCode::Field, item.place, message);
        standard
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    name.len() <= 48 && begins && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "skill_name: edit_docs\ndescription: Edits documents.\nrequired_tools: [docs.propose_edit, 'keepa.*']\nallowed_run_types: [edit_docs]\nrisk_policy: careful\n";

    fn told(text: &str) -> String {
        let problems = parse("a.yaml", text).unwrap_err();
        problems.iter().map(|it| format!("{it}\n")).collect()
    }

    #[test]
    fn a_manifest_says_what_it_needs_and_forbids() {
        let manifest = parse("a.yaml", GOOD).unwrap();
        assert_eq!(manifest.name, "edit_docs");
        assert_eq!(manifest.required_tools, ["docs.propose_edit", "keepa.*"]);
        assert_eq!(manifest.risk_name(), "careful");
        let rules = manifest.rules().unwrap();
        assert!(rules.contains("context.skill == \"edit_docs\"") && rules.contains("forbid"));
        let plain = parse("a.yaml", &GOOD.replace("careful", "standard")).unwrap();
        assert_eq!(plain.rules(), None);
        let own = GOOD.replace(
            "careful",
            "'@id(\"x\") forbid (principal, action, resource);'",
        );
        assert_eq!(parse("a.yaml", &own).unwrap().risk_name(), "rules");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let text = "skill_name: Edit Docs\nrequired_tools: [a.b, a.b, 'c d']\nrisk_policy: wild\nrisky: 1\n";
        let told = told(text);
        for part in [
            "a.yaml:1:1: error[field]: `description` is missing",
            "`Edit Docs` is no name",
            "a.yaml:2:23: error[duplicate]: `a.b` stands here twice",
            "a.yaml:2:28: error[field]: `c d` is no name of `required_tools`",
            "a.yaml:3:14: error[field]: `risk_policy` is one of standard, careful, read_only, local",
            "a.yaml:4:1: error[unknown-field]: `risky` is not known here",
        ] {
            assert!(told.contains(part), "{part}\n---\n{told}");
        }
        assert!(self::told("- a\n").contains("expected fields"));
        assert!(self::told("a: &b 1\n").contains("aliases"));
        assert!(
            self::told("skill_name: a\ndescription: b\nrequired_tools: []\n")
                .contains("at least one")
        );
    }
}
