//! `tollgate audit`: what an auditor needs.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use serde_json::{Value, json};
use tollgate_core::{
    Store,
    audit::{AuditQuery, AuditRow},
    canonical::hex,
};
use tollgate_store::SqliteStore;

use super::{
    Exit, Scene, Stop,
    arguments::{Audit, AuditAction},
    console::Paint,
    replay,
};
use crate::wire;

const PAGE: u32 = 1000;

pub(super) async fn run(audit: &Audit, scene: &Scene<'_>) -> Result<Exit, Stop> {
    if let AuditAction::Replay(replayed) = &audit.action {
        return replay::run(replayed, scene).await;
    }
    let store = SqliteStore::open_read_only(wire::store_settings(&scene.config))
        .map_err(|error| Stop::failed(error.to_string()))?;
    match &audit.action {
        AuditAction::Replay(_) => {}
        AuditAction::List { limit, tool, trace } => {
            let query = AuditQuery {
                limit: *limit,
                newest_first: true,
                tool: tool.clone(),
                trace_id: trace.clone(),
                ..AuditQuery::default()
            };
            list(&store.records_of(&query).await?, scene)?;
        }
        AuditAction::Show { id } => show(&store, id, scene).await?,
        AuditAction::Verify => return verify(&store, scene).await,
        AuditAction::Export { out } => export(&store, out.as_deref(), scene).await?,
        AuditAction::Receipt { receipt } => prove(&store, receipt, scene).await?,
    }
    Ok(Exit::Ok)
}

/// Reads through the trait, so that nothing here depends on one backend.
trait Rows {
    async fn records_of(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, Stop>;
}

impl<S: Store> Rows for S {
    async fn records_of(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, Stop> {
        Ok(self.records(query).await?)
    }
}

fn list(rows: &[AuditRow], scene: &Scene<'_>) -> Result<(), Stop> {
    if scene.console.is_json() {
        let all: Vec<Value> = rows.iter().map(as_json).collect();
        scene.console.json(&json!({"entries": all}))?;
        return Ok(());
    }
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let body: Value = serde_json::from_str(&row.body).unwrap_or_default();
            let text = |name: &str| {
                let found = body.get(name).and_then(Value::as_str);
                found.unwrap_or("-").to_owned()
            };
            vec![
                row.seq.to_string(),
                second(row.columns.at),
                row.columns.kind.clone(),
                text("tool"),
                text("status"),
                text("rule"),
                text("cache"),
                text("call_id"),
            ]
        })
        .collect();
    let head = [
        "SEQ", "AT", "KIND", "TOOL", "STATUS", "RULE", "CACHE", "CALL",
    ];
    scene
        .console
        .table_with_optional(&head, &table, &["CALL", "CACHE", "RULE"])?;
    Ok(())
}

/// A time to the second; `audit show` has the rest.
fn second(at: i64) -> String {
    let full = tollgate_core::Timestamp(at).to_string();
    full.split_once('.')
        .map_or(full.clone(), |(second, _)| format!("{second}Z"))
}

fn as_json(row: &AuditRow) -> Value {
    json!({
        "chain": row.chain,
        "seq": row.seq,
        "hash": hex(&row.hash),
        "body": serde_json::from_str::<Value>(&row.body).unwrap_or_default(),
    })
}

async fn show(store: &dyn Store, id: &str, scene: &Scene<'_>) -> Result<(), Stop> {
    let place = id.split(':').nth(1).unwrap_or(id).parse::<u64>().ok();
    let query = match place {
        Some(seq) => AuditQuery {
            cursor: Some(seq.saturating_sub(1)),
            limit: 1,
            ..AuditQuery::default()
        },
        None => AuditQuery {
            call_id: Some(id.to_owned()),
            limit: 100,
            ..AuditQuery::default()
        },
    };
    let rows = store.records(&query).await?;
    if rows.is_empty() {
        return Err(Stop::usage(format!(
            "nothing is recorded under `{id}`; `tollgate audit list` shows the last calls"
        )));
    }
    let all: Vec<Value> = rows.iter().map(as_json).collect();
    let console = scene.console;
    if console.is_json() {
        console.json(&json!({"entries": all}))?;
        return Ok(());
    }
    for (row, entry) in rows.iter().zip(&all) {
        let at = tollgate_core::Timestamp(row.columns.at);
        let title = format!("{}:{}  {}  {at}", row.chain, row.seq, row.columns.kind);
        console.line(&console.paint(Paint::Strong, &title))?;
        let mut body = entry["body"].clone();
        body["hash"] = entry["hash"].clone();
        // These stand in the title.
        if let Some(fields) = body.as_object_mut() {
            fields.retain(|name, _| !["v", "kind", "at"].contains(&name.as_str()));
        }
        console.readable(&body)?;
    }
    Ok(())
}

async fn verify(store: &dyn Store, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let found = store.verify().await?;
    let whole = found.problems.is_empty();
    let signed = found.rows == 0 || store.signed_head(found.rows).await?.is_some();
    if found.rows > 0 && found.anchored.is_none() {
        scene
            .console
            .note("no anchor vouches for this log: entries cut off its end would not be noticed");
    }
    if !signed {
        scene.console.note(
            "the last entries are not signed yet: they count once the next command has signed them",
        );
    }
    for accepted in &found.accepted {
        let reasons = accepted.reasons.join(", ");
        scene.console.note(&format!(
            "epoch {} began at entry {}: {} accepted a state with {reasons}",
            accepted.epoch, accepted.seq, accepted.by
        ));
    }
    let console = scene.console;
    if console.is_json() {
        let mut report = json!(found);
        report["whole"] = Value::Bool(whole);
        report["tail_signed"] = Value::Bool(signed);
        console.json(&report)?;
    } else if whole {
        let anchored = found.anchored.map_or_else(
            || "no anchor yet".to_owned(),
            |at| format!("anchored at {at}"),
        );
        console.line(&format!(
            "{} {} entries, {} signed heads, {anchored}",
            console.paint(Paint::Good, "verified:"),
            found.rows,
            found.signed_heads
        ))?;
    } else {
        console.line(&console.paint(Paint::Bad, "TAMPERED"))?;
        for problem in &found.problems {
            console.line(&format!("  {problem}"))?;
        }
    }
    Ok(if whole { Exit::Ok } else { Exit::ToolError })
}

async fn export(store: &dyn Store, out: Option<&Path>, scene: &Scene<'_>) -> Result<(), Stop> {
    let mut output: Box<dyn Write> = match out {
        Some(path) => Box::new(BufWriter::new(File::create(
            scene.environment.current_dir.join(path),
        )?)),
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    let mut query = AuditQuery {
        limit: PAGE,
        ..AuditQuery::default()
    };
    loop {
        let rows = store.records(&query).await?;
        for row in &rows {
            let line = json!({
                "chain": row.chain, "seq": row.seq, "hash": hex(&row.hash), "body": row.body,
            });
            writeln!(output, "{line}")?;
        }
        match rows.last() {
            Some(last) => query.cursor = Some(last.seq),
            None => break,
        }
    }
    let last = query.cursor.unwrap_or(0);
    if let Some(head) = store.signed_head(last).await? {
        writeln!(output, "{}", json!({"signed_head": head}))?;
    }
    output.flush()?;
    Ok(())
}

/// Everything a stranger needs to check one call: the entry, the links to the next
/// signed head, and that head.
async fn prove(store: &dyn Store, receipt: &str, scene: &Scene<'_>) -> Result<(), Stop> {
    let seq = receipt.split(':').nth(1).unwrap_or(receipt).parse::<u64>();
    let seq = seq.map_err(|_| Stop::usage("a receipt reads chain:place:hash"))?;
    let Some(head) = store.signed_head(seq).await? else {
        return Err(Stop::failed(
            "no head at or after this place is signed yet; try again in a moment",
        ));
    };
    let query = AuditQuery {
        cursor: Some(seq.saturating_sub(2)),
        limit: u32::try_from(head.seq.saturating_sub(seq) + 2).unwrap_or(u32::MAX),
        ..AuditQuery::default()
    };
    let mut rows = store.records(&query).await?;
    let previous = if seq > 1 && !rows.is_empty() {
        hex(&rows.remove(0).hash)
    } else {
        hex(&[0; 32])
    };
    rows.retain(|row| row.seq >= seq && row.seq <= head.seq);
    let Some(first) = rows.first().filter(|row| row.seq == seq) else {
        return Err(Stop::usage(format!("nothing is recorded at {seq}")));
    };
    let claimed = receipt.split(':').nth(2);
    if claimed.is_some_and(|hash| hash != hex(&first.hash)) {
        return Err(Stop::failed(
            "this receipt does not match what is recorded there",
        ));
    }
    let links: Vec<Value> = rows
        .iter()
        .map(|row| json!({"seq": row.seq, "hash": hex(&row.hash), "body": row.body}))
        .collect();
    scene
        .console
        .json(&json!({"previous": previous, "entries": links, "signed_head": head}))?;
    Ok(())
}
