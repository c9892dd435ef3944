//! Turns files of rules into something that can be asked.
//!
//! Invariant: what compiled is sound as a whole. Every rule has a name of its own
//! and fits the schema as far as a schema can say, and a file that may only narrow
//! holds no `permit`.

use std::{collections::HashMap, fmt, str::FromStr, sync::Arc};

use cedar_policy::{
    Authorizer, Effect, Policy, PolicyId, PolicySet,
    ffi::DetailedError,
    pst::{self, Clause, EntityOrSlot, ResourceConstraint},
};
use sha2::{Digest, Sha256};
use tollgate_core::canonical::hex;

use super::{
    DEFAULT_DENY, Origin, PolicyError, Problem, Source, UNASKABLE, Verdict,
    entities::Cast,
    lift::{HUMAN, LIFTS, Names},
    memo::{LISTINGS, Memo, VERDICTS},
    mention::Mentions,
    rewrite::for_listing,
    validate::violations,
};

/// The rules Tollgate ships with.
const SHIPPED: &str = include_str!("../../policies/default.cedar");
/// Part of every version; changes when the same rules would be read differently.
const SEMANTICS: &str = "tollgate policy 2";
/// The longest id.
const MAX_ID: usize = 64;

/// Compiled rules.
pub struct Policies {
    /// In the order they were written.
    pub(super) rules: Vec<Rule>,
    pub(super) places: HashMap<PolicyId, usize>,
    pub(super) authorizer: Authorizer,
    pub(super) cast: Cast,
    pub(super) verdicts: Memo<Verdict>,
    pub(super) listings: Memo<bool>,
    /// The rules that no tool's name keeps from applying.
    general: Reach,
    version: String,
}

/// The rules that can apply to a tool.
#[derive(Clone)]
pub(super) struct Reach {
    /// What they look at.
    pub(super) mentions: Mentions,
    /// The rules.
    pub(super) set: Arc<PolicySet>,
    /// The same rules as a listing asks them.
    pub(super) listing: Arc<PolicySet>,
}

/// What is known of a rule beside what Cedar evaluates.
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) origin: Origin,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) permits: bool,
    pub(super) reason: Option<String>,
    pub(super) mentions: Mentions,
    pub(super) policy: Policy,
    /// The policy as a listing asks it, where that differs.
    listed: Option<Policy>,
    /// The only tool it can apply to, if its scope names one.
    pub(super) only: Option<String>,
    /// Whether it is marked as lifting a human's consent.
    pub(super) lifts: bool,
    /// The tools that it names.
    pub(super) names: Names,
}

/// A rule that was read but not yet held against the others.
pub(super) struct Draft {
    pub(super) rule: Rule,
    pub(super) tree: pst::Policy,
    pub(super) source: usize,
}

impl Source {
    /// The rules Tollgate ships with.
    pub fn shipped() -> Self {
        Self {
            name: "default.cedar".to_owned(),
            text: SHIPPED.to_owned(),
            origin: Origin::Shipped,
        }
    }

    /// Whether the test suite has already held it against the schema.
    pub(super) fn is_known_good(&self) -> bool {
        match self.origin {
            Origin::Shipped => self.text == SHIPPED,
            Origin::ShippedSkill => true,
            Origin::User | Origin::Restricting => false,
        }
    }
}

impl Policies {
    /// The shipped rules and nothing else.
    pub fn shipped() -> Result<Self, Vec<PolicyError>> {
        Self::compile(vec![Source::shipped()])
    }

    /// Compiles every source together, or reports everything that is wrong.
    pub fn compile(sources: Vec<Source>) -> Result<Self, Vec<PolicyError>> {
        let mut problems = Vec::new();
        let mut drafts: Vec<Draft> = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            read(source, index, &mut drafts, &mut problems);
        }
        problems.extend(duplicates(&sources, &drafts));
        problems.extend(violations(&sources, &drafts));
        if problems.is_empty() {
            let version = version(&sources);
            build(drafts, version).map_err(|cause| vec![internal(cause)])
        } else {
            problems.sort_by_key(|problem| {
                let source = sources.iter().position(|each| each.name == problem.file);
                (source, problem.line)
            });
            Err(problems)
        }
    }

    /// A digest of everything that was compiled.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether any rule that can apply to this tool looks at its arguments.
    pub fn needs_arguments(&self, tool: &str) -> bool {
        self.applicable(tool)
            .any(|rule| !rule.mentions.arguments.is_none())
    }

    /// The rules that can apply to a delicate tool while no human has agreed.
    pub(super) fn unlifted_reach(&self, tool: &str, provider: &str) -> Result<Reach, String> {
        let counts = move |rule: &&Rule| rule.lifts_for(provider);
        Reach::of(self.applicable(tool).filter(counts))
    }

    /// The rules that can apply to this tool, with what they look at.
    pub(super) fn reach(&self, tool: &str) -> Result<Reach, String> {
        if self.rules.iter().any(|rule| rule.is_for(tool)) {
            Reach::of(self.applicable(tool))
        } else {
            Ok(self.general.clone())
        }
    }

    fn applicable(&self, tool: &str) -> impl Iterator<Item = &Rule> + Clone {
        self.rules
            .iter()
            .filter(move |rule| rule.only.is_none() || rule.is_for(tool))
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Policies({} rules, {})", self.rules.len(), self.version)
    }
}

impl Rule {
    /// Whether it counts for a delicate tool of this provider while no human has agreed. What
    /// ships with Tollgate asks for a human there by itself.
    pub(super) fn lifts_for(&self, provider: &str) -> bool {
        let lifts = self.lifts && self.names.include(provider);
        !self.permits || self.origin == Origin::Shipped || lifts
    }

    fn is_for(&self, tool: &str) -> bool {
        self.only.as_deref() == Some(tool)
    }
}

impl Reach {
    fn of<'a>(rules: impl Iterator<Item = &'a Rule> + Clone) -> Result<Self, String> {
        let mut mentions = Mentions::default();
        rules
            .clone()
            .for_each(|rule| mentions.merge(&rule.mentions));
        let set = Arc::new(together(rules.clone().map(|rule| &rule.policy))?);
        let listing = if mentions.is_of_one_call() {
            let listed = rules.map(|rule| rule.listed.as_ref().unwrap_or(&rule.policy));
            Arc::new(together(listed)?)
        } else {
            Arc::clone(&set)
        };
        Ok(Self {
            mentions,
            set,
            listing,
        })
    }
}

fn together<'a>(policies: impl Iterator<Item = &'a Policy>) -> Result<PolicySet, String> {
    PolicySet::from_policies(policies.cloned()).map_err(|cause| cause.to_string())
}

fn build(drafts: Vec<Draft>, version: String) -> Result<Policies, String> {
    let rules: Vec<Rule> = drafts.into_iter().map(|draft| draft.rule).collect();
    let places = rules
        .iter()
        .enumerate()
        .map(|(place, rule)| (rule.policy.id().clone(), place))
        .collect();
    Ok(Policies {
        general: Reach::of(rules.iter().filter(|rule| rule.only.is_none()))?,
        rules,
        places,
        authorizer: Authorizer::new(),
        cast: Cast::new().map_err(|cause| cause.to_string())?,
        verdicts: Memo::with_slots(VERDICTS),
        listings: Memo::with_slots(LISTINGS),
        version,
    })
}

/// Reads every rule of a file, in order, as far as each can be read.
fn read(source: &Source, index: usize, drafts: &mut Vec<Draft>, problems: &mut Vec<PolicyError>) {
    let set = match PolicySet::from_str(&source.text) {
        Ok(set) => set,
        Err(errors) => {
            let errors = errors.iter().map(DetailedError::from);
            problems.extend(errors.map(|error| syntax(source, &error)));
            return;
        }
    };
    problems.extend(set.templates().map(|template| {
        let id = template.annotation("id").unwrap_or_default().to_owned();
        let line = line_of(source, &template.to_cedar(), &mut 0);
        source.problem(Some(line), Problem::Template(id))
    }));
    let mut policies: Vec<&Policy> = set.policies().collect();
    policies.sort_by_key(|policy| ordinal(policy.id()));
    let mut searched = 0;
    for policy in policies {
        let text = policy.to_cedar().unwrap_or_default();
        let line = line_of(source, &text, &mut searched);
        match draft(source, index, policy, line) {
            Ok(draft) => drafts.push(draft),
            Err(problem) => problems.push(source.problem(Some(line), problem)),
        }
    }
}

/// What an annotation says. Asking for one by name would parse the name as Cedar each time.
fn said<'a>(policy: &'a Policy, name: &str) -> Option<&'a str> {
    let mut annotations = policy.annotations();
    annotations.find_map(|(key, value)| (key == name).then_some(value))
}

fn draft(source: &Source, index: usize, policy: &Policy, line: usize) -> Result<Draft, Problem> {
    let id = said(policy, "id").ok_or(Problem::MissingId)?;
    if !is_usable(id) {
        return Err(Problem::BadId(id.to_owned()));
    }
    let permits = policy.effect() == Effect::Permit;
    if permits && source.origin.only_forbids() {
        return Err(Problem::PermitNotAllowed(id.to_owned()));
    }
    let lifts = match said(policy, LIFTS) {
        None => false,
        Some(HUMAN) if permits => true,
        Some(_) => return Err(Problem::BadLift(id.to_owned())),
    };
    // Going through the bare syntax tree spares parsing the text a second time.
    let policy = Policy::from(policy.as_ref().clone()).new_id(PolicyId::new(id));
    let tree = policy
        .to_pst()
        .map_err(|cause| Problem::Internal(cause.to_string()))?;
    let mut mentions = Mentions::default();
    for clause in tree.body().clauses() {
        let (Clause::When(expr) | Clause::Unless(expr)) = clause;
        mentions.merge(&Mentions::of(expr));
    }
    let only = match &tree.body().resource {
        ResourceConstraint::Eq(EntityOrSlot::Entity(uid)) => Some(uid.eid.to_string()),
        ResourceConstraint::Eq(EntityOrSlot::Slot(_))
        | ResourceConstraint::Any
        | ResourceConstraint::In(_)
        | ResourceConstraint::Is(_)
        | ResourceConstraint::IsIn(..) => None,
    };
    let listed = if mentions.is_of_one_call() {
        Some(for_listing(&tree).map_err(|cause| Problem::Internal(cause.to_string()))?)
    } else {
        None
    };
    let rule = Rule {
        id: id.to_owned(),
        origin: source.origin,
        file: source.name.clone(),
        line,
        permits,
        reason: said(&policy, "reason").map(str::to_owned),
        mentions,
        listed,
        only,
        lifts,
        names: Names::of(&tree.body().resource, tree.body().clauses()),
        policy,
    };
    Ok(Draft {
        rule,
        tree,
        source: index,
    })
}

fn is_usable(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '/');
    (1..=MAX_ID).contains(&id.len())
        && id.chars().all(allowed)
        && ![DEFAULT_DENY, UNASKABLE].contains(&id)
}

/// Cedar numbers the rules of a text as it meets them.
fn ordinal(id: &PolicyId) -> usize {
    let text: &str = id.as_ref();
    text.trim_start_matches("policy")
        .parse()
        .unwrap_or(usize::MAX)
}

/// The line where `text` starts; `searched` is where the rule before it ended.
fn line_of(source: &Source, text: &str, searched: &mut usize) -> usize {
    let rest = source.text.get(*searched..).unwrap_or_default();
    match rest.find(text) {
        Some(at) => {
            let start = *searched + at;
            *searched = start + text.len();
            source.line_at(start)
        }
        None => source.line_at(*searched),
    }
}

fn syntax(source: &Source, error: &DetailedError) -> PolicyError {
    let line = error
        .source_locations
        .first()
        .map(|label| source.line_at(label.loc.start));
    source.problem(line, Problem::Syntax(with_help(error)))
}

pub(super) fn with_help(error: &DetailedError) -> String {
    match &error.help {
        Some(help) => format!("{} ({help})", error.message),
        None => error.message.clone(),
    }
}

fn duplicates(sources: &[Source], drafts: &[Draft]) -> Vec<PolicyError> {
    let mut owners: HashMap<&str, &Rule> = HashMap::new();
    let mut problems = Vec::new();
    for Draft { rule, source, .. } in drafts {
        match owners.get(rule.id.as_str()) {
            Some(owner) => problems.extend(sources.get(*source).map(|source| {
                let problem = Problem::DuplicateId {
                    id: rule.id.clone(),
                    file: owner.file.clone(),
                    line: owner.line,
                };
                source.problem(Some(rule.line), problem)
            })),
            None => {
                owners.insert(&rule.id, rule);
            }
        }
    }
    problems
}

pub(super) fn internal(cause: String) -> PolicyError {
    PolicyError {
        file: "tollgate".to_owned(),
        line: None,
        problem: Problem::Internal(cause),
    }
}

fn version(sources: &[Source]) -> String {
    let mut digest = Sha256::new();
    let mut field = |text: &str| {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    };
    field(SEMANTICS);
    for source in sources {
        field(source.origin.as_str());
        field(&source.name);
        field(&source.text);
    }
    hex(&digest.finalize())
}
