//! Runs acceptance specs through a gate of its own, offline, in a folder that is thrown away.
//!
//! Invariants: no key is used and nothing is asked of Keepa; what a spec writes stays in that folder; every spec has a
//! session of its own; a spec cannot start another run of specs.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};
use tollgate_core::{Payload, Surface};
use tollgate_engine::{Caller, Gateway, Request, random_hex};
use tollgate_keepa::{evaluate as specs_of, fixtures};

use crate::{
    config::{Config, Environment, Names, PolicyFile, PolicyScope, Schemas},
    frontends::{cli::principal, mcp::local::Local},
    wire,
};

/// Specs of the origin's own transport, which the protocol's specification overrules.
const FOREIGN: [&str; 2] = [
    "mcp_inspector_protocol_fixture",
    "mcp_streamable_http_boundary_fixture",
];
/// Where specs of the origin look for files.
const THEIR_FOLDERS: [&str; 2] = ["tests/fixtures/", "keepa_cli/fixtures/"];

/// A folder that goes away with its owner.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// How a spec fared.
pub(crate) struct Verdict {
    pub(crate) id: String,
    /// Nothing if it was left out.
    pub(crate) failures: Option<Vec<String>>,
}

impl Verdict {
    pub(crate) fn holds(&self) -> bool {
        self.failures.as_ref().is_some_and(Vec::is_empty)
    }

    pub(crate) fn fails(&self) -> bool {
        self.failures.as_ref().is_some_and(|all| !all.is_empty())
    }
}

/// Why no spec could be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EvaluateError {
    /// The folder is not there, or what is in it cannot be read.
    #[error("{0}")]
    Specs(String),
    /// The folder for the run cannot be made.
    #[error("the folder for the run: {0}")]
    Scratch(#[from] std::io::Error),
    /// The gate for the run cannot be built.
    #[error(transparent)]
    Wire(#[from] wire::WireError),
}

/// Runs the specs of a folder.
pub(crate) async fn evaluate(
    folder: &Path,
    samples: Option<&Path>,
    prefix: &str,
    config: &Config,
    environment: &Environment,
) -> Result<Vec<Verdict>, EvaluateError> {
    let specs = specs(folder)?;
    let scratch = Scratch(std::env::temp_dir().join(format!("tollgate-eval-{}", random_hex(6)?)));
    let config = own_config(config, &scratch.0, samples)?;
    let wired = wire::wire(&config, environment).await?;
    let mut verdicts = Vec::new();
    for (id, spec) in specs {
        if FOREIGN.contains(&id.as_str()) {
            verdicts.push(Verdict { id, failures: None });
            continue;
        }
        let spec = specs_of::prefixed(&spec, prefix);
        let spec = placed(&spec, &scratch.0, samples);
        let answer = answer(&spec, &wired.gateway, &config).await;
        let none = Vec::new();
        let assertions = spec["assertions"].as_array().unwrap_or(&none);
        let mut failures = specs_of::check(assertions, &answer);
        if assertions.is_empty() {
            failures.push("there is nothing it asserts".to_owned());
        }
        verdicts.push(Verdict {
            id,
            failures: Some(failures),
        });
    }
    wired.close().await;
    drop(scratch);
    Ok(verdicts)
}

/// The specs of a folder, by id.
fn specs(folder: &Path) -> Result<Vec<(String, Value)>, EvaluateError> {
    let wrong = EvaluateError::Specs;
    let entries =
        fs::read_dir(folder).map_err(|error| wrong(format!("{}: {error}", folder.display())))?;
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    paths.sort();
    let mut specs = Vec::new();
    for path in paths {
        let named = |error: &dyn std::error::Error| wrong(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(&path).map_err(|error| named(&error))?;
        let spec: Value = serde_json::from_str(&text).map_err(|error| named(&error))?;
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let id = spec["id"].as_str().map_or(stem, str::to_owned);
        specs.push((id, spec));
    }
    if specs.is_empty() {
        let message = format!("there are no specs in {}", folder.display());
        return Err(wrong(message));
    }
    Ok(specs)
}

/// A gate of its own: no key, its own state, writes allowed in its own folder.
fn own_config(of: &Config, folder: &Path, samples: Option<&Path>) -> std::io::Result<Config> {
    fs::create_dir_all(folder.join("out"))?;
    let folder = fs::canonicalize(folder)?;
    let policy = folder.join("eval.cedar");
    fs::write(&policy, rules(&folder.join("out")))?;
    let mut config = of.clone();
    config.state.dir = folder.join("state");
    config.state.anchor_dir = folder.join("anchor");
    config.log.target = crate::config::LogTarget::Off;
    config.telemetry.otlp_endpoint = None;
    config.mcp.servers.clear();
    config.discovery.names = Names::Canonical;
    config.discovery.schemas = Schemas::Full;
    config.discovery.toolsets = vec!["research".to_owned()];
    config.discovery.list_tokens = usize::MAX;
    config.keepa.key = None;
    config.keepa.is_evaluation = true;
    config.keepa.base_url = "http://127.0.0.1:9".to_owned();
    let dirs = &mut config.keepa.fixture_dirs;
    dirs.splice(0..0, samples.map(Path::to_owned));
    dirs.push(folder.join("out"));
    config.policy = vec![PolicyFile {
        path: policy,
        scope: PolicyScope::Full,
    }];
    Ok(config)
}

/// Lets the pack write below a folder, and nowhere else.
fn rules(folder: &Path) -> String {
    let names = [
        "out",
        "output",
        "out_dir",
        "chunks_dir",
        "tests_dir",
        "package_dir",
        "manifest",
    ];
    let inside: Vec<String> = names
        .iter()
        .map(|name| {
            let folder = folder.display();
            format!(
                "(!(context.arguments has {name}) || context.arguments.{name} like \"{folder}/*\")"
            )
        })
        .collect();
    format!(
        "@id(\"eval.write\")\n@lifts(\"human\")\n@reason(\"A spec may write into the folder made for it.\")\n\
         permit (principal, action == Action::\"call\", resource)\n\
         when {{ resource.provider == \"keepa\" && !context.cost_confirm && context.capability <= 1 && \
         resource.service_command != \"cache.clear\" && {} }};\n",
        inside.join(" && ")
    )
}

/// The spec with its folders put in.
fn placed(spec: &Value, folder: &Path, samples: Option<&Path>) -> Value {
    if let Some(text) = spec.as_str() {
        let out = folder.join("out");
        for theirs in THEIR_FOLDERS {
            let Some(name) = text.strip_prefix(theirs) else {
                continue;
            };
            if let Some(own) = samples
                .map(|samples| samples.join(name))
                .filter(|own| own.is_file())
            {
                return Value::from(own.display().to_string());
            }
            if let Some(sample) = fixtures::find(name) {
                let path = out.join(name);
                drop(fs::write(&path, sample));
                return Value::from(path.display().to_string());
            }
        }
        let canonical = fs::canonicalize(&out).unwrap_or(out);
        return Value::from(text.replace("{tmp}", &canonical.display().to_string()));
    }
    if let Some(all) = spec.as_array() {
        return all.iter().map(|one| placed(one, folder, samples)).collect();
    }
    match spec.as_object() {
        Some(map) => map
            .iter()
            .map(|(name, one)| (name.clone(), placed(one, folder, samples)))
            .collect(),
        None => spec.clone(),
    }
}

/// Runs what a spec asks for.
async fn answer(spec: &Value, gateway: &Gateway, config: &Config) -> Value {
    // The state of the run is its own, so a count tells sessions apart.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let session = format!("eval-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    match spec["kind"].as_str().unwrap_or("service") {
        "service" | "command" => {
            let caller = Caller::local(principal(), &session, Surface::Cli);
            called(gateway, &caller, spec).await
        }
        "session" => {
            let caller = Caller::local(principal(), &session, Surface::Jsonl);
            let mut payloads = Vec::new();
            for step in spec["steps"].as_array().into_iter().flatten() {
                payloads.push(called(gateway, &caller, step).await);
            }
            let ledger = payloads.last().map(|last| last["budget_ledger"].clone());
            json!({"ok": true, "kind": "session", "payloads": payloads, "budget_ledger": ledger})
        }
        "mcp" => {
            let client = Local::new(gateway.clone(), config, &session);
            asked(&client, spec).await
        }
        "mcp_session" => {
            let client = Local::new(gateway.clone(), config, &session);
            let mut responses = Vec::new();
            for step in spec["steps"].as_array().into_iter().flatten() {
                let step = recalled(step, &responses);
                responses.push(asked(&client, &step).await);
            }
            let ledgers = responses.iter().rev();
            let ledger = ledgers
                .filter_map(|one| one.pointer("/result/structuredContent/budget_ledger"))
                .next()
                .cloned();
            json!({"ok": true, "kind": "mcp_session", "responses": responses, "budget_ledger": ledger})
        }
        other => json!({"ok": false, "error": {"message": format!("there is no kind {other:?}")}}),
    }
}

/// A step that names a part of an earlier answer, as `{responses.0.result…}`, gets that part.
fn recalled(step: &Value, responses: &[Value]) -> Value {
    if let Some(text) = step.as_str() {
        let Some(start) = text.find("{responses.") else {
            return step.clone();
        };
        let Some(end) = text[start..].find('}').map(|end| start + end) else {
            return step.clone();
        };
        let so_far = json!({"responses": responses});
        let found = specs_of::at(&so_far, &text[start + 1..end]).unwrap_or_default();
        if start == 0 && end + 1 == text.len() {
            return found;
        }
        let found = found
            .as_str()
            .map_or_else(|| found.to_string(), str::to_owned);
        return Value::from(format!("{}{found}{}", &text[..start], &text[end + 1..]));
    }
    if let Some(all) = step.as_array() {
        return all.iter().map(|one| recalled(one, responses)).collect();
    }
    match step.as_object() {
        Some(map) => map
            .iter()
            .map(|(name, one)| (name.clone(), recalled(one, responses)))
            .collect(),
        None => step.clone(),
    }
}

/// A call by the name of its command, as the command line makes it.
async fn called(gateway: &Gateway, caller: &Caller, spec: &Value) -> Value {
    let name = spec["command"].as_str().unwrap_or_default();
    let params = if spec["params"].is_object() {
        spec["params"].clone()
    } else {
        json!({})
    };
    let request = Request::new(name, Payload::from(params));
    let outcome = gateway.call(caller, request).await;
    serde_json::to_value(outcome.envelope.get()).unwrap_or_default()
}

/// A request of the protocol. What a list used stands in `_meta`; specs look for it beside the list.
async fn asked(client: &Local, spec: &Value) -> Value {
    let method = spec["method"].as_str().unwrap_or_default();
    let params = if spec["params"].is_object() {
        spec["params"].clone()
    } else {
        json!({})
    };
    let mut answer = client.ask(method, &params).await;
    let used = answer.pointer("/result/_meta/tollgate~1list").cloned();
    if let Some(used) = used {
        answer["result"]["toolset"] = used["toolsets"][0].clone();
        answer["result"]["profile"] = used["profile"].clone();
        answer["result"]["available_profiles"] = used["available_profiles"].clone();
        answer["result"]["filters"] = used;
    }
    answer
}
