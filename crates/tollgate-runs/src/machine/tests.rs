//! The machine, driven by hand and by chance.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Action, Advance, Event, Key, Need, Outcome, Run, Status, StepError, StepState, Waits};
use crate::template::parse;

fn run(text: &str, inputs: Value) -> Run {
    let text = format!("id: t\nversion: 1.0.0\nname: T\n{text}");
    let template = parse("t.yaml", &text).unwrap_or_else(|problems| panic!("{problems:?}"));
    Run::new(Arc::new(template), inputs, json!({"id": "run_1"}), 0.5)
}

fn done(data: Value) -> Outcome {
    Outcome::Done {
        data: Arc::new(data),
        artifacts: Vec::new(),
        spilled: None,
        tainted: false,
        call: "c".to_owned(),
    }
}

fn failed(code: &str, can_retry: bool) -> Outcome {
    Outcome::Failed {
        error: StepError::new(code, "no"),
        can_retry,
        call: None,
    }
}

fn calls(advance: &Advance) -> Vec<(Key, String, Value)> {
    let calls = advance.actions.iter().filter_map(|action| match action {
        Action::Call(call) => Some((call.key, call.name.clone(), call.arguments.clone())),
        Action::Wait { .. } | Action::Await { .. } | Action::Finish(_) => None,
    });
    calls.collect()
}

/// Answers every call by name until the run ends.
fn drive(run: &mut Run, answer: impl Fn(&str) -> Outcome) -> super::Ending {
    let mut open = run.advance(Event::Begin).actions;
    loop {
        let action = open.remove(0);
        let event = match action {
            Action::Finish(ending) => return *ending,
            Action::Wait { key, .. } => Event::Due(key),
            Action::Await { key, .. } => Event::Granted(key),
            Action::Call(call) => Event::Ended {
                key: call.key,
                outcome: Box::new(answer(&call.name)),
                at: 1,
            },
        };
        open.extend(run.advance(event).actions);
    }
}

const THREE: &str = "steps:\n  - {id: a, tool: x.a}\n  - {id: b, tool: x.b, args: {v: '{{ steps.a.data.n }}'}}\n  - {id: c, tool: x.c, always: true}\n";
const EACH: &str = "supportsPartialSuccess: true\nmaxConcurrency: 3\nsteps:\n  - id: page\n    for_each: inputs.urls\n    tool: x.get\n    args: {url: '{{ item }}'}\n";

#[test]
fn steps_follow_each_other_and_see_what_came_before() {
    let mut run = run(THREE, json!({}));
    let first = run.advance(Event::Begin);
    assert_eq!(calls(&first).len(), 1);
    let next = run.advance(Event::Ended {
        key: calls(&first)[0].0,
        outcome: Box::new(done(json!({"n": 7}))),
        at: 1,
    });
    assert_eq!(calls(&next)[0].2, json!({"v": 7}));
    assert_eq!(run.progress().done, 1);
}

#[test]
fn a_failed_step_ends_the_run_but_what_cleans_up_runs() {
    let mut run = run(THREE, json!({}));
    let ending = drive(&mut run, |name| match name {
        "a" => failed("E_X", false),
        _ => done(json!({})),
    });
    assert_eq!(ending.status, Status::Failed);
    let states: Vec<StepState> = run.steps().iter().map(|step| step.record.state).collect();
    assert_eq!(
        states,
        [StepState::Failed, StepState::Skipped, StepState::Succeeded]
    );
    let super::RunError::Step { failed_step, error } = ending.error.unwrap() else {
        panic!("not a step");
    };
    assert_eq!((failed_step.as_str(), error.code.as_str()), ("a", "E_X"));
}

#[test]
fn the_share_of_items_decides() {
    let inputs = json!({"urls": ["0", "1", "2", "3"]});
    for (bad, extra, status) in [
        (0, "", Status::Succeeded),
        (2, "", Status::PartialSuccess),
        (3, "", Status::Failed),
        (2, "threshold: 0.75\n", Status::Failed),
        (1, "threshold: 0.75\n", Status::PartialSuccess),
    ] {
        let mut run = run(&format!("{extra}{EACH}"), inputs.clone());
        let ending = drive(&mut run, |name| {
            let is_bad = (0..bad).any(|item| name == format!("page[{item}]"));
            if is_bad {
                failed("E", false)
            } else {
                done(json!({"title": name}))
            }
        });
        assert_eq!(ending.status, status, "{bad} {extra}");
        assert_eq!(ending.result["summary"]["failed"], bad);
        assert_eq!(ending.result["items"][3]["success"], true);
    }
    let without = EACH.replace("supportsPartialSuccess: true\n", "");
    let mut run = run(&without, inputs);
    let ending = drive(&mut run, |name| match name {
        "page[0]" => failed("E", false),
        _ => done(json!({})),
    });
    assert_eq!(ending.status, Status::Failed);
}

#[test]
fn no_more_than_allowed_is_under_way() {
    let urls: Vec<String> = (0..20).map(|at| at.to_string()).collect();
    let mut run = run(EACH, json!({"urls": urls}));
    assert_eq!(calls(&run.advance(Event::Begin)).len(), 3);
}

#[test]
fn too_many_items_and_no_list_at_all_are_failures() {
    let many: Vec<u32> = (0..1_000_000).collect();
    for inputs in [json!({"urls": many}), json!({"urls": 3}), json!({})] {
        let mut run = run(EACH, inputs);
        let ending = drive(&mut run, |_| done(json!({})));
        assert_eq!(ending.status, Status::Failed);
    }
}

#[test]
fn a_cancelled_run_lets_the_running_step_end() {
    let mut run = run(THREE, json!({}));
    let first = run.advance(Event::Begin);
    assert!(run.advance(Event::Cancel).actions.is_empty());
    assert_eq!(run.status(), Status::Running);
    let next = run.advance(Event::Ended {
        key: calls(&first)[0].0,
        outcome: Box::new(done(json!({"n": 1}))),
        at: 1,
    });
    assert!(
        matches!(&next.actions[..], [Action::Finish(ending)] if ending.status == Status::Canceled)
    );
    let states: Vec<StepState> = run.steps().iter().map(|step| step.record.state).collect();
    assert_eq!(
        states,
        [StepState::Succeeded, StepState::Skipped, StepState::Skipped]
    );
    assert!(run.advance(Event::Begin).actions.is_empty());
}

#[test]
fn what_cleans_up_behind_a_run_is_no_step_of_it_and_runs_when_it_is_cancelled() {
    let text = THREE.replace("always: true", "always: true, optional: true");
    let mut run = run(&text, json!({}));
    let first = run.advance(Event::Begin);
    assert_eq!(run.progress().total, 2);
    run.advance(Event::Cancel);
    let next = run.advance(Event::Ended {
        key: calls(&first)[0].0,
        outcome: Box::new(done(json!({"n": 1}))),
        at: 1,
    });
    assert_eq!(calls(&next)[0].1, "c");
    let end = run.advance(Event::Ended {
        key: calls(&next)[0].0,
        outcome: Box::new(done(json!({}))),
        at: 1,
    });
    assert!(
        matches!(&end.actions[..], [Action::Finish(ending)] if ending.status == Status::Canceled)
    );
    assert_eq!((run.progress().total, run.progress().done), (2, 2));
}

#[test]
fn an_item_is_one_step_however_many_calls_it_takes() {
    let text = "steps:\n  - id: page\n    for_each: inputs.urls\n    steps:\n      - {id: open, tool: x.open, args: {url: '{{ item }}'}}\n      - {id: read, tool: x.read}\n";
    let mut run = run(text, json!({"urls": ["a", "b"]}));
    let first = run.advance(Event::Begin);
    assert_eq!((run.progress().total, run.progress().done), (2, 0));
    let key = calls(&first)[0].0;
    let ended = |key| Event::Ended {
        key,
        outcome: Box::new(done(json!({}))),
        at: 1,
    };
    let next = run.advance(ended(key));
    assert_eq!(run.progress().done, 0, "half an item");
    let reads = calls(&next);
    let read = reads.iter().find(|it| it.1.ends_with(".read")).unwrap();
    run.advance(ended(read.0));
    assert_eq!((run.progress().total, run.progress().done), (2, 1));
}

#[test]
fn what_failed_is_tried_again_as_often_as_the_template_says() {
    let text = "steps:\n  - {id: a, tool: x.a, retry: {times: 2, delayMs: 10, on: [E]}}\n";
    let attempts = std::cell::Cell::new(0);
    let ending = drive(&mut run(text, json!({})), |_| {
        attempts.set(attempts.get() + 1);
        failed("E", true)
    });
    assert_eq!((ending.status, attempts.get()), (Status::Failed, 3));
    for (code, can_retry) in [("OTHER", true), ("E", false)] {
        attempts.set(0);
        drive(&mut run(text, json!({})), |_| {
            attempts.set(attempts.get() + 1);
            failed(code, can_retry)
        });
        assert_eq!(attempts.get(), 1);
    }
}

#[test]
fn a_restored_run_goes_on_where_it_was() {
    let mut first = run(THREE, json!({}));
    let key = calls(&first.advance(Event::Begin))[0].0;
    first.advance(Event::Ended {
        key,
        outcome: Box::new(done(json!({"n": 5}))),
        at: 1,
    });
    let kept: Vec<_> = first
        .steps()
        .iter()
        .map(|step| (step.name.clone(), step.record.clone()))
        .collect();
    let mut second = run(THREE, json!({})).restored(kept);
    let again = second.advance(Event::Begin);
    let [Action::Call(call)] = &again.actions[..] else {
        panic!("{again:?}");
    };
    assert_eq!((call.name.as_str(), call.attempt), ("b", 1));
    assert_eq!(call.arguments, json!({"v": 5}));
}

fn asked(key: Key) -> Event {
    Event::Asked {
        key,
        waits: Waits {
            need: Need::Approval("ap-1".to_owned()),
            since: 5,
        },
        call: "c".to_owned(),
    }
}

#[test]
fn a_call_that_waits_for_somebody_is_made_again_as_the_same_attempt() {
    let mut run = run(THREE, json!({}));
    let first = run.advance(Event::Begin);
    let key = calls(&first)[0].0;
    let waits = run.advance(asked(key));
    assert!(
        matches!(waits.actions[..], [Action::Await { .. }]),
        "{waits:?}"
    );
    assert_eq!(waits.changed, [key], "it is kept that it waits");
    assert!(run.is_resting());
    // Another process takes over: it still waits, and nothing is called.
    let kept: Vec<_> = run
        .steps()
        .iter()
        .map(|step| (step.name.clone(), step.record.clone()))
        .collect();
    let mut run = super::tests::run(THREE, json!({})).restored(kept);
    let again = run.advance(Event::Begin);
    assert!(
        matches!(again.actions[..], [Action::Await { .. }]),
        "{again:?}"
    );
    let granted = run.advance(Event::Granted(key));
    let [Action::Call(call)] = &granted.actions[..] else {
        panic!("{granted:?}");
    };
    assert_eq!((call.name.as_str(), call.attempt), ("a", 1));
    assert!(!run.is_resting());
    assert!(run.advance(Event::Granted(key)).actions.is_empty(), "once");
}

#[test]
fn nobody_has_to_answer_for_a_run_that_is_called_off() {
    let text = THREE.replace("always: true", "always: true, optional: true");
    let mut run = run(&text, json!({}));
    let key = calls(&run.advance(Event::Begin))[0].0;
    run.advance(asked(key));
    let stopped = run.advance(Event::Cancel);
    assert_eq!(run.record(key).unwrap().state, StepState::Skipped);
    let [(last, name, _)] = &calls(&stopped)[..] else {
        panic!("{stopped:?}");
    };
    assert_eq!(name, "c", "cleaning up is left");
    let ended = run.advance(asked(*last));
    let [Action::Finish(ending)] = &ended.actions[..] else {
        panic!("{ended:?}");
    };
    assert_eq!(ending.status, Status::Canceled);
}

#[test]
fn items_that_wait_do_so_after_a_crash_too() {
    let inputs = json!({"urls": ["a", "b"]});
    let mut first = run(EACH, inputs.clone());
    let keys: Vec<Key> = calls(&first.advance(Event::Begin))
        .iter()
        .map(|it| it.0)
        .collect();
    first.advance(asked(keys[1]));
    assert!(!first.is_resting(), "the other one is under way");
    let kept: Vec<_> = first
        .steps()
        .iter()
        .map(|step| (step.name.clone(), step.record.clone()))
        .collect();
    let mut second = run(EACH, inputs).restored(kept);
    let again = second.advance(Event::Begin);
    assert_eq!(calls(&again).len(), 1);
    let waits = |action: &&Action| matches!(action, Action::Await { key, .. } if *key == keys[1]);
    assert_eq!(again.actions.iter().filter(waits).count(), 1, "{again:?}");
}

proptest! {
    #[test]
    fn whatever_happens_it_ends_once_and_nothing_runs_twice(
        moves in proptest::collection::vec((0_u8..6, 0_usize..4), 0..60),
        items in 0_usize..6,
    ) {
        let urls: Vec<String> = (0..items).map(|at| at.to_string()).collect();
        let text = format!("{EACH}  - {{id: after, tool: x.y, retry: {{times: 1}}}}\n  - {{id: last, tool: x.z, always: true}}\n");
        let mut run = run(&text, json!({"urls": urls}));
        let mut open: Vec<Action> = run.advance(Event::Begin).actions;
        let mut finishes = 0;
        let mut succeeded = std::collections::HashSet::new();
        for (what, which) in moves.into_iter().chain((0..200).map(|_| (0, 0))) {
            let event = match what {
                4 => Event::Cancel,
                5 => Event::Deadline,
                _ if open.is_empty() => continue,
                _ => match open.remove(which % open.len()) {
                    Action::Finish(_) => { finishes += 1; continue }
                    Action::Wait { key, .. } => Event::Due(key),
                    Action::Await { key, .. } => Event::Granted(key),
                    Action::Call(call) if what == 3 => asked(call.key),
                    Action::Call(call) => {
                        prop_assert!(!succeeded.contains(&call.name));
                        let outcome = if what % 2 == 0 { done(json!({})) } else { failed("E", true) };
                        if what % 2 == 0 { succeeded.insert(call.name); }
                        Event::Ended { key: call.key, outcome: Box::new(outcome), at: 1 }
                    }
                },
            };
            let before = run.status();
            open.extend(run.advance(event).actions);
            let under_way = open.iter().filter(|action| matches!(action, Action::Call(_) | Action::Wait { .. })).count();
            prop_assert!(under_way <= 3);
            prop_assert!(!before.is_terminal() || run.status() == before);
        }
        prop_assert_eq!(finishes, 1);
        prop_assert!(run.status().is_terminal());
        prop_assert!(run.steps().iter().all(|step| step.record.state.is_settled()));
    }
}

#[test]
fn the_codes_of_a_retry_are_the_same_in_upper_and_lower_case() {
    let text = "steps:\n  - {id: a, tool: x.a, retry: {times: 1, on: [Timeout]}}\n";
    for (code, tries) in [("timeout", 2), ("Timeout", 2), ("unavailable", 1)] {
        let mut run = run(text, json!({}));
        drive(&mut run, |_| failed(code, true));
        assert_eq!(run.steps()[0].record.attempts, tries, "{code}");
    }
}
