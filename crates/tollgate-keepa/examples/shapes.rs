//! Runs every recorded command again and compares keys and shapes: `--data DIR` names a folder with `fixtures/` and
//! `golden/`.
//!
//! Keys must be equal. Of the answers the names are compared, not the words; where we differ on purpose it is listed with
//! its reason, and anything else makes the comparison fail.

#![expect(clippy::print_stdout, reason = "it is a report for people")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use serde_json::Value;
use tollgate_keepa::{
    Error, Kind, Params,
    client::Failed,
    cost::Consent,
    key::cache_key,
    request::Request,
    service::{Place, Reuse, Samples, Saved, Shelf, Target, Told, World, run},
};

/// Where shapes differ on purpose: a whole path, which stands for all below it, and why.
const ON_PURPOSE: &[(&str, &str)] = &[
    (
        "token_bucket.estimated.components",
        "prices are those that Keepa publishes",
    ),
    ("token_bucket.estimated.notes", "our words are our own"),
    (
        "data.evidence_index",
        "only places that exist are named, and one more is named where it does",
    ),
    (
        "error.details.offline_alternative",
        "what works without a key is told",
    ),
    (
        "error.details.resume_with",
        "the way to go on is an object with a tool and its parameters",
    ),
    ("data.deals", "deals are also shown in words and money"),
    ("data.deal_count", "deals are also shown in words and money"),
    (
        "request.params_redacted.max_tokens",
        "a limit of ours is never sent",
    ),
    (
        "request.params_redacted.readOnly",
        "reading must not mark anything as read",
    ),
    (
        "data.next_actions.*.params",
        "an action can be run as it stands",
    ),
    (
        "data.category_candidates.*.next_actions.*.params.out",
        "files go to the session's own folder unless a path is given",
    ),
    (
        "data.category_candidates.*.next_actions.*.mcp_tool",
        "an action names its tool beside its command",
    ),
    (
        "data.next_actions.*.mcp_tool",
        "an action names its tool beside its command",
    ),
    (
        "data.products.*.next_actions.*.mcp_tool",
        "an action names its tool beside its command",
    ),
    (
        "data.products.*.agent_brief.recommended_next_actions.*.mcp_tool",
        "an action names its tool beside its command",
    ),
    (
        "data.next_actions.*.cli",
        "an action says what it is for and what it costs",
    ),
    (
        "data.next_actions.*.command",
        "an action says what it is for and what it costs",
    ),
    (
        "data.next_actions.*.estimated_tokens",
        "an action says what it is for and what it costs",
    ),
    (
        "data.next_actions.*.reason",
        "an action says what it is for and what it costs",
    ),
    (
        "data.next_actions.*.requires_confirmation",
        "an action says what it is for and what it costs",
    ),
    (
        "data.artifacts",
        "files go to the session's own folder unless a path is given",
    ),
    (
        "data.steps.*.params.out",
        "files go to the session's own folder unless a path is given",
    ),
    (
        "data.steps.*.params.out_dir",
        "files go to the session's own folder unless a path is given",
    ),
    (
        "data.steps.*.mcp.call.arguments.out",
        "files go to the session's own folder unless a path is given",
    ),
    (
        "data.steps.*.mcp.call.arguments.out_dir",
        "files go to the session's own folder unless a path is given",
    ),
    (
        "data.workflow_policy.inactive_tools",
        "what reads may run on samples in every offline profile",
    ),
    (
        "data.provenance",
        "where an answer came from is told in one way",
    ),
    (
        "data.candidates.*.resource_uri",
        "the sample that bears the product's name is not among the recorded ones",
    ),
    (
        "data.products.*.pricing.coupon_history",
        "coupons come in threes: once, and for subscribers",
    ),
];

struct Folder(PathBuf);

impl World for Folder {
    async fn ask(&self, _: &Request, _: Reuse) -> Result<Told, Failed> {
        let error = Error::new(Kind::AuthMissing, "there is no key here");
        Err(Failed {
            error,
            bucket: None,
        })
    }

    fn load(&self, place: Place<'_>) -> Result<String, Error> {
        let gone = || Error::new(Kind::FixtureNotFound, "it is not there");
        match place {
            Place::Fixture(name) => fs::read_to_string(self.0.join(name)).map_err(|_| gone()),
            Place::Input(_)
            | Place::Page(_)
            | Place::Manifest
            | Place::Evidence(_)
            | Place::Written(_) => Err(gone()),
        }
    }

    fn names(&self, _: Shelf) -> Vec<String> {
        Vec::new()
    }

    fn samples(&self, _: &str) -> Result<Samples, Error> {
        Ok(Samples::new())
    }

    fn save(&self, _: Target<'_>, _: &[u8]) -> Result<Saved, Error> {
        Err(Error::new(Kind::FileRefused, "nothing is written here"))
    }

    fn recall(&self, _: &str) -> Option<Arc<Value>> {
        None
    }

    fn recalled(&self) -> Vec<String> {
        Vec::new()
    }

    fn now_ms(&self) -> i64 {
        0
    }

    fn has_key(&self) -> bool {
        false
    }
}

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let flag = arguments.next();
    let (Some("--data"), Some(folder)) = (flag.as_deref(), arguments.next()) else {
        println!("skipped: no --data DIR was given");
        return ExitCode::SUCCESS;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let Ok(runtime) = runtime else {
        return ExitCode::FAILURE;
    };
    match runtime.block_on(compare(Path::new(&folder))) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("skipped: {error}");
            ExitCode::SUCCESS
        }
    }
}

async fn compare(folder: &Path) -> Result<usize, String> {
    let world = Folder(folder.join("fixtures"));
    let entries = fs::read_dir(folder.join("golden")).map_err(|error| error.to_string())?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let (mut keys, mut unexpected) = (0, 0);
    let mut used = BTreeSet::new();
    for path in &paths {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let golden: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let name = golden["command"].as_str().unwrap_or_default();
        let params = golden["params"].as_object().cloned().unwrap_or_default();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let key = cache_key(name, &params);
        if golden["cache_key"] == key.as_str() {
            keys += 1;
        } else {
            unexpected += 1;
            println!("KEY DIFFERS {file}: {} / {key}", golden["cache_key"]);
        }
        let ours = match run(&world, name, &Params::from(params), Consent::AsSaid).await {
            Ok(outcome) => serde_json::json!({
                "ok": true, "command": name, "request": outcome.request,
                "token_bucket": outcome.token_bucket, "data": outcome.data,
            }),
            Err(failure) => serde_json::json!({
                "ok": false, "command": name, "token_bucket": failure.token_bucket,
                "error": {"kind": failure.error.kind.name(), "message": failure.error.message, "details": failure.error.details},
            }),
        };
        let [theirs, ours] = [&golden["payload"], &ours].map(|value| {
            let mut paths = BTreeSet::new();
            collect(value, "", &mut paths);
            paths
        });
        for (side, path) in theirs
            .difference(&ours)
            .map(|path| ("only theirs", path))
            .chain(ours.difference(&theirs).map(|path| ("only ours", path)))
        {
            let reason = ON_PURPOSE.iter().position(|(part, _)| {
                let rest = path.strip_prefix(part);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
            if let Some(at) = reason {
                used.insert(at);
            }
            if reason.is_none() {
                unexpected += 1;
                println!("{file}: {side}: {path}");
            }
        }
    }
    // A reason that nothing needs any more would hide the next difference.
    for (at, (part, _)) in ON_PURPOSE.iter().enumerate() {
        if !used.contains(&at) {
            unexpected += 1;
            println!("no difference at {part} any more");
        }
    }
    println!(
        "{keys} of {} keys are equal, {unexpected} unexpected differences",
        paths.len()
    );
    Ok(unexpected)
}

/// The places of a value, with all entries of a list as one.
fn collect(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let below = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    if let Some(map) = value.as_object() {
        map.iter()
            .for_each(|(name, one)| collect(one, &below(name), found));
    } else if let Some(all) = value.as_array() {
        all.iter().for_each(|one| collect(one, &below("*"), found));
    } else if !value.is_null() {
        found.insert(path.to_owned());
    }
}
