//! Calls that are made of other calls, told before anyone agrees to them.

use serde_json::Value;

use crate::{name::ToolName, payload::Payload};

/// What a call is made of, where it is made of other calls.
///
/// The gate asks for it before it asks the rules: whoever agrees to the call agrees to
/// these, so the call needs the highest consent that any of them needs.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What an approval is bound to beside the arguments, such as a digest of a template.
    pub binding: String,
    /// What a human is shown of it.
    pub shown: Value,
    /// The skill whose rules hold for the calls, where the caller acts under none.
    pub skill: Option<String>,
    /// The calls, as far as they are known.
    pub calls: Vec<PlannedCall>,
}

/// A call that another one will make.
#[derive(Debug, Clone)]
pub struct PlannedCall {
    /// The tool.
    pub tool: ToolName,
    /// The arguments, if all of them are known already.
    pub arguments: Option<Payload>,
}
