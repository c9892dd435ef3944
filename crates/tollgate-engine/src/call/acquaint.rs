//! Waiting for providers of which nothing is known yet, for calls that may need them.
//!
//! Invariant: a call of a tool that somebody offers waits for nobody else.

use std::{collections::BTreeSet, sync::Arc};

use tokio::task::JoinSet;

use super::{CALL_BY_NAME, Gateway, Inner, Request};
use crate::runs;

/// Tools whose answer is about a tool that their arguments name.
const ABOUT_ONE: [&str; 2] = [CALL_BY_NAME, "tools.describe"];
/// Tools that may need any tool.
const ABOUT_ANY: [&str; 2] = ["tools.search", runs::START];

/// What a call needs and nobody offers yet.
enum Sought {
    One(String),
    Any,
}

impl Gateway {
    /// Waits for providers that may offer this tool, if nobody is known to.
    pub async fn look_for(&self, tool: &str) {
        if self.catalog().find(tool).is_none() {
            self.0.acquaint_with(&Sought::One(tool.to_owned())).await;
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
            return Some(Sought::One(request.tool.clone()));
        };
        let tool = listing.spec.name.as_str();
        if ABOUT_ANY.contains(&tool) {
            return Some(Sought::Any);
        }
        if !ABOUT_ONE.contains(&tool) {
            return None;
        }
        let named = request.arguments.value().get("name")?.as_str()?;
        let is_unknown = catalog.find(named).is_none();
        is_unknown.then(|| Sought::One(named.to_owned()))
    }

    async fn acquaint_with(self: &Arc<Self>, sought: &Sought) {
        let patience = self.settings.acquaint;
        let mut asked = JoinSet::new();
        for provider in self.catalog().providers() {
            let provider = Arc::clone(provider);
            let tool = match sought {
                Sought::One(tool) => Some(tool.clone()),
                Sought::Any => None,
            };
            asked.spawn(async move {
                let knows_more = provider.acquaint(tool.as_deref(), patience).await;
                knows_more.then(|| provider.id().to_owned())
            });
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
