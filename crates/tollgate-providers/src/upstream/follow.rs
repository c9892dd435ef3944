//! Wants to hear when a server's lists, or things that somebody watches, change.
//!
//! Invariant: what is asked of a server is what is wanted here now; it is asked again after
//! every start, and ends with the connection.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use tollgate_core::Notice;

use super::{
    Upstream, http,
    link::{Exchange, Next},
    pace::Waits,
    peer::{Extras, Peer},
    rpc::{self, Heard, RpcError},
};

/// How long a server may take to agree.
const PATIENCE: Duration = Duration::from_secs(30);
/// The first wait before a stream that broke is opened again.
const FIRST: Duration = Duration::from_millis(500);
/// Things of one server that may be watched.
const MOST: usize = 1000;

impl Upstream {
    /// Takes note that somebody wants to hear of something, or nobody any more; says whether
    /// it is wanted of this server.
    pub(super) fn watch_for(&self, uri: &str, wanted: bool) -> bool {
        let Some(own) = self.names.own_uri(uri) else {
            return false;
        };
        self.followed.send_if_modified(|all| {
            if wanted {
                all.len() < MOST && all.insert(own.to_owned())
            } else {
                all.remove(own)
            }
        });
        wanted
    }

    /// Begins to listen to a server. What is given back says that it is listened to, or not for
    /// now; whoever does not wait for that says so by it, and lists are read again afterwards.
    pub(super) fn listen(self: &Arc<Self>, peer: &Arc<Peer>) -> CancellationToken {
        let (own, peer) = (Arc::clone(self), Arc::clone(peer));
        let begun = CancellationToken::new();
        let told = begun.clone();
        tokio::spawn(async move {
            let over = peer.over.clone();
            let listens = async {
                if peer.modern {
                    own.listen_to_modern(&peer, &told).await;
                    told.cancel();
                } else {
                    let overhears = http::overhear(&peer.link, &told);
                    tokio::join!(overhears, own.subscribe_at_legacy(&peer));
                }
            };
            tokio::select! {
                () = listens => {}
                () = over.cancelled() => {}
            }
        });
        begun
    }

    /// An older server is told of each thing by itself.
    async fn subscribe_at_legacy(&self, peer: &Peer) {
        if peer.capabilities["resources"]["subscribe"] != true {
            return;
        }
        let mut followed = self.followed.subscribe();
        let mut told = BTreeSet::new();
        loop {
            let wanted = followed.borrow_and_update().clone();
            let more = wanted
                .difference(&told)
                .map(|uri| ("resources/subscribe", uri));
            let less = told
                .difference(&wanted)
                .map(|uri| ("resources/unsubscribe", uri));
            for (method, uri) in more.chain(less) {
                let fields = format!(r#""uri":{}"#, rpc::quoted(uri));
                if let Err(error) = peer.ask(method, &fields, PATIENCE).await {
                    self.journal("mcp.subscribe.failed", &error.to_string());
                }
            }
            told = wanted;
            if followed.changed().await.is_err() {
                return;
            }
        }
    }

    /// A modern server is told everything in one request, which stays open.
    async fn listen_to_modern(&self, peer: &Peer, begun: &CancellationToken) {
        let changes = |what: &str| peer.capabilities[what]["listChanged"] == true;
        let lists = ["tools", "resources", "prompts"].into_iter().any(changes);
        let watches = peer.capabilities["resources"]["subscribe"] == true;
        if !lists && !watches {
            return;
        }
        let mut followed = self.followed.subscribe();
        let mut waits = Waits::from(FIRST);
        let mut is_told = false;
        loop {
            let wanted = followed.borrow_and_update().clone();
            if !lists && wanted.is_empty() {
                begun.cancel();
                if followed.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let fields = wanted_fields(&peer.capabilities, watches.then_some(&wanted));
            let asked = peer.request("subscriptions/listen", None, &fields, Extras::default());
            let ended = match asked.await {
                Err(_) => Ended::Broke,
                Ok((id, mut exchange)) => tokio::select! {
                    ended = self.hear_changes(&mut exchange, begun) => ended,
                    changed = followed.changed() => {
                        peer.cancel(id, "something else is wanted").await;
                        match changed {
                            Ok(()) => continue,
                            Err(_) => return,
                        }
                    }
                },
            };
            begun.cancel();
            match ended {
                Ended::Refused(error) => {
                    let never = is_never(&error);
                    if never || !std::mem::replace(&mut is_told, true) {
                        self.journal("mcp.subscribe.failed", &error.message);
                    }
                    if never {
                        return;
                    }
                }
                Ended::Broke => {}
                Ended::Heard => {
                    waits.anew();
                    is_told = false;
                }
            }
            tokio::time::sleep(waits.next()).await;
        }
    }

    /// Hears of changes until the stream ends; the first that is heard says that it has begun.
    async fn hear_changes(&self, exchange: &mut Exchange, begun: &CancellationToken) -> Ended {
        let mut ended = Ended::Broke;
        loop {
            let heard = match exchange.next().await {
                Ok(Next::Said(heard)) => heard,
                Ok(Next::Answer(Err(error))) => return Ended::Refused(error),
                Ok(Next::Answer(Ok(_))) | Err(_) => return ended,
            };
            if matches!(ended, Ended::Broke) {
                ended = Ended::Heard;
                // Something may have changed while nobody listened.
                if begun.is_cancelled() {
                    self.relist.notify_one();
                }
                begun.cancel();
            }
            let Heard::Told(method, params) = &heard else {
                continue;
            };
            if method.ends_with("list_changed") {
                self.relist.notify_one();
            } else if method == "notifications/resources/updated"
                && let Some(uri) = params.value()["uri"].as_str()
            {
                self.notice(Notice::ResourceUpdated(self.names.uri(uri)));
            }
        }
    }
}

/// How a stream of changes ended.
enum Ended {
    /// The server does not do this, or not for now.
    Refused(RpcError),
    /// Before anything was heard.
    Broke,
    /// After something was heard.
    Heard,
}

/// Whether a server that refuses like this refuses for good.
fn is_never(error: &RpcError) -> bool {
    [
        RpcError::INVALID_REQUEST,
        RpcError::METHOD_NOT_FOUND,
        RpcError::INVALID_PARAMS,
        RpcError::MISSING_CAPABILITY,
        RpcError::UNSUPPORTED_VERSION,
    ]
    .contains(&error.code)
}

/// What a modern server is asked for.
fn wanted_fields(capabilities: &serde_json::Value, watched: Option<&BTreeSet<String>>) -> String {
    let mut wanted = Vec::new();
    for (what, flag) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if capabilities[what]["listChanged"] == true {
            wanted.push(format!(r#""{flag}":true"#));
        }
    }
    if let Some(watched) = watched.filter(|watched| !watched.is_empty()) {
        let uris: Vec<String> = watched.iter().map(|uri| rpc::quoted(uri)).collect();
        wanted.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
    }
    format!(r#""notifications":{{{}}}"#, wanted.join(","))
}
