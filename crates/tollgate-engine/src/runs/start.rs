//! Starting a run: what it would do, whether it may, and its first record.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_core::{
    CallContext, ErrorCode, Payload, Plan, PlannedCall, ProviderError, Standing, StoreError,
    ToolName, TrustLevel,
    canonical::{Form, Node},
    store::{Batch, Change, Durability, RunChange, RunRow},
};
use tollgate_runs::{Problem, Run, StepKind, Template};

use super::{Shared, body::Body, errors, log::About, seal, work::claiming};
use crate::{
    call::{CALL_BY_NAME, Gateway, Inner},
    ids,
    record::{self, LogEvent},
    schema,
    skills::RunType,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RunArgs {
    /// The template, as `list_task_templates` names it.
    #[schemars(length(min = 1, max = 64))]
    pub(super) template_id: String,
    /// Its version; the newest, if none is named.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    pub(super) template_version: Option<String>,
    /// The session its steps belong to, which outlives the run; without it the run has one
    /// of its own.
    #[serde(default)]
    #[schemars(length(min = 1, max = 128))]
    pub(super) session_id: Option<String>,
    /// What the template wants.
    #[serde(default)]
    pub(super) inputs: Map<String, Value>,
    /// How it is run.
    #[serde(default)]
    pub(super) options: Options,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Options {
    /// How long it may take; never more than the template and the runtime allow.
    #[schemars(range(min = 1))]
    pub(super) timeout_ms: Option<u64>,
    /// Whether to wait for the result.
    pub(super) mode: Mode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    /// As the template says.
    #[default]
    Auto,
    /// Wait.
    Sync,
    /// Answer at once; `get_task_run` tells more.
    Async,
}

/// A run that could begin.
pub(super) struct Ready {
    pub(super) template: Arc<Template>,
    pub(super) run: Run,
    skill: Option<String>,
}

impl Ready {
    /// What whoever agrees to the run agrees to, beside its inputs.
    fn binding(&self) -> String {
        let Template {
            id,
            version,
            digest,
            ..
        } = &*self.template;
        format!("{id}@{version}:{digest}")
    }

    /// Refuses another template than the one that was agreed to: the library is read again
    /// for every look.
    pub(super) fn if_agreed(self, cx: &CallContext) -> Result<Self, ProviderError> {
        let is_agreed = |agreed: &String| *agreed == self.binding();
        if cx.agreed.as_ref().is_none_or(is_agreed) {
            return Ok(self);
        }
        let message = format!(
            "the template `{}` changed while the run was being started; nothing was run",
            self.template.id
        );
        Err(ProviderError::new(ErrorCode::StateRejected, message))
    }
}

impl Shared {
    /// Finds the template and checks what it is given.
    pub(super) fn ready(&self, args: &RunArgs, trust: TrustLevel) -> Result<Ready, ProviderError> {
        let template = self.template(args)?;
        if !template.trust.iter().any(|level| level == trust.as_str()) {
            let message = format!(
                "`{}` is not offered to {} callers",
                template.id,
                trust.as_str()
            );
            let facts = [
                ("trustLevel", Value::from(trust.as_str())),
                ("trustLevelSupport", json!(template.trust)),
            ];
            return Err(errors::TRUST_LEVEL_NOT_ALLOWED.with(message, facts));
        }
        let skill = self.check_skill(&template)?;
        let inputs = Value::Object(args.inputs.clone());
        self.check(&template, &inputs)?;
        self.remember(&template);
        let about = json!({"id": "", "sessionId": args.session_id});
        let run = Run::new(
            Arc::clone(&template),
            inputs,
            about,
            self.settings.threshold,
        );
        Ok(Ready {
            template,
            run,
            skill,
        })
    }

    fn template(&self, args: &RunArgs) -> Result<Arc<Template>, ProviderError> {
        let shelf = self.library.shelf();
        let id = &args.template_id;
        let versions = shelf.versions(id);
        if versions.is_empty() {
            let known: Vec<&str> = shelf.all().map(|known| known.id.as_str()).collect();
            let message = match shelf.problem_of(id) {
                Some(problem) => format!("the file of template `{id}` is faulty: {problem}"),
                None => format!("there is no template `{id}`"),
            };
            return Err(ProviderError {
                next_steps: vec!["list_task_templates".to_owned()],
                ..errors::TEMPLATE_NOT_FOUND.with(message, [("templates", json!(known))])
            });
        }
        let found = shelf.find(id, args.template_version.as_deref());
        found.map(Arc::clone).ok_or_else(|| {
            let known: Vec<&str> = versions.iter().map(|it| it.version.as_str()).collect();
            let wanted = args.template_version.as_deref().unwrap_or_default();
            let message = format!("`{id}` has no version {wanted}");
            errors::TEMPLATE_VERSION_UNSUPPORTED.with(message, [("versions", json!(known))])
        })
    }

    /// The skill whose rules hold for the run; what only skills that are off allow is refused.
    fn check_skill(&self, template: &Template) -> Result<Option<String>, ProviderError> {
        let engine = self.engine()?;
        let is_open = engine.settings.other_runs;
        let skills = Gateway(engine).skills();
        match skills.run_type(&template.id) {
            RunType::Refused { skill, reason } => {
                let message = format!("`{}` belongs to the skill `{skill}`: {reason}", template.id);
                let mut error = ProviderError::new(ErrorCode::InactiveTool, message);
                error.details.insert("skill".to_owned(), skill.into());
                error
                    .details
                    .insert("inactive_reason".to_owned(), reason.into());
                Err(error)
            }
            RunType::Of(skill) => Ok(Some(skill)),
            RunType::Free if is_open => Ok(None),
            RunType::Free => {
                let reason = "`skills.other_runs` is `refuse`, and no skill allows its runs";
                let message = format!("`{}` cannot be run: {reason}", template.id);
                let mut error = ProviderError::new(ErrorCode::InactiveTool, message);
                error
                    .details
                    .insert("inactive_reason".to_owned(), reason.into());
                Err(error)
            }
        }
    }

    fn check(&self, template: &Template, inputs: &Value) -> Result<(), ProviderError> {
        let validator = self
            .validator(&template.digest, &template.inputs_schema)
            .map_err(|error| {
                let message = format!("the inputs of `{}` cannot be checked: {error}", template.id);
                ProviderError::new(ErrorCode::Unsupported, message)
            })?;
        let problems = validator.at_once(inputs);
        let Some(first) = problems.first() else {
            return Ok(());
        };
        let message = format!(
            "the inputs of `{}` do not fit: {} {}",
            template.id, first.at, first.message
        );
        let all: Vec<Value> = problems
            .iter()
            .map(|problem| json!({"at": problem.at, "message": problem.message}))
            .collect();
        Err(errors::INVALID_PARAMETER.with(message, [("problems", Value::Array(all))]))
    }

    /// What a run would be made of, for those who have to agree.
    pub(super) fn plan(&self, args: &RunArgs, trust: TrustLevel) -> Result<Plan, ProviderError> {
        let ready = self.ready(args, trust)?;
        let template = &ready.template;
        let catalog = self.engine()?.catalog();
        let mut calls = Vec::new();
        for (name, call) in template.calls() {
            // However it is spelled there, it is the tool that counts.
            let known = catalog.find(&call.tool);
            let known = known.map_or(call.tool.as_str(), |known| known.spec.name.as_str());
            if !may_be_step(known) {
                let message = format!("step `{name}` of `{}` may not call others", template.id);
                return Err(ProviderError::new(ErrorCode::Unsupported, message));
            }
            let tool = ToolName::new(call.tool.clone()).map_err(|error| {
                let message = format!("step `{name}` of `{}`: {error}", template.id);
                ProviderError::new(ErrorCode::Unsupported, message)
            })?;
            calls.push(PlannedCall {
                arguments: ready.run.known_arguments(call).map(Payload::from),
                tool,
            });
        }
        Ok(Plan {
            binding: ready.binding(),
            shown: json!({
                "template": template.id,
                "version": template.version,
                "name": template.name,
                "steps": template.steps.iter().map(shown_step).collect::<Vec<_>>(),
            }),
            skill: ready.skill,
            calls,
        })
    }

    /// Refuses one more run where too many are not over.
    pub(super) async fn has_room(&self, inner: &Inner) -> Result<(), ProviderError> {
        let open = inner.store.open_runs().await.map_err(errors::from_store)?;
        if open < self.settings.queued {
            return Ok(());
        }
        let message = format!("{open} runs wait already");
        Err(ProviderError {
            retry_after: Some(Duration::from_secs(5)),
            ..ProviderError::new(ErrorCode::Overloaded, message)
        })
    }

    /// Writes the run down; from now on it will end, whatever happens. Where there is room
    /// for it, this process has claimed it in the same transaction and drives it.
    pub(super) async fn open(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        args: &RunArgs,
        ready: &Ready,
        cx: &CallContext,
    ) -> Result<RunRow, ProviderError> {
        self.has_room(inner).await?;
        let about = About {
            session: &cx.session,
            call: cx.call.as_str(),
        };
        about.begins(inner, LogEvent::AgentPlanStart);
        let now = inner.clock.now();
        let template = &ready.template;
        let no_chance = |_| ProviderError::new(ErrorCode::Internal, "no id could be made");
        let id = format!("run_{}", ids::random_hex(12).map_err(no_chance)?);
        let conversation = match &args.session_id {
            Some(session) => session.clone(),
            None => ids::random_id("rs").map_err(no_chance)?,
        };
        let inputs = Payload::from(Value::Object(args.inputs.clone()));
        let sealed = seal::seal(inner, &id, inputs.raw().as_bytes()).ok_or_else(|| {
            ProviderError::new(ErrorCode::Internal, "the inputs could not be sealed")
        })?;
        let body = Body {
            source: Some(template.source.clone()),
            version: template.version.clone(),
            digest: template.digest.clone(),
            timeout_ms: self.timeout_ms(args, template),
            session_id: args.session_id.clone(),
            conversation,
            surface: cx.surface,
            trust: cx.trust,
            scope: cx.scope.clone(),
            standing: Standing {
                skill: cx.standing.skill.clone().or_else(|| ready.skill.clone()),
                ..cx.standing.clone()
            },
            call: cx.call.as_str().to_owned(),
            traceparent: cx.trace.traceparent(),
            total: ready.run.progress().total,
            ..Body::unreadable()
        };
        let row = body.queued(id, cx.session.clone(), &template.id, now, sealed);
        let node = Node::of(&inputs).ok();
        let text = node.map(|node| node.print(Form::Jcs)).unwrap_or_default();
        let fingerprint = inner.approval_key.fingerprint(text.as_bytes());
        let facts = json!({
                "call_id": cx.call.as_str(),
                "trace_id": cx.trace.trace_id,
                "principal": cx.principal.as_str(),
                "session": cx.session.handle,
                "run": row.id,
                "status": row.status,
                "template": template.id,
                "template_version": template.version,
                "template_digest": template.digest,
                "input_fingerprint": tollgate_core::canonical::hex(&fingerprint),
                "consent": cx.standing.consent,
        });
        let opening = || Batch {
            changes: vec![Change::Run(RunChange::Open(Box::new(row.clone())))],
            audit: vec![record::note("run", now, facts.clone())],
            durability: Durability::Disk,
        };
        let claimed = match self.room() {
            0 => Err(StoreError::Busy),
            _ => {
                let mut batch = opening();
                let claim = claiming(inner, &row, self.settings.concurrent);
                batch.changes.extend(claim.changes);
                batch.audit.extend(claim.audit);
                inner.store.commit(batch).await
            }
        };
        let kept = match claimed {
            Ok(_) => {
                self.drive(inner, row.clone());
                Ok(())
            }
            // Others fill the places there are: then it waits for one.
            Err(StoreError::Busy) => inner.store.commit(opening()).await.map(|_| ()),
            Err(error) => Err(error),
        };
        kept.map_err(errors::from_store)?;
        about.is_done(inner, LogEvent::AgentPlanDone);
        self.note_start(cx.call.as_str(), &row.id);
        Ok(row)
    }

    /// The least of what the caller, the template and the runtime allow.
    fn timeout_ms(&self, args: &RunArgs, template: &Template) -> u64 {
        let runtime = u64::try_from(self.settings.timeout.as_millis()).unwrap_or(u64::MAX);
        let most = template.max_timeout_ms.min(runtime);
        args.options
            .timeout_ms
            .map_or(most, |wanted| wanted.min(most))
    }
}

/// What is wrong with the schemas of a template, and where.
pub fn check_template(template: &Template) -> Vec<Problem> {
    let schemas = [
        ("inputsSchema", &template.inputs_schema),
        ("outputsSchema", &template.outputs_schema),
    ];
    let named = schemas.into_iter().zip(template.schema_places);
    named
        .filter_map(|((name, schema), place)| {
            let error = schema::compile(schema).err()?;
            Some(Problem {
                file: template.file.clone(),
                place,
                message: format!("`{name}`: {error}"),
            })
        })
        .collect()
}

/// Whether a template may call the tool of this name: not one that makes calls of its own,
/// because a run inside a run would wait for a place that the outer one holds.
pub fn may_be_step(tool: &str) -> bool {
    !matches!(tool, super::tools::RUN | CALL_BY_NAME)
}

fn shown_step(step: &tollgate_runs::Step) -> Value {
    match &step.kind {
        StepKind::Call(call) => json!({"id": step.id, "tool": call.tool}),
        StepKind::Group(group) => json!({
            "id": step.id,
            "for_each": group
                .steps
                .iter()
                .map(|inner| json!({"id": inner.id, "tool": inner.call.tool}))
                .collect::<Vec<_>>(),
        }),
    }
}
