//! A server that gives the answers it was told to, in order, one to a connection.

use std::{
    io::Write as _,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use flate2::{Compression, write::GzEncoder};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    content_type: String,
    body: Vec<u8>,
    is_cut_off: bool,
    header: Option<String>,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        let reply = Self::bytes("application/json", body.as_bytes().to_vec());
        Self { status, ..reply }
    }

    pub(crate) fn bytes(content_type: &str, body: Vec<u8>) -> Self {
        Self {
            status: 200,
            content_type: content_type.to_owned(),
            body,
            is_cut_off: false,
            header: None,
        }
    }

    /// An answer that ends before it has begun.
    pub(crate) fn cut_off() -> Self {
        let reply = Self::json(200, "{}");
        Self {
            is_cut_off: true,
            ..reply
        }
    }

    pub(crate) fn header(self, line: &str) -> Self {
        let header = Some(line.to_owned());
        Self { header, ..self }
    }

    pub(crate) fn packed(self) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.body).unwrap();
        let body = encoder.finish().unwrap();
        Self { body, ..self }
    }

    fn wire(&self) -> Vec<u8> {
        let head = format!(
            "HTTP/1.1 {} Status\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n{}\r\n",
            self.status,
            self.content_type,
            self.body.len(),
            self.header
                .iter()
                .map(|line| format!("{line}\r\n"))
                .collect::<String>()
        );
        let whole = [head.as_bytes(), &self.body].concat();
        if self.is_cut_off { Vec::new() } else { whole }
    }
}

#[derive(Default)]
struct Seen {
    lines: Vec<String>,
    bodies: Vec<String>,
}

/// The server; it stops answering when its replies are used up.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let noted = Arc::clone(&seen);
        tokio::spawn(async move {
            for reply in replies {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (line, body) = read(&mut stream).await;
                {
                    let mut seen = noted.lock().unwrap();
                    seen.lines.push(line);
                    seen.bodies.push(body);
                }
                stream.write_all(&reply.wire()).await.unwrap();
            }
        });
        Self { address, seen }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The first line of each request.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen.lock().unwrap().lines.clone()
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        self.seen.lock().unwrap().bodies.clone()
    }
}

async fn read(stream: &mut TcpStream) -> (String, String) {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return (head.lines().next().unwrap().to_owned(), body.to_owned());
            }
        }
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the request ended early");
        text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
}
