//! `subscriptions/listen`: what changes, for as long as somebody wants to hear of it.

use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;
use tollgate_engine::{Changed, Following};

use super::{
    Exchange, Server,
    era::SUBSCRIPTION_KEY,
    reply,
    rpc::{self, RpcError},
};

/// The most resources of one subscription.
const MAX_RESOURCES: usize = 1000;

/// What somebody wants to hear of.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    watched: Vec<String>,
}

impl Filter {
    fn of(params: &Value) -> Result<Self, RpcError> {
        let Some(wanted) = params.get("notifications").filter(|it| it.is_object()) else {
            let message = "`notifications` must say what you want to hear of";
            return Err(RpcError::invalid_params(message));
        };
        let flag = |name: &str| wanted[name] == true;
        let watched = match wanted.get("resourceSubscriptions") {
            None => Vec::new(),
            Some(Value::Array(uris)) if uris.len() <= MAX_RESOURCES => uris
                .iter()
                .filter_map(|uri| uri.as_str().map(str::to_owned))
                .collect(),
            Some(_) => {
                let message = format!(
                    "`resourceSubscriptions` is a list of at most {MAX_RESOURCES} addresses"
                );
                return Err(RpcError::invalid_params(message));
            }
        };
        Ok(Self {
            tools: flag("toolsListChanged"),
            prompts: flag("promptsListChanged"),
            resources: flag("resourcesListChanged"),
            watched,
        })
    }

    fn honoured(&self) -> Value {
        let mut all = Map::new();
        for (name, wanted) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if wanted {
                all.insert(name.to_owned(), Value::Bool(true));
            }
        }
        if !self.watched.is_empty() {
            all.insert("resourceSubscriptions".to_owned(), json!(self.watched));
        }
        Value::Object(all)
    }

    fn wants(&self, changed: &Changed) -> bool {
        match changed {
            Changed::Tools => self.tools,
            Changed::Prompts => self.prompts,
            Changed::Resources => self.resources,
            Changed::Resource(uri) => self.watched.contains(uri),
            // From this version on nobody waits to hear it.
            Changed::Page(_) => false,
        }
    }
}

/// A change as a notification.
pub(super) fn told(changed: &Changed) -> (&'static str, Map<String, Value>) {
    let mut params = Map::new();
    let method = match changed {
        Changed::Tools => "notifications/tools/list_changed",
        Changed::Prompts => "notifications/prompts/list_changed",
        Changed::Resources => "notifications/resources/list_changed",
        Changed::Resource(uri) => {
            params.insert("uri".to_owned(), json!(uri));
            "notifications/resources/updated"
        }
        Changed::Page(name) => {
            params.insert("elicitationId".to_owned(), json!(name));
            "notifications/elicitation/complete"
        }
    };
    (method, params)
}

/// `subscriptions/listen`.
pub(super) async fn run(server: &Server, exchange: &Exchange) -> Result<String, RpcError> {
    let mut filter = Filter::of(exchange.params())?;
    let mut changes = server.gateway.changes();
    let mut following: Vec<Following> = Vec::new();
    // What this caller may not read, it hears nothing of; the acknowledgement leaves it out.
    filter.watched.retain(|uri| {
        let followed = server.gateway.follow(&exchange.caller, uri);
        let is_followed = followed.is_some();
        following.extend(followed);
        is_followed
    });
    let id: Value = serde_json::from_str(exchange.asked.id.raw().get()).unwrap_or_default();
    let marked = |mut params: Map<String, Value>| {
        params.insert("_meta".to_owned(), json!({SUBSCRIPTION_KEY: id}));
        Value::Object(params)
    };
    let mut acknowledged = Map::new();
    acknowledged.insert("notifications".to_owned(), filter.honoured());
    let message = rpc::notification(
        "notifications/subscriptions/acknowledged",
        &marked(acknowledged),
    );
    let mut there = exchange.outlet.send(message).await;
    while there {
        let changed = tokio::select! {
            () = exchange.cancel.cancelled() => break,
            () = server.stop.cancelled() => break,
            changed = changes.recv() => changed,
        };
        let missed = [Changed::Tools, Changed::Prompts, Changed::Resources];
        let all = match changed {
            Ok(changed) => vec![changed],
            // Whoever was too slow is told that everything may have changed.
            Err(RecvError::Lagged(_)) => {
                let watched = filter.watched.iter().cloned().map(Changed::Resource);
                missed.into_iter().chain(watched).collect()
            }
            Err(RecvError::Closed) => break,
        };
        for changed in all.into_iter().filter(|changed| filter.wants(changed)) {
            let (method, params) = told(&changed);
            there = exchange
                .outlet
                .send(rpc::notification(method, &marked(params)))
                .await;
        }
    }
    let mut result = Map::new();
    result.insert("_meta".to_owned(), json!({SUBSCRIPTION_KEY: id}));
    Ok(reply::dressed(exchange, result))
}
