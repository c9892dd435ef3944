//! What a tool can tell from arguments or an answer alone: what a call would do, and an answer in short.
//!
//! Invariant: nothing here reads, writes or asks; these are functions of what they are given.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use crate::{call::ServiceInfo, provider::ProviderError};

/// What a call would do, told without doing it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rehearsal {
    /// What a dry run answers beside verdict and estimate.
    pub data: Map<String, Value>,
    /// The request that would be sent.
    pub service: Option<ServiceInfo>,
}

/// Tells what a call would do, from its arguments alone; nothing if they do not tell.
pub type RehearseRule =
    Arc<dyn Fn(&Map<String, Value>) -> Result<Option<Rehearsal>, ProviderError> + Send + Sync>;

/// An answer in short, for those who read text, and where the rest of it lies.
#[derive(Debug, Clone, PartialEq)]
pub struct Condensed {
    /// What stands for the answer.
    pub data: Value,
    /// What it refers to, each with at least `uri` and `name`.
    pub resources: Vec<Value>,
}

/// Makes an answer short; nothing if it refers to no files.
pub type CondenseRule = Arc<dyn Fn(&Value) -> Option<Condensed> + Send + Sync>;

/// What a tool tells beside its answers.
#[derive(Clone, Default)]
pub struct Telling {
    /// What a dry run tells beside verdict and estimate.
    pub rehearse: Option<RehearseRule>,
    /// How an answer that refers to files is shown in text.
    pub condense: Option<CondenseRule>,
}

impl Telling {
    /// What a call with these arguments would do.
    pub fn rehearsed(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Option<Rehearsal>, ProviderError> {
        self.rehearse
            .as_ref()
            .map_or(Ok(None), |rule| rule(arguments))
    }

    /// An answer that refers to files, in short.
    pub fn condensed(&self, data: &Value) -> Option<Condensed> {
        self.condense.as_ref().and_then(|rule| rule(data))
    }
}

impl fmt::Debug for Telling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telling")
            .field("rehearses", &self.rehearse.is_some())
            .field("condenses", &self.condense.is_some())
            .finish()
    }
}
