//! What can be run, and within what limits.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tollgate_core::{CallContext, ProviderError};
use tollgate_runs::Template;

use super::Handle;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Templates {
    templates: Vec<TemplateShown>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = template_fields()))]
struct TemplateShown {
    /// What `run_task_template` wants.
    template_id: String,
    /// Its version.
    version: String,
    /// Its name for people.
    name: String,
    /// What it does and when to use it.
    description: String,
    /// The trust levels whose callers may run it.
    trust_level_support: Vec<String>,
    /// Whether a run may succeed in part.
    supports_partial_success: bool,
    /// What one run may be given and do.
    limits: Map<String, Value>,
    /// What a run is given.
    inputs_schema: Map<String, Value>,
    /// What it comes to.
    outputs_schema: Map<String, Value>,
}

/// What the document itself promises; the rest is ours and may be absent.
fn template_fields() -> Value {
    serde_json::json!([
        "templateId",
        "version",
        "name",
        "trustLevelSupport",
        "limits",
        "inputsSchema",
        "outputsSchema"
    ])
}

impl From<&Arc<Template>> for TemplateShown {
    fn from(template: &Arc<Template>) -> Self {
        let fields = |schema: &Value| schema.as_object().cloned().unwrap_or_default();
        Self {
            template_id: template.id.clone(),
            version: template.version.clone(),
            name: template.name.clone(),
            description: template.description.clone(),
            trust_level_support: template.trust.clone(),
            supports_partial_success: template.supports_partial_success,
            limits: template.limits.clone(),
            inputs_schema: fields(&template.inputs_schema),
            outputs_schema: fields(&template.outputs_schema),
        }
    }
}

pub(super) async fn templates(
    shared: Arc<Handle>,
    _: Nothing,
    _: CallContext,
) -> Result<Templates, ProviderError> {
    let shelf = shared.library.shelf();
    Ok(Templates {
        templates: shelf.all().map(Into::into).collect(),
    })
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Profile {
    runtime_version: String,
    limits: Limits,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Limits {
    max_concurrent_runs: u32,
    max_run_timeout_ms: u64,
    max_artifact_inline_bytes: u64,
}

pub(super) async fn profile(
    shared: Arc<Handle>,
    _: Nothing,
    _: CallContext,
) -> Result<Profile, ProviderError> {
    let settings = &shared.settings;
    Ok(Profile {
        runtime_version: settings.version.clone(),
        limits: Limits {
            max_concurrent_runs: settings.concurrent,
            max_run_timeout_ms: u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX),
            max_artifact_inline_bytes: settings.inline_bytes,
        },
    })
}
