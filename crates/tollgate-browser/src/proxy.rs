//! The only way out of a session: a proxy of its own, inside this process.
//!
//! Every connection is looked up, checked and made here, so redirects, frames, scripts,
//! WebSockets and service workers pass the same decision as the page itself. What is refused
//! is not answered at all: a page cannot read a refusal as content.
//!
//! Invariant: a connection is made only to an address that the boundary returned for it.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{Either, Empty};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    header::{
        CONNECTION, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, UPGRADE,
    },
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::Mutex,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::boundary::{Boundary, Refusals, Why};

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(15);

type Body = Either<Incoming, Empty<Bytes>>;

/// A proxy, for as long as it is held.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    refusals: Arc<Refusals>,
    serving: JoinHandle<()>,
    _tunnels: DropGuard,
}

impl Proxy {
    /// Listens on a port of its own.
    pub(crate) async fn start(boundary: Arc<dyn Boundary>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let refusals = Arc::new(Refusals::default());
        let gate = Arc::new(Gate {
            boundary,
            refusals: Arc::clone(&refusals),
            over: CancellationToken::new(),
        });
        let tunnels = gate.over.clone().drop_guard();
        let serving = tokio::spawn(serve(listener, gate));
        Ok(Self {
            address,
            refusals,
            serving,
            _tunnels: tunnels,
        })
    }

    /// As a context is told of it.
    pub(crate) fn server(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn refusals(&self) -> &Arc<Refusals> {
        &self.refusals
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct Gate {
    boundary: Arc<dyn Boundary>,
    refusals: Arc<Refusals>,
    /// Ends what the connections it began in have let go of.
    over: CancellationToken,
}

async fn serve(listener: TcpListener, gate: Arc<Gate>) {
    // Connections end with the listener: they belong to the same session.
    let mut open = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else {
                    // Out of descriptors; the next moment may be better.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                // Small packets are all a handshake is made of.
                let _ = stream.set_nodelay(true);
                open.spawn(converse(stream, Arc::clone(&gate)));
            }
            Some(_) = open.join_next(), if !open.is_empty() => {}
        }
    }
}

/// The connection to a server, kept for the next request to the same one.
#[derive(Default)]
struct Upstream(Option<(String, u16, SendRequest<Incoming>)>);

async fn converse(stream: TcpStream, gate: Arc<Gate>) {
    let upstream = Arc::new(Mutex::new(Upstream::default()));
    let service = service_fn(move |request: Request<Incoming>| {
        let (gate, upstream) = (Arc::clone(&gate), Arc::clone(&upstream));
        async move {
            if request.method() == Method::CONNECT {
                tunnel(&gate, request).await
            } else {
                forward(&gate, &upstream, request).await
            }
        }
    });
    // An error ends the connection without an answer, which is what a refusal looks like.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
}

async fn tunnel(gate: &Gate, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let Some((host, port)) = place(request.uri(), 443) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut server = gate.connect(&host, port).await?;
    let upgrade = hyper::upgrade::on(request);
    let over = gate.over.clone();
    tokio::spawn(over.run_until_cancelled_owned(async move {
        if let Ok(client) = upgrade.await {
            let mut client = TokioIo::new(client);
            // Either side may hang up at any time.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        }
    }));
    let mut response = Response::new(Either::Right(Empty::new()));
    *response.status_mut() = StatusCode::OK;
    Ok(response)
}

async fn forward(
    gate: &Gate,
    upstream: &Mutex<Upstream>,
    mut request: Request<Incoming>,
) -> io::Result<Response<Body>> {
    let is_plain = request.uri().scheme_str() == Some("http");
    let Some((host, port)) = place(request.uri(), 80).filter(|_| is_plain) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let authority = request.uri().authority().map(ToString::to_string);
    let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
    *request.uri_mut() = path.parse::<Uri>().map_err(io::Error::other)?;
    let headers = request.headers_mut();
    strip(headers);
    // The host that was checked is the host that is named.
    let authority = authority.unwrap_or_default();
    headers.insert(HOST, authority.parse().map_err(io::Error::other)?);
    let mut kept = upstream.lock().await;
    let reused = match kept.0.take() {
        Some((name, number, mut sender)) if name == host && number == port => {
            sender.ready().await.is_ok().then_some(sender)
        }
        Some(_) | None => None,
    };
    let mut sender = match reused {
        Some(sender) => sender,
        None => {
            let stream = gate.connect(&host, port).await?;
            let (sender, connection) = http1::handshake(TokioIo::new(stream))
                .await
                .map_err(io::Error::other)?;
            tokio::spawn(connection);
            sender
        }
    };
    let mut response = sender.send_request(request).await.map_err(|error| {
        gate.refusals
            .add(&host, Why::Failed(format!("{host} broke the connection")));
        io::Error::other(error)
    })?;
    kept.0 = Some((host, port, sender));
    drop(kept);
    strip(response.headers_mut());
    Ok(response.map(Either::Left))
}

/// Removes what is said between neighbours only.
fn strip(headers: &mut hyper::HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [
        CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        UPGRADE,
    ] {
        headers.remove(name);
    }
    headers.remove("proxy-connection");
    headers.remove("keep-alive");
}

/// Host and port of an address, the host without brackets.
fn place(uri: &Uri, default: u16) -> Option<(String, u16)> {
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
    Some((host.to_ascii_lowercase(), uri.port_u16().unwrap_or(default)))
}

impl Gate {
    async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let addresses = match self.boundary.admit(host.to_owned(), port).await {
            Ok(addresses) => addresses,
            Err(why) => {
                self.refusals.add(host, Why::Refused(why.clone()));
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
        };
        match timeout(CONNECT, TcpStream::connect(addresses.as_slice())).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                Ok(stream)
            }
            Ok(Err(error)) => {
                let why = format!("{host} cannot be reached: {}", error.kind());
                self.refusals.add(host, Why::Failed(why));
                Err(error)
            }
            Err(_) => {
                let why = format!("{host} does not answer");
                self.refusals.add(host, Why::Failed(why));
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::boundary::Admission;

    /// Leads everywhere.
    struct Open;

    impl Boundary for Open {
        fn admit(&self, _: String, port: u16) -> Admission {
            Box::pin(async move { Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]) })
        }
    }

    #[tokio::test]
    async fn a_tunnel_ends_with_its_proxy() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = server.local_addr().unwrap().port();
        let proxy = Proxy::start(Arc::new(Open)).await.unwrap();
        let mut client = TcpStream::connect(proxy.address).await.unwrap();
        let connect = format!("CONNECT a.test:{port} HTTP/1.1\r\nhost: a.test:{port}\r\n\r\n");
        client.write_all(connect.as_bytes()).await.unwrap();
        let (mut there, _) = server.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
        client.write_all(b"hello").await.unwrap();
        let mut said = [0; 5];
        there.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"hello");
        drop(proxy);
        let end = timeout(Duration::from_secs(30), there.read(&mut said)).await;
        assert_eq!(end.expect("it ends").unwrap_or(0), 0);
    }
}
