//! What a server says when it is there: where it is, and what to type to get a client to it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::PATH;
use crate::{
    config,
    frontends::cli::{Scene, Stop, typed},
};

/// What holds in this process.
pub(super) struct Notes {
    /// Whether callers on this machine need no token.
    pub(super) open: bool,
    /// How many connections there may be.
    pub(super) connections: usize,
}

pub(super) fn run(
    scene: &Scene<'_>,
    serve: &config::Serve,
    address: SocketAddr,
    notes: Notes,
) -> Result<(), Stop> {
    let url = format!("http://{address}{PATH}");
    if scene.console.is_json() {
        scene
            .console
            .json(&serde_json::json!({"listening": url, "address": address.to_string()}))?;
        return Ok(());
    }
    scene.console.line(&format!("listening on {url}"))?;
    for line in ways(serve, (address, notes.open), &typed(&scene.environment)) {
        scene.console.note(&line);
    }
    for line in about(serve, &notes) {
        scene.console.note(&line);
    }
    Ok(())
}

/// What somebody who starts it should know beside that.
fn about(serve: &config::Serve, notes: &Notes) -> Vec<String> {
    let mut lines = Vec::new();
    match serve.anonymous {
        None if !notes.open => lines.push(
            "nobody is let in without a token: there is OAuth, an allowed host or a token that may call"
                .to_owned(),
        ),
        Some(true) if serve.oauth.is_some() || !serve.allowed_hosts.is_empty() => lines.push(
            "warning: `serve.anonymous = true` lets in whoever reaches this machine, also through a proxy that does not say it is one"
                .to_owned(),
        ),
        None | Some(_) => {}
    }
    if notes.connections < serve.connections {
        lines.push(format!(
            "at most {} connections, as the limit of open files leaves room for no more (`ulimit -n`)",
            notes.connections
        ));
    }
    lines
}

/// How clients on this machine get here.
fn ways(serve: &config::Serve, (address, open): (SocketAddr, bool), program: &str) -> [String; 2] {
    let url = format!("http://{}{PATH}", near(address));
    let add = format!("add it to Claude Code:  claude mcp add --transport http tollgate {url}");
    let is_open = open && near(address).ip().is_loopback();
    // A client of an authorization server gets its token by itself.
    if is_open || serve.oauth.is_some() {
        let others = format!("other clients:          {program} init --client NAME --http {url}");
        return [add, others];
    }
    let header = "Authorization: Bearer TOKEN";
    [
        format!("{add} --header \"{header}\""),
        format!("other clients:          {url} with the header `{header}`"),
    ]
}

/// Where somebody on this machine reaches what listens everywhere.
fn near(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, address.port())
}
