//! `tollgate tools`.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use tollgate_core::Payload;
use tollgate_engine::{
    Gateway, Outcome, Request,
    search::{Index, documents_from_corpus},
};

mod description;

use super::{
    Exit, Scene, Stop,
    arguments::{Tools, ToolsAction},
    call,
    console::{Console, Paint},
};

pub(super) async fn run(tools: &Tools, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let exit = match &tools.action {
        ToolsAction::List { toolset } => list(&wired.gateway, toolset.as_deref(), scene)?,
        ToolsAction::Show { name } => {
            let arguments = json!({"name": name});
            let outcome = made("tools.describe", arguments, &wired.gateway, scene).await;
            description::show(&outcome, scene)?;
            Exit::from(&outcome)
        }
        ToolsAction::Search { query, limit, .. } => {
            let arguments = json!({"query": query, "limit": limit});
            if scene.console.is_json() {
                through_the_door("tools.search", arguments, &wired.gateway, scene).await?
            } else {
                search(&wired.gateway, query, *limit, scene)?
            }
        }
    };
    wired.close().await;
    Ok(exit)
}

async fn through_the_door(
    tool: &str,
    arguments: Value,
    gateway: &Gateway,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    let outcome = made(tool, arguments, gateway, scene).await;
    call::show(&outcome, scene)?;
    Ok(Exit::from(&outcome))
}

async fn made(tool: &str, arguments: Value, gateway: &Gateway, scene: &Scene<'_>) -> Outcome {
    let request = Request::new(tool, arguments.into());
    gateway.call(&scene.caller(), request).await
}

/// All that `tools list --json` prints.
#[derive(Serialize)]
struct Listed<'a> {
    tools: Vec<Payload>,
    catalog: &'a str,
}

fn list(gateway: &Gateway, toolset: Option<&str>, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let catalog = gateway.catalog();
    let wanted = |sets: &[String]| toolset.is_none_or(|set| sets.iter().any(|own| own == set));
    let seen = gateway.list(&scene.caller());
    let listings: Vec<_> = seen
        .iter()
        .filter(|listing| wanted(&listing.spec.toolsets))
        .collect();
    if listings.is_empty()
        && let Some(toolset) = toolset
    {
        let mut known: Vec<&str> = seen
            .iter()
            .flat_map(|listing| listing.spec.toolsets.iter().map(String::as_str))
            .collect();
        known.sort_unstable();
        known.dedup();
        let known = known.join(", ");
        return Err(Stop::usage(format!(
            "there is no toolset `{toolset}`; there are {known}"
        )));
    }
    if scene.console.is_json() {
        let caller = scene.caller();
        let in_force = |listing| gateway.in_force(&caller, listing);
        let all = listings.iter().map(|listing| in_force(listing).printed());
        let all: Result<Vec<Payload>, _> = all.collect();
        scene.console.json(&Listed {
            tools: all.map_err(|error| Stop::failed(error.to_string()))?,
            catalog: catalog.version(),
        })?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = listings
        .iter()
        .map(|listing| {
            let spec = &listing.spec;
            vec![
                spec.name.as_str().to_owned(),
                spec.capability.described().to_owned(),
                spec.provider_id.clone(),
                spec.toolsets.join(","),
                spec.title.clone(),
            ]
        })
        .collect();
    scene.console.table_with_optional(
        &["TOOL", "CAN", "PROVIDER", "TOOLSETS", "WHAT"],
        &rows,
        &["PROVIDER", "TOOLSETS"],
    )?;
    for problem in catalog.problems() {
        scene
            .console
            .note(&format!("{}: {}", problem.provider, problem.message));
    }
    Ok(Exit::Ok)
}

fn search(gateway: &Gateway, query: &str, limit: usize, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let rows: Vec<Vec<String>> = gateway
        .search(&scene.caller(), query, limit)
        .into_iter()
        .map(|(listing, score)| {
            vec![
                format!("{score:.2}"),
                listing.spec.name.as_str().to_owned(),
                listing.spec.title.clone(),
            ]
        })
        .collect();
    show_hits(&rows, scene.console)
}

/// Searches a catalogue file; needs neither state nor configuration.
pub(super) fn search_file(tools: &Tools, console: &Console) -> Result<Exit, Stop> {
    let ToolsAction::Search {
        query,
        corpus: Some(corpus),
        limit,
    } = &tools.action
    else {
        return Err(Stop::usage("no corpus"));
    };
    let documents = read_corpus(corpus)?;
    let index = Index::build(&documents);
    let hits = index.search(query, *limit);
    if console.is_json() {
        let tools: Vec<Value> = hits
            .iter()
            .filter_map(|hit| Some((documents.get(hit.document)?, hit.score)))
            .map(|(document, score)| {
                json!({
                    "name": document.name, "server": document.provider, "score": score,
                    "description": document.description,
                })
            })
            .collect();
        console.json(&json!({"query": query, "tools": tools}))?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = hits
        .iter()
        .filter_map(|hit| Some((documents.get(hit.document)?, hit.score)))
        .map(|(document, score)| {
            let first = document.description.lines().next().unwrap_or_default();
            let about: String = first.chars().take(80).collect();
            let name = format!("{}/{}", document.provider, document.name);
            vec![format!("{score:.2}"), name, about]
        })
        .collect();
    show_hits(&rows, console)
}

fn read_corpus(path: &Path) -> Result<Vec<tollgate_engine::search::Document>, Stop> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| Stop::usage(format!("{shown}: {error}")))?;
    let json: Value = serde_json::from_str(&text)
        .map_err(|error| Stop::usage(format!("{shown} is not JSON: {error}")))?;
    documents_from_corpus(&json)
        .ok_or_else(|| Stop::usage(format!("{shown} holds no list of tools")))
}

fn show_hits(rows: &[Vec<String>], console: &Console) -> Result<Exit, Stop> {
    if rows.is_empty() {
        console.note(&console.paint_note(Paint::Faint, "nothing found; try other words"));
    } else {
        console.table(&["SCORE", "TOOL", "WHAT"], rows)?;
    }
    Ok(Exit::Ok)
}
