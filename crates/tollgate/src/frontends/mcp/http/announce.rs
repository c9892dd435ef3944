//! What a server says when it is there: where it is, and what to type to get a client to it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::PATH;
use crate::{
    config,
    frontends::cli::{Scene, Stop, typed},
};

pub(super) fn run(
    scene: &Scene<'_>,
    serve: &config::Serve,
    address: SocketAddr,
) -> Result<(), Stop> {
    let url = format!("http://{address}{PATH}");
    if scene.console.is_json() {
        scene
            .console
            .json(&serde_json::json!({"listening": url, "address": address.to_string()}))?;
        return Ok(());
    }
    scene.console.line(&format!("listening on {url}"))?;
    for line in ways(serve, address, &typed(&scene.environment)) {
        scene.console.note(&line);
    }
    Ok(())
}

/// How clients on this machine get here.
fn ways(serve: &config::Serve, address: SocketAddr, program: &str) -> [String; 2] {
    let url = format!("http://{}{PATH}", near(address));
    let add = format!("add it to Claude Code:  claude mcp add --transport http tollgate {url}");
    let is_open = serve.anonymous && near(address).ip().is_loopback();
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
