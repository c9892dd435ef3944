//! Connections: accepted up to a number, read within a time, and let go in order.

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, extract::Request, response::Response};
use bytes::BytesMut;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::{Instant, Sleep},
};
use tower_service::Service;

use super::{
    PATH, Peer, Web,
    bounds::{room::Sending, strangers},
    mcp,
    post::Sent,
    quick::{self, Ended},
};

/// The most bytes of a request's head.
pub(in super::super) const HEAD_BYTES: usize = 64 << 10;
/// The most headers of a request.
pub(in super::super) const HEADERS: usize = 100;
/// How long calls that are cut off may take to end.
const GRACE: Duration = Duration::from_secs(2);
/// How often what has ended is looked for.
const SWEEP: Duration = Duration::from_secs(15);
/// How long to wait when the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Where connections come in; nothing else accepts one.
pub(super) struct Listener(TcpListener);

impl Listener {
    pub(super) async fn bind(address: SocketAddr) -> io::Result<Self> {
        TcpListener::bind(address).await.map(Self)
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = self.0.accept().await?;
        // A small answer must not wait for the client's acknowledgement of the one before.
        drop(stream.set_nodelay(true));
        Ok((stream, peer))
    }
}

/// Accepts connections until `stopped`, then lets running requests finish.
pub(super) async fn accept(
    listener: Listener,
    router: Router,
    web: Arc<Web>,
    stopped: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    tokio::pin!(stopped);
    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        let next = async {
            // Whoever was accepted last may have been one too many.
            web.room.settle().await;
            listener.accept().await
        };
        let accepted = tokio::select! {
            () = &mut stopped => break,
            _ = sweep.tick() => {
                web.sessions.sweep();
                strangers::flush(&web, false).await;
                continue;
            }
            accepted = next => accepted,
        };
        let Ok((stream, address)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // All connections of this address are at work.
        let Some(place) = web.room.enter(address) else {
            continue;
        };
        let peer = Peer { address, place };
        let (router, web, watcher) = (router.clone(), Arc::clone(&web), graceful.watcher());
        tokio::spawn(async move {
            let _counted = web.metrics.connection();
            let place = Arc::clone(&peer.place);
            let serving = async {
                if let Ended::Unusual(stream, read) = quick::serve(&web, &peer, stream).await {
                    let rest = Rest { stream, read };
                    Box::pin(general(&web, router, peer, rest, watcher)).await;
                }
            };
            tokio::select! {
                () = serving => {}
                () = place.evicted() => {}
            }
        });
    }
    web.draining.store(true, Ordering::Relaxed);
    drop(listener);
    web.server.stop.cancel();
    web.detached.close();
    let ended = async { tokio::join!(graceful.shutdown(), web.detached.wait()) };
    tokio::pin!(ended);
    if tokio::time::timeout(web.serve.drain, &mut ended)
        .await
        .is_err()
    {
        // Whatever is still running ends as cancelled, so that it has an ending at all.
        web.server.cut.cancel();
        drop(tokio::time::timeout(GRACE, ended).await);
    }
    strangers::flush(&web, true).await;
}

/// A connection of which something has been read.
struct Rest {
    stream: TcpStream,
    read: BytesMut,
}

/// Answers requests of every kind until the connection ends.
async fn general(web: &Arc<Web>, router: Router, peer: Peer, rest: Rest, watcher: Watcher) {
    let state = Arc::new(Activity::default());
    let timed = TokioIo::new(Timed {
        stream: rest.stream,
        read: rest.read,
        state: Arc::clone(&state),
        limit: web.serve.header_timeout,
        due: None,
        alarm: None,
        patience: web.serve.body_timeout,
        stuck: None,
    });
    let shared = Arc::clone(web);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (state, web, router) = (Arc::clone(&state), Arc::clone(&shared), router.clone());
        let peer = peer.clone();
        async move {
            let working = peer.place.work();
            state.requests.fetch_add(1, Ordering::Relaxed);
            state.busy.store(true, Ordering::Relaxed);
            let response = route(web, router, peer, request).await;
            state.busy.store(false, Ordering::Relaxed);
            response.map(|response| {
                response.map(|body| Sending {
                    body,
                    _working: working,
                })
            })
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(web.serve.idle_timeout)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(timed, service);
    // A client that breaks off is no failure of ours.
    drop(watcher.watch(connection).await);
}

/// Answers a request; those of the protocol take the short way.
async fn route(
    web: Arc<Web>,
    mut router: Router,
    peer: Peer,
    request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    if request.uri().path() == PATH {
        let (parts, body) = request.into_parts();
        return Ok(mcp(web, peer, parts, Sent::Coming(body)).await);
    }
    let mut request: Request = request.map(axum::body::Body::new);
    request.extensions_mut().insert(peer);
    // What is rare stands in a box: its room would be part of every request.
    Box::pin(router.call(request)).await
}

/// What a connection is doing.
#[derive(Default)]
struct Activity {
    /// Whether a request is being answered.
    busy: AtomicBool,
    /// How many have begun.
    requests: AtomicU64,
}

/// A connection on which the head of a request must arrive within a time.
///
/// Waiting for a request may take longer than sending one.
struct Timed {
    stream: TcpStream,
    /// What was read before.
    read: BytesMut,
    state: Arc<Activity>,
    limit: Duration,
    /// When the head that has begun must be there, and how many there were before it.
    due: Option<(u64, Instant)>,
    /// Set only while such a head is waited for: most arrive whole.
    alarm: Option<Pin<Box<Sleep>>>,
    /// How long a client may take nothing of what it is sent.
    patience: Duration,
    /// Set only while nothing can be sent.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Timed {
    /// Gives up on a client that takes nothing for too long.
    fn taken<T>(&mut self, cx: &mut Context<'_>, sent: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if sent.is_ready() {
            self.stuck = None;
            return sent;
        }
        let patience = self.patience;
        let stuck = self
            .stuck
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Timed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let requests = self.state.requests.load(Ordering::Relaxed);
        if self.due.is_some_and(|(before, _)| before != requests) {
            self.due = None;
            self.alarm = None;
        }
        let before = buffer.filled().len();
        let read = if self.read.is_empty() {
            Pin::new(&mut self.stream).poll_read(cx, buffer)
        } else {
            let length = self.read.len().min(buffer.remaining());
            buffer.put_slice(&self.read.split_to(length));
            Poll::Ready(Ok(()))
        };
        let arrived = buffer.filled().len() > before;
        let busy = self.state.busy.load(Ordering::Relaxed);
        if arrived && !busy && self.due.is_none() {
            self.due = Some((requests, Instant::now() + self.limit));
        }
        if read.is_pending()
            && let Some((_, due)) = self.due
        {
            let alarm = self
                .alarm
                .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
            if alarm.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl AsyncWrite for Timed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.taken(cx, sent)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.taken(cx, sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn small_answers_leave_at_once() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = Listener::bind(any).await.unwrap();
        let client = TcpStream::connect(listener.address().unwrap()).await;
        let client = client.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        assert!(stream.nodelay().unwrap());
        assert_eq!(peer, client.local_addr().unwrap());
    }
}
