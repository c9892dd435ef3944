//! How a message travels to an address.
//!
//! To a server on this machine, over connections that are kept and used one request at a
//! time: a general client costs more than the call itself. Addresses that may need TLS or
//! a proxy are left to that client. No redirect is followed either way.
//!
//! Invariant: a connection is used again only after its last answer was read to the end.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use reqwest::{
    Client, Method, StatusCode, Url,
    header::{HOST, HeaderMap, HeaderValue, USER_AGENT},
    redirect::Policy,
};
use tokio::{net::TcpStream, time::timeout};

const CONNECT: Duration = Duration::from_secs(10);
const AGENT: &str = concat!("tollgate/", env!("CARGO_PKG_VERSION"));
/// Connections that are kept while nobody uses them.
const KEPT: usize = 64;

type Sender = SendRequest<Full<Bytes>>;

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
    pub(super) headers: HeaderMap,
    body: Body,
}

enum Body {
    Straight {
        incoming: Incoming,
        sender: Option<Sender>,
        pool: Arc<Pool>,
    },
    General(reqwest::Response),
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("nobody answers at its address")]
    Unreachable,
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
    target: http::Uri,
    headers: HeaderMap,
    idle: Mutex<Vec<Sender>>,
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
                        WireError::Unreachable
                    } else {
                        WireError::Broken(innermost(&error.without_url()))
                    }
                })?;
                Ok(Arrival {
                    status: response.status(),
                    headers: std::mem::take(response.headers_mut()),
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
            Body::Straight {
                incoming,
                sender,
                pool,
            } => loop {
                match incoming.frame().await {
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            return Ok(Some(data));
                        }
                    }
                    Some(Err(error)) => {
                        *sender = None;
                        return Err(broken(&error));
                    }
                    None => {
                        if let Some(sender) = sender.take() {
                            pool.keep(sender);
                        }
                        return Ok(None);
                    }
                }
            },
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
        let target = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        headers.insert(HOST, authority.try_into().map_err(|_| odd())?);
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(AGENT));
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port_or_known_default().unwrap_or(80),
            target: target.try_into().map_err(|_| odd())?,
            headers,
            idle: Mutex::default(),
        })
    }

    async fn send(pool: &Arc<Self>, letter: Letter) -> Result<Arrival, WireError> {
        let mut request = http::Request::new(Full::new(letter.body));
        *request.method_mut() = letter.method;
        request.uri_mut().clone_from(&pool.target);
        *request.headers_mut() = letter.headers;
        for (name, value) in &pool.headers {
            request.headers_mut().append(name, value.clone());
        }
        loop {
            let idle = pool.idle().pop();
            let (mut sender, is_new) = match idle {
                Some(sender) => (sender, false),
                None => (pool.connect().await?, true),
            };
            let sent = match sender.ready().await {
                Ok(()) => sender.try_send_request(request).await,
                // Closed while nobody used it; the next one may be open.
                Err(_) if !is_new => continue,
                Err(error) => return Err(WireError::Broken(innermost(&error))),
            };
            match sent {
                Ok(response) => {
                    let (head, incoming) = response.into_parts();
                    return Ok(Arrival {
                        status: head.status,
                        headers: head.headers,
                        body: Body::Straight {
                            incoming,
                            sender: Some(sender),
                            pool: Arc::clone(pool),
                        },
                    });
                }
                Err(mut error) => match error.take_message() {
                    // Nothing of it was sent, so it can be sent again.
                    Some(unsent) if !is_new => request = unsent,
                    Some(_) | None => {
                        return Err(WireError::Broken(innermost(&error.into_error())));
                    }
                },
            }
        }
    }

    async fn connect(&self) -> Result<Sender, WireError> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let Ok(Ok(stream)) = timeout(CONNECT, connecting).await else {
            return Err(WireError::Unreachable);
        };
        // Without it small messages wait for acknowledgements; but they arrive.
        drop(stream.set_nodelay(true));
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| WireError::Broken(innermost(&error)))?;
        tokio::spawn(async move {
            // Whoever waits for an answer is told how it ended.
            drop(connection.await);
        });
        Ok(sender)
    }

    fn keep(&self, sender: Sender) {
        let mut idle = self.idle();
        if idle.len() < KEPT && !sender.is_closed() {
            idle.push(sender);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Sender>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
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

fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}
