//! HTTP/1.1 by hand: every header and every byte is the test's own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
};

use serde_json::{Value, json};

use super::{MODERN, PATIENCE, meta, request, with_meta};

/// A request that is about to be sent.
#[derive(Clone)]
pub(in super::super) struct Ask {
    verb: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    pub(in super::super) fn new(verb: &str, target: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Posts these bytes as JSON, with no other header.
    pub(in super::super) fn post(body: impl Into<Vec<u8>>) -> Self {
        let mut ask = Self::new("POST", "/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        ask.body = body.into();
        ask
    }

    /// A modern request, with the headers it must have.
    pub(in super::super) fn modern(method: &str, params: Value) -> Self {
        Self::saying(&meta(), method, params)
    }

    /// The same of a client that says something else of itself.
    pub(in super::super) fn saying(meta: &Value, method: &str, params: Value) -> Self {
        let params = with_meta(params, meta);
        let message = request(1, method, &params);
        let ask = Self::post(message.to_string())
            .header("mcp-protocol-version", MODERN)
            .header("mcp-method", method);
        let key = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return ask,
        };
        match params[key].as_str() {
            Some(name) => ask.header("mcp-name", name),
            None => ask,
        }
    }

    /// A modern call.
    pub(in super::super) fn call(tool: &str, arguments: Value) -> Self {
        Self::modern("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// A request of an older client, in a session or without one.
    pub(in super::super) fn legacy(session: &str, method: &str, params: Value) -> Self {
        let ask = Self::post(request(1, method, &params).to_string());
        if session.is_empty() {
            ask
        } else {
            ask.header("mcp-session-id", session)
                .header("mcp-protocol-version", "2025-11-25")
        }
    }

    /// Sets a header; one of that name gives way.
    pub(in super::super) fn header(self, name: &str, value: &str) -> Self {
        let mut ask = self.without(name);
        ask.headers.push((name.to_owned(), value.to_owned()));
        ask
    }

    pub(in super::super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self
    }

    pub(in super::super) fn bearing(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(in super::super) fn at(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// The same request under another id.
    pub(in super::super) fn again(&self, id: u64) -> Self {
        let mut ask = self.clone();
        let body = String::from_utf8(ask.body).unwrap();
        ask.body = body
            .replacen("\"id\":1", &format!("\"id\":{id}"), 1)
            .into_bytes();
        ask
    }

    /// The request as it travels.
    pub(in super::super) fn bytes(&self, host: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.verb, self.target);
        if !self.headers.iter().any(|(name, _)| name == "host") {
            head.push_str(&format!("host: {host}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.verb == "POST" {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        [head.into_bytes(), self.body.clone()].concat()
    }
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(in super::super) struct Heard {
    pub(in super::super) status: u16,
    headers: Vec<(String, String)>,
    pub(in super::super) body: String,
}

impl Heard {
    pub(in super::super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(in super::super) fn has(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    #[track_caller]
    pub(in super::super) fn json(&self) -> Value {
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{self:?}"
        );
        serde_json::from_str(&self.body).unwrap()
    }
}

/// An answer that is being read.
pub(in super::super) struct Open {
    stream: BufReader<TcpStream>,
    heard: Heard,
    chunked: bool,
    unread: Vec<u8>,
}

impl Open {
    /// Connects and sends these bytes, and nothing more.
    pub(in super::super) fn sending(address: SocketAddr, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    }

    /// Reads the head of the answer; `None` if the other side hung up.
    pub(in super::super) fn answering(stream: TcpStream) -> Option<Self> {
        let mut stream = BufReader::new(stream);
        let status = line(&mut stream)?;
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = line(&mut stream)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let heard = Heard {
            status,
            headers,
            body: String::new(),
        };
        Some(Self {
            stream,
            chunked: heard.header("transfer-encoding") == Some("chunked"),
            heard,
            unread: Vec::new(),
        })
    }

    pub(in super::super) fn status(&self) -> u16 {
        self.heard.status
    }

    pub(in super::super) fn header(&self, name: &str) -> Option<&str> {
        self.heard.header(name)
    }

    /// Reads the rest.
    pub(in super::super) fn whole(mut self) -> Heard {
        if self.chunked {
            while self.chunk() {}
        } else if let Some(length) = self.heard.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut body).unwrap();
            self.unread = body;
        }
        self.heard.body = String::from_utf8(self.unread).unwrap();
        self.heard
    }

    /// The next message of a stream of events; `None` at its end.
    pub(in super::super) fn event(&mut self) -> Option<Value> {
        self.numbered().map(|(_, message)| message)
    }

    /// The next message and the id under which a client can come back to it.
    pub(in super::super) fn numbered(&mut self) -> Option<(String, Value)> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"));
        loop {
            let end = self.unread.windows(2).position(|two| two == b"\n\n");
            let Some(end) = end else {
                if self.chunk() {
                    continue;
                }
                return None;
            };
            let event: Vec<u8> = self.unread.drain(..end + 2).collect();
            let event = String::from_utf8(event).unwrap();
            let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
            // Signs of life and what only says when to come back carry no message.
            if let Some(data) = field("data: ").filter(|data| !data.is_empty()) {
                let id = field("id: ").unwrap_or_default().to_owned();
                return Some((id, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// Every message that is still to come.
    pub(in super::super) fn events(mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.event()).collect()
    }

    fn chunk(&mut self) -> bool {
        let Some(size) = line(&mut self.stream) else {
            return false;
        };
        let size = usize::from_str_radix(&size, 16).unwrap();
        let mut bytes = vec![0; size + 2];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes.truncate(size);
        self.unread.extend(bytes);
        size > 0
    }
}

/// One line without its ending; `None` if the other side hung up.
fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut text = String::new();
    stream.read_line(&mut text).ok()?;
    let whole = text.strip_suffix("\r\n")?;
    Some(whole.to_owned())
}
