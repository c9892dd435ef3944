//! A server at an address that does exactly what a test wants, byte for byte.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc::Receiver},
    thread,
};

use serde_json::{Value, json};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The method of the message in it.
    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// What becomes of a request.
pub(crate) enum Then {
    /// A status, headers and a body.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// The same, and the connection is closed without a word about it.
    Last(u16, Vec<(&'static str, String)>, String),
    /// These bytes, and the connection stays.
    Raw(String),
    /// These bytes, then the others until the other side leaves.
    Endless(String, String),
    /// These bytes, then whatever comes, until nobody says more.
    Feed(String, Receiver<String>),
    /// These bytes, then the connection breaks.
    Break(String),
    /// These bytes, and nothing more until the other side leaves, which is noted.
    Hang(String),
}

impl Then {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let kind = ("content-type", "application/json".to_owned());
        Self::Answer(status, vec![kind], body.to_string())
    }
}

type Handler = Arc<dyn Fn(&Got) -> Then + Send + Sync>;

/// A server that lives as long as the test.
pub(crate) struct Web {
    pub(crate) port: u16,
    pub(crate) got: Arc<Mutex<Vec<Got>>>,
    /// Requests that were given up by whoever sent them.
    pub(crate) left: Arc<Mutex<Vec<Got>>>,
}

impl Web {
    pub(crate) fn start(handler: impl Fn(&Got) -> Then + Send + Sync + 'static) -> Self {
        Self::at(0, handler)
    }

    /// At this port, which somebody may have left just before.
    pub(crate) fn at(port: u16, handler: impl Fn(&Got) -> Then + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let web = Self {
            port,
            got: Arc::default(),
            left: Arc::default(),
        };
        let (got, left) = (Arc::clone(&web.got), Arc::clone(&web.left));
        let handler: Handler = Arc::new(handler);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (got, left, handler) =
                    (Arc::clone(&got), Arc::clone(&left), Arc::clone(&handler));
                let stream = stream.unwrap();
                thread::spawn(move || serve(stream, &got, &left, &handler));
            }
        });
        web
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The section of this server; `more` is TOML for the rest of it.
    pub(crate) fn section(&self, more: &str) -> String {
        let url = self.url();
        format!(
            "[[mcp.servers]]\nname = \"s\"\nurl = \"{url}\"\ntrust_annotations = true\n{more}\n"
        )
    }

    /// The requests that carried this message.
    pub(crate) fn of(&self, method: &str) -> Vec<Got> {
        let got = self.got.lock().unwrap();
        got.iter()
            .filter(|one| one.rpc() == method)
            .cloned()
            .collect()
    }
}

/// A port where nobody listens.
pub(crate) fn nobody() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn serve(stream: TcpStream, got: &Mutex<Vec<Got>>, left: &Mutex<Vec<Got>>, handler: &Handler) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(one) = read(&mut reader) {
        got.lock().unwrap().push(one.clone());
        match handler(&one) {
            Then::Answer(status, headers, body) => {
                let text = answer(status, &headers, &body);
                if stream.write_all(text.as_bytes()).is_err() {
                    return;
                }
            }
            Then::Last(status, headers, body) => {
                drop(stream.write_all(answer(status, &headers, &body).as_bytes()));
                return;
            }
            Then::Raw(text) => drop(stream.write_all(text.as_bytes())),
            Then::Endless(text, piece) => {
                drop(stream.write_all(text.as_bytes()));
                while stream.write_all(piece.as_bytes()).is_ok() {}
                left.lock().unwrap().push(one);
                return;
            }
            Then::Feed(text, pieces) => {
                drop(stream.write_all(text.as_bytes()));
                for piece in pieces {
                    drop(stream.write_all(piece.as_bytes()));
                }
                return;
            }
            Then::Break(text) => {
                drop(stream.write_all(text.as_bytes()));
                drop(stream.shutdown(std::net::Shutdown::Both));
                return;
            }
            Then::Hang(text) => {
                drop(stream.write_all(text.as_bytes()));
                let mut rest = Vec::new();
                drop(reader.read_to_end(&mut rest));
                left.lock().unwrap().push(one);
                return;
            }
        }
    }
}

fn answer(status: u16, headers: &[(&'static str, String)], body: &str) -> String {
    let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Got> {
    let line = |reader: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        let read = reader.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    };
    let first = line(reader)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let next = line(reader)?;
        let Some((name, value)) = next.split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let text = String::from_utf8(body).unwrap();
    Some(Got {
        method,
        path,
        headers,
        body: serde_json::from_str(&text).unwrap_or_default(),
        text,
    })
}

/// What a well-behaved modern server with these tools answers to everything but calls.
pub(crate) fn modern(got: &Got, tools: &Value) -> Then {
    let complete = |mut fields: Value| {
        fields["resultType"] = json!("complete");
        Then::json(
            200,
            &json!({"jsonrpc": "2.0", "id": got.body["id"], "result": fields}),
        )
    };
    match got.rpc() {
        "server/discover" => complete(json!({"supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"})),
        "tools/list" => complete(json!({"tools": tools, "ttlMs": 0, "cacheScope": "private"})),
        "tools/call" => complete(json!({"content": [{"type": "text", "text": "well"}]})),
        "" => Then::Answer(404, Vec::new(), String::new()),
        _ => {
            let error = json!({"code": -32601, "message": "unknown"});
            Then::json(
                404,
                &json!({"jsonrpc": "2.0", "id": got.body["id"], "error": error}),
            )
        }
    }
}

/// The head of an answer that goes on for as long as somebody listens.
pub(crate) const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// What a server says there first.
pub(crate) const LISTENING: &str = concat!(
    r#"data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}"#,
    "\n\n"
);

/// What a server says there when its tools have changed.
pub(crate) const TOOLS_CHANGED: &str = concat!(
    r#"data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#,
    "\n\n"
);

/// A modern server that says when its tools have changed, and how it lists them.
pub(crate) fn announcing(
    feed: Receiver<String>,
    listed: impl Fn(&Got) -> Then + Send + Sync + 'static,
) -> impl Fn(&Got) -> Then + Send + Sync + 'static {
    let feed = Mutex::new(Some(feed));
    move |got| match got.rpc() {
        "server/discover" => {
            let can = json!({"tools": {"listChanged": true}});
            let about = json!({"supportedVersions": ["2026-07-28"], "capabilities": can,
                               "ttlMs": 0, "cacheScope": "private", "resultType": "complete"});
            Then::json(
                200,
                &json!({"jsonrpc": "2.0", "id": got.body["id"], "result": about}),
            )
        }
        "subscriptions/listen" => {
            let begun = format!("{EVENTS}{LISTENING}");
            match feed.lock().unwrap().take() {
                Some(feed) => Then::Feed(begun, feed),
                None => Then::Hang(begun),
            }
        }
        "tools/list" => listed(got),
        _ => modern(got, &json!([])),
    }
}

/// A tool that only reads.
pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"},
           "annotations": {"readOnlyHint": true, "openWorldHint": false}})
}
