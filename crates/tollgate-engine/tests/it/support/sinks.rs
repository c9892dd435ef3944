//! Listeners that remember, and a probe that acts at a stage.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tollgate_core::CallId;
use tollgate_engine::{
    Stage, StageProbe,
    record::{LogLine, LogSink, Span, SpanSink, Trouble},
};

/// Remembers every log line as JSON, and every trouble.
#[derive(Default)]
pub(crate) struct Lines(Mutex<Vec<Value>>, Mutex<Vec<(Trouble, String)>>);

impl Lines {
    pub(crate) fn written(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    /// The troubles, each once however often it was told in a row.
    pub(crate) fn troubles(&self) -> Vec<Trouble> {
        let told = self.1.lock().unwrap();
        let mut troubles: Vec<Trouble> = told.iter().map(|(trouble, _)| *trouble).collect();
        troubles.dedup();
        troubles
    }
}

impl LogSink for Lines {
    fn write(&self, line: &LogLine<'_>) {
        self.0
            .lock()
            .unwrap()
            .push(serde_json::to_value(line).unwrap());
    }

    fn warn(&self, event: &'static str, provider: &str, message: &str) {
        let line = json!({"event": event, "provider": provider, "message": message});
        self.0.lock().unwrap().push(line);
    }

    fn trouble(&self, trouble: Trouble, message: &str) {
        self.1.lock().unwrap().push((trouble, message.to_owned()));
    }
}

/// Remembers every span.
#[derive(Default)]
pub(crate) struct Spans(Mutex<Vec<Span>>);

impl Spans {
    pub(crate) fn exported(&self) -> Vec<Span> {
        self.0.lock().unwrap().clone()
    }
}

impl SpanSink for Spans {
    fn wants(&self) -> bool {
        true
    }

    fn export(&self, span: Span) {
        self.0.lock().unwrap().push(span);
    }
}

/// Does something whenever a call passes a stage.
pub(crate) struct At<F>(pub(crate) Stage, pub(crate) F);

impl<F: Fn() + Send + Sync + 'static> At<F> {
    pub(crate) fn stage(stage: Stage, act: F) -> Arc<dyn StageProbe> {
        Arc::new(Self(stage, act))
    }
}

impl<F: Fn() + Send + Sync> StageProbe for At<F> {
    fn passed(&self, _: &CallId, stage: Stage) {
        if stage == self.0 {
            (self.1)();
        }
    }
}
