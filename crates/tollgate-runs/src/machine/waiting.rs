//! Calls that wait: for somebody's answer before they can be made, or to be tried again.
//!
//! A call that waits for an answer is under way for the run and has not happened: it is made
//! again, as the same attempt, once the answer is there. Invariant: nothing that only waits
//! keeps a run that is being stopped from its end.

use super::{
    Action, Advance, Because, Key, Record, StepError, StepState, Waits,
    fault::CONFIRMATION_REQUIRED, run::Run,
};
use crate::template::StepKind;

impl Run {
    /// Whether it only waits: calls are under way, and all of them for somebody's answer.
    pub fn is_resting(&self) -> bool {
        let waits = self.waiting().len();
        waits > 0 && waits == self.in_flight()
    }

    /// The calls that wait for somebody's answer.
    pub fn waiting(&self) -> Vec<Key> {
        let mut keys = self.keys();
        keys.retain(|key| {
            let record = self.record(*key);
            record.is_some_and(|it| it.state == StepState::Running && it.waits.is_some())
        });
        keys
    }

    /// Notes that a call waits for somebody; one that nobody waits for any more has failed.
    pub(super) fn asked(&mut self, key: Key, waits: Waits, call: String, advance: &mut Advance) {
        let is_over = self.is_canceled || self.is_late;
        let Some(record) = self.record_mut(key) else {
            return;
        };
        if record.state != StepState::Running {
            return;
        }
        record.call = Some(call);
        advance.changed.push(key);
        if is_over {
            record.state = StepState::Failed;
            record.error = Some(StepError::of_gateway(
                &CONFIRMATION_REQUIRED,
                "it needs somebody's consent, and the run is being stopped",
            ));
            return;
        }
        record.waits = Some(waits.clone());
        advance.actions.push(Action::Await { key, waits });
    }

    /// Makes a call again that was not made for want of an answer.
    pub(super) fn granted(&mut self, key: Key, advance: &mut Advance) {
        let waits = |record: &Record| record.state == StepState::Running && record.waits.is_some();
        if !self.record(key).is_some_and(waits) {
            return;
        }
        if let Some(record) = self.record_mut(key) {
            record.waits = None;
            record.attempts = record.attempts.saturating_sub(1);
        }
        self.start(key, advance);
    }

    /// After a crash: what waited for somebody still does.
    pub(super) fn go_on_waiting(&self, step: Option<usize>, advance: &mut Advance) {
        let mut keys = self.waiting();
        keys.retain(|key| step.is_none_or(|step| key.step == step));
        for key in keys {
            let waits = self.record(key).and_then(|record| record.waits.clone());
            advance
                .actions
                .extend(waits.map(|waits| Action::Await { key, waits }));
        }
    }

    /// Nobody has to answer for a run that is being stopped, and nothing is tried again.
    pub(super) fn stop_waiting(&mut self, advance: &mut Advance) {
        if !self.is_stopping() {
            return;
        }
        for key in self.keys() {
            if !self.record(key).is_some_and(Record::waits_for_retry) {
                continue;
            }
            if let Some(record) = self.record_mut(key) {
                record.state = StepState::Failed;
                advance.changed.push(key);
            }
        }
        let is_over = self.is_canceled || self.is_late;
        for key in self.waiting() {
            let is_kept = !is_over && self.is_always(key);
            if let Some(record) = self.record_mut(key).filter(|_| !is_kept) {
                record.state = StepState::Skipped;
                record.because = Some(Because::Stop);
                record.waits = None;
                advance.changed.push(key);
            }
        }
    }

    fn is_always(&self, key: Key) -> bool {
        let step = self.template.steps.get(key.step);
        step.is_some_and(|step| match (&step.kind, key.item) {
            (StepKind::Group(group), Some((_, inner))) => {
                group.steps.get(inner).is_some_and(|inner| inner.always)
            }
            (StepKind::Call(_) | StepKind::Group(_), _) => step.always,
        })
    }
}
