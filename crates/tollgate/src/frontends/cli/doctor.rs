//! `tollgate doctor`: what works, what does not, and what to do.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use tollgate_core::{
    Health, SystemClock,
    store::{AuditLog, Intents, Store, StoreError},
};
use tollgate_engine::{Catalog, Missing, Problem, RunType, Skills, TURNED_OFF};
use tollgate_providers::{
    sandbox::survey,
    upstream::{Lock, oddities},
};
use tollgate_sanitize::visible;
use tollgate_store::{OpenError, SqliteStore};

use super::{Exit, Stop, console::Console, console::Paint};
use crate::{
    config::{Config, Environment, Flags, LogTarget, OtherRuns, SourceRole},
    keys,
    skills::{Book, compiled},
    upstream,
    wire::{self, WireError},
};

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    state: State,
    said: String,
    todo: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Works,
    /// It is not here, and nothing needs it.
    Absent,
    Limited,
    Broken,
}

pub(super) async fn run(
    environment: &Environment,
    flags: &Flags,
    console: &Console,
) -> Result<Exit, Stop> {
    let mut findings = vec![works("version", env!("CARGO_PKG_VERSION").to_owned())];
    match Config::load(environment, flags) {
        Ok(mut config) => {
            config.mcp.patience = super::PATIENCE;
            config.mcp.afresh = true;
            findings.extend(configuration(&config));
            findings.extend(anonymous(&config));
            findings.push(policies(&config));
            findings.extend(state(&config).await);
            findings.extend(providers(&config, environment).await);
            findings.extend(definitions(&config));
            findings.extend(templates(&config));
            findings.extend(sandbox(&config).await);
            findings.extend(outputs(&config));
        }
        Err(errors) => findings.extend(errors.iter().map(|error| {
            broken(
                "configuration",
                error.to_string(),
                "correct the key and run this again",
            )
        })),
    }
    show(&findings, console)?;
    let healthy = findings
        .iter()
        .all(|finding| finding.state != State::Broken);
    Ok(if healthy { Exit::Ok } else { Exit::ToolError })
}

fn works(what: &'static str, said: String) -> Finding {
    Finding {
        what,
        state: State::Works,
        said,
        todo: None,
    }
}

/// Fine if it is there, and absent if it is not.
fn there(what: &'static str, is_there: bool, said: String) -> Finding {
    Finding {
        state: if is_there {
            State::Works
        } else {
            State::Absent
        },
        ..works(what, said)
    }
}

fn limited(what: &'static str, said: String, todo: &str) -> Finding {
    Finding {
        what,
        state: State::Limited,
        said,
        todo: Some(todo.to_owned()),
    }
}

fn broken(what: &'static str, said: String, todo: &str) -> Finding {
    Finding {
        state: State::Broken,
        ..limited(what, said, todo)
    }
}

fn configuration(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    if config.sources.is_empty() {
        findings.push(works("configuration", "defaults; no file".to_owned()));
    }
    for source in &config.sources {
        let role = match source.role {
            SourceRole::User => "the user's",
            SourceRole::Project(_) => "the project's",
            SourceRole::Named => "named on the command line",
        };
        findings.push(works(
            "configuration",
            format!("{} ({role})", source.path.display()),
        ));
    }
    findings.extend(config.notices.iter().map(|notice| {
        limited(
            "configuration",
            notice.to_string(),
            "see `tollgate trust --help`",
        )
    }));
    findings
}

/// What servers say of their tools that somebody should look at, and what waits for that.
fn definitions(config: &Config) -> Vec<Finding> {
    let pins = Lock::new(upstream::lock_path(config))
        .read()
        .unwrap_or_default();
    let mut findings = Vec::new();
    for server in &config.mcp.servers {
        let Some(pinned) = pins.servers.get(&server.name) else {
            continue;
        };
        for (tool, pin) in pinned.definitions() {
            let told = pin.waiting.as_ref().or(pin.accepted.as_ref());
            let notes = told.map_or_else(Vec::new, |told| oddities(told.definition.get()));
            if notes.is_empty() {
                continue;
            }
            let name = &server.name;
            let said = format!("`{}` of `{name}`: {}", visible(tool), notes.join(", "));
            let todo = match pin.waiting {
                Some(_) => format!(
                    "no model sees it before it is accepted: `tollgate servers diff {name}`, `tollgate servers accept {name}`"
                ),
                None => format!(
                    "it was accepted; look at it with `tollgate tools show mcp.{name}.{}`",
                    visible(tool)
                ),
            };
            findings.push(limited("tools", said, &todo));
        }
    }
    findings
}

/// Whoever says that no token is needed should know who that lets in.
fn anonymous(config: &Config) -> Option<Finding> {
    (config.serve.anonymous == Some(true)).then(|| {
        limited(
            "http",
            "`serve.anonymous = true`: whoever reaches this machine needs no token, also beside OAuth, \
             tokens and allowed hosts, and through a proxy that does not say it is one"
                .to_owned(),
            "leave `serve.anonymous` out: then it ends once there is another way to say who calls",
        )
    })
}

fn policies(config: &Config) -> Finding {
    match wire::policies(config) {
        Ok(policies) => works(
            "policy",
            format!(
                "the shipped rules and {} file(s), version {}",
                config.policy.len(),
                policies.version()
            ),
        ),
        Err(WireError::Policy(problems)) => {
            let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
            broken(
                "policy",
                all.join("; "),
                "correct the rules; `tollgate policy check` shows them one by one",
            )
        }
        Err(error) => broken(
            "policy",
            error.to_string(),
            "check [policy] files in the configuration",
        ),
    }
}

/// What to do about a state that is damaged.
const RESTORE: &str = "stop every process of Tollgate, keep the files as they are, restore a backup \
                       beside them and name it in `state.dir`";

/// What to do about a process that is stopped while it holds the lock.
const RESUME: &str = "let it go on (`kill -CONT PID`) or end it; nothing is lost meanwhile";

/// What to do about a state that takes no commit.
const fn cure_commit(error: &StoreError) -> &'static str {
    match error {
        StoreError::Held(holder) if holder.is_stopped => RESUME,
        StoreError::Busy | StoreError::Held(_) => {
            "look for a process of Tollgate that hangs, and run this again"
        }
        StoreError::Full => "make room on the disk; nothing is lost meanwhile",
        StoreError::ReadOnly => "see that you may write it; nothing is lost meanwhile",
        StoreError::Unsynced => {
            "check the disk and its cables; what is not synced is not acknowledged"
        }
        StoreError::NotAcknowledged(_) => ACCEPT,
        StoreError::Corrupt(_) => RESTORE,
        StoreError::Budget { .. }
        | StoreError::ApprovalGone
        | StoreError::ApprovalsFull
        | StoreError::AlreadyEnded
        | StoreError::Conflict
        | StoreError::Missing
        | StoreError::Failed(_) => {
            "check that the folder can be written and has space; keep the files"
        }
    }
}

/// What to do about a state that is not the one that was acknowledged.
const ACCEPT: &str = "stop every process of Tollgate, restore the right state, or accept this one with \
                      `tollgate state accept`";

/// What to do about a state that cannot be opened.
const fn cure(error: &OpenError) -> &'static str {
    match error {
        OpenError::ChainName(_) | OpenError::OtherChain(_) => {
            "name the folder of this gate's own state in `state.dir`"
        }
        OpenError::Absent => "any call makes it",
        OpenError::Directory(_) => {
            "see that it is a folder and that you may write it, or name another one in `state.dir`"
        }
        OpenError::ReadOnly => {
            "see that you may write it, or name another folder in `state.dir`; nothing is lost meanwhile"
        }
        OpenError::Held(holder) if holder.is_stopped => RESUME,
        OpenError::Busy | OpenError::Held(_) => {
            "look for a process of Tollgate that hangs, and run this again"
        }
        OpenError::Full => "make room on the disk; nothing is lost meanwhile",
        OpenError::Corrupt(_) => RESTORE,
        OpenError::TooNew { .. } => {
            "use the version of Tollgate that wrote it; states are only converted forward"
        }
        OpenError::Key(_) => "restore `audit-signing.key` in that folder from a backup",
        OpenError::Failed(_) => {
            "check that the folder can be written and has space; keep the files"
        }
    }
}

async fn state(config: &Config) -> Vec<Finding> {
    let dir = config.state.dir.display().to_string();
    let store = match SqliteStore::open(wire::store_settings(config), Arc::new(SystemClock)) {
        Ok(store) => store,
        Err(error) => {
            return vec![broken("state", format!("{dir}: {error}"), cure(&error))];
        }
    };
    let mut findings = vec![match store.check_commit().await {
        Ok(()) => works("state", dir),
        Err(error) => broken("state", format!("{dir}: {error}"), cure_commit(&error)),
    }];
    if let Err(error) = keys::approval_key(&config.state.dir) {
        findings.push(broken(
            "approvals",
            format!("{}: {error}", keys::path(&config.state.dir).display()),
            "restore the file from a backup, or delete it: open approvals are then asked again",
        ));
    }
    match store.verify().await {
        Ok(found) if found.problems.is_empty() => {
            findings.push(works("audit", format!("verified, {} entries", found.rows)));
        }
        Ok(found) => findings.push(broken(
            "audit",
            found.problems.join("; "),
            "stop, keep the files, and compare with your last export",
        )),
        Err(error) => findings.push(broken("audit", error.to_string(), RESTORE)),
    }
    match store.abandoned().await {
        Ok(open) if open.is_empty() => {}
        Ok(open) => findings.push(limited(
            "recovery",
            format!("{} call(s) of a dead process are not ended", open.len()),
            "any other command ends them as interrupted",
        )),
        Err(error) => findings.push(broken("recovery", error.to_string(), "run it again")),
    }
    store.close().await;
    findings
}

/// Every skill: what can be used, what waits for a tool, and what its files keep from use.
fn skills(config: &Config, catalog: &Catalog) -> Vec<Finding> {
    let rules = wire::policy_sources(config);
    let loaded = rules.and_then(|rules| compiled(Book::new(config).load(), &rules));
    let Ok((skills, _)) = loaded else {
        // What is wrong with the rules is said where the rules are looked at.
        return Vec::new();
    };
    let judged = Skills::judge(&skills, catalog);
    let all = judged.all().iter().map(|standing| {
        let name = &standing.skill.name;
        match (&standing.reason, &standing.skill.off) {
            (None, _) => works("skill", name.clone()),
            (Some(reason), Some(off)) if off != TURNED_OFF => limited(
                "skill",
                format!("{name} is off: {reason}"),
                "`tollgate skills lint` shows what is wrong",
            ),
            (Some(reason), _) => there("skill", false, format!("{name} is off: {reason}")),
        }
    });
    let mut findings: Vec<Finding> = all.collect();
    findings.push(other_runs(config, &judged));
    findings
}

/// Whether runs that no skill names may be made, and of which templates those are.
fn other_runs(config: &Config, skills: &Skills) -> Finding {
    let shelf = wire::library(config).shelf();
    let is_free = |id: &&str| skills.run_type(id) == RunType::Free;
    let ids: BTreeSet<&str> = shelf.all().map(|one| one.id.as_str()).collect();
    let free: Vec<&str> = ids.into_iter().filter(is_free).collect();
    let free = match free.as_slice() {
        [] => "none".to_owned(),
        free => free.join(", "),
    };
    let verb = match config.skills.other_runs {
        OtherRuns::Allow => "allowed",
        OtherRuns::Refuse => "refused",
    };
    works(
        "skill",
        format!("run types without a skill are {verb} (`skills.other_runs`): {free}"),
    )
}

/// Files of templates that cannot be used; if there are none, nothing has to be said.
fn templates(config: &Config) -> Vec<Finding> {
    let shelf = wire::library(config).shelf();
    let told = shelf.problems.iter().map(|problem| {
        limited(
            "template",
            problem.to_string(),
            "correct the file; `tollgate runs templates lint` checks it again",
        )
    });
    told.collect()
}

async fn providers(config: &Config, environment: &Environment) -> Vec<Finding> {
    let catalog = match wire::listed(config, environment).await {
        Ok(catalog) => catalog,
        Err(error) => return vec![broken("tools", error.to_string(), "report this")],
    };
    let mut findings = vec![works(
        "tools",
        format!("{} on offer", catalog.listings().count()),
    )];
    findings.extend(insufficient_permits(config, &catalog));
    findings.extend(skills(config, &catalog));
    findings.extend(standing(&catalog).await);
    findings
}

/// Permits that do not lift the human where whoever wrote them may believe it.
fn insufficient_permits(config: &Config, catalog: &Catalog) -> Vec<Finding> {
    let Ok(policies) = wire::policies(config) else {
        // What is wrong with the rules is said where the rules are looked at.
        return Vec::new();
    };
    let specs = catalog.listings().map(|listing| &*listing.spec);
    let found = policies.insufficient_permits(specs);
    let found = found.iter();
    found
        .map(|permit| limited("policy", permit.problem(), &permit.remedy))
        .collect()
}

/// How every provider is, and what is missing because of it.
async fn standing(catalog: &Catalog) -> Vec<Finding> {
    let problems = catalog.problems();
    let lists = |provider: &str| {
        let missing = |problem: &Problem| problem.missing == Missing::Everything;
        !problems
            .iter()
            .any(|it| it.provider == provider && missing(it))
    };
    let mut told = Vec::new();
    let mut findings = Vec::new();
    for (provider, health) in catalog.health().await {
        // Parts of one provider that are alike are told once.
        let one = (provider.clone(), health.clone());
        if told.contains(&one) {
            continue;
        }
        told.push(one);
        let said = |why: String| format!("{provider}: {why}");
        findings.extend(match health {
            Health::Ready if lists(&provider) => Some(works("provider", provider)),
            // What it lacks is told below.
            Health::Ready => None,
            Health::Degraded(why) => Some(limited("provider", said(why), "see its settings")),
            Health::Down(why) => Some(broken("provider", said(why), "see its settings")),
        });
    }
    findings.extend(problems.iter().map(|problem| {
        limited(
            "provider",
            format!("{}: {}", problem.provider, problem.message),
            match problem.missing {
                Missing::Everything => "its tools are missing until this is fixed",
                Missing::Tool | Missing::Alias => "give one of them another name",
            },
        )
    }));
    findings
}

/// Every tier and every language, and why what does not work does not.
async fn sandbox(config: &Config) -> Vec<Finding> {
    if !config.sandbox.enabled {
        return vec![works("sandbox", "turned off".to_owned())];
    }
    let settings = config.sandbox.settings(&config.state.dir);
    let survey = tokio::task::spawn_blocking(move || survey(&settings)).await;
    let survey = match survey {
        Ok(survey) => survey,
        Err(error) => return vec![broken("sandbox", error.to_string(), "report this")],
    };
    let mut findings = vec![match &survey.chosen {
        Ok(tier) => works("sandbox", format!("code runs in tier {tier}")),
        Err(why) => limited(
            "sandbox",
            format!("{why}, so nothing is run"),
            "allow user namespaces, or accept less with `sandbox.least_tier`",
        ),
    }];
    findings.extend(survey.tiers.into_iter().map(|(tier, state)| {
        let said = match &state {
            Ok(detail) => format!("{tier}: works; {detail}"),
            Err(why) => format!("{tier}: does not work here: {why}"),
        };
        there("sandbox tier", state.is_ok(), said)
    }));
    findings.extend(survey.languages.into_iter().map(|(language, state)| {
        let is_there = state.is_ok();
        let (Ok(said) | Err(said)) = state;
        let said = format!("{}: {said}", language.as_str());
        there("sandbox language", is_there, said)
    }));
    findings
}

fn outputs(config: &Config) -> Vec<Finding> {
    let log = match &config.log.target {
        LogTarget::Off => "off".to_owned(),
        LogTarget::Stderr => "standard error".to_owned(),
        LogTarget::File(path) => path.display().to_string(),
    };
    let traces = config.telemetry.otlp_endpoint.clone();
    vec![
        works("log", log),
        works("telemetry", traces.unwrap_or_else(|| "off".to_owned())),
    ]
}

fn show(findings: &[Finding], console: &Console) -> Result<(), Stop> {
    if console.is_json() {
        let all: Vec<Value> = findings
            .iter()
            .map(|finding| {
                let state = match finding.state {
                    State::Works => "works",
                    State::Absent => "absent",
                    State::Limited => "limited",
                    State::Broken => "broken",
                };
                json!({"what": finding.what, "state": state, "said": finding.said, "todo": finding.todo})
            })
            .collect();
        console.json(&json!({"findings": all}))?;
        return Ok(());
    }
    let look = |state: State| match state {
        State::Works => (Paint::Good, "ok"),
        State::Absent => (Paint::Faint, "absent"),
        State::Limited => (Paint::Warn, "limited"),
        State::Broken => (Paint::Bad, "BROKEN"),
    };
    let rows: Vec<Vec<String>> = findings
        .iter()
        .map(|finding| {
            let (_, word) = look(finding.state);
            let cells = [word, finding.what, &finding.said];
            cells.map(str::to_owned).to_vec()
        })
        .collect();
    let paint = |row: usize| findings.get(row).map(|finding| look(finding.state).0);
    console.painted_table(&["", "WHAT", "FOUND"], &rows, paint)?;
    for finding in findings {
        if let Some(todo) = &finding.todo {
            console.line(&format!("{}: {} -> {todo}", finding.what, finding.said))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tollgate_core::Provider;
    use tollgate_engine::Selection;
    use tollgate_testkit::fakes::FakeProvider;

    use super::*;

    #[tokio::test]
    async fn a_provider_that_cannot_list_is_told_once_with_what_it_means() {
        let providers: Vec<Arc<dyn Provider>> = vec![
            Arc::new(FakeProvider::new("shop")),
            Arc::new(FakeProvider::broken("shelves", "no such file")),
        ];
        let catalog = Catalog::collect(providers, &Selection::default()).await;
        let findings = standing(&catalog).await;
        let told: Vec<String> = findings
            .iter()
            .map(|finding| {
                let todo = finding.todo.as_deref().unwrap_or_default();
                format!("{} -> {todo}", finding.said)
            })
            .collect();
        assert_eq!(
            told,
            [
                "shop -> ",
                "shelves: cannot list its tools: the service failed \
                 -> its tools are missing until this is fixed",
            ]
        );
        assert!(findings[0].state == State::Works && findings[1].state == State::Limited);
    }
}
