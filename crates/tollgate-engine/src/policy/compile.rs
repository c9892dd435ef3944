//! Turns files of rules into something that can be asked.
//!
//! Invariant: what compiled is sound as a whole. Every rule has a name of its own
//! and fits the schema as far as a schema can say, and a file that may only narrow
//! holds no `permit`.

use std::{collections::HashMap, str::FromStr, sync::OnceLock};

use cedar_policy::{
    Authorizer, Effect, Policy, PolicyId, PolicySet, Schema, ValidationMode, Validator,
    ffi::DetailedError,
    pst::{self, Clause, EntityOrSlot, ResourceConstraint},
};
use sha2::{Digest, Sha256};
use tollgate_core::canonical::hex;

use super::{
    DEFAULT_DENY, Origin, PolicyError, Problem, Source, UNASKABLE,
    entities::Cast,
    memo::Memo,
    mention::Mentions,
    rewrite::{for_listing, for_validation},
};

/// The rules Tollgate ships with.
const SHIPPED: &str = include_str!("../../policies/default.cedar");
/// What rules may look at.
const SCHEMA: &str = include_str!("../../policies/tollgate.cedarschema");
/// Part of every version; changes when the same rules would be read differently.
const SEMANTICS: &str = "tollgate policy 1";
/// The longest id.
const MAX_ID: usize = 64;

/// Compiled rules.
pub struct Policies {
    pub(super) set: PolicySet,
    /// The same rules for a listing, where any of them depends on the call.
    pub(super) listing: Option<PolicySet>,
    /// In the order they were written.
    pub(super) rules: Vec<Rule>,
    pub(super) places: HashMap<PolicyId, usize>,
    pub(super) authorizer: Authorizer,
    pub(super) cast: Cast,
    pub(super) memo: Memo,
    version: String,
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
    /// The only tool it can apply to, if its scope names one.
    only: Option<String>,
}

/// A rule on its way into the set.
struct Draft {
    rule: Rule,
    policy: Policy,
    tree: pst::Policy,
    source: usize,
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
    fn is_known_good(&self) -> bool {
        self.origin == Origin::Shipped && self.text == SHIPPED
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
            match read(source, index) {
                Ok(read) => drafts.extend(read),
                Err(found) => problems.extend(found),
            }
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
        !self.mentions(tool).arguments.is_none()
    }

    /// What the rules that can apply to this tool look at.
    pub(super) fn mentions(&self, tool: &str) -> Mentions {
        let mut mentions = Mentions::default();
        self.rules
            .iter()
            .filter(|rule| rule.only.as_deref().is_none_or(|only| only == tool))
            .for_each(|rule| mentions.merge(&rule.mentions));
        mentions
    }
}

fn build(drafts: Vec<Draft>, version: String) -> Result<Policies, String> {
    let listing = if drafts
        .iter()
        .any(|draft| draft.rule.mentions.is_of_one_call())
    {
        let rewritten: Result<Vec<Policy>, String> = drafts
            .iter()
            .map(|draft| for_listing(&draft.tree).map_err(|cause| cause.to_string()))
            .collect();
        Some(PolicySet::from_policies(rewritten?).map_err(|cause| cause.to_string())?)
    } else {
        None
    };
    let places = drafts
        .iter()
        .enumerate()
        .map(|(place, draft)| (draft.policy.id().clone(), place))
        .collect();
    let (rules, policies): (Vec<Rule>, Vec<Policy>) = drafts
        .into_iter()
        .map(|draft| (draft.rule, draft.policy))
        .unzip();
    Ok(Policies {
        set: PolicySet::from_policies(policies).map_err(|cause| cause.to_string())?,
        listing,
        rules,
        places,
        authorizer: Authorizer::new(),
        cast: Cast::new().map_err(|cause| cause.to_string())?,
        memo: Memo::default(),
        version,
    })
}

/// Every rule of a file, in order.
fn read(source: &Source, index: usize) -> Result<Vec<Draft>, Vec<PolicyError>> {
    let set = PolicySet::from_str(&source.text).map_err(|errors| {
        errors
            .iter()
            .map(|error| syntax(source, &DetailedError::from(error)))
            .collect::<Vec<_>>()
    })?;
    let mut problems: Vec<PolicyError> = set
        .templates()
        .map(|template| {
            let id = template.annotation("id").unwrap_or_default().to_owned();
            let line = line_of(source, &template.to_cedar(), &mut 0);
            source.problem(Some(line), Problem::Template(id))
        })
        .collect();
    let mut policies: Vec<&Policy> = set.policies().collect();
    policies.sort_by_key(|policy| ordinal(policy.id()));
    let mut drafts = Vec::with_capacity(policies.len());
    let mut searched = 0;
    for policy in policies {
        let text = policy.to_cedar().unwrap_or_default();
        let line = line_of(source, &text, &mut searched);
        match draft(source, index, policy, line) {
            Ok(draft) => drafts.push(draft),
            Err(problem) => problems.push(source.problem(Some(line), problem)),
        }
    }
    if problems.is_empty() {
        Ok(drafts)
    } else {
        Err(problems)
    }
}

fn draft(source: &Source, index: usize, policy: &Policy, line: usize) -> Result<Draft, Problem> {
    let id = policy.annotation("id").ok_or(Problem::MissingId)?;
    if !is_usable(id) {
        return Err(Problem::BadId(id.to_owned()));
    }
    let permits = policy.effect() == Effect::Permit;
    if permits && source.origin == Origin::Restricting {
        return Err(Problem::PermitNotAllowed(id.to_owned()));
    }
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
    let rule = Rule {
        id: id.to_owned(),
        origin: source.origin,
        file: source.name.clone(),
        line,
        permits,
        reason: policy.annotation("reason").map(str::to_owned),
        mentions,
        only,
    };
    Ok(Draft {
        rule,
        policy,
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

fn with_help(error: &DetailedError) -> String {
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

/// Holds every rule against the schema, its arguments aside.
fn violations(sources: &[Source], drafts: &[Draft]) -> Vec<PolicyError> {
    let mut problems = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let unproven: Vec<&Draft> = drafts
            .iter()
            .filter(|draft| draft.source == index && !source.is_known_good())
            .collect();
        if unproven.is_empty() {
            continue;
        }
        match validator() {
            Ok(validator) => {
                let found = unproven
                    .iter()
                    .flat_map(|draft| check(validator, source, draft));
                problems.extend(found);
            }
            Err(cause) => problems.push(internal(cause.clone())),
        }
    }
    problems
}

fn check(validator: &Validator, source: &Source, draft: &Draft) -> Vec<PolicyError> {
    let rule = &draft.rule;
    let faulty = |message: String| {
        let problem = Problem::Schema {
            rule: rule.id.clone(),
            message,
        };
        source.problem(Some(rule.line), problem)
    };
    let visible = if rule.mentions.arguments.is_none() {
        Ok(draft.policy.clone())
    } else {
        for_validation(&draft.tree).map_err(|cause| cause.to_string())
    };
    let set = visible
        .and_then(|policy| PolicySet::from_policies([policy]).map_err(|cause| cause.to_string()));
    match set {
        Ok(set) => validator
            .validate(&set, ValidationMode::Strict)
            .validation_errors()
            .map(|error| {
                let error = DetailedError::from(error);
                let line = error
                    .source_locations
                    .first()
                    .map(|label| source.line_at(label.loc.start));
                PolicyError {
                    line: line.or(Some(rule.line)),
                    ..faulty(with_help(&error))
                }
            })
            .collect(),
        Err(message) => vec![faulty(message)],
    }
}

fn validator() -> Result<&'static Validator, &'static String> {
    static VALIDATOR: OnceLock<Result<Validator, String>> = OnceLock::new();
    VALIDATOR
        .get_or_init(|| match Schema::from_cedarschema_str(SCHEMA) {
            Ok((schema, _)) => Ok(Validator::new(schema)),
            Err(cause) => Err(cause.to_string()),
        })
        .as_ref()
}

fn internal(cause: String) -> PolicyError {
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
