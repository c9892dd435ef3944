//! From a recorded answer to a sample: cleaned, written twice, listed, checked.
//!
//! Invariant: what is written holds no secret, and both folders hold the same bytes.

use serde_json::{Value, json};

use super::{Place, Samples, Shelf, Target, World};
use crate::{Command, Error, KeepaMinute, Kind, Params, action, resources::fields, secrets};

/// A recording without secrets: JSON, or lines of JSON.
struct Clean {
    text: String,
    format: &'static str,
    names: Vec<String>,
}

fn clean<W: World>(world: &W, path: &str) -> Result<Clean, Error> {
    let text = world.load(Place::Input(path))?;
    let mut names = Vec::new();
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        let value = secrets::redact(&value, &mut names);
        let text = serde_json::to_string_pretty(&value).unwrap_or_default() + "\n";
        return Ok(Clean {
            text,
            format: "json",
            names,
        });
    }
    let mut lines = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line)
            .map_err(|error| Error::argument(format!("{path} is not JSON: {error}")))?;
        lines.push_str(&secrets::redact(&value, &mut names).to_string());
        lines.push('\n');
    }
    Ok(Clean {
        text: lines,
        format: "jsonl",
        names,
    })
}

/// `cassettes.sanitize`.
pub(super) fn sanitize<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let input = params.required("input")?;
    let out = params.required("out")?;
    let clean = clean(world, &input)?;
    let saved = world.save(Target::Path(&out), clean.text.as_bytes())?;
    Ok(json!({
        "input": input,
        "output": {"path": saved.path, "size_bytes": saved.bytes, "format": clean.format},
        "format": clean.format,
        "size_bytes": saved.bytes,
        "redacted_secret_names": clean.names,
    }))
}

fn sample_name(params: &Params) -> Result<String, Error> {
    let name = params.required("name")?;
    let is_odd = |letter: char| letter.is_control() || "/\\\"".contains(letter);
    if name.contains(is_odd) || name.contains("..") || name.starts_with('.') {
        return Err(Error::argument("name is a bare file name"));
    }
    Ok(if name.ends_with(".json") {
        name
    } else {
        format!("{name}.json")
    })
}

/// `cassettes.promote`.
pub(super) fn promote<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let input = params.required("input")?;
    let name = sample_name(params)?;
    let clean = clean(world, &input)?;
    let is_dry_run = params.is_on("dry_run");
    let folders = [
        params.required("tests_dir")?,
        params.required("package_dir")?,
    ];
    let mut targets = Vec::new();
    for folder in &folders {
        let path = format!("{}/{name}", folder.trim_end_matches('/'));
        let before = world.load(Place::Input(&path)).is_ok();
        if is_dry_run {
            targets.push(json!({"path": path, "exists": before, "size_bytes": clean.text.len()}));
        } else {
            let saved = world.save(Target::Path(&path), clean.text.as_bytes())?;
            targets.push(json!({"path": saved.path, "exists": true, "size_bytes": saved.bytes}));
        }
    }
    let manifest = params.text(&["manifest"]);
    let is_listed = match &manifest {
        Some(manifest) if !params.is_on("no_manifest") && !is_dry_run => {
            list(world, manifest, &name, params)?
        }
        _ => false,
    };
    Ok(json!({
        "input": input,
        "fixture_name": name,
        "targets": targets,
        "manifest": manifest,
        "manifest_updated": is_listed,
        "dry_run": is_dry_run,
        "format": clean.format,
        "redacted_secret_names": clean.names,
    }))
}

/// Adds a line to the list of evidence, once.
fn list<W: World>(world: &W, manifest: &str, name: &str, params: &Params) -> Result<bool, Error> {
    let head = "logical_path,title,status,updated_at,summary\n";
    let mut text = world
        .load(Place::Input(manifest))
        .unwrap_or_else(|_| head.to_owned());
    let logical = format!("fixtures/{name}");
    if text
        .lines()
        .any(|line| fields(line).first() == Some(&logical))
    {
        return Ok(false);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let title = params.text(&["title"]).unwrap_or_else(|| name.to_owned());
    let (logical, title) = (cell(&logical), cell(&title));
    let today = KeepaMinute::from_unix_ms(world.now_ms()).to_string();
    text.push_str(&format!(
        "{logical},{title},promoted,{today},sample of a cleaned answer\n"
    ));
    world.save(Target::Path(manifest), text.as_bytes())?;
    Ok(true)
}

/// A text as one cell of one line, whatever it holds.
fn cell(text: &str) -> String {
    let line = text.replace(char::is_control, " ");
    match line.contains([',', '"']) {
        true => format!("\"{}\"", line.replace('"', "\"\"")),
        false => line,
    }
}

/// `cassettes.promote_and_verify`.
pub(super) async fn promote_and_verify<W: World>(
    world: &W,
    params: &Params,
) -> Result<Value, Error> {
    let promotion = promote(world, params)?;
    let name = promotion["fixture_name"].as_str().unwrap_or_default();
    let next = vec![action(
        Command::DocsRead,
        &json!({"uri": format!("keepa://fixtures/{name}")}),
        "To look at the sample.",
    )];
    let answer = |sync: Value, eval: Value| {
        json!({
            "view": "cassette_promotion",
            "promotion": promotion,
            "fixture_sync": sync,
            "agent_eval": eval,
            "next_actions": next,
        })
    };
    if params.is_on("dry_run") {
        return Ok(answer(Value::Null, Value::Null));
    }
    let sync = in_step(world, params)?;
    let mut eval = Value::Null;
    if sync["ok"] == true && params.is_on("run_eval") {
        let specs = params.required("eval_dir")?;
        eval = world
            .evaluate(&specs, &params.required("tests_dir")?)
            .await?;
    }
    let message = match (sync["ok"] == true, eval.is_null() || eval["ok"] == true) {
        (true, true) => return Ok(answer(sync, eval)),
        (false, _) => "the two folders of samples do not agree",
        (true, false) => "the sample is there, but not all specs hold on it",
    };
    Err(Error::new(Kind::FixtureSyncFailed, message)
        .with("promotion", promotion.clone())
        .with("fixture_sync", sync)
        .with("agent_eval", eval))
}

/// Whether both folders hold the same samples, byte for byte.
fn in_step<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let tests = world.samples(&params.required("tests_dir")?)?;
    let package = world.samples(&params.required("package_dir")?)?;
    let lacks = |has: &Samples, other: &Samples| -> Vec<String> {
        let missing = other.keys().filter(|name| !has.contains_key(*name));
        missing.cloned().collect()
    };
    let (in_tests, in_package) = (lacks(&tests, &package), lacks(&package, &tests));
    let differs = |name: &&String| package.get(*name).is_some_and(|one| *one != tests[*name]);
    let mismatched: Vec<&String> = tests.keys().filter(differs).collect();
    Ok(json!({
        "ok": in_tests.is_empty() && in_package.is_empty() && mismatched.is_empty(),
        "missing_in_tests": in_tests,
        "missing_in_package": in_package,
        "mismatched": mismatched,
        "known_fixtures": world.names(Shelf::Fixtures).len(),
    }))
}
