//! The Model Context Protocol, both eras, on stdio and Streamable HTTP.
//!
//! One set of methods serves every transport and every version; what differs between the
//! eras is decided in one place each: who a client is (`era`), how a question reaches it
//! (`input`), and how an answer is dressed (`reply`). JSON is kept as it was spelled from
//! the wire to the door and back.

mod again;
mod batch;
mod call;
mod clients;
mod consent;
mod era;
pub(crate) mod fuzzing;
mod http;
mod input;
mod legacy;
mod lifecycle;
mod listen;
mod lists;
pub(crate) mod local;
mod look;
mod meta;
mod outlet;
mod pages;
mod params;
mod reply;
mod results;
mod rpc;
pub(crate) mod select;
mod spill;
mod stdio;
mod tasks;
mod tools;
mod visits;

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tollgate_core::{CallId, ErrorCode, Payload, TrustLevel, store::CredentialKind};
use tollgate_engine::{Caller, Gateway, runs::Runs};

use self::{
    era::{Client, Era, Said},
    outlet::{AskFailed, Outlet},
    rpc::{Asked, RpcError},
    select::Selection,
};
use crate::config::{Config, Dialogs, DiscoveryMode, Names, Results};

pub(crate) use http::serve;
pub(crate) use stdio::run as stdio;

/// Methods whose failures the door itself writes down.
const GOVERNED: [&str; 4] = [
    "tools/call",
    "resources/read",
    "prompts/get",
    "completion/complete",
];

/// The way a client is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
}

/// What all requests of one process share.
pub(super) struct Server {
    gateway: Gateway,
    /// The runs and tasks of its clients, where there can be any.
    runs: Option<Runs>,
    transport: Transport,
    names: Names,
    base: Arc<Selection>,
    profiles: Vec<String>,
    mode: DiscoveryMode,
    list_tokens: usize,
    /// Toolsets of servers whose tools may only come later.
    coming: Vec<String>,
    lists: lists::Lists,
    results: Results,
    open_world_text: usize,
    dialogs: Dialogs,
    /// The key of the installed client that started this process, if it has one.
    installation: Option<String>,
    /// Set when this process is to end: whatever would go on forever ends by itself.
    stop: CancellationToken,
    /// Set when even running calls have to end: whatever can be cut off is a child of it.
    cut: CancellationToken,
}

impl Server {
    fn new(gateway: Gateway, config: &Config, base: Selection, transport: Transport) -> Self {
        Self {
            gateway,
            runs: None,
            transport,
            names: config.discovery.names,
            base: Arc::new(base.over(&Selection::of_config(&config.discovery))),
            profiles: config.profiles.keys().cloned().collect(),
            mode: config.discovery.mode,
            list_tokens: config.discovery.list_tokens,
            coming: crate::upstream::toolsets(config),
            lists: lists::Lists::default(),
            results: config.results.clone(),
            open_world_text: config.sanitize.open_world_text_bytes,
            dialogs: config.consent.dialogs,
            installation: None,
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
        }
    }

    /// Lets clients that understand tasks have them.
    fn with_tasks(mut self, runs: &Runs) -> Self {
        self.runs = Some(runs.clone());
        self
    }

    /// Whether a dialog of this process's clients counts as a human.
    ///
    /// What a client calls itself plays no part: an operator has said so for all, or for the
    /// installation whose key this process was started with.
    async fn trusts_dialogs(&self) -> bool {
        match (self.dialogs, self.transport) {
            (Dialogs::None, _) | (Dialogs::Installed | Dialogs::Stdio, Transport::Http) => false,
            (Dialogs::Stdio, Transport::Stdio) | (Dialogs::All, _) => true,
            (Dialogs::Installed, Transport::Stdio) => {
                let Some(key) = &self.installation else {
                    return false;
                };
                // A state that cannot be read vouches for nobody.
                let found = self.gateway.credential(key, CredentialKind::Dialog).await;
                found.is_ok_and(|credential| credential.is_some())
            }
        }
    }

    /// Names the installed client that started this process.
    fn started_by(mut self, installation: Option<String>) -> Self {
        self.installation = installation;
        self
    }

    /// Refuses what the command line selects but does not exist, before anyone connects.
    fn check_selection(&self) -> Result<(), RpcError> {
        let catalog = self.gateway.catalog();
        let listings = catalog.listings().map(|listing| &**listing);
        self.base.check(listings, &self.coming, &self.profiles)
    }
}

/// One request with everything known about it.
struct Exchange {
    asked: Asked,
    client: Client,
    caller: Caller,
    said: Said,
    /// What the transport selects; the request may narrow it.
    selection: Arc<Selection>,
    cancel: CancellationToken,
    outlet: Arc<dyn Outlet>,
}

impl Exchange {
    fn params(&self) -> &Value {
        self.asked.params.value()
    }

    fn is_modern(&self) -> bool {
        self.client.era == Era::Modern
    }

    /// Asks the client while this request is open; one that was taken back asks nothing.
    async fn ask(&self, method: &str, params: &Payload) -> Result<Payload, AskFailed> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(AskFailed::Silent),
            answer = self.outlet.ask(method, params) => answer,
        }
    }
}

/// How a request ends.
struct Reply {
    result: Result<String, RpcError>,
    /// What the gate wants to hear of once the answer has arrived.
    undelivered: Option<CallId>,
    /// Whether it is the result of a call that failed.
    is_tool_error: bool,
    /// The code of the call's envelope, if it failed.
    failure: Option<ErrorCode>,
}

impl From<Result<String, RpcError>> for Reply {
    fn from(result: Result<String, RpcError>) -> Self {
        Self {
            result,
            undelivered: None,
            is_tool_error: false,
            failure: None,
        }
    }
}

impl From<RpcError> for Reply {
    fn from(error: RpcError) -> Self {
        Err(error).into()
    }
}

impl Server {
    /// Answers one request. Never fails: every way out is an answer, and clean.
    async fn handle(&self, exchange: &mut Exchange) -> Reply {
        let governed = GOVERNED.contains(&exchange.asked.method.as_str());
        let named = exchange.said.session.as_deref();
        let odd = named.is_some_and(|named| !self.is_plain(named));
        let mut reply = if odd {
            let message = "`_meta[\"tollgate/session\"]` is a plain name without anything secret";
            RpcError::invalid_params(message).into()
        } else {
            self.dispatch(exchange).await
        };
        if let Err(error) = reply.result {
            let error = self.cleaned(error);
            // What passed the door has been written down there.
            if !governed || odd {
                if odd {
                    "odd".clone_into(&mut exchange.caller.session.handle);
                }
                let code = ErrorCode::MalformedRequest;
                let refused = self.gateway.refuse(&exchange.caller, code, &error.message);
                Box::pin(refused).await;
            }
            reply.result = Err(error);
        }
        reply
    }

    /// Whether a name can stand in logs as it is.
    fn is_plain(&self, name: &str) -> bool {
        name.bytes().all(|byte| byte.is_ascii_graphic()) && self.gateway.cleaner().is_plain(name)
    }

    /// An error may quote what a caller sent.
    fn cleaned(&self, error: RpcError) -> RpcError {
        let cleaner = self.gateway.cleaner();
        RpcError {
            code: error.code,
            message: cleaner.line(&error.message),
            data: error.data.map(|data| cleaner.value(&data)),
        }
    }

    async fn dispatch(&self, exchange: &mut Exchange) -> Reply {
        let spelling = clients::spelling(self.names, exchange.client.name.as_deref());
        exchange.caller.spelling = spelling;
        exchange.caller.results = clients::results(&self.results, &exchange.client);
        exchange.caller.asks = exchange.client.asks;
        if exchange.caller.profile.is_none() {
            exchange
                .caller
                .profile
                .clone_from(&exchange.selection.profile);
        }
        // What is rare stands in a box: its room would be part of every call.
        match (exchange.asked.method.as_str(), exchange.client.era) {
            ("tools/call", _) => call::run(self, exchange).await,
            ("tools/list", _) => tools::list(self, exchange).into(),
            ("resources/list", _) => look::resources(self, exchange).into(),
            ("resources/templates/list", _) => look::templates(self, exchange).into(),
            ("resources/read", _) => Box::pin(look::read(self, exchange)).await,
            ("prompts/list", _) => look::prompts(self, exchange).into(),
            ("prompts/get", _) => Box::pin(look::prompt(self, exchange)).await,
            ("completion/complete", _) => Box::pin(look::complete(self, exchange)).await,
            ("tasks/get", Era::Modern) => Box::pin(tasks::get(self, exchange)).await,
            ("tasks/update", Era::Modern) => Box::pin(tasks::update(self, exchange)).await,
            ("tasks/cancel", Era::Modern) => Box::pin(tasks::cancel(self, exchange)).await,
            ("server/discover", Era::Modern) => lifecycle::discover(self, exchange).into(),
            ("subscriptions/listen", Era::Modern) => {
                Box::pin(listen::run(self, exchange)).await.into()
            }
            ("initialize", Era::Legacy) => lifecycle::initialize(self, exchange).into(),
            ("ping", Era::Legacy) => Ok("{}".to_owned()).into(),
            (other, _) => RpcError::unknown_method(other).into(),
        }
    }
}

/// Somebody connected over this transport, before anything is known of its client.
fn caller(principal: tollgate_core::Principal, handle: &str, trust: TrustLevel) -> Caller {
    Caller {
        trust,
        ..Caller::local(principal, handle, tollgate_core::Surface::Mcp)
    }
}

/// An error in a line for people, with what is known instead.
fn shown(error: &RpcError) -> String {
    let known = error.data.as_ref().and_then(|data| {
        let known = data.get("toolsets").or_else(|| data.get("profiles"))?;
        let names: Vec<&str> = known.as_array()?.iter().filter_map(Value::as_str).collect();
        Some(names.join(", "))
    });
    match known {
        Some(known) => format!("{}; there are {known}", error.message),
        None => error.message.clone(),
    }
}
