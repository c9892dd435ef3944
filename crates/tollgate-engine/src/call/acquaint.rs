//! Waiting for providers of which nothing is known yet, for calls that may need them.
//!
//! Invariant: a call of a tool that somebody offers waits for nobody else.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::task::JoinSet;

use super::{CALL_BY_NAME, Gateway, Inner, Request};

/// Tools whose answer is about a tool that their arguments name.
const ABOUT_ONE: [&str; 2] = [CALL_BY_NAME, "tools.describe"];
/// The tool whose answer may name any tool.
const ABOUT_ANY: &str = "tools.search";
/// How long that one waits at most.
const SEARCH_PATIENCE: Duration = Duration::from_secs(3);

/// What a call needs and nobody offers yet.
enum Sought {
    Each(Vec<String>),
    Any,
}

impl Gateway {
    /// Waits for providers that may offer this tool, if nobody is known to.
    pub async fn look_for(&self, tool: &str) {
        if self.catalog().find(tool).is_none() {
            self.0
                .acquaint_with(&Sought::Each(vec![tool.to_owned()]))
                .await;
        }
    }
}

impl Inner {
    /// Waits for providers that this call may need.
    pub(super) async fn acquaint(self: &Arc<Self>, request: &Request) {
        if self.settings.acquaint.is_zero() {
            return;
        }
        if let Some(sought) = self.sought(request) {
            self.acquaint_with(&sought).await;
        }
    }

    fn sought(&self, request: &Request) -> Option<Sought> {
        let catalog = self.catalog();
        let Some(listing) = catalog.find(&request.tool) else {
            return Some(Sought::Each(vec![request.tool.clone()]));
        };
        let tool = listing.spec.name.as_str();
        if tool == ABOUT_ANY {
            return Some(Sought::Any);
        }
        let arguments = request.arguments.value();
        let mut named = match arguments.as_object() {
            Some(fields) => listing.spec.telling.needed(fields),
            None => Vec::new(),
        };
        if ABOUT_ONE.contains(&tool) {
            named.extend(
                arguments
                    .get("name")
                    .and_then(|it| it.as_str())
                    .map(str::to_owned),
            );
        }
        named.retain(|name| catalog.find(name).is_none());
        (!named.is_empty()).then_some(Sought::Each(named))
    }

    async fn acquaint_with(self: &Arc<Self>, sought: &Sought) {
        let patience = self.settings.acquaint;
        let (tools, patience) = match sought {
            Sought::Each(tools) => (tools.iter().cloned().map(Some).collect(), patience),
            Sought::Any => (vec![None], patience.min(SEARCH_PATIENCE)),
        };
        let mut asked = JoinSet::new();
        for provider in self.catalog().providers() {
            for tool in &tools {
                let (provider, tool) = (Arc::clone(provider), tool.clone());
                asked.spawn(async move {
                    let knows_more = provider.acquaint(tool.as_deref(), patience).await;
                    knows_more.then(|| provider.id().to_owned())
                });
            }
        }
        let mut changed = BTreeSet::new();
        while let Some(answer) = asked.join_next().await {
            // One that breaks offers nothing new.
            changed.extend(answer.ok().flatten());
        }
        if changed.is_empty() {
            return;
        }
        let _collecting = self.collecting.lock().await;
        let catalog = self.catalog().collect_from(&changed).await;
        Gateway(Arc::clone(self)).replace_catalog(catalog);
    }
}
