//! Which list counts when several arrive, and when one is looked at again.

use std::sync::atomic::AtomicUsize;

use serde_json::{json, value::to_raw_value};
use tollgate_core::{Notice, NoticeSink};

use super::*;
use crate::upstream::{Server, Settings, upstreams};

/// Counts how often lists are said to have changed.
#[derive(Default)]
struct Count(AtomicUsize);

impl NoticeSink for Count {
    fn notice(&self, _: Notice) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A server that is never started, and the pins of its tools.
fn upstream(folder: &std::path::Path) -> (Arc<Upstream>, Lock) {
    let transport = Transport::Http {
        url: "http://127.0.0.1:9/".to_owned(),
        headers: Vec::new(),
        oauth: None,
    };
    let pins = folder.join("tollgate.lock");
    let mut all = upstreams(Settings {
        servers: vec![Server::new("s", transport)],
        lock: Some(pins.clone()),
        ..Settings::default()
    });
    (all.remove(0), Lock::new(pins))
}

/// A list with a tool that changes and one that does not.
fn listed(description: &str) -> Listed {
    let tools = [("t", description), ("other", "Reads.")];
    let tools = tools.map(|(name, said)| json!({"name": name, "description": said}));
    Listed {
        tools: tools.map(|tool| to_raw_value(&tool).unwrap()).into(),
        ..Listed::default()
    }
}

fn waits(lock: &Lock) -> Option<String> {
    let pins = lock.read().unwrap();
    let waiting = pins.servers["s"].tools["t"].waiting.as_ref();
    waiting.map(|told| told.sha256.clone())
}

#[test]
fn an_older_list_never_takes_the_place_of_a_newer_one() {
    let folder = tempfile::tempdir().unwrap();
    let (upstream, lock) = upstream(folder.path());
    let older = Arc::new(upstream.study(1, &listed("Reads.")));
    upstream.take_over(&older);
    assert!(upstream.usable("mcp.s.t").is_ok());
    upstream.take_over(&Arc::new(upstream.study(2, &listed("Obeys."))));
    assert!(upstream.usable("mcp.s.t").is_err());
    // Somebody had begun to look at the older one again and is done only now.
    upstream.take_over(&older);
    assert!(upstream.usable("mcp.s.t").is_err());
    assert!(waits(&lock).is_some());
    assert!(upstream.usable("mcp.s.other").is_ok());
}

#[test]
fn a_list_is_looked_at_again_only_when_pins_have_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (upstream, lock) = upstream(folder.path());
    let count = Arc::new(Count::default());
    let notices: Arc<dyn NoticeSink> = count.clone();
    drop(upstream.notices.set(notices));
    upstream.take_over(&Arc::new(upstream.study(1, &listed("Reads."))));
    upstream.take_over(&Arc::new(upstream.study(2, &listed("Obeys."))));
    let other = upstream.usable("mcp.s.other").ok().unwrap();
    for _ in 0..5 {
        assert!(upstream.usable("mcp.s.t").is_err());
    }
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
    let seen = BTreeMap::from([("t".to_owned(), waits(&lock).unwrap())]);
    lock.accept("s", &seen).unwrap();
    for _ in 0..5 {
        assert!(upstream.usable("mcp.s.t").is_ok());
    }
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    let same = upstream.usable("mcp.s.other").ok().unwrap();
    assert!(Arc::ptr_eq(&other, &same), "what did not change stays");
}
