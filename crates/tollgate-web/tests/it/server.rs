//! A server on loopback that says exactly what a test wants said.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tollgate_web::{Fetcher, Guard, Limits, MemoryCache, Politeness, Settings};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// What happens after the bytes were sent.
pub(crate) enum Then {
    /// The connection is closed.
    Close,
    /// Nothing, for ever.
    Hang,
    /// A byte now and then, never as many as were announced.
    Drip,
    /// The same bytes again, for ever.
    Repeat(Vec<u8>),
}

pub(crate) type Reply = (Vec<u8>, Then);

/// An answer with a body and these headers.
pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n",
        body.len()
    );
    ([head.as_bytes(), body].concat(), Then::Close)
}

pub(crate) fn html(body: &str) -> Reply {
    answer(200, "Content-Type: text/html; charset=utf-8\r\n", body)
}

pub(crate) struct Server {
    pub(crate) base: String,
    pub(crate) host: String,
    seen: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, reply) = (Arc::clone(&seen), Arc::new(reply));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, reply) = (Arc::clone(&kept), Arc::clone(&reply));
                tokio::spawn(async move {
                    serve(stream, &kept, &*reply).await;
                });
            }
        });
        Self {
            base: format!("http://{host}"),
            host,
            seen,
            task,
        }
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A fetcher that may reach this server and is in a hurry.
    pub(crate) fn fetcher(&self, change: impl FnOnce(&mut Settings)) -> Fetcher {
        let mut settings = settings();
        settings.guard.allow_hosts = vec![self.host.clone()];
        change(&mut settings);
        Fetcher::new(settings)
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        guard: Guard::default(),
        limits: Limits::default(),
        politeness: Politeness {
            at_once: 16,
            pause: Duration::ZERO,
        },
        robots: false,
        cache: Arc::new(MemoryCache::new(10 << 20)),
        now: Arc::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)),
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<Request>>,
    reply: &(dyn Fn(&Request) -> Reply + Send + Sync),
) {
    let Some(request) = read(&mut stream).await else {
        return;
    };
    seen.lock().unwrap().push(request.clone());
    let (bytes, then) = reply(&request);
    if stream.write_all(&bytes).await.is_err() {
        return;
    }
    match then {
        Then::Close => drop(stream.shutdown().await),
        Then::Hang => std::future::pending().await,
        Then::Drip => {
            let mut left = 90;
            while left > 0 && stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
                left -= 1;
            }
            std::future::pending::<()>().await;
        }
        Then::Repeat(bytes) => while stream.write_all(&bytes).await.is_ok() {},
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut words = head.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut request = Request {
        method,
        target,
        head,
        body: String::new(),
    };
    let length = request
        .header("content-length")
        .map_or(0, |text| text.parse().unwrap());
    let mut body = bytes[end + 4..].to_vec();
    while body.len() < length {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => body.extend_from_slice(&piece[..count]),
        }
    }
    request.body = String::from_utf8(body).ok()?;
    Some(request)
}
