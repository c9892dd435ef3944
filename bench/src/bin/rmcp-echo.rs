//! The peer we are measured against: a bare `rmcp` server with one tool, at its best.
//!
//! No sessions, one JSON document for each answer, no waiting for acknowledgements.

#![forbid(unsafe_code)]

use std::sync::Arc;

use anyhow::Result;
use axum::{Router, serve::ListenerExt};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tokio::net::TcpListener;

/// Answers with the text it was given.
#[derive(Clone)]
struct Echo {
    schema: Arc<JsonObject>,
}

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let echo = Tool::new("echo", "Says it again.", Arc::clone(&self.schema));
        Ok(ListToolsResult::with_all_items(vec![echo]))
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.as_mut();
        let text = given.and_then(|arguments| arguments.remove("text"));
        let Some(serde_json::Value::String(text)) = text else {
            return Err(ErrorData::invalid_params("`text` must be a text", None));
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    });
    let schema = Arc::new(serde_json::from_value(schema)?);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None);
    let service: StreamableHttpService<Echo, LocalSessionManager> = StreamableHttpService::new(
        move || {
            Ok(Echo {
                schema: Arc::clone(&schema),
            })
        },
        Arc::default(),
        config,
    );
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}/mcp", listener.local_addr()?);
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
