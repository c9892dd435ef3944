//! Skills: tools that belong together, the runs they allow, and a guide for agents.
//!
//! Invariants: a skill that lacks a tool is off and says why; what only skills that are off
//! name is hidden, and a hidden tool is simply unknown; the gate's own tools are never
//! hidden, so nobody is locked out.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak},
};

use serde::Serialize;

use crate::{
    call::{Changed, Gateway, Inner},
    catalog::Catalog,
    policy::Policies,
    settings::fits,
};

/// Whose tools are never hidden.
const GATE: &str = "builtin";
/// Why a skill is off that its operator turned off.
pub const TURNED_OFF: &str = "turned off by the operator";
/// What an operator has turned off, looked up anew; the same value as long as nothing changed.
pub type DisabledLookup = Box<dyn Fn() -> Arc<BTreeSet<String>> + Send + Sync>;

/// A skill as its files say, and what its operator decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skill {
    /// The name everybody uses.
    #[serde(rename = "skill_name")]
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Tools it needs; a pattern may end in `*` and needs one that fits.
    pub required_tools: Vec<String>,
    /// Templates whose runs it allows.
    pub allowed_run_types: Vec<String>,
    /// Templates it works with.
    pub templates: Vec<String>,
    /// How careful it is, as its file says.
    pub risk_policy: String,
    /// What an agent should know, as Markdown.
    #[serde(skip)]
    pub guide: String,
    /// Where it comes from.
    pub source: String,
    /// Why it is off, whatever tools there are.
    pub off: Option<String>,
}

/// A skill and whether it can be used now.
#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    /// The skill.
    #[serde(flatten)]
    pub skill: Skill,
    /// Whether it can be used.
    pub enabled: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// Whether a run of a template may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunType {
    /// No skill says anything about it.
    Free,
    /// This skill allows it; its rules hold for the run.
    Of(String),
    /// Every skill that knows it is off.
    Refused {
        /// One of them.
        skill: String,
        /// Why it is off.
        reason: String,
    },
}

/// Every skill, held against the tools there are.
#[derive(Debug, Default)]
pub struct Skills {
    all: Vec<Standing>,
    hidden: HashSet<String>,
}

impl Skills {
    /// Holds skills against the tools there are.
    pub fn judge(skills: &[Skill], catalog: &Catalog) -> Self {
        let all: Vec<Standing> = skills
            .iter()
            .map(|skill| {
                let reason = skill.off.clone().or_else(|| lacks(skill, catalog));
                Standing {
                    skill: skill.clone(),
                    enabled: reason.is_none(),
                    reason,
                }
            })
            .collect();
        let names = |standing: &&Standing, tool: &str| {
            let patterns = &standing.skill.required_tools;
            patterns.iter().any(|pattern| fits(pattern, tool))
        };
        let is_hidden = |tool: &str| {
            let mut naming = all
                .iter()
                .filter(|standing| names(standing, tool))
                .peekable();
            naming.peek().is_some() && naming.all(|standing| !standing.enabled)
        };
        let hidden = catalog
            .listings()
            .filter(|listing| listing.spec.provider_id != GATE)
            .map(|listing| listing.spec.name.as_str())
            .filter(|tool| is_hidden(tool))
            .map(str::to_owned)
            .collect();
        Self { all, hidden }
    }

    /// Every skill, in the order of their names.
    pub fn all(&self) -> &[Standing] {
        &self.all
    }

    /// A skill by its name.
    pub fn find(&self, name: &str) -> Option<&Standing> {
        self.all.iter().find(|standing| standing.skill.name == name)
    }

    /// The names of those that can be used.
    fn in_use(&self) -> Vec<&str> {
        let on = self.all.iter().filter(|standing| standing.enabled);
        on.map(|standing| standing.skill.name.as_str()).collect()
    }

    /// Whether only skills that are off name this tool.
    pub fn hides(&self, tool: &str) -> bool {
        self.hidden.contains(tool)
    }

    /// Whether a run of this template may be made.
    pub fn run_type(&self, template: &str) -> RunType {
        let allows = |standing: &&Standing| {
            let allowed = &standing.skill.allowed_run_types;
            allowed.iter().any(|name| name == template)
        };
        let mut refused = RunType::Free;
        for standing in self.all.iter().filter(allows) {
            let skill = standing.skill.name.clone();
            match &standing.reason {
                None => return RunType::Of(skill),
                Some(reason) if refused == RunType::Free => {
                    let reason = reason.clone();
                    refused = RunType::Refused { skill, reason };
                }
                Some(_) => {}
            }
        }
        refused
    }
}

/// The tools a skill needs and does not have, in words.
fn lacks(skill: &Skill, catalog: &Catalog) -> Option<String> {
    let mut missing = Vec::new();
    for pattern in &skill.required_tools {
        let mut found = catalog
            .listings()
            .filter(|listing| fits(pattern, listing.spec.name.as_str()))
            .peekable();
        if found.peek().is_none() {
            missing.push(format!("there is no tool `{pattern}`"));
        } else if let Some(why) = found
            .map(|listing| listing.spec.inactive.as_deref())
            .reduce(Option::and)
            .flatten()
        {
            missing.push(format!("`{pattern}` cannot be used: {why}"));
        }
    }
    (!missing.is_empty()).then(|| missing.join("; "))
}

/// The skills of a gate, shared with the provider of their guides.
#[derive(Clone, Default)]
pub struct SkillBoard(Arc<Shared>);

#[derive(Default)]
struct Shared {
    read: RwLock<Arc<Vec<Skill>>>,
    judged: RwLock<Arc<Skills>>,
    lookup: OnceLock<DisabledLookup>,
    /// What the last look found.
    off: Mutex<Option<Arc<BTreeSet<String>>>>,
}

impl SkillBoard {
    /// These skills, not yet held against any tools.
    pub fn new(skills: Vec<Skill>) -> Self {
        let board = Self::default();
        board.put(skills);
        board
    }

    /// Has what is turned off looked up before every call and list, so that it holds at once
    /// in every process; everything else is read again by whoever watches the files.
    pub fn look_up_disabled_with(&self, lookup: DisabledLookup) {
        // Set once, when the gate is put together; a second one would be ours to ignore.
        drop(self.0.lookup.set(lookup));
    }

    /// Looks whether an operator has turned a skill off; says what lists are others now.
    pub(crate) fn look(&self, catalog: impl FnOnce() -> Arc<Catalog>) -> Vec<Changed> {
        let Some(lookup) = self.0.lookup.get() else {
            return Vec::new();
        };
        let now = lookup();
        let is_known = |seen: &Arc<BTreeSet<String>>| Arc::ptr_eq(seen, &now);
        let seen = self.0.off.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref().is_some_and(is_known) {
            return Vec::new();
        }
        drop(seen);
        self.judge(&catalog())
    }

    /// The skills as they were read, without those that were turned off since.
    fn without(&self, off: &BTreeSet<String>) -> Vec<Skill> {
        let mut skills = Vec::clone(&self.read());
        for skill in skills.iter_mut().filter(|skill| off.contains(&skill.name)) {
            skill.off.get_or_insert_with(|| TURNED_OFF.to_owned());
        }
        skills
    }

    /// Puts other skills in place, before a gate is made of them.
    pub fn put(&self, mut skills: Vec<Skill>) {
        skills.sort_by(|one, other| one.name.cmp(&other.name));
        *self.0.read.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(skills);
    }

    /// The skills as they were read.
    pub(crate) fn read(&self) -> Arc<Vec<Skill>> {
        Arc::clone(&self.0.read.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The skills as they stand.
    pub(crate) fn judged(&self) -> Arc<Skills> {
        Arc::clone(&self.0.judged.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a tool is hidden, without taking hold of anything.
    pub(crate) fn hides(&self, tool: &str) -> bool {
        let judged = self.0.judged.read().unwrap_or_else(PoisonError::into_inner);
        !judged.hidden.is_empty() && judged.hides(tool)
    }

    /// Holds the skills against these tools; says what lists are others now, because other
    /// tools are hidden or other guides are shown.
    pub(crate) fn judge(&self, catalog: &Catalog) -> Vec<Changed> {
        // Held to the end: whoever looks meanwhile waits until what was found holds.
        let mut seen = self.0.off.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = self.0.lookup.get().map(|lookup| lookup());
        let judged = match &*seen {
            Some(off) => Skills::judge(&self.without(off), catalog),
            None => Skills::judge(&self.read(), catalog),
        };
        let mut known = self
            .0
            .judged
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut changed = Vec::new();
        if known.hidden != judged.hidden {
            changed.push(Changed::Tools);
        }
        if known.in_use() != judged.in_use() {
            changed.extend([Changed::Prompts, Changed::Resources]);
        }
        *known = Arc::new(judged);
        changed
    }
}

/// A gate that somebody else keeps open.
#[derive(Clone)]
pub struct WeakGateway(Weak<Inner>);

impl WeakGateway {
    /// The gate, while it is open.
    pub fn upgrade(&self) -> Option<Gateway> {
        self.0.upgrade().map(Gateway)
    }
}

impl Inner {
    /// Takes notice of what an operator has turned off since the last call.
    pub(crate) fn look_at_skills(&self) {
        for changed in self.skills.look(|| self.catalog()) {
            self.announce(changed);
        }
    }
}

impl Gateway {
    /// The gate for whoever must not keep it open.
    pub fn downgrade(&self) -> WeakGateway {
        WeakGateway(Arc::downgrade(&self.0))
    }

    /// The skills as they stand.
    pub fn skills(&self) -> Arc<Skills> {
        self.0.look_at_skills();
        self.0.skills.judged()
    }

    /// Puts other skills and the rules that go with them in place; calls under way keep theirs.
    pub async fn replace_skills(&self, skills: Vec<Skill>, policies: Policies) {
        self.0.skills.put(skills);
        self.replace_policies(policies);
        self.collect_again().await;
    }

    fn replace_policies(&self, policies: Policies) {
        let mut known = self
            .0
            .policies
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if known.version() != policies.version() {
            *known = Arc::new(policies);
        }
    }
}
