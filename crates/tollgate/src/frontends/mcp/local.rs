//! A client inside this process, for specs that speak the protocol: the same methods behind the same door, without a
//! connection.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tollgate_core::{Payload, TrustLevel};
use tollgate_engine::{Caller, Gateway};

use super::{
    Exchange, Server, Transport, caller,
    era::{Client, LEGACY, Said},
    outlet::{AskFailed, Outlet},
    params::Params,
    rpc::{Asked, Id},
    select::Selection,
};
use crate::{config::Config, frontends::cli::principal};

/// The client.
pub(crate) struct Local {
    server: Server,
    caller: Caller,
    client: Client,
}

/// Nobody hears what a running call says.
struct Nowhere;

#[async_trait]
impl Outlet for Nowhere {
    fn offer(&self, _: String) {}

    async fn send(&self, _: String) -> bool {
        true
    }

    async fn ask(&self, _: &str, _: &Payload) -> Result<Payload, AskFailed> {
        Err(AskFailed::Impossible)
    }
}

impl Local {
    /// A client with a session of its own.
    pub(crate) fn new(gateway: Gateway, config: &Config, session: &str) -> Self {
        let handshake = json!({"protocolVersion": LEGACY, "clientInfo": {"name": "tollgate"}});
        Self {
            server: Server::new(gateway, config, Selection::default(), Transport::Stdio),
            caller: caller(principal(), session, TrustLevel::Local),
            client: Client::of_handshake(&handshake),
        }
    }

    /// Asks one thing; the answer is what a connection would carry, `result` or `error`.
    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Value {
        let params = Params::from(Payload::from(params.clone()));
        let (Some(id), Ok(said)) = (Id::of(&json!(1)), Said::of(&params)) else {
            return json!({"error": {"message": "the request cannot be read"}});
        };
        let mut exchange = Exchange {
            asked: Asked {
                id,
                method: method.to_owned(),
                params,
            },
            client: self.client.clone(),
            caller: self.caller.clone(),
            said,
            selection: Arc::clone(&self.server.base),
            cancel: CancellationToken::new(),
            outlet: Arc::new(Nowhere),
        };
        let reply = self.server.handle(&mut exchange).await;
        match reply.result {
            Ok(text) => {
                let result: Value = serde_json::from_str(&text).unwrap_or_default();
                json!({"result": result})
            }
            Err(error) => json!({"error": error}),
        }
    }
}
