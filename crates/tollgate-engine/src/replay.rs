//! What was called before, looked at again: as it was, under other rules, or for real.

use std::sync::Arc;

use serde_json::Value;
use tollgate_core::{
    CallId, Capability, ErrorCode, Estimate, Failure, Payload, Principal, Shape, StoreError,
    Surface, TrustLevel,
    audit::{AuditQuery, AuditRow},
    canonical::Node,
    store::Body,
};

use crate::{
    call::{Caller, Disposition, Gateway, Outcome, Request, StepOf, decision_word, fingerprint},
    policy::{Action, Consent, Policies, Question},
    runs,
    session::fingerprint_of,
    volatile,
};

/// The most steps one replay looks at.
const MAX_STEPS: u32 = 1000;

/// One recorded call.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The ending as it was written down.
    pub ending: Value,
    /// The clean arguments, if they were kept.
    pub arguments: Option<String>,
    /// The clean data, if it was kept.
    pub data: Option<String>,
    /// What was kept is not what the audit log vouches for; it is not shown.
    pub altered: bool,
}

/// What another policy would make of a recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redecided {
    /// It would decide this, by this rule.
    Verdict {
        /// `allow`, `deny`, `needs_agent`, `needs_human` or `error`.
        decision: &'static str,
        /// The rule.
        rule: String,
    },
    /// It cannot be said, for this reason.
    Undecided(&'static str),
}

/// What calling again brought.
#[derive(Debug, Clone)]
pub struct Again {
    /// The envelope of the new call.
    pub envelope: Value,
    /// Lines that differ between recorded and new ending and data: `- was`, `+ is`.
    pub difference: Vec<String>,
    /// Whether anything differs at all.
    pub same: bool,
    /// Why it was not made, if it was not: somebody has to agree to it first.
    pub consent: Option<Failure>,
}

/// Which of these calls the tool of another one among them makes: the steps of a run that one of
/// them started. Whoever makes that call again makes them again.
pub fn made_by_another(calls: &[Recorded]) -> Vec<bool> {
    let started: Vec<String> = calls.iter().filter_map(Recorded::started).collect();
    let is_step = |call: &Recorded| {
        let run = call.field("run");
        run.is_some_and(|run| started.iter().any(|started| started == run))
    };
    calls.iter().map(is_step).collect()
}

impl Recorded {
    /// A text field of the ending.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.ending.get(name).and_then(Value::as_str)
    }

    /// The run that it started, if it started one.
    fn started(&self) -> Option<String> {
        if self.field("tool") != Some(runs::START) {
            return None;
        }
        let data: Value = serde_json::from_str(self.data.as_deref()?).ok()?;
        data.get("runId")?.as_str().map(str::to_owned)
    }

    /// Whether somebody had to agree to it, and nobody had.
    fn waited_for_consent(&self) -> bool {
        self.field("error_code") == Some(ErrorCode::ConfirmationRequired.as_str())
    }
}

impl Gateway {
    /// The calls of a trace, or the one call of this id, in order.
    pub async fn recorded(&self, trace_or_call: &str) -> Result<Vec<Recorded>, StoreError> {
        let mut query = AuditQuery {
            limit: MAX_STEPS,
            kind: Some("ending".to_owned()),
            trace_id: Some(trace_or_call.to_owned()),
            ..AuditQuery::default()
        };
        let mut rows = self.store().records(&query).await?;
        if rows.is_empty() {
            query.trace_id = None;
            query.call_id = Some(trace_or_call.to_owned());
            rows = self.store().records(&query).await?;
        }
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            all.push(self.with_body(row).await?);
        }
        Ok(all)
    }

    pub(crate) async fn with_body(&self, row: AuditRow) -> Result<Recorded, StoreError> {
        let ending: Value = serde_json::from_str(&row.body).unwrap_or_default();
        let shared = ending.get("body_of").and_then(Value::as_str);
        let body = match shared.or(row.columns.call_id.as_deref()) {
            Some(call) => self.store().body(&CallId(call.into())).await?,
            None => None,
        };
        let Body {
            arguments, data, ..
        } = body.unwrap_or(Body {
            call: CallId("".into()),
            arguments: None,
            data: None,
        });
        let print = |name: &str| ending.get(name).and_then(Value::as_str);
        let whole = data
            .as_ref()
            .is_none_or(|data| print("output_fingerprint") == Some(fingerprint_of(data).as_str()))
            && arguments.as_ref().is_none_or(|arguments| {
                let prints = self.fingerprint(arguments);
                prints.is_some() && prints.as_deref() == print("input_fingerprint")
            });
        Ok(Recorded {
            arguments: arguments.filter(|_| whole),
            data: data.filter(|_| whole),
            altered: !whole,
            ending,
        })
    }

    /// The fingerprint these arguments would have.
    fn fingerprint(&self, arguments: &str) -> Option<String> {
        let payload = Payload::parse(arguments.to_owned()).ok()?;
        let node = Node::of(&payload).ok();
        Some(fingerprint(&self.0, &payload, node.as_ref()))
    }

    /// Says what other rules would decide, with the consent the call had.
    pub fn redecide(&self, recorded: &Recorded, policies: &Policies) -> Redecided {
        let catalog = self.catalog();
        let Some(listing) = recorded.field("tool").and_then(|tool| catalog.find(tool)) else {
            return Redecided::Undecided("the tool is gone");
        };
        let kept = recorded.arguments.clone();
        let arguments = kept.and_then(|text| Payload::parse(text).ok());
        let needed = policies.needs_arguments(listing.spec.name.as_str());
        if arguments.is_none() && needed {
            return Redecided::Undecided("a needed argument was not kept");
        }
        let principal =
            Principal::from_stored(recorded.field("principal").unwrap_or("").to_owned());
        let units = |name: &str| {
            recorded
                .ending
                .get(name)
                .and_then(Value::as_u64)
                .unwrap_or(0)
        };
        let verdict = policies.decide(&Question {
            principal: &principal,
            action: Action::Call,
            tool: &listing.spec,
            capability: match recorded.field("capability") {
                Some("L0") => Capability::L0,
                Some("L1") => Capability::L1,
                Some(_) => Capability::L2,
                None => listing.spec.capability,
            },
            consent: match recorded.field("consent") {
                Some("human") => Consent::Human,
                Some("agent") => Consent::Agent,
                Some(_) | None => Consent::None,
            },
            trust: match recorded.field("trust") {
                Some("local") => TrustLevel::Local,
                Some(_) | None => TrustLevel::Remote,
            },
            surface: match recorded.field("surface") {
                Some("cli") => Surface::Cli,
                Some("jsonl") => Surface::Jsonl,
                Some(_) | None => Surface::Mcp,
            },
            profile: None,
            skill: None,
            session: recorded.field("session").unwrap_or(""),
            budget_left: None,
            estimate: Estimate {
                estimated: units("estimated"),
                worst_case: units("worst_case"),
                confirm: false,
            },
            tainted: false,
            arguments: arguments.as_ref().unwrap_or(&Payload::empty_object()),
        });
        Redecided::Verdict {
            decision: decision_word(verdict.decision),
            rule: verdict.rule,
        }
    }

    /// Really calls again, through the same door, and compares what is meant to be equal.
    /// `accepts_cost` is the caller's own agreement to the cost, as for any call.
    pub async fn again(
        &self,
        caller: &Caller,
        recorded: &Recorded,
        accepts_cost: bool,
    ) -> Option<Again> {
        self.again_in(caller, recorded, accepts_cost, None).await
    }

    /// The same for a call that a step of a run made.
    pub(crate) async fn again_in(
        &self,
        caller: &Caller,
        recorded: &Recorded,
        accepts_cost: bool,
        step: Option<StepOf>,
    ) -> Option<Again> {
        let tool = recorded.field("tool")?;
        let arguments = Payload::parse(recorded.arguments.clone()?).ok()?;
        let mut request = Request {
            step: step.map(Arc::new),
            ..Request::new(tool, arguments)
        };
        request.control.yes = accepts_cost;
        let outcome = self.call(caller, request).await;
        let again = self.compared(recorded, &outcome);
        drop(self.delivered(&outcome).await);
        Some(again)
    }

    /// What a call that was made again came to, beside what is recorded.
    fn compared(&self, recorded: &Recorded, outcome: &Outcome) -> Again {
        let envelope = outcome.envelope.get();
        if outcome.disposition == Disposition::NeedsConsent && !recorded.waited_for_consent() {
            return Again {
                envelope: serde_json::to_value(envelope).unwrap_or_default(),
                difference: Vec::new(),
                same: false,
                consent: envelope.error.clone(),
            };
        }
        let now = envelope.data.as_ref().map_or("null", Payload::raw);
        let was = recorded.data.as_deref().unwrap_or("null");
        let steady = |data: &str| self.steady(&envelope.tool, outcome.shape, data);
        let code = envelope.error.as_ref().map(|failure| failure.code.as_str());
        let ended = [
            ended(recorded.field("status"), recorded.field("error_code")),
            ended(Some(envelope.status.as_str()), code),
        ];
        let mut lines = Vec::new();
        if let [was, now] = &ended
            && was != now
        {
            lines.extend([format!("- {was}"), format!("+ {now}")]);
        }
        lines.extend(difference(&steady(was), &steady(now)));
        Again {
            envelope: serde_json::to_value(envelope).unwrap_or_default(),
            same: lines.is_empty(),
            difference: lines,
            consent: None,
        }
    }

    /// The lines of an answer, without what its tool declares to differ every time.
    fn steady(&self, tool: &str, shape: Shape, data: &str) -> Vec<String> {
        let Ok(mut value) = serde_json::from_str::<Value>(data) else {
            return lines(data);
        };
        let catalog = self.catalog();
        let listing = catalog.find(tool);
        let schema = listing.and_then(|listing| listing.spec.output_schema.as_ref());
        let described = match shape {
            Shape::Data => Some(&mut value),
            Shape::Native | Shape::Wrapped => value.get_mut("structuredContent"),
        };
        if let (Some(schema), Some(described)) = (schema, described) {
            volatile::mask(described, schema);
        }
        serde_json::to_string_pretty(&value).map_or_else(|_| lines(data), |text| lines(&text))
    }
}

/// How a call ended, in a line.
fn ended(status: Option<&str>, code: Option<&str>) -> String {
    let status = status.unwrap_or("unknown");
    match code {
        Some(code) => format!("ended: {status} ({code})"),
        None => format!("ended: {status}"),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The lines that differ, by the longest common subsequence; large inputs are cut first.
fn difference(was: &[String], now: &[String]) -> Vec<String> {
    const MAX_LINES: usize = 2000;
    let was = &was[..was.len().min(MAX_LINES)];
    let now = &now[..now.len().min(MAX_LINES)];
    let width = now.len() + 1;
    let mut lengths = vec![0_u32; (was.len() + 1) * width];
    for row in (0..was.len()).rev() {
        for column in (0..now.len()).rev() {
            lengths[row * width + column] = if was[row] == now[column] {
                lengths[(row + 1) * width + column + 1] + 1
            } else {
                lengths[(row + 1) * width + column].max(lengths[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut lines = Vec::new();
    while row < was.len() || column < now.len() {
        if row < was.len() && column < now.len() && was[row] == now[column] {
            row += 1;
            column += 1;
        } else if column >= now.len()
            || (row < was.len()
                && lengths[(row + 1) * width + column] >= lengths[row * width + column + 1])
        {
            lines.push(format!("- {}", was[row].trim_start()));
            row += 1;
        } else {
            lines.push(format!("+ {}", now[column].trim_start()));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown() {
        let was = lines("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}");
        let now = lines("{\n  \"a\": 1,\n  \"b\": 5,\n  \"c\": 3\n}");
        assert_eq!(difference(&was, &now), ["- \"b\": 2,", "+ \"b\": 5,"]);
        assert!(difference(&was, &was).is_empty());
    }
}
