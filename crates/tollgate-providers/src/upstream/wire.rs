//! How a message travels to an address.
//!
//! To a server on this machine, over connections that are kept and used one request at a
//! time: a general client costs more than the call itself. Addresses that may need TLS or
//! a proxy are left to that client. No redirect is followed either way.
//!
//! Such a connection has no task of its own: whoever waits for its answer moves it, so a
//! call wakes nobody but its caller.
//!
//! Invariant: a connection is used again only after its last answer was read to the end.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http_body::Frame;
use http_body_util::Full;
use hyper::{
    body::{Body as _, Incoming},
    client::conn::{
        TrySendError,
        http1::{self, Connection, SendRequest},
    },
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

type Request = http::Request<Full<Bytes>>;

/// One connection, which moves only while somebody waits for it.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    /// None once it is over.
    connection: Option<Box<Connection<TokioIo<TcpStream>, Full<Bytes>>>>,
}

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
                line,
                pool,
            } => loop {
                let Some(moving) = line else {
                    return Ok(None);
                };
                match moving.frame(incoming).await {
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            return Ok(Some(data));
                        }
                    }
                    Some(Err(error)) => {
                        *line = None;
                        return Err(broken(&error));
                    }
                    None => {
                        if let Some(line) = line.take() {
                            pool.keep(line);
                        }
                        return Ok(None);
                    }
                }
            },
        }
    }
}

impl Line {
    /// Moves the connection as far as it goes.
    fn advance(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection
            && Pin::new(connection).poll(cx).is_ready()
        {
            // Whoever waits for an answer is told by its own end how it went.
            self.connection = None;
        }
    }

    /// Whether a request can be sent; it may have been closed while nobody looked.
    fn is_open(&mut self) -> bool {
        self.advance(&mut Context::from_waker(Waker::noop()));
        self.connection.is_some() && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of its answer.
    async fn exchange(
        &mut self,
        request: Request,
    ) -> Result<http::Response<Incoming>, TrySendError<Request>> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let connection = &mut self.connection;
        poll_fn(|cx| {
            if let Some(moving) = connection
                && Pin::new(moving).poll(cx).is_ready()
            {
                *connection = None;
            }
            // The answer comes out of the connection only, so there is nothing else to wake for.
            answer
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
        })
        .await
    }

    /// The next piece of an answer.
    async fn frame(&mut self, incoming: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        poll_fn(|cx| {
            let mut look =
                || Pin::new(&mut *incoming).poll_frame(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(frame) = look() {
                return Poll::Ready(frame);
            }
            self.advance(cx);
            look()
        })
        .await
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
            let (mut line, is_new) = match idle {
                Some(line) => (line, false),
                None => (pool.connect().await?, true),
            };
            if !line.is_open() {
                if is_new {
                    return Err(WireError::Broken("it was closed at once".to_owned()));
                }
                continue;
            }
            let sent = line.exchange(request).await;
            match sent {
                Ok(response) => {
                    let (head, incoming) = response.into_parts();
                    return Ok(Arrival {
                        status: head.status,
                        headers: head.headers,
                        body: Body::Straight {
                            incoming,
                            line: Some(line),
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

    async fn connect(&self) -> Result<Line, WireError> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let Ok(Ok(stream)) = timeout(CONNECT, connecting).await else {
            return Err(WireError::Unreachable);
        };
        // Without it small messages wait for acknowledgements; but they arrive.
        drop(stream.set_nodelay(true));
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| WireError::Broken(innermost(&error)))?;
        Ok(Line {
            sender,
            connection: Some(Box::new(connection)),
        })
    }

    fn keep(&self, line: Line) {
        let mut idle = self.idle();
        // The one that has been idle for longest is the first that the server has closed.
        if idle.first_mut().is_some_and(|oldest| !oldest.is_open()) {
            idle.remove(0);
        }
        if idle.len() < KEPT && line.connection.is_some() {
            idle.push(line);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Line>> {
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
