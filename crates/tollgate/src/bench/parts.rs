//! Parts of the path by themselves: sanitising, policy, and what only the first use pays.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use tollgate_core::{Capability, Estimate, Payload, Principal, Surface, TrustLevel};
use tollgate_engine::{
    policy::{Action, Consent, Origin, Policies, Question, Source},
    session::Lifetime,
};
use tollgate_sanitize::{Sanitizer, Scope};

use super::{
    Plan,
    load::{cpu_time, micros},
    report::{Section, Series},
    rig::{Rig, caller, text},
};

const CLEAN: &str = "The harbour was quiet when the ferry came in, and the two men on the pier turned up \
their collars. In 1987 the old lighthouse had still been lit by hand; in summer some 12,000 visitors walk there.\n";
const HITS: &str = "contact ann.lee@example.org or +44 20 7946 0958 about card 4111 1111 1111 1111\n\
export SERVICE_API_KEY=q8Zt4Lw0Xk2Nv7Bs9Rm3Jd6F\nAuthorization: Bearer 7c9e6679f7425cc0a1b2c3d4e5f60718\n";
/// A rule that looks at an argument, so that no verdict can be remembered.
const CURIOUS: &str = "@id(\"bench.curious\")\nforbid (principal, action == Action::\"call\", resource)\n\
when { context.arguments has text && context.arguments.text == \"nobody says this\" };\n";

/// Megabytes a second, clean and full of hits.
pub(super) fn sanitizing(plan: &Plan) -> Section {
    let title = "Sanitising (targets: clean >= 300 MB/s, full of hits >= 50 MB/s)";
    let mut section = Section::new(title, &["text", "MB a second"]);
    let sanitizer = Sanitizer::shipped();
    for (name, sample, scope) in [
        ("clean", CLEAN, Scope::trusted()),
        ("clean, open world", CLEAN, Scope::open_world()),
        ("full of hits", HITS, Scope::trusted()),
    ] {
        let text = sample.repeat((1 << 20) / sample.len());
        let rate = rounds(plan, || {
            let spent = repeat(plan.time, || {
                black_box(sanitizer.text(black_box(&text), &scope));
            });
            text.len() as f64 / micros(spent)
        });
        section.row([name.to_owned(), rate.spread(0)]);
    }
    section
}

/// What a decision costs: remembered, asked anew, and with a rule that reads arguments.
pub(super) async fn policy(plan: &Plan) -> anyhow::Result<Section> {
    let rig = Rig::open(&plan.folder, 0).await?;
    let catalog = rig.wired.gateway.catalog();
    let tool = &catalog.find("text.stats").context("no text.stats")?.spec;
    let principal = Principal::user(1000);
    let arguments = Payload::parse(text(0))?;
    let question = Question {
        principal: &principal,
        action: Action::Call,
        tool,
        capability: Capability::L0,
        consent: Consent::None,
        trust: TrustLevel::Local,
        surface: Surface::Jsonl,
        profile: None,
        skill: None,
        session: "bench",
        budget_left: None,
        estimate: Estimate::default(),
        tainted: false,
        arguments: &arguments,
    };
    let plain = compile(vec![Source::shipped()])?;
    let curious = compile(vec![
        Source::shipped(),
        Source {
            name: "curious".to_owned(),
            text: CURIOUS.to_owned(),
            origin: Origin::User,
        },
    ])?;
    let mut section = Section::new("A policy decision", &["asked", "µs"]);
    let mut row = |name: &str, series: &Series| section.row([name.to_owned(), series.spread(2)]);
    row(
        "again",
        &rounds(plan, || {
            micros(repeat(plan.time, || {
                drop(black_box(plain.decide(&question)));
            }))
        }),
    );
    let mut number = 0_u64;
    row(
        "for the first time",
        &rounds(plan, || {
            micros(repeat(plan.time, || {
                number += 1;
                let skill = format!("skill-{number}");
                let anew = Question {
                    skill: Some(&skill),
                    ..question
                };
                drop(black_box(plain.decide(&anew)));
            }))
        }),
    );
    row(
        "with a rule that reads arguments",
        &rounds(plan, || {
            micros(repeat(plan.time, || {
                drop(black_box(curious.decide(&question)));
            }))
        }),
    );
    Ok(section)
}

/// What the first call of a tool pays and the next does not, and what opening pays.
pub(super) async fn first_use(plan: &Plan) -> anyhow::Result<Section> {
    const TIMES: u64 = 20;
    let title = "What is done once (processor time)";
    let mut section = Section::new(title, &["what", "µs"]);
    let mut rig = Rig::open(&plan.folder, 0).await?;
    let caller = caller(Lifetime::Process);
    let (mut opened, mut first, mut next) = <(Series, Series, Series)>::default();
    for round in 0..TIMES {
        let before = cpu_time();
        rig = rig.reopen().await?;
        opened.push(micros(cpu_time().saturating_sub(before)));
        for (offset, series) in [(0, &mut first), (1, &mut next)] {
            let before = cpu_time();
            let arguments = text(round * 2 + offset);
            rig.call(&caller, "text.stats", arguments).await?;
            series.push(micros(cpu_time().saturating_sub(before)));
        }
    }
    section.row(["close and open the gate".to_owned(), opened.spread(0)]);
    section.row([
        "first call: schema, policy, session".to_owned(),
        first.spread(0),
    ]);
    section.row(["next call, alone".to_owned(), next.spread(0)]);
    Ok(section)
}

fn compile(sources: Vec<Source>) -> anyhow::Result<Policies> {
    Policies::compile(sources).map_err(|problems| anyhow::anyhow!("{problems:?}"))
}

fn rounds(plan: &Plan, mut measure: impl FnMut() -> f64) -> Series {
    let mut series = Series::default();
    for _ in 0..plan.rounds {
        series.push(measure());
    }
    series
}

/// The mean time of one go, taken over at least `time`.
fn repeat(time: Duration, mut work: impl FnMut()) -> Duration {
    const GOES: u32 = 8;
    let began = Instant::now();
    let mut goes = 0;
    while began.elapsed() < time {
        for _ in 0..GOES {
            work();
        }
        goes += GOES;
    }
    began.elapsed() / goes.max(1)
}
