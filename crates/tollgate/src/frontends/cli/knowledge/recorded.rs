//! Sessions as the gate wrote them down: each step is a recorded call with its answer.

use std::{collections::HashMap, time::Duration};

use serde::Deserialize;
use tollgate_core::{CallId, Clock as _, Store, SystemClock, Timestamp, audit::AuditQuery};
use tollgate_knowledge::{Ending, Observed};
use tollgate_store::{OpenError, SqliteStore};

use crate::{
    frontends::cli::{Scene, Stop},
    wire,
};

const PAGE: u32 = 1000;
const TOOLS: [&str; 2] = ["initiate_session", "navigate_session"];

/// One session.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) version: String,
    /// Its ending tells only whether it is complete; how long it was quiet is for the caller to judge.
    pub(super) seen: Observed,
    last: i64,
}

impl Session {
    /// How the session stands, if one that was quiet for so long has given up.
    pub(super) fn judged(mut self, idle: Duration) -> Observed {
        let quiet = SystemClock.now().minus(idle);
        if self.seen.ending == Ending::Running && Timestamp(self.last) < quiet {
            self.seen.ending = Ending::GaveUp;
        }
        self.seen
    }
}

/// What of an answer is looked at.
#[derive(Deserialize)]
struct Answer {
    session_id: String,
    is_complete: bool,
    knowledge_base: String,
    version: String,
    matched: Option<String>,
    path: Vec<String>,
}

/// Every session whose answers were kept, in the order of their ids.
pub(super) async fn recorded(scene: &Scene<'_>) -> Result<Vec<Session>, Stop> {
    let store = match SqliteStore::open_read_only(wire::store_settings(&scene.config)) {
        Ok(store) => store,
        Err(OpenError::Absent) => return Ok(Vec::new()),
        Err(error) => return Err(Stop::failed(error.to_string())),
    };
    let mut sessions: HashMap<String, Session> = HashMap::new();
    for tool in TOOLS {
        gather(&store, tool, &mut sessions).await?;
    }
    let mut sessions: Vec<Session> = sessions.into_values().collect();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(sessions)
}

async fn gather(
    store: &impl Store,
    tool: &str,
    sessions: &mut HashMap<String, Session>,
) -> Result<(), Stop> {
    let mut query = AuditQuery {
        limit: PAGE,
        kind: Some("ending".to_owned()),
        tool: Some(tool.to_owned()),
        ..AuditQuery::default()
    };
    loop {
        let rows = store.records(&query).await?;
        for row in &rows {
            let Some(call) = &row.columns.call_id else {
                continue;
            };
            let body = store.body(&CallId(call.as_str().into())).await?;
            let data = body.and_then(|body| body.data);
            let answer = data.and_then(|data| serde_json::from_str::<Answer>(&data).ok());
            if let Some(answer) = answer {
                note(answer, row.columns.at, sessions);
            }
        }
        match rows.last() {
            Some(last) if rows.len() == PAGE as usize => query.cursor = Some(last.seq),
            Some(_) | None => return Ok(()),
        }
    }
}

/// Adds one answer; the rows of a tool come in the order in which they happened.
fn note(answer: Answer, at: i64, sessions: &mut HashMap<String, Session>) {
    let session = sessions
        .entry(answer.session_id.clone())
        .or_insert_with(|| Session {
            id: answer.session_id.clone(),
            version: String::new(),
            seen: Observed {
                base: String::new(),
                path: Vec::new(),
                ending: Ending::Running,
                misheard: Vec::new(),
            },
            last: i64::MIN,
        });
    if answer.matched.as_deref() == Some("nothing") {
        session.seen.misheard.extend(answer.path.last().cloned());
    }
    if at >= session.last {
        session.last = at;
        session.version = answer.version;
        session.seen.base = answer.knowledge_base;
        session.seen.path = answer.path;
        session.seen.ending = if answer.is_complete {
            Ending::Complete
        } else {
            Ending::Running
        };
    }
}
