//! Writing down what becomes of a run, and what it came to in the end.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;
use tollgate_core::{
    StoreError,
    store::{Durability, RunChange},
};
use tollgate_runs::{Content, Ending, Key, NewArtifact, Record, Status};
use tollgate_sanitize::Identifiers;

use super::Drive;
use crate::{
    record::LogEvent,
    review::{self, EndedRun},
    runs::{
        artifacts::Origin,
        errors,
        keep::{Kept, over},
        view::SESSION,
    },
};

/// What a result says of itself, also where the rest of it is an artifact.
const STATED: [&str; 5] = ["summary", "verdict", "confidence", "status", "warnings"];

impl Drive {
    /// Takes note of steps that changed.
    pub(super) fn note(&mut self, changed: &[Key]) {
        let now = self.around.inner.clock.now();
        for key in changed {
            self.run.note_time(*key, now.0);
        }
        self.changed.extend(changed);
    }

    /// Whether it is written down that this process drives the run, and how much there is to do.
    pub(super) fn is_known(&self) -> bool {
        self.kept.is_some() && self.run.progress().total == self.body.total
    }

    /// Keeps what changed; an ending is on disk before anyone is told of it.
    pub(super) async fn keep(&mut self, ending: Option<&Ending>) -> Result<(), StoreError> {
        let now = self.around.inner.clock.now();
        let mut steps = Vec::new();
        for key in std::mem::take(&mut self.changed) {
            let Some(record) = self.run.record(key) else {
                continue;
            };
            let written = match record.spilled {
                None => serde_json::to_vec(record),
                Some(_) => serde_json::to_vec(&Record {
                    data: None,
                    ..record.clone()
                }),
            };
            steps.push((self.run.name(key), written.unwrap_or_default()));
        }
        let mut changes = Vec::new();
        if !steps.is_empty() {
            changes.push(RunChange::Steps {
                id: self.around.run.clone(),
                fence: self.fence,
                steps,
                at: now,
            });
        }
        let is_new = !self.is_known();
        let progress = self.run.progress();
        self.body.total = progress.total;
        self.body.done = progress.done;
        let mut kept = Kept {
            changes,
            ..Kept::default()
        };
        match ending {
            Some(ending) => self.close(ending, &mut kept).await?,
            None if is_new => kept.changes.push(self.goes_on(now)),
            None => {}
        }
        kept.commit(&self.around.inner).await?;
        self.kept = Some((now, Instant::now()));
        Ok(())
    }

    async fn close(&mut self, ending: &Ending, kept: &mut Kept) -> Result<(), StoreError> {
        let inner = Arc::clone(&self.around.inner);
        let shared = Arc::clone(&self.around.shared);
        let now = inner.clock.now();
        let id = self.around.run.clone();
        self.body.go_on(now);
        self.body.ended = Some(now);
        self.body.source = None;
        self.body.tainted = self.run.is_tainted();
        if ending.status == Status::Succeeded {
            self.body.misfit = shared.misfit(self.run.template(), &ending.result);
        }
        self.body.error = ending
            .error
            .as_ref()
            .map(|error| errors::of_run(&id, error));
        let steps = self.run.steps();
        let notes = steps.iter().flat_map(|step| &step.record.artifacts);
        self.body.artifacts = notes.cloned().collect();
        self.about().begins(&inner, LogEvent::AgentAggregateStart);
        let result = self.result(ending).await?;
        kept.review = review::of_run(
            &inner,
            &EndedRun {
                id: &id,
                call: &self.body.call,
                session: &self.around.session,
                result: &result,
                at: now,
            },
        );
        self.body.result = Some(result);
        self.about().is_done(&inner, LogEvent::AgentAggregateDone);
        kept.changes.extend(over(
            &shared,
            (&id, self.fence, now),
            ending.status,
            &self.body,
        ));
        kept.notes.push(json!({
                "principal": self.around.session.principal.as_str(),
                "session": self.around.session.handle,
                "run": id,
                "status": ending.status.as_str(),
                "template_digest": self.body.digest,
                "done": self.body.done,
                "total": self.body.total,
                "artifacts": self.body.artifacts.len(),
                "tainted": self.body.tainted,
                "result_misfit": self.body.misfit,
        }));
        kept.durability = Durability::Disk;
        Ok(())
    }

    /// What the run came to, clean: it may quote what the run was given. What is too large for
    /// one answer is an artifact as well.
    async fn result(&mut self, ending: &Ending) -> Result<Value, StoreError> {
        let mut identifiers = Identifiers::from_schema(&self.run.template().outputs_schema);
        identifiers.insert(SESSION);
        let cleaner = &self.around.inner.cleaner;
        let result = cleaner.kept(&ending.result, &identifiers).into_owned();
        let text = result.to_string();
        let most = usize::try_from(self.around.shared.settings.inline_bytes).unwrap_or(usize::MAX);
        if text.len() <= most {
            return Ok(result);
        }
        let origin = Origin {
            run: &self.around.run,
            principal: &self.around.session.principal,
            step: "result",
            attempt: 1,
            is_tainted: self.run.is_tainted(),
        };
        let whole = NewArtifact {
            name: "result.json".to_owned(),
            kind: "json".to_owned(),
            mime_type: Some("application/json".to_owned()),
            content: Content::Text(text),
        };
        let shared = Arc::clone(&self.around.shared);
        let notes = shared
            .keep(&self.around.inner, &origin, vec![whole])
            .await?;
        let mut summary = json!({"truncated": true});
        for name in STATED {
            if let Some(known) = result.get(name) {
                summary[name] = known.clone();
            }
        }
        if let Some(note) = notes.first() {
            summary["artifactId"] = note.artifact_id.as_str().into();
        }
        self.body.artifacts.extend(notes);
        Ok(summary)
    }
}
