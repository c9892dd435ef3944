//! How a message travels to an address.
//!
//! To a server on this machine, over connections that are kept and used one request at a
//! time (`line.rs`): a general client costs more than the call itself. Addresses that may need
//! TLS or a proxy are left to that client. No redirect is followed either way.

use std::{
    io::Write as _,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use reqwest::{
    Client, Method, StatusCode, Url,
    header::{HOST, HeaderMap, HeaderValue, USER_AGENT},
    redirect::Policy,
};
use tokio::{net::TcpStream, time::timeout};

use super::line::{Line, Unanswered};

const CONNECT: Duration = Duration::from_secs(10);
const AGENT: &str = concat!("tollgate/", env!("CARGO_PKG_VERSION"));
/// Connections that are kept while nobody uses them.
const KEPT: usize = 64;
/// Room for the headers of a letter.
const USUAL_HEAD: usize = 384;

/// What is sent.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// What comes back; dropping it before its end closes the connection.
pub(super) struct Arrival {
    pub(super) status: StatusCode,
    pub(super) headers: Arc<HeaderMap>,
    body: Body,
}

enum Body {
    Straight {
        /// None once all of it was read.
        line: Option<Line>,
        pool: Arc<Pool>,
    },
    General(reqwest::Response),
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("nobody answers at its address")]
    Unreachable,
    #[error("its certificate is not accepted: {0}")]
    Certificate(&'static str),
    #[error("the connection broke: {0}")]
    Broken(String),
}

/// The way to one address.
pub(super) enum Wire {
    Straight(Arc<Pool>),
    General { client: Client, url: Url },
}

/// Connections to one address.
pub(super) struct Pool {
    host: String,
    port: u16,
    /// What follows the method in every request: the address and the headers of all letters.
    opening: Vec<u8>,
    idle: Mutex<Vec<Line>>,
}

impl Wire {
    /// The way to `url`; `headers` go with every letter.
    pub(super) fn new(url: &Url, headers: HeaderMap) -> Result<Self, String> {
        if is_straight(url) {
            return Pool::new(url, headers).map(|pool| Self::Straight(Arc::new(pool)));
        }
        let client = client(url, headers).map_err(|error| innermost(&error))?;
        let url = url.clone();
        Ok(Self::General { client, url })
    }

    /// Sends a letter and waits for the head of what comes back.
    pub(super) async fn send(&self, letter: Letter) -> Result<Arrival, WireError> {
        match self {
            Self::Straight(pool) => Pool::send(pool, letter).await,
            Self::General { client, url } => {
                let request = client
                    .request(letter.method, url.clone())
                    .headers(letter.headers)
                    .body(letter.body);
                let mut response = request.send().await.map_err(|error| {
                    if error.is_connect() {
                        certificate(&error).map_or(WireError::Unreachable, WireError::Certificate)
                    } else {
                        WireError::Broken(innermost(&error.without_url()))
                    }
                })?;
                Ok(Arrival {
                    status: response.status(),
                    headers: Arc::new(std::mem::take(response.headers_mut())),
                    body: Body::General(response),
                })
            }
        }
    }
}

impl Arrival {
    /// The next piece; none at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, WireError> {
        let broken = |error: &dyn std::error::Error| WireError::Broken(innermost(error));
        match &mut self.body {
            Body::General(response) => response.chunk().await.map_err(|error| broken(&error)),
            Body::Straight { line, pool } => {
                let Some(moving) = line else {
                    return Ok(None);
                };
                match moving.piece().await {
                    Ok(Some(piece)) => Ok(Some(piece)),
                    Ok(None) => {
                        if let Some(line) = line.take() {
                            pool.keep(line);
                        }
                        Ok(None)
                    }
                    Err(why) => {
                        *line = None;
                        Err(WireError::Broken(why))
                    }
                }
            }
        }
    }
}

impl Pool {
    fn new(url: &Url, mut headers: HeaderMap) -> Result<Self, String> {
        let odd = || "its address cannot be sent".to_owned();
        let host = url.host_str().ok_or_else(odd)?;
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let query = url.query().map(|query| format!("?{query}"));
        headers.insert(HOST, authority.try_into().map_err(|_| odd())?);
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(AGENT));
        let path = url.path();
        let query = query.unwrap_or_default();
        let mut opening = format!(" {path}{query} HTTP/1.1\r\n").into_bytes();
        print(&mut opening, &headers);
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port_or_known_default().unwrap_or(80),
            opening,
            idle: Mutex::default(),
        })
    }

    async fn send(pool: &Arc<Self>, letter: Letter) -> Result<Arrival, WireError> {
        let request = pool.request(&letter);
        loop {
            let idle = pool.idle().pop();
            let (mut line, is_new) = match idle {
                Some(line) => (line, false),
                None => (pool.connect().await?, true),
            };
            if !is_new && !line.is_open() {
                continue;
            }
            match line.exchange(&request).await {
                Ok(head) => {
                    return Ok(Arrival {
                        status: head.status,
                        headers: head.headers,
                        body: Body::Straight {
                            line: Some(line),
                            pool: Arc::clone(pool),
                        },
                    });
                }
                // Nothing of it was sent, so it can be sent again.
                Err(Unanswered::Unsent(_)) if !is_new => {}
                Err(Unanswered::Unsent(why) | Unanswered::Broken(why)) => {
                    return Err(WireError::Broken(why));
                }
            }
        }
    }

    /// A letter as it travels.
    fn request(&self, letter: &Letter) -> Vec<u8> {
        let room = self.opening.len() + letter.body.len() + USUAL_HEAD;
        let mut text = Vec::with_capacity(room);
        text.extend_from_slice(letter.method.as_str().as_bytes());
        text.extend_from_slice(&self.opening);
        print(&mut text, &letter.headers);
        if letter.method == Method::POST {
            // Writing into memory does not fail.
            let _ = write!(text, "content-length: {}\r\n", letter.body.len());
        }
        text.extend_from_slice(b"\r\n");
        text.extend_from_slice(&letter.body);
        text
    }

    async fn connect(&self) -> Result<Line, WireError> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        match timeout(CONNECT, connecting).await {
            Ok(Ok(stream)) => Ok(Line::new(stream)),
            Ok(Err(_)) | Err(_) => Err(WireError::Unreachable),
        }
    }

    fn keep(&self, line: Line) {
        let is_open = line.is_open();
        let mut idle = self.idle();
        // The one that has been idle for longest is the first that the server has closed.
        if idle.first().is_some_and(|oldest| !oldest.is_open()) {
            idle.remove(0);
        }
        if idle.len() < KEPT && is_open {
            idle.push(line);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Line>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints headers as they travel.
fn print(text: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            text.extend_from_slice(part);
        }
    }
}

/// Whether nothing can lie between us and an address: no TLS, no proxy, no network.
fn is_straight(url: &Url) -> bool {
    url.scheme() == "http" && is_loopback(url)
}

/// A client for every kind of address.
pub(super) fn client(url: &Url, headers: HeaderMap) -> reqwest::Result<Client> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = Client::builder()
        .default_headers(headers)
        .user_agent(AGENT)
        .redirect(Policy::none())
        .connect_timeout(CONNECT)
        .tcp_nodelay(true);
    if url.scheme() == "http" {
        // Without TLS the machine's certificates need not be read, or even be there.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build()
}

pub(super) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = bare.parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    })
}

/// What is wrong with its certificate, if that is why there is no connection.
fn certificate(error: &reqwest::Error) -> Option<&'static str> {
    let told = innermost(error);
    let problem = told.split_once("invalid peer certificate")?.1;
    let has = |word: &str| problem.contains(word);
    Some(
        if has("UnknownIssuer") || has("SelfSigned") || has("CaUsedAsEndEntity") {
            "it is self-signed or of an authority that this machine does not trust; add that authority to the system's certificates"
        } else if has("Expired") || has("expired") {
            "it has expired"
        } else if has("NotValidYet") {
            "it is not valid yet; check the clocks"
        } else if has("NotValidForName") {
            "it is not for this host"
        } else if has("Revoked") {
            "it was revoked"
        } else {
            "it is not valid"
        },
    )
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}
