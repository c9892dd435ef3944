//! One tool on offer: its spec, who serves it, and what is made of it once.

use std::sync::{Arc, OnceLock};

use tollgate_core::{
    Payload, Provider, ToolSpec,
    canonical::{Form, Node, hex_digest, printed_digest},
};
use tollgate_sanitize::Identifiers;

use crate::schema::{self, Checker, SchemaError};

/// A tool on offer.
pub struct Listing {
    /// Its contract.
    pub spec: Arc<ToolSpec>,
    pub(crate) provider: Arc<dyn Provider>,
    /// Made on first use: most tools are listed and never called.
    digest: OnceLock<String>,
    print: OnceLock<String>,
    made: OnceLock<Result<Made, SchemaError>>,
}

/// What is made of a spec on first use.
pub(crate) struct Made {
    pub(crate) input: Arc<Checker>,
    pub(crate) output: Option<Arc<Checker>>,
    pub(crate) identifiers: Identifiers,
}

impl Listing {
    pub(crate) fn new(spec: ToolSpec, provider: Arc<dyn Provider>) -> Self {
        Self {
            spec: Arc::new(spec),
            provider,
            digest: OnceLock::new(),
            print: OnceLock::new(),
            made: OnceLock::new(),
        }
    }

    /// The digest of its contract; approvals and cached answers are bound to it.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let contract = Payload::from_serialize(&self.spec).ok();
            let node = contract.as_ref().and_then(|text| Node::of(text).ok());
            let canonical = node.map(|node| node.print(Form::Jcs));
            hex_digest(canonical.unwrap_or_default().as_bytes())
        })
    }

    /// What changes whenever its contract does.
    pub(super) fn print(&self) -> &str {
        self.print
            .get_or_init(|| printed_digest(&self.spec).unwrap_or_default())
    }

    /// Whether both are the same tool in the same state. What was kept from one catalogue to
    /// the next is not looked into.
    pub(super) fn is(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other)
            || (self.spec.inactive == other.spec.inactive && self.print() == other.print())
    }

    /// The arguments of a call under the names the tool knows, where it takes other spellings of them.
    pub(crate) fn respelled(&self, arguments: Payload) -> Payload {
        self.spec.telling.respelled(arguments)
    }

    /// The validators, compiled on first use.
    pub(crate) fn made(&self) -> Result<&Made, &SchemaError> {
        self.made
            .get_or_init(|| {
                let output = self.spec.output_schema.as_deref();
                Ok(Made {
                    input: schema::compile_input(&self.spec.input_schema)?,
                    output: output.map(schema::compile).transpose()?,
                    identifiers: output.map_or_else(Identifiers::none, Identifiers::from_schema),
                })
            })
            .as_ref()
    }
}
