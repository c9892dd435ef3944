//! MCP over HTTP: one address for both eras, health and metrics beside it.
//!
//! Invariant: nothing is read of a request before its host, its origin and its sender have
//! been checked, and everything that is read is bounded in size and time.

mod announce;
mod batch;
mod body;
mod bounds;
pub(super) mod connection;
mod guard;
mod headers;
mod mailbox;
mod metrics;
mod modern;
mod old;
mod post;
pub(super) mod quick;
mod sessions;
mod stream;

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use tokio_util::task::TaskTracker;
use tollgate_core::{ErrorCode, Principal, SessionKey};

use self::{
    bounds::{
        room::{self, Place, Room},
        strangers::{self, Strangers},
    },
    guard::Hosts,
    metrics::Metrics,
    post::Sent,
    sessions::Sessions,
};
use super::{Server, Transport, select::Selection, shown};
use crate::{
    config,
    frontends::{
        auth::{Authenticator, Identity, Refused, limits::PrincipalLimits},
        cli::{Exit, Scene, Serve, Stop},
        rest, signal,
    },
    wire,
};

/// Where the protocol is spoken.
pub(crate) const PATH: &str = "/mcp";
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// What all connections share.
struct Web {
    server: Server,
    auth: Authenticator,
    limits: PrincipalLimits,
    hosts: Hosts,
    sessions: Sessions,
    serve: config::Serve,
    message_bytes: usize,
    metrics: Metrics,
    draining: AtomicBool,
    room: Arc<Room>,
    strangers: Strangers,
    /// Requests that go on although their connection broke.
    detached: TaskTracker,
}

/// The other end of a connection.
#[derive(Clone)]
struct Peer {
    address: SocketAddr,
    place: Arc<Place>,
}

/// Serves until it is told to stop, then lets calls finish.
pub(crate) async fn serve(
    args: &Serve,
    selection: Selection,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    let mut config = scene.config.clone();
    if let Some(host) = &args.host {
        config.serve.host.clone_from(host);
    }
    if let Some(port) = args.port {
        config.serve.port = port;
    }
    let address = resolve(&config.serve)?;
    let wired = wire::wire(&config, &scene.environment).await?;
    wired.gateway.recover().await?;
    wired.attend();
    signal::reload_on_hangup(wired.reloading());
    for permit in wired.unlogged_permits() {
        scene.console.note(&permit.to_string());
    }
    wired.runs.work();
    let auth = Authenticator::new(&config, wired.gateway.clone()).map_err(Stop::usage)?;
    if !address.ip().is_loopback() && !is_protected(&auth).await? {
        wired.close().await;
        return Err(Stop::usage(format!(
            "refusing to listen on {} without authentication: make a token with `tollgate token create`, or configure serve.oauth",
            address.ip()
        )));
    }
    let server = Server::new(wired.gateway.clone(), &config, selection, Transport::Http)
        .with_tasks(&wired.runs);
    if let Err(error) = server.check_selection() {
        wired.close().await;
        return Err(Stop::usage(shown(&error)));
    }
    let listener = connection::Listener::bind(address)
        .await
        .map_err(|error| Stop::failed(format!("cannot listen on {address}: {error}")))?;
    let address = listener.address()?;
    let serve = config.serve.clone();
    let web = Arc::new(Web {
        limits: PrincipalLimits::new(
            serve.requests_per_second,
            serve.burst,
            serve.concurrent_calls,
        ),
        hosts: Hosts::new(&serve, address.ip()),
        sessions: Sessions::new(serve.sessions, serve.session_ttl),
        message_bytes: config.limits.message_bytes,
        metrics: Metrics::default(),
        draining: AtomicBool::new(false),
        room: Arc::new(Room::new(&serve, room::raise_open_files())),
        strangers: Strangers::default(),
        detached: TaskTracker::new(),
        server,
        auth,
        serve,
    });
    let notes = announce::Notes {
        open: web.auth.lets_in_anybody().await.unwrap_or(false),
        connections: web.room.most(),
    };
    // Whoever reads the address may end the process at once.
    let stopped = signal::stopped();
    announce::run(scene, &web.serve, address, notes)?;
    rest::forget_start();
    connection::accept(
        listener,
        router(Arc::clone(&web)),
        Arc::clone(&web),
        stopped,
    )
    .await;
    drop(web);
    wired.close().await;
    Ok(Exit::Ok)
}

async fn is_protected(auth: &Authenticator) -> Result<bool, Stop> {
    auth.is_protected()
        .await
        .map_err(|_| Stop::failed("the tokens cannot be read; `tollgate doctor` says more"))
}

fn resolve(serve: &config::Serve) -> Result<SocketAddr, Stop> {
    if let Ok(ip) = serve.host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, serve.port));
    }
    let found = (serve.host.as_str(), serve.port).to_socket_addrs();
    found
        .ok()
        .and_then(|mut all| all.next())
        .ok_or_else(|| Stop::usage(format!("`{}` is no address of this machine", serve.host)))
}

/// Everything beside the protocol, which takes a shorter way.
fn router(web: Arc<Web>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(measured))
        .route(METADATA, get(metadata))
        .route(&format!("{METADATA}{PATH}"), get(metadata))
        .fallback(|| async {
            (
                StatusCode::NOT_FOUND,
                "there is nothing here; MCP is at /mcp\n",
            )
        })
        .with_state(web)
}

async fn ready(State(web): State<Arc<Web>>) -> Response {
    let store = web.server.gateway.store();
    let any = SessionKey::new(Principal::anonymous(), "http");
    let works = match store.check_commit().await {
        Ok(()) => store.session(&any).await.map(drop),
        Err(error) => Err(error),
    };
    match (web.draining.load(Ordering::Relaxed), works) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response(),
        (false, Ok(())) => "ready\n".into_response(),
        (false, Err(error)) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response()
        }
    }
}

/// Figures for Prometheus, for whoever may speak to us at all.
async fn measured(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().cloned();
    if let Err(refused) = admit(&web, &parts, peer.as_ref()).await {
        return refused;
    }
    let holdings = web.server.gateway.holdings();
    let text = web.metrics.printed(web.sessions.count(), &holdings);
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// What a client must know to get a token (RFC 9728).
async fn metadata(State(web): State<Arc<Web>>, request: Request) -> Response {
    let resource = own_url(request.headers(), PATH);
    let text = web.auth.metadata(&resource).to_string();
    let kind = HeaderValue::from_static("application/json");
    let response = ([(header::CONTENT_TYPE, kind)], text).into_response();
    let is_let_in = web.hosts.check(request.headers(), request.uri()).is_ok();
    let origin = request.headers().get(header::ORIGIN).cloned();
    guard::shared(response, origin.filter(|_| is_let_in))
}

/// An address of ours as this client reaches it.
fn own_url(headers: &HeaderMap, path: &str) -> String {
    let host = headers.get(header::HOST);
    let host = host
        .and_then(|host| host.to_str().ok())
        .unwrap_or("localhost");
    format!("http://{host}{path}")
}

/// Checks host, origin and sender before anything else of a request is looked at.
async fn admit(web: &Web, parts: &Parts, peer: Option<&Peer>) -> Result<Identity, Response> {
    if let Err(message) = web.hosts.check(&parts.headers, &parts.uri) {
        return Err(Box::pin(strange(web, message)).await);
    }
    let loopback = peer.is_some_and(|peer| peer.address.ip().to_canonical().is_loopback())
        && !web.hosts.is_of_elsewhere(&parts.headers, &parts.uri);
    let identified = web.auth.identify(&parts.headers, loopback).await;
    if let Some(peer) = peer {
        let is_known = |identity: &Identity| identity.principal != Principal::anonymous();
        peer.place
            .knows_caller(identified.as_ref().is_ok_and(is_known));
    }
    match identified {
        Ok(identity) => Ok(identity),
        Err(refused) => {
            let response = Box::pin(turned_away(web, parts, &refused)).await;
            // Its origin was let in: a page must see how to get a token.
            let origin = parts.headers.get(header::ORIGIN).cloned();
            Err(guard::shared(response, origin))
        }
    }
}

/// Answers a request for another host or from another origin; whose it is nobody asks.
async fn strange(web: &Web, message: &'static str) -> Response {
    strangers::noted(web, ErrorCode::MalformedRequest, message).await;
    (StatusCode::FORBIDDEN, format!("{message}\n")).into_response()
}

/// Answers somebody who is not let in.
async fn turned_away(web: &Web, parts: &Parts, refused: &Refused) -> Response {
    let message = "a request without a valid token was refused";
    strangers::noted(web, ErrorCode::Unauthorized, message).await;
    let status = match refused {
        Refused::Missing | Refused::Invalid(_) => StatusCode::UNAUTHORIZED,
        Refused::Insufficient(_) => StatusCode::FORBIDDEN,
        Refused::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = (status, "a valid bearer token is needed here\n").into_response();
    let reached = own_url(&parts.headers, METADATA);
    let document = web.auth.metadata_address(METADATA).unwrap_or(reached);
    let challenge = web.auth.challenge(refused, &document);
    if let Ok(value) = HeaderValue::from_str(&challenge) {
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, value);
    }
    response
}

/// Answers whatever is sent to the protocol's address.
async fn mcp(web: Arc<Web>, peer: Peer, parts: Parts, body: Sent) -> Response {
    let origin = parts.headers.get(header::ORIGIN).cloned();
    if parts.method == Method::OPTIONS {
        return match web.hosts.check(&parts.headers, &parts.uri) {
            Ok(()) => guard::preflight(&parts.headers, origin),
            Err(message) => Box::pin(strange(&web, message)).await,
        };
    }
    let identity = match admit(&web, &parts, Some(&peer)).await {
        Ok(identity) => identity,
        Err(refused) => return refused,
    };
    let response = match parts.method {
        Method::POST => post::run(web, identity, parts, body).await,
        Method::GET => Box::pin(old::listen(&web, &identity, &parts.headers)).await,
        Method::DELETE => Box::pin(old::end(&web, &identity, &parts.headers)).await,
        _ => not_allowed(),
    };
    guard::shared(response, origin)
}

fn not_allowed() -> Response {
    let allowed = HeaderValue::from_static("POST, GET, DELETE");
    let mut response = (StatusCode::METHOD_NOT_ALLOWED, Body::empty()).into_response();
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}
