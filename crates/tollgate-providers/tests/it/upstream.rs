//! Servers of other people, as far as a line of shell is server enough.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use serde_json::json;
use tollgate_core::{ErrorCode, Health, Provider};
use tollgate_providers::{
    Settings,
    upstream::{self, Server, Transport},
};
use tollgate_testkit::{call_tool, fakes::context};

/// A server that is a script, whose first argument is a folder of its own.
fn script(text: &str, folder: &Path) -> Server {
    let transport = Transport::Stdio {
        command: "/bin/sh".to_owned(),
        args: ["-c", text, "sh", folder.to_str().unwrap()]
            .map(str::to_owned)
            .to_vec(),
        cwd: None,
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        secrets: Vec::new(),
    };
    Server::new("s", transport)
}

fn provider(server: Server) -> Arc<dyn Provider> {
    let upstream = upstream::Settings {
        servers: vec![server],
        ..upstream::Settings::default()
    };
    let settings = Settings {
        upstream,
        ..Settings::default()
    };
    let all = tollgate_providers::all(settings, &[]);
    all.into_iter().find(|one| one.id() == "mcp_s").unwrap()
}

/// Starts a server by wanting something of it.
fn want(provider: &Arc<dyn Provider>) {
    let provider = Arc::clone(provider);
    tokio::spawn(async move {
        let wanted = call_tool(&*provider, "mcp.s.echo", json!({}), context()).await;
        wanted.unwrap_err()
    });
}

/// The processes that wrote down that they began, as soon as there are so many.
async fn begun(folder: &Path, count: usize) -> Vec<u32> {
    loop {
        let text = fs::read_to_string(folder.join("begun")).unwrap_or_default();
        let begun: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
        if begun.len() >= count {
            return begun;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Whether a process runs; one that only waits to be buried does not.
fn runs(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !state.is_empty() && !state.starts_with(['Z', 'X'])
}

async fn until_gone(process: u32) {
    while runs(process) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_is_closed_stays_closed_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let provider = provider(script("exit 0", folder.path()));
    assert!(provider.refuses("mcp.s.echo").is_none());
    provider.close().await;
    provider.close().await;
    for tool in ["mcp.s.echo", tollgate_core::offer::READ] {
        let told = call_tool(&*provider, tool, json!({}), context()).await;
        let error = told.unwrap_err();
        assert_eq!(error.code, ErrorCode::ProviderClosed, "{tool}: {error}");
        assert_eq!(error.document_code.as_deref(), Some("ProviderClosed"));
    }
    let refused = provider.refuses("mcp.s.echo").unwrap();
    assert_eq!(refused.code, ErrorCode::ProviderClosed);
    let health = provider.health().await;
    assert!(matches!(health, Health::Down(_)), "{health:?}");
}

/// It begins, and whatever it started with it, and it is never ready.
const SLEEPS: &str = r#"sleep 1000 & echo $! >> "$1/begun"; echo $$ >> "$1/begun"; wait"#;

#[tokio::test]
async fn a_server_that_never_becomes_ready_is_ended_before_it_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let provider = provider(Server {
        start_timeout: Duration::from_millis(100),
        ..script(SLEEPS, folder.path())
    });
    want(&provider);
    let begun = begun(folder.path(), 6).await;
    for process in &begun[..4] {
        until_gone(*process).await;
    }
    provider.close().await;
}

#[tokio::test]
async fn a_server_that_is_closed_while_it_starts_is_ended() {
    let lists = r#"read asked
        echo '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}'
        read asked"#;
    let leaves = "exec >&-";
    for before in ["", lists, leaves] {
        let folder = tempfile::tempdir().unwrap();
        let provider = provider(script(&format!("{before}\n{SLEEPS}"), folder.path()));
        want(&provider);
        let begun = begun(folder.path(), 2).await;
        provider.close().await;
        for process in begun {
            until_gone(process).await;
        }
    }
}

/// It can be called, never answers a call, and does not leave when it is asked to; what it
/// started does neither.
const STAYS: &str = r#"trap '' TERM
    sleep 1000 & echo $! >> "$1/begun"; echo $$ >> "$1/begun"
    while read asked; do
        id=${asked#*'"id":'}; id=${id%%,*}
        case "$asked" in
        *server/discover*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}' ;;
        *tools/list*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}' ;;
        *tools/call*) echo called >> "$1/called" ;;
        esac
    done
    wait"#;

#[tokio::test]
async fn closing_a_server_that_is_called_ends_its_call_and_every_process() {
    let folder = tempfile::tempdir().unwrap();
    let provider = provider(script(STAYS, folder.path()));
    let called = tokio::spawn({
        let provider = Arc::clone(&provider);
        async move { call_tool(&*provider, "mcp.s.echo", json!({}), context()).await }
    });
    let begun = begun(folder.path(), 2).await;
    while !folder.path().join("called").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Whoever closes it, and however often, is back only when it is gone.
    let close = || async {
        provider.close().await;
        assert!(!runs(begun[1]), "it still runs");
    };
    tokio::join!(close(), close());
    until_gone(begun[0]).await;
    let error = called.await.unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::ProviderClosed, "{error}");
    close().await;
    let error = call_tool(&*provider, "mcp.s.echo", json!({}), context()).await;
    assert_eq!(error.unwrap_err().code, ErrorCode::ProviderClosed);
}
