//! What one provider offers beside tools, and who is asked for a resource or a prompt.
//!
//! A read is a call: each provider with something to offer has a listing for reading,
//! one for prompts and one for completions, so that every stage of the path has a spec
//! to look at. They are not tools and appear in no list.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_core::{
    Annotations, Caching, Capability, Cost, Offers, Payload, Provider, Raise, Spelled, Surface,
    Telling, ToolName, ToolSpec, TrustLevel, offer,
};

use super::{Catalog, Listing};
use crate::{
    call::{Changed, within},
    policy::Action,
};

/// The provider of the gate's own tools and documents.
pub(super) const GATE: &str = "builtin";
/// How long a read may take.
const TIMEOUT_MS: u64 = 30_000;

/// One provider's offers.
pub(crate) struct Offered {
    offers: Offers,
    read: Arc<Listing>,
    prompt: Arc<Listing>,
    complete: Arc<Listing>,
    provider: Arc<dyn Provider>,
}

impl Offered {
    /// Tells its provider who is followed.
    pub(crate) fn follow(&self, uri: &str, wanted: bool) {
        self.provider.follow(uri, wanted);
    }

    /// Nothing if there is nothing to offer.
    pub(super) fn new(provider: &Arc<dyn Provider>, offers: Offers) -> Option<Self> {
        if offers.is_empty() {
            return None;
        }
        let listing = |name: &str, title: &str, input: Value| {
            let spec = spec(provider.id(), name, title, input, offers.open_world)?;
            Some(Arc::new(Listing::new(spec, Arc::clone(provider))))
        };
        Some(Self {
            read: listing(offer::READ, "Read a resource", json!({"uri": text(8192)}))?,
            prompt: listing(
                offer::GET_PROMPT,
                "Take a prompt",
                json!({"name": text(256), "arguments": {"type": "object"}}),
            )?,
            complete: listing(
                offer::COMPLETE,
                "Complete an argument",
                json!({
                    "ref": {"type": "object"},
                    "argument": {
                        "type": "object",
                        "required": ["name", "value"],
                        "properties": {"name": text(256), "value": {"type": "string"}},
                    },
                    "context": {"type": "object"},
                }),
            )?,
            provider: Arc::clone(provider),
            offers,
        })
    }

    pub(crate) fn offers(&self) -> &Offers {
        &self.offers
    }

    /// What stands for one of the reads of this provider.
    pub(crate) fn listing(&self, action: Action) -> &Arc<Listing> {
        match action {
            Action::Call | Action::Read => &self.read,
            Action::GetPrompt => &self.prompt,
            Action::Complete => &self.complete,
        }
    }
}

/// What is read at the gate was cleaned as what it is; numbers in it are not prose.
fn own_documents() -> Value {
    let text = json!({"type": "string", "x-identifier": true});
    let content = json!({"type": "object", "properties": {"text": text}});
    json!({
        "type": "object",
        "required": ["contents"],
        "properties": {"contents": {"type": "array", "items": content}},
    })
}

fn text(longest: u32) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": longest})
}

fn spec(
    provider: &str,
    name: &str,
    title: &str,
    properties: Value,
    open_world: bool,
) -> Option<ToolSpec> {
    let first = properties.as_object()?.keys().next()?.clone();
    Some(ToolSpec {
        name: ToolName::new(name).ok()?,
        title: title.to_owned(),
        description: title.to_owned(),
        input_schema: json!({"type": "object", "required": [first], "properties": properties})
            .into(),
        output_schema: (provider == GATE && name == offer::READ).then(|| own_documents().into()),
        annotations: Annotations {
            open_world,
            ..Annotations::READ
        },
        capability: Capability::L0,
        raise: Raise::default(),
        telling: Telling::default(),
        provider_id: provider.to_owned(),
        requires_confirm: false,
        timeout_ms: TIMEOUT_MS,
        toolsets: Vec::new(),
        requires_explicit_toolset: true,
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
    })
}

/// What somebody wants to read.
pub(crate) enum Wanted {
    Resource(String),
    Prompt(String),
}

impl Wanted {
    /// What a read is about, as far as its arguments can be read.
    pub(crate) fn of(action: Action, arguments: &Payload) -> Self {
        let value = arguments.value();
        let field = |value: &Value, name: &str| {
            let text = value.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        match action {
            Action::GetPrompt => Self::Prompt(field(value, "name")),
            Action::Call | Action::Read => Self::Resource(field(value, "uri")),
            Action::Complete => {
                let about = &value["ref"];
                match about.get("type").and_then(Value::as_str) {
                    Some("ref/resource") => Self::Resource(field(about, "uri")),
                    Some(_) | None => Self::Prompt(field(about, "name")),
                }
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Resource(name) | Self::Prompt(name) => name,
        }
    }

    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Resource(_) => "resource",
            Self::Prompt(_) => "prompt",
        }
    }
}

impl Catalog {
    /// What is different in another catalogue.
    pub(crate) fn differences(&self, other: &Self) -> Vec<Changed> {
        let both = self.tools.values().zip(other.tools.values());
        let tools = self.tools.len() != other.tools.len()
            || !both.into_iter().all(|(own, other)| own.is(other));
        let offers = |of: fn(&Offers, &Offers) -> bool| {
            let same = |(own, other): (&Arc<Offered>, &Arc<Offered>)| {
                Arc::ptr_eq(own, other) || of(&own.offers, &other.offers)
            };
            self.offered.len() != other.offered.len()
                || !self.offered.iter().zip(&other.offered).all(same)
        };
        let prompts = offers(|own, other| own.prompts == other.prompts);
        let resources = offers(|own, other| {
            own.resources == other.resources && own.templates == other.templates
        });
        [
            (tools, Changed::Tools),
            (prompts, Changed::Prompts),
            (resources, Changed::Resources),
        ]
        .into_iter()
        .filter_map(|(differs, changed)| differs.then_some(changed))
        .collect()
    }

    /// Every provider with something to offer beside tools.
    pub(crate) fn offered(&self) -> impl Iterator<Item = &Arc<Offered>> {
        self.offered.iter()
    }

    /// Who is to be asked; the closest claim wins, then the first provider.
    pub(crate) fn owner(&self, wanted: &Wanted) -> Option<&Arc<Offered>> {
        match wanted {
            Wanted::Prompt(name) => self.offered.iter().find(|offered| {
                let prompts = &offered.offers.prompts;
                prompts.iter().any(|prompt| prompt.name == *name)
            }),
            Wanted::Resource(uri) => self
                .offered
                .iter()
                .rev()
                .filter_map(|offered| Some((offered.offers.claims(uri)?, offered)))
                .max_by_key(|(closeness, _)| *closeness)
                .map(|(_, offered)| offered),
        }
    }

    /// Whether somebody limited to toolsets may look at what this provider offers.
    pub(crate) fn is_in_scope(&self, offered: &Offered, scope: Option<&[String]>) -> bool {
        let provider = offered.provider.id();
        provider == GATE
            || self.tools.values().any(|listing| {
                listing.spec.provider_id == provider && within(scope, &listing.spec.toolsets)
            })
            || scope.is_none()
    }
}
