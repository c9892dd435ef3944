//! Tools, principals and questions as Cedar sees them.
//!
//! A tool's entity is built when it is first called and kept; a list asks about
//! thousands that are never called, so it keeps none. Invariant: a kept entity is
//! used only for a spec with the very same attributes, so a tool that was reloaded
//! with another meaning is never judged by its former self.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression,
};
use tollgate_core::{Annotations, Capability, Principal, ToolSpec};

use super::{Action, Consent, Policies, Question, compile::Reach, lift};

/// The most tools kept; beyond it all are built anew.
const MAX_TOOLS: usize = 65_536;

/// A question that cannot be put; a fault of ours.
#[derive(Debug, thiserror::Error)]
#[error("the question cannot be put: {0}")]
pub(super) struct EntityError(String);

impl EntityError {
    fn of(cause: impl std::fmt::Display) -> Self {
        Self(cause.to_string())
    }
}

/// A tool, ready to be asked about.
pub(super) struct PreparedTool {
    /// Tells this tool with these attributes from every other.
    pub(super) number: u64,
    /// The rules that can apply to it.
    pub(super) reach: Reach,
    /// Those of them that count while no human has agreed, where these are fewer.
    unlifted: OnceLock<Reach>,
    facts: Facts,
    uid: EntityUid,
    /// Its entity beside that of whoever called last; most often they call again.
    company: Mutex<Option<(Principal, EntityUid, Entities)>>,
}

impl PreparedTool {
    /// The rules that count for this question with this consent.
    pub(super) fn rules(
        &self,
        policies: &Policies,
        action: Action,
        consent: Consent,
    ) -> Result<&Reach, String> {
        let is_delicate = lift::is_delicate(self.facts.annotations);
        if action != Action::Call || consent == Consent::Human || !is_delicate {
            return Ok(&self.reach);
        }
        if let Some(unlifted) = self.unlifted.get() {
            return Ok(unlifted);
        }
        let name: &str = self.uid.id().unescaped();
        let made = policies.unlifted_reach(name, &self.facts.provider)?;
        Ok(self.unlifted.get_or_init(|| made))
    }
}

/// Whether the entities of a question are worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// The same is asked with the next call.
    ForCalls,
    /// A list asks once about each tool.
    No,
}

/// Everything of a spec that its entity holds, apart from the name.
struct Facts {
    provider: String,
    capability: Capability,
    annotations: Annotations,
    requires_confirm: bool,
    toolsets: Vec<String>,
    service_command: Option<String>,
}

impl Facts {
    fn of(spec: &ToolSpec) -> Self {
        Self {
            provider: spec.provider_id.clone(),
            capability: spec.capability,
            annotations: spec.annotations,
            requires_confirm: spec.requires_confirm,
            toolsets: spec.toolsets.clone(),
            service_command: spec.service_command.clone(),
        }
    }

    fn are_of(&self, spec: &ToolSpec) -> bool {
        self.capability == spec.capability
            && self.annotations == spec.annotations
            && self.requires_confirm == spec.requires_confirm
            && self.provider == spec.provider_id
            && self.toolsets == spec.toolsets
            && self.service_command == spec.service_command
    }
}

/// The names and entities that outlive a question.
pub(super) struct Cast {
    tool: EntityTypeName,
    toolset: EntityTypeName,
    principal: EntityTypeName,
    actions: Vec<(Action, EntityUid)>,
    next: AtomicU64,
    tools: RwLock<HashMap<String, Arc<PreparedTool>>>,
}

impl Cast {
    pub(super) fn new() -> Result<Self, EntityError> {
        let action = type_name("Action")?;
        Ok(Self {
            tool: type_name("Tool")?,
            toolset: type_name("Toolset")?,
            principal: type_name("Principal")?,
            actions: Action::ALL
                .into_iter()
                .map(|each| (each, uid(&action, each.as_str())))
                .collect(),
            next: AtomicU64::new(0),
            tools: RwLock::default(),
        })
    }

    /// The tool's entity, built by the first question about it.
    pub(super) fn tool(
        &self,
        spec: &ToolSpec,
        reach: impl FnOnce(&str) -> Result<Reach, String>,
    ) -> Result<Arc<PreparedTool>, EntityError> {
        let name = spec.name.as_str();
        let kept = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tool) = kept.get(name).filter(|tool| tool.facts.are_of(spec)) {
            return Ok(Arc::clone(tool));
        }
        drop(kept);
        let tool = Arc::new(PreparedTool {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            reach: reach(name).map_err(EntityError)?,
            unlifted: OnceLock::new(),
            facts: Facts::of(spec),
            uid: uid(&self.tool, name),
            company: Mutex::default(),
        });
        let mut kept = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_TOOLS {
            kept.clear();
        }
        kept.insert(name.to_owned(), Arc::clone(&tool));
        Ok(tool)
    }

    fn entity(&self, spec: &ToolSpec, uid: &EntityUid) -> Result<Entity, EntityError> {
        let parents: HashSet<EntityUid> = spec
            .toolsets
            .iter()
            .map(|toolset| self::uid(&self.toolset, toolset))
            .collect();
        Entity::new(uid.clone(), tool_attributes(spec), parents).map_err(EntityError::of)
    }

    /// Everything about a question but its consent.
    pub(super) fn scene(
        &self,
        question: &Question<'_>,
        tool: &PreparedTool,
        arguments: RestrictedExpression,
        kept: Kept,
    ) -> Result<Scene, EntityError> {
        let (principal, entities) = self.company(question, tool, kept)?;
        let action = self
            .actions
            .iter()
            .find(|(action, _)| *action == question.action)
            .map(|(_, uid)| uid.clone())
            .ok_or_else(|| EntityError::of("an action without a name"))?;
        Ok(Scene {
            principal,
            action,
            resource: tool.uid.clone(),
            entities,
            context: context(question, arguments),
        })
    }

    /// The principal and the tool together.
    fn company(
        &self,
        question: &Question<'_>,
        tool: &PreparedTool,
        kept: Kept,
    ) -> Result<(EntityUid, Entities), EntityError> {
        let principal = question.principal;
        let known = tool.company.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((who, uid, entities)) = known.as_ref()
            && who == principal
        {
            return Ok((uid.clone(), entities.clone()));
        }
        drop(known);
        let uid = uid(&self.principal, principal.as_str());
        let attributes = principal_attributes(principal);
        let entity =
            Entity::new(uid.clone(), attributes, HashSet::new()).map_err(EntityError::of)?;
        let of_tool = self.entity(question.tool, &tool.uid)?;
        let entities = Entities::from_entities([entity, of_tool], None).map_err(EntityError::of)?;
        if kept == Kept::ForCalls {
            *tool.company.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((principal.clone(), uid.clone(), entities.clone()));
        }
        Ok((uid, entities))
    }
}

/// A question put to the rules once for each consent.
pub(super) struct Scene {
    principal: EntityUid,
    action: EntityUid,
    resource: EntityUid,
    pub(super) entities: Entities,
    context: Vec<(String, RestrictedExpression)>,
}

impl Scene {
    pub(super) fn request(&self, consent: Consent) -> Result<Request, EntityError> {
        let consent = RestrictedExpression::new_long(consent.rank());
        let pairs = self.context.iter().cloned();
        let context = Context::from_pairs(pairs.chain([("consent".to_owned(), consent)]))
            .map_err(EntityError::of)?;
        Request::new(
            self.principal.clone(),
            self.action.clone(),
            self.resource.clone(),
            context,
            None,
        )
        .map_err(EntityError::of)
    }
}

fn type_name(name: &str) -> Result<EntityTypeName, EntityError> {
    name.parse().map_err(EntityError::of)
}

fn uid(of: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(of.clone(), EntityId::new(id))
}

fn text(value: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(value.to_owned())
}

fn count(value: u64) -> RestrictedExpression {
    RestrictedExpression::new_long(i64::try_from(value).unwrap_or(i64::MAX))
}

fn tool_attributes(spec: &ToolSpec) -> HashMap<String, RestrictedExpression> {
    let annotations = spec.annotations;
    let toolsets = spec.toolsets.iter().map(|toolset| text(toolset));
    let flag = RestrictedExpression::new_bool;
    named([
        ("name", text(spec.name.as_str())),
        ("namespace", text(spec.name.namespace().unwrap_or_default())),
        ("provider", text(&spec.provider_id)),
        (
            "capability",
            RestrictedExpression::new_long(spec.capability.rank()),
        ),
        ("read_only", flag(annotations.read_only)),
        ("idempotent", flag(annotations.idempotent)),
        ("destructive", flag(annotations.destructive)),
        ("open_world", flag(annotations.open_world)),
        ("sensitive_sink", flag(annotations.sensitive_sink)),
        ("requires_confirm", flag(spec.requires_confirm)),
        ("toolsets", RestrictedExpression::new_set(toolsets)),
        (
            "service_command",
            text(spec.service_command.as_deref().unwrap_or_default()),
        ),
    ])
    .collect()
}

fn principal_attributes(principal: &Principal) -> HashMap<String, RestrictedExpression> {
    let name = principal.as_str();
    let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
    let mut attributes: HashMap<_, _> =
        named([("kind", text(kind)), ("name", text(name))]).collect();
    if let ("oauth", Some((issuer, subject))) = (kind, rest.split_once('#')) {
        attributes.extend(named([
            ("issuer", text(issuer)),
            ("subject", text(subject)),
        ]));
    }
    attributes
}

fn context(
    question: &Question<'_>,
    arguments: RestrictedExpression,
) -> Vec<(String, RestrictedExpression)> {
    let optional = [
        question.profile.map(|profile| ("profile", text(profile))),
        question.skill.map(|skill| ("skill", text(skill))),
        question
            .budget_left
            .map(|left| ("budget_left", count(left))),
    ];
    named([
        (
            "capability",
            RestrictedExpression::new_long(question.capability.rank()),
        ),
        ("trust", text(question.trust.as_str())),
        ("surface", text(question.surface.as_str())),
        ("session", text(question.session)),
        ("estimated", count(question.estimate.estimated)),
        ("worst_case", count(question.estimate.worst_case)),
        (
            "cost_confirm",
            RestrictedExpression::new_bool(question.estimate.confirm),
        ),
        ("tainted", RestrictedExpression::new_bool(question.tainted)),
        ("arguments", arguments),
    ])
    .chain(named(optional.into_iter().flatten()))
    .collect()
}

fn named(
    pairs: impl IntoIterator<Item = (&'static str, RestrictedExpression)>,
) -> impl Iterator<Item = (String, RestrictedExpression)> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
}
