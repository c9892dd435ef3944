//! From an event to actions.

use serde_json::Value;

use super::{
    Action, Advance, Because, Call, Event, Key, Outcome, Record, Status, StepError, StepState,
    run::{GroupNode, Item, Node, Run},
};
use crate::{expression::is_true, template::StepKind};

/// The most that a wait between two attempts grows to.
const MOST_DELAY_MS: u64 = 5 * 60 * 1000;

impl Run {
    /// Takes note of an event, and says what to do now.
    ///
    /// Whoever drives the run keeps the changed records before it performs the actions.
    pub fn advance(&mut self, event: Event) -> Advance {
        let mut advance = Advance::default();
        if self.status.is_terminal() {
            return advance;
        }
        match event {
            Event::Begin => {
                self.status = Status::Running;
                self.go_on_waiting(None, &mut advance);
            }
            Event::Ended { key, outcome, at } => self.ended(key, *outcome, at, &mut advance),
            Event::Due(key) => self.due(key, &mut advance),
            Event::Asked { key, waits, call } => self.asked(key, waits, call, &mut advance),
            Event::Granted(key) => self.granted(key, &mut advance),
            Event::Cancel => self.is_canceled = true,
            Event::Deadline => self.is_late = true,
        }
        self.stop_waiting(&mut advance);
        if self.status == Status::Queued {
            if self.is_canceled || self.is_late {
                self.status = Status::Running;
            } else {
                return advance;
            }
        }
        self.schedule(&mut advance);
        if (0..self.nodes.len()).all(|step| self.settled(step)) {
            let ending = self.ending();
            self.status = ending.status;
            advance.actions.push(Action::Finish(Box::new(ending)));
        }
        advance
    }

    fn ended(&mut self, key: Key, outcome: Outcome, at: i64, advance: &mut Advance) {
        let running = |record: &Record| record.state == StepState::Running;
        if !self.record(key).is_some_and(running) {
            return;
        }
        let outcome = self.judged(key, outcome);
        let wait = self.retry_delay(key, &outcome);
        let is_late = self.is_late;
        let Some(record) = self.record_mut(key) else {
            return;
        };
        advance.changed.push(key);
        record.waits = None;
        match outcome {
            Outcome::Done {
                data,
                artifacts,
                spilled,
                tainted,
                call,
            } => {
                record.state = StepState::Succeeded;
                record.data = Some(data);
                record.artifacts = artifacts;
                record.spilled = spilled;
                record.tainted = tainted;
                record.call = Some(call);
                record.error = None;
                record.ended_at = Some(at);
            }
            Outcome::Failed { error, call, .. } => {
                record.error = Some(error.or_late(is_late));
                if call.is_some() {
                    record.call = call;
                }
                match wait {
                    Some(after_ms) => advance.actions.push(Action::Wait { key, after_ms }),
                    None => {
                        record.state = StepState::Failed;
                        record.ended_at = Some(at);
                    }
                }
            }
        }
    }

    /// An answer that the template calls a failure is one; what it left behind stays.
    fn judged(&mut self, key: Key, outcome: Outcome) -> Outcome {
        let Outcome::Done {
            data,
            artifacts,
            spilled,
            tainted,
            call,
        } = outcome
        else {
            return outcome;
        };
        let view = match key.item {
            None => self.view(),
            Some((item, _)) => self.view_of(key.step, item),
        };
        let rule = self.call_step(key).and_then(|call| call.fail_when.as_ref());
        let failed = rule.is_some_and(|rule| is_true(&rule.evaluate(&view.scope(Some(&data)))));
        if !failed {
            return Outcome::Done {
                data,
                artifacts,
                spilled,
                tainted,
                call,
            };
        }
        if let Some(record) = self.record_mut(key) {
            record.data = Some(data);
            record.artifacts = artifacts;
            record.spilled = spilled;
            record.tainted = tainted;
        }
        Outcome::Failed {
            error: StepError::new(
                "EXECUTION_ERROR",
                format!("`{}` answered what counts as a failure", self.name(key)),
            ),
            can_retry: true,
            call: Some(call),
        }
    }

    /// How long to wait for another attempt, if there is to be one.
    fn retry_delay(&self, key: Key, outcome: &Outcome) -> Option<u64> {
        let Outcome::Failed {
            error, can_retry, ..
        } = outcome
        else {
            return None;
        };
        let retry = &self.call_step(key)?.retry;
        let attempts = self.record(key)?.attempts;
        let is_named = |code: &String| error.is_called(code);
        let fits = retry.on.is_empty() || retry.on.iter().any(is_named);
        if !can_retry || !fits || attempts > retry.times || self.is_stopping() {
            return None;
        }
        let factor = 1_u64 << attempts.saturating_sub(1).min(20);
        Some(retry.delay_ms.saturating_mul(factor).min(MOST_DELAY_MS))
    }

    fn due(&mut self, key: Key, advance: &mut Advance) {
        let waits = self.record(key).is_some_and(Record::waits_for_retry);
        // One of a run that is being stopped has failed already, or does with this event.
        if waits && !self.is_stopping() {
            self.start(key, advance);
        }
    }

    /// Begins all that can begin.
    fn schedule(&mut self, advance: &mut Advance) {
        loop {
            let mut moved = false;
            for step in 0..self.nodes.len() {
                moved |= match self.state_of(step) {
                    StepState::Pending => self.open(step, advance),
                    StepState::Running => self.go_on(step, advance),
                    StepState::Succeeded | StepState::Failed | StepState::Skipped => false,
                };
            }
            if !moved {
                return;
            }
        }
    }

    fn has_room(&self) -> bool {
        let most = usize::try_from(self.template.max_concurrency).unwrap_or(usize::MAX);
        self.in_flight() < most
    }

    /// Begins a step if its time has come; says whether anything changed.
    fn open(&mut self, step: usize, advance: &mut Advance) -> bool {
        let template = std::sync::Arc::clone(&self.template);
        let Some(known) = template.steps.get(step) else {
            return false;
        };
        if !known.after.iter().all(|before| self.settled(*before)) {
            return false;
        }
        let is_kept = self.was_begun(step);
        // Of a run that is called off, only what cleans up behind it still begins.
        let is_left = known.always && (!self.is_canceled || known.cleans_up());
        if !is_left && self.is_stopping() && !is_kept {
            return self.skip(step, Because::Stop, advance);
        }
        if !known.always && known.after.iter().any(|before| self.blocks(*before)) {
            return self.skip(step, Because::Failure, advance);
        }
        let when = known.when.as_ref();
        let is_wanted =
            is_kept || when.is_none_or(|when| is_true(&when.evaluate(&self.view().scope(None))));
        if !is_wanted {
            return self.skip(step, Because::Condition, advance);
        }
        match &known.kind {
            StepKind::Call(_) => {
                if !self.has_room() {
                    return false;
                }
                self.start(Key { step, item: None }, advance);
                true
            }
            StepKind::Group(_) => {
                self.expand(step);
                self.go_on_waiting(Some(step), advance);
                true
            }
        }
    }

    fn skip(&mut self, step: usize, because: Because, advance: &mut Advance) -> bool {
        match self.nodes.get_mut(step) {
            Some(Node::Call(record)) => {
                record.leave_out(because);
                advance.changed.push(Key { step, item: None });
            }
            Some(Node::Group(group)) => {
                group.state = StepState::Skipped;
                group.because = Some(because);
            }
            None => return false,
        }
        true
    }

    /// Makes the calls of a group out of its list.
    fn expand(&mut self, step: usize) {
        let template = std::sync::Arc::clone(&self.template);
        let Some(StepKind::Group(group)) = template.steps.get(step).map(|step| &step.kind) else {
            return;
        };
        let view = self.view();
        let scope = view.scope(None);
        let list = group.items.evaluate(&scope).into_owned();
        let wanted = group.concurrency.as_ref();
        let wanted = wanted.and_then(|wanted| wanted.evaluate(&scope).as_u64());
        let most = usize::try_from(self.template.max_items).unwrap_or(usize::MAX);
        let mut node = GroupNode {
            state: StepState::Running,
            concurrency: wanted
                .and_then(|wanted| usize::try_from(wanted).ok())
                .unwrap_or(usize::MAX)
                .max(1),
            ..GroupNode::default()
        };
        match list {
            Value::Array(items) if items.len() <= most => {
                for (item, value) in items.into_iter().enumerate() {
                    let calls = (0..group.steps.len()).map(|inner| {
                        let name = self.name(Key {
                            step,
                            item: Some((item, inner)),
                        });
                        self.kept(&name)
                    });
                    let calls = calls.collect();
                    node.items.push(Item { value, calls });
                }
            }
            Value::Array(items) => {
                node.fail(format!("{} items are more than {most}", items.len()));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => {
                node.fail("`for_each` stands for no list".to_owned());
            }
        }
        if let Some(known) = self.nodes.get_mut(step) {
            *known = Node::Group(node);
        }
    }

    /// Goes on with the items of a group; says whether anything changed.
    fn go_on(&mut self, step: usize, advance: &mut Advance) -> bool {
        let (items, concurrency) = match self.nodes.get(step) {
            Some(Node::Group(group)) => (group.items.len(), group.concurrency),
            Some(Node::Call(_)) | None => return false,
        };
        let mut moved = false;
        let mut busy = 0;
        for item in 0..items {
            let state = self.item_state(step, item);
            if state.is_settled() {
                continue;
            }
            if state == StepState::Pending && busy >= concurrency && !self.is_stopping() {
                continue;
            }
            moved |= self.go_on_with(step, item, advance);
            busy += usize::from(self.item_state(step, item) == StepState::Running);
        }
        let is_done = (0..items).all(|item| self.item_state(step, item).is_settled());
        if is_done {
            self.close(step, items);
            return true;
        }
        moved
    }

    /// Begins the next call of an item, if the one before it has ended.
    fn go_on_with(&mut self, step: usize, item: usize, advance: &mut Advance) -> bool {
        let template = std::sync::Arc::clone(&self.template);
        let Some(StepKind::Group(group)) = template.steps.get(step).map(|step| &step.kind) else {
            return false;
        };
        let mut moved = false;
        let mut is_blocked = false;
        for (at, inner) in group.steps.iter().enumerate() {
            let key = Key {
                step,
                item: Some((item, at)),
            };
            let Some(record) = self.record(key) else {
                return moved;
            };
            match record.state {
                StepState::Running => return moved,
                StepState::Failed => is_blocked |= !inner.optional,
                StepState::Skipped => is_blocked |= record.because != Some(Because::Condition),
                StepState::Succeeded => {}
                StepState::Pending => {
                    let has_begun = at > 0
                        && (0..at).any(|before| {
                            let key = Key {
                                step,
                                item: Some((item, before)),
                            };
                            self.record(key).is_some_and(Record::has_begun)
                        });
                    let because = if is_blocked && !inner.always {
                        Some(Because::Failure)
                    } else if self.is_stopping() && !(inner.always && has_begun) {
                        Some(Because::Stop)
                    } else {
                        let view = self.view_of(step, item);
                        let when = inner.when.as_ref();
                        let no =
                            when.is_some_and(|when| !is_true(&when.evaluate(&view.scope(None))));
                        no.then_some(Because::Condition)
                    };
                    match because {
                        Some(because) => {
                            if let Some(record) = self.record_mut(key) {
                                record.leave_out(because);
                            }
                            is_blocked |= because != Because::Condition;
                            advance.changed.push(key);
                            moved = true;
                        }
                        None if self.has_room() => {
                            self.start(key, advance);
                            return true;
                        }
                        None => return moved,
                    }
                }
            }
        }
        moved
    }

    /// All items of a group have ended: so has the group.
    fn close(&mut self, step: usize, items: usize) {
        let good = self.good_items(step);
        let threshold = self.template.threshold.unwrap_or(self.threshold);
        let enough = self.template.supports_partial_success
            && good > 0
            && good as f64 / items as f64 >= threshold;
        if let Some(Node::Group(group)) = self.nodes.get_mut(step) {
            let is_good = group.error.is_none() && (good == items || enough);
            group.state = if is_good {
                StepState::Succeeded
            } else {
                StepState::Failed
            };
        }
    }

    pub(super) fn start(&mut self, key: Key, advance: &mut Advance) {
        let view = match key.item {
            None => self.view(),
            Some((item, _)) => self.view_of(key.step, item),
        };
        let Some(call) = self.call_step(key) else {
            return;
        };
        let mut action = Call {
            key,
            name: self.name(key),
            tool: call.tool.clone(),
            arguments: call.arguments.fill(&view.scope(None)),
            attempt: 0,
            timeout_ms: call.timeout_ms,
        };
        if let Some(record) = self.record_mut(key) {
            record.state = StepState::Running;
            record.attempts += 1;
            record.error = None;
            action.attempt = record.attempts;
        }
        advance.changed.push(key);
        advance.actions.push(Action::Call(action));
    }
}

impl GroupNode {
    fn fail(&mut self, message: String) {
        self.error = Some(StepError::new("INVALID_PARAMETER", message));
    }
}
