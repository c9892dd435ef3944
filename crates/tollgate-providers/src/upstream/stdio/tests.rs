//! A child that leaves its input unread.

use std::collections::BTreeMap;

use serde_json::json;
use tollgate_sandbox::{Program, spawn_supervised};

use super::*;
use crate::upstream::chatter;

/// More than a pipe holds, in as many messages as may wait.
const LETTER: usize = 1 << 10;

/// A child that never reads.
async fn deaf() -> Stdio {
    let program = Program {
        command: "sleep".into(),
        args: vec!["1000".into()],
        cwd: None,
        env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        stderr_bytes: 1 << 10,
        is_kept: false,
    };
    let child = spawn_supervised(program).await.unwrap();
    let (chatter, _) = chatter::channel();
    Stdio::new(child, 1 << 20, chatter, Garbage::new(None, "s"))
}

fn outgoing(id: u64, params: &str) -> Outgoing<'_> {
    Outgoing {
        id,
        method: "tools/call",
        name: None,
        params,
        headers: Vec::new(),
        whose: None,
    }
}

#[tokio::test]
async fn a_child_that_reads_nothing_takes_no_more_and_is_given_up() {
    let stdio = deaf().await;
    let params = json!({"x": "x".repeat(LETTER)}).to_string();
    let sent = |id: usize| stdio.request(&outgoing(id as u64, &params));
    // Nobody writes while this goes on without a pause.
    let mut open: Vec<Exchange> = (0..OUTBOX).map(|id| sent(id).unwrap()).collect();
    assert_eq!(sent(OUTBOX).err(), Some(LinkError::Busy));
    assert_eq!(stdio.shared.waiting().calls.len(), OUTBOX);
    // From here on the clock goes on whenever nothing else can.
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let why = stdio.lost().await;
    assert_eq!(why, "it does not read its input");
    assert_eq!(begun.elapsed().as_secs(), UNREAD.as_secs());
    let lost = LinkError::Lost(why);
    for exchange in &mut open {
        assert_eq!(exchange.next().await.err(), Some(lost.clone()));
    }
    assert_eq!(sent(OUTBOX).err(), Some(lost));
}
