//! Servers of other people, as far as no server has to run.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use tollgate_core::{ErrorCode, Health, Provider};
use tollgate_providers::{
    Settings,
    upstream::{self, Server, Transport},
};
use tollgate_testkit::{call_tool, fakes::context};

fn server() -> Arc<dyn Provider> {
    let transport = Transport::Stdio {
        command: "true".to_owned(),
        args: Vec::new(),
        cwd: None,
        env: BTreeMap::new(),
        secrets: Vec::new(),
    };
    let upstream = upstream::Settings {
        servers: vec![Server::new("s", transport)],
        ..upstream::Settings::default()
    };
    let settings = Settings {
        upstream,
        ..Settings::default()
    };
    let all = tollgate_providers::all(settings);
    all.into_iter().find(|one| one.id() == "mcp_s").unwrap()
}

#[tokio::test]
async fn what_is_closed_stays_closed_and_says_so() {
    let provider = server();
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
