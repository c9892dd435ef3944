//! Shared questions; the files beside this one hold the claims.

mod approval;
mod compile;
mod default;
mod docs;
mod lift;
mod listing;
mod memo;
mod table;
mod traps;

use tollgate_core::{
    Annotations, Caching, Capability, Cost, Estimate, Payload, Principal, Raise, Spelled, Surface,
    Telling, ToolName, ToolSpec, TrustLevel,
};

use super::{Action, Consent, Decision, Origin, Policies, Question, Source, Verdict};

/// A tool that only reads.
pub(crate) fn reader(name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::new(name).unwrap(),
        title: String::new(),
        description: String::new(),
        input_schema: serde_json::json!({}).into(),
        output_schema: None,
        annotations: Annotations::READ,
        capability: Capability::L0,
        raise: Raise::default(),
        telling: Telling::default(),
        provider_id: "stub".to_owned(),
        requires_confirm: false,
        timeout_ms: 1_000,
        toolsets: vec!["gate".to_owned()],
        requires_explicit_toolset: false,
        surfaces: Surface::ALL.to_vec(),
        caching: Caching::Never,
        cost: Cost::Free,
        trust: TrustLevel::ALL.to_vec(),
        aliases: Vec::new(),
        service_command: None,
        shape: tollgate_core::Shape::Data,
        upstream: None,
        page: None,
        spelled: Spelled::default(),
        more: serde_json::Map::new(),
        inactive: None,
    }
}

/// A tool that writes.
fn writer(name: &str) -> ToolSpec {
    ToolSpec {
        annotations: Annotations {
            read_only: false,
            ..Annotations::READ
        },
        capability: Capability::L1,
        ..reader(name)
    }
}

/// Everything a question borrows.
#[derive(Debug)]
struct Ask {
    principal: Principal,
    action: Action,
    tool: ToolSpec,
    consent: Consent,
    trust: TrustLevel,
    surface: Surface,
    profile: Option<String>,
    session: String,
    budget_left: Option<u64>,
    estimate: Estimate,
    tainted: bool,
    arguments: Payload,
}

impl Ask {
    fn about(tool: ToolSpec) -> Self {
        Self {
            principal: Principal::user(1000),
            action: Action::Call,
            tool,
            consent: Consent::None,
            trust: TrustLevel::Local,
            surface: Surface::Cli,
            profile: None,
            session: "default".to_owned(),
            budget_left: None,
            estimate: Estimate::default(),
            tainted: false,
            arguments: Payload::empty_object(),
        }
    }

    fn with(self, arguments: &str) -> Self {
        Self {
            arguments: Payload::parse(arguments.to_owned()).unwrap(),
            ..self
        }
    }

    fn consenting(self, consent: Consent) -> Self {
        Self { consent, ..self }
    }

    fn question(&self) -> Question<'_> {
        Question {
            principal: &self.principal,
            action: self.action,
            tool: &self.tool,
            capability: self.tool.capability,
            consent: self.consent,
            trust: self.trust,
            surface: self.surface,
            profile: self.profile.as_deref(),
            skill: None,
            session: &self.session,
            budget_left: self.budget_left,
            estimate: self.estimate,
            tainted: self.tainted,
            arguments: &self.arguments,
        }
    }

    fn decide(&self, policies: &Policies) -> Verdict {
        policies.decide(&self.question())
    }
}

fn user(text: &str) -> Source {
    Source {
        name: "user.cedar".to_owned(),
        text: text.to_owned(),
        origin: Origin::User,
    }
}

/// The shipped rules with rules of a user beside them.
fn beside_default(text: &str) -> Policies {
    compiled(vec![Source::shipped(), user(text)])
}

fn only(text: &str) -> Policies {
    compiled(vec![user(text)])
}

fn compiled(sources: Vec<Source>) -> Policies {
    match Policies::compile(sources) {
        Ok(policies) => policies,
        Err(problems) => panic!("{problems:#?}"),
    }
}
