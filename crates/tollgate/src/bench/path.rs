//! The whole path: reads, cache hits and effects, alone and 32 at a time, and
//! whether a large catalogue or a long log makes a call dearer.

use std::sync::Arc;

use tollgate_engine::session::Lifetime;

use super::{
    Plan,
    load::{Cost, Work, press},
    report::{Section, Series},
    rig::{EFFECT, Rig, caller, text},
};

/// Tools in the small catalogue, beside our own.
const FEW: usize = 10;
const MANY_CALLERS: usize = 32;

/// One line of the table.
struct Case {
    name: String,
    gate: Gate,
    work: Work,
    in_flight: usize,
    taken: Taken,
}

/// Which of the gates a case is measured on.
#[derive(Clone, Copy)]
enum Gate {
    /// Few tools, and a log that was empty when the round began.
    Plain,
    ManyTools,
    LongLog,
}

/// What was measured of a case in every round.
#[derive(Default)]
struct Taken {
    cpu: Series,
    ratio: Series,
    rate: Series,
    median: Series,
    slow: Series,
}

impl Taken {
    fn add(&mut self, cost: &Cost, plain: f64) {
        self.cpu.push(cost.cpu());
        self.ratio.push(cost.cpu() / plain);
        self.rate.push(cost.per_second());
        self.median.push(cost.percentile(0.5));
        self.slow.push(cost.percentile(0.99));
    }
}

/// Measures every case in every round, neighbours in time, so that noise hits all alike.
pub(super) async fn calls(plan: &Plan) -> anyhow::Result<Section> {
    let many_tools = Arc::new(Rig::open(&plan.folder, plan.tools).await?);
    let long_log = Arc::new(Rig::open(&plan.folder, FEW).await?);
    long_log.fill(plan.rows).await?;
    let mut cases = cases(plan);
    cases.retain(|case| plan.only.as_ref().is_none_or(|name| case.name == *name));
    for _ in 0..plan.rounds {
        let plain_gate = Arc::new(Rig::open(&plan.folder, FEW).await?);
        let mut plain = f64::NAN;
        for case in &mut cases {
            let rig = match case.gate {
                Gate::Plain => &plain_gate,
                Gate::ManyTools => &many_tools,
                Gate::LongLog => &long_log,
            };
            let cost = press(rig, &case.work, case.in_flight, plan.time).await?;
            if plain.is_nan() {
                plain = cost.cpu();
            }
            case.taken.add(&cost, plain);
        }
    }
    Ok(section(&cases))
}

/// The first case is what the others are compared with.
fn cases(plan: &Plan) -> Vec<Case> {
    let read = |lifetime| Work {
        caller: caller(lifetime),
        tool: "text.stats",
        arguments: text,
    };
    let hit = Work {
        arguments: |_| text(0),
        ..read(Lifetime::Process)
    };
    let effect = Work {
        tool: EFFECT,
        ..read(Lifetime::Process)
    };
    let process = || read(Lifetime::Process);
    let many = MANY_CALLERS;
    let rows = [
        ("read".to_owned(), Gate::Plain, process(), many),
        (
            format!("read, {} tools", plan.tools),
            Gate::ManyTools,
            process(),
            many,
        ),
        (
            format!("read, {} audit rows", plan.rows),
            Gate::LongLog,
            process(),
            many,
        ),
        (
            "read, stored session".to_owned(),
            Gate::Plain,
            read(Lifetime::Stored),
            many,
        ),
        ("read".to_owned(), Gate::Plain, process(), 1),
        ("cache hit".to_owned(), Gate::Plain, hit.clone(), many),
        ("cache hit".to_owned(), Gate::Plain, hit, 1),
        (
            "effect, synced".to_owned(),
            Gate::Plain,
            effect.clone(),
            many,
        ),
        ("effect, synced".to_owned(), Gate::Plain, effect, 1),
    ];
    rows.into_iter()
        .map(|(name, gate, work, in_flight)| Case {
            name,
            gate,
            work,
            in_flight,
            taken: Taken::default(),
        })
        .collect()
}

fn section(cases: &[Case]) -> Section {
    let title = "The whole path: policy, audit committed before the answer, log on \
                 (targets: a read <= 100 µs of CPU with 32 in flight, a hit <= 30 µs)";
    let head = [
        "call",
        "in flight",
        "CPU µs a call",
        "of the first",
        "calls a second",
        "p50 µs",
        "p99 µs",
    ];
    let mut section = Section::new(title, &head);
    for case in cases {
        section.row([
            case.name.clone(),
            case.in_flight.to_string(),
            case.taken.cpu.spread(1),
            format!("{:.2}x", case.taken.ratio.median()),
            case.taken.rate.spread(0),
            format!("{:.0}", case.taken.median.median()),
            format!("{:.0}", case.taken.slow.median()),
        ]);
    }
    section
}
