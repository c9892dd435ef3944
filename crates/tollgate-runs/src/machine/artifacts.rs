//! What of an answer is to be kept as artifacts, before anyone keeps it.

use serde_json::Value;

use super::{Key, run::Run};
use crate::{
    expression::{Scope, is_true},
    template::ArtifactRule,
};

/// How many artifacts one answer can leave behind.
const MOST: usize = 1000;

/// Something to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtifact {
    /// What it is called.
    pub name: String,
    /// What kind of thing it is.
    pub kind: String,
    /// Its type for programs, if the template says.
    pub mime_type: Option<String>,
    /// Text as it is, or anything as base64.
    pub content: Content,
}

/// What is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Anything, as base64.
    Base64(String),
}

impl Run {
    /// What the template wants kept of an answer.
    pub fn artifacts_of(&self, key: Key, data: &Value) -> Vec<NewArtifact> {
        let Some(call) = self.call_step(key) else {
            return Vec::new();
        };
        let view = match key.item {
            None => self.view(),
            Some((item, _)) => self.view_of(key.step, item),
        };
        let scope = view.scope(Some(data));
        let mut found = Vec::new();
        for rule in &call.artifacts {
            match &rule.each {
                None => found.extend(one(rule, &scope)),
                Some(each) => {
                    let list = each.evaluate(&scope);
                    for (at, item) in list.as_array().into_iter().flatten().enumerate() {
                        let scope = Scope {
                            item: Some((item, at)),
                            ..scope
                        };
                        found.extend(one(rule, &scope));
                    }
                }
            }
        }
        found.truncate(MOST);
        found
    }
}

fn one(rule: &ArtifactRule, scope: &Scope<'_>) -> Option<NewArtifact> {
    let wanted = rule.when.as_ref();
    if wanted.is_some_and(|when| !is_true(&when.evaluate(scope))) {
        return None;
    }
    let text = |shape: &crate::expression::Shape| match shape.fill(scope) {
        Value::Null => None,
        Value::String(text) => Some(text),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Some(other.to_string())
        }
    };
    let content = match rule.text.as_ref().and_then(text) {
        Some(content) => Content::Text(content),
        None => Content::Base64(rule.base64.as_ref().and_then(text)?),
    };
    Some(NewArtifact {
        name: text(&rule.name)?,
        kind: text(&rule.kind).unwrap_or_else(|| "text".to_owned()),
        mime_type: rule.mime.as_ref().and_then(text),
        content,
    })
}
