//! One tool on offer: its spec, who serves it, and what is made of it once.

use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use tollgate_core::{Payload, Provider, ToolSpec, canonical::hex_digest};
use tollgate_sanitize::Identifiers;

use crate::schema::{self, SchemaError};

/// A tool on offer.
pub struct Listing {
    /// Its contract.
    pub spec: Arc<ToolSpec>,
    /// The digest of that contract; approvals and cached answers are bound to it.
    pub digest: String,
    pub(crate) provider: Arc<dyn Provider>,
    made: OnceLock<Result<Made, SchemaError>>,
}

/// What is made of a spec on first use.
pub(crate) struct Made {
    pub(crate) input: Validator,
    pub(crate) output: Option<Validator>,
    pub(crate) identifiers: Identifiers,
}

impl Listing {
    pub(crate) fn new(spec: ToolSpec, provider: Arc<dyn Provider>) -> Self {
        let text = serde_json::to_string(&spec).unwrap_or_default();
        let canonical = Payload::parse(text)
            .ok()
            .and_then(|payload| {
                tollgate_core::canonical::Node::of(&payload)
                    .ok()
                    .map(|node| node.print(tollgate_core::canonical::Form::Jcs))
            })
            .unwrap_or_default();
        Self {
            digest: hex_digest(canonical.as_bytes()),
            spec: Arc::new(spec),
            provider,
            made: OnceLock::new(),
        }
    }

    /// The arguments of a call under the names the tool knows, where it takes other spellings of them.
    pub(crate) fn respelled(&self, arguments: Payload) -> Payload {
        self.spec.telling.respelled(arguments)
    }

    /// The validators, compiled on first use.
    pub(crate) fn made(&self) -> Result<&Made, &SchemaError> {
        self.made
            .get_or_init(|| {
                let output = self.spec.output_schema.as_ref();
                Ok(Made {
                    input: schema::compile(&self.spec.input_schema)?,
                    output: output.map(schema::compile).transpose()?,
                    identifiers: output.map_or_else(Identifiers::none, Identifiers::from_schema),
                })
            })
            .as_ref()
    }
}
