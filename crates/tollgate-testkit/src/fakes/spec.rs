//! Specs that say no more than a test needs.

use serde_json::json;
use tollgate_core::{
    Annotations, Caching, Capability, Cost, Estimate, NameError, Raise, Spelled, Surface, Telling,
    ToolName, ToolSpec, TrustLevel,
};

/// A tool that reads, takes any object and answers anything; its answers are not kept.
pub fn read(name: &str) -> Result<ToolSpec, NameError> {
    Ok(ToolSpec {
        name: ToolName::new(name)?,
        title: name.to_owned(),
        description: format!("Does what `{name}` says."),
        input_schema: json!({"type": "object"}).into(),
        output_schema: None,
        annotations: Annotations::READ,
        capability: Capability::L0,
        raise: Raise::default(),
        telling: Telling::default(),
        provider_id: "fake".to_owned(),
        requires_confirm: false,
        timeout_ms: 30_000,
        toolsets: Vec::new(),
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
    })
}

/// A read whose answers the session keeps.
pub fn kept(name: &str) -> Result<ToolSpec, NameError> {
    Ok(ToolSpec {
        caching: Caching::Session,
        ..read(name)?
    })
}

/// A read whose answers are kept and which costs this much, with or without a question.
pub fn paid(name: &str, cost: Estimate) -> Result<ToolSpec, NameError> {
    Ok(ToolSpec {
        cost: Cost::Fixed(cost),
        ..kept(name)?
    })
}

/// A tool that changes something.
pub fn write(name: &str) -> Result<ToolSpec, NameError> {
    Ok(ToolSpec {
        annotations: Annotations {
            read_only: false,
            idempotent: false,
            ..Annotations::READ
        },
        capability: Capability::L1,
        ..read(name)?
    })
}
