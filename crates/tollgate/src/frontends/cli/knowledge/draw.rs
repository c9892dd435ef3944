//! `tollgate knowledge graph`.

use serde_json::json;
use tollgate_knowledge::{GraphFormat, GraphOptions, graph};

use super::{
    arguments::{Graph, Picture},
    give, loaded, paths,
    recorded::recorded,
    unreadable,
};
use crate::frontends::cli::{Exit, Scene, Stop};

pub(super) async fn run(it: &Graph, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let named: Vec<_> = it.base.iter().cloned().collect();
    let walked = match &it.walked {
        Some(id) => {
            let session = recorded(scene).await?.into_iter().find(|one| one.id == *id);
            let missing = || Stop::usage(format!("no session `{id}` is recorded"));
            Some(session.ok_or_else(missing)?)
        }
        None => None,
    };
    let mut bases = Vec::new();
    for path in paths(&named, scene)? {
        bases.push(loaded(&path, scene).map_err(|problems| unreadable(&problems))?);
    }
    if let Some(session) = &walked {
        bases.retain(|base| base.id() == session.seen.base);
    }
    let [base] = bases.as_slice() else {
        let ids: Vec<&str> = bases.iter().map(tollgate_knowledge::Base::id).collect();
        let message = match (&walked, ids.as_slice()) {
            (Some(session), []) => format!(
                "the session walked in `{}`, which is not here",
                session.seen.base
            ),
            _ => format!("name one knowledge base; there are: {}", ids.join(", ")),
        };
        return Err(Stop::usage(message));
    };
    if let Some(session) = walked
        .as_ref()
        .filter(|session| session.version != base.version())
    {
        let (then, now) = (&session.version, base.version());
        scene.console.note(&format!(
            "the session walked in version {then}; this is {now}"
        ));
    }
    let path = walked.map_or_else(Vec::new, |session| session.seen.path);
    let options = GraphOptions {
        language: it.language.as_deref().unwrap_or_default(),
        from: it.from.as_deref(),
        depth: it.depth,
        walked: &path,
    };
    let format = format(it);
    let Some(drawn) = graph(base, format, &options) else {
        let node = it.from.as_deref().unwrap_or_default();
        return Err(Stop::usage(format!(
            "there is no node `{node}` in `{}`",
            base.id()
        )));
    };
    if scene.console.is_json() {
        if it.out.is_some() {
            give(&drawn.text, it.out.as_ref(), scene)?;
        }
        scene.console.json(&json!({
            "knowledge_base": base.id(), "version": base.version(), "shown": drawn.shown,
            "left_out": drawn.left_out, "out": it.out, "text": drawn.text,
        }))?;
        return Ok(Exit::Ok);
    }
    give(&drawn.text, it.out.as_ref(), scene)?;
    if drawn.left_out > 0 {
        let (shown, left) = (drawn.shown, drawn.left_out);
        scene.console.note(&format!(
            "{shown} node(s) are drawn and {left} are not; --from and --depth choose which"
        ));
    }
    Ok(Exit::Ok)
}

fn format(it: &Graph) -> GraphFormat {
    let named = it.out.as_ref().and_then(|out| out.extension()?.to_str());
    match (it.format, named) {
        (Some(Picture::Svg), _) | (None, Some("svg")) => GraphFormat::Svg,
        (Some(Picture::Dot), _) | (None, Some("dot" | "gv")) => GraphFormat::Dot,
        (Some(Picture::Mermaid), _) | (None, Some(_) | None) => GraphFormat::Mermaid,
    }
}
