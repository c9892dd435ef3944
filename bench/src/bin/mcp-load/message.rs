//! What is said, and whether the answer is what was asked for.

use serde_json::{Value, json};

use crate::wire::Answer;

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// Says things to one server.
pub(crate) struct Caller {
    pub(crate) address: String,
    path: String,
    tool: String,
    /// The text of every call; without one every call has a text of its own.
    text: Option<String>,
    /// Before and after a call's text.
    frame: (String, String),
}

impl Caller {
    pub(crate) fn new(address: &str, path: &str, tool: &str, text: Option<String>) -> Self {
        const MARK: &str = "<here>";
        let body = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": tool,
                "arguments": {"text": MARK},
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": MODERN,
                    "io.modelcontextprotocol/clientInfo": {"name": "mcp-load", "version": "0.1.0"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        });
        let body = body.to_string();
        let (before, after) = body.split_once(MARK).unwrap_or((&body, ""));
        Self {
            address: address.to_owned(),
            path: path.to_owned(),
            tool: tool.to_owned(),
            text,
            frame: (before.to_owned(), after.to_owned()),
        }
    }

    /// A call, with a text that no other call has.
    pub(crate) fn call(&self, connection: usize, turn: u64) -> String {
        let body = match &self.text {
            Some(text) => format!("{}{text}{}", self.frame.0, self.frame.1),
            None => {
                let own = std::process::id();
                let (before, after) = &self.frame;
                format!("{before}hello {own} from {connection}, number {turn}{after}")
            }
        };
        let tool = &self.tool;
        self.post(
            &format!(
                "MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
            ),
            &body,
        )
    }

    pub(crate) fn handshake(&self) -> String {
        let body = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": LEGACY,
                "capabilities": {},
                "clientInfo": {"name": "mcp-load", "version": "0.1.0"},
            },
        });
        self.post("", &body.to_string())
    }

    /// The end of a handshake.
    pub(crate) fn ready(&self, session: &str) -> String {
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let headers = format!("MCP-Protocol-Version: {LEGACY}\r\nMcp-Session-Id: {session}\r\n");
        self.post(&headers, &body.to_string())
    }

    fn post(&self, headers: &str, body: &str) -> String {
        let Self { address, path, .. } = self;
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        )
    }
}

/// Why an answer is not the result of a successful call, if it is not.
pub(crate) fn fault(answer: &Answer<'_>) -> Option<String> {
    let fits = |needle: &str| {
        let (body, needle) = (answer.body(), needle.as_bytes());
        body.windows(needle.len()).any(|window| window == needle)
    };
    if answer.status == 200 && fits("\"isError\":false") {
        return None;
    }
    let Ok(body) = serde_json::from_slice::<Value>(answer.body()) else {
        return Some(format!("status {}", answer.status));
    };
    let tool = &body["result"]["structuredContent"]["error"]["code"];
    Some(match (&body["error"]["code"], tool.as_str()) {
        (_, Some(code)) => code.to_owned(),
        (Value::Null, None) => format!("status {}", answer.status),
        (code, None) => format!("error {code}"),
    })
}
