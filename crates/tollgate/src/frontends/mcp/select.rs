//! Which part of the catalogue a list shows.
//!
//! The narrowest voice wins: the request over the address it was sent to, that over the
//! command line, that over the configuration. What is left out of a list can still be
//! called; only policy, profile and scope refuse.

mod extent;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use tollgate_core::ToolName;
use tollgate_engine::Listing;

use super::rpc::RpcError;
use crate::config::{Discovery, DiscoveryMode, Schemas};

pub(super) use extent::{Extent, Extents};

/// The name that stands for every toolset.
const ALL: &str = "all";

/// What somebody wants to see; nothing said is nothing changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Selection {
    /// Toolsets a client asks for, itself or by its command line or address.
    pub(crate) toolsets: Option<Vec<String>>,
    /// Toolsets that the configuration names, for clients that ask for none.
    pub(crate) configured: Vec<String>,
    pub(crate) allow_tools: Option<Vec<String>>,
    pub(crate) exclude_tools: Option<Vec<String>>,
    pub(crate) profile: Option<String>,
    /// Tools that are listed whatever the toolsets.
    pub(crate) pinned: Vec<String>,
    /// How much of each tool is shown.
    pub(crate) schemas: Option<Schemas>,
}

impl Selection {
    pub(super) fn of_config(discovery: &Discovery) -> Self {
        Self {
            configured: discovery.toolsets.clone(),
            pinned: discovery.pinned.clone(),
            schemas: Some(discovery.schemas),
            ..Self::default()
        }
    }

    /// What the parameters of a list ask for.
    pub(super) fn of_params(params: &Value) -> Result<Self, RpcError> {
        let names = |key: &str| -> Result<Option<Vec<String>>, RpcError> {
            let wrong = || {
                let message = format!("`{key}` is a name or a list of names");
                RpcError::invalid_params(message)
            };
            match params.get(key) {
                None | Some(Value::Null) => Ok(None),
                Some(Value::String(name)) => Ok(Some(split(name))),
                Some(Value::Array(names)) => names
                    .iter()
                    .map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong))
                    .collect::<Result<_, _>>()
                    .map(Some),
                Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Err(wrong()),
            }
        };
        let toolsets = match names("toolsets")? {
            Some(toolsets) => Some(toolsets),
            None => match names("toolset")? {
                Some(toolsets) => Some(toolsets),
                None => names("groups")?,
            },
        };
        Ok(Self {
            toolsets,
            configured: Vec::new(),
            allow_tools: names("allow_tools")?,
            exclude_tools: names("exclude_tools")?,
            profile: match params.get("profile") {
                None | Some(Value::Null) => None,
                Some(Value::String(profile)) => Some(profile.clone()),
                Some(_) => return Err(RpcError::invalid_params("`profile` is a name")),
            },
            pinned: Vec::new(),
            schemas: match params.get("schemas") {
                None | Some(Value::Null) => None,
                Some(word) => {
                    let known = word.as_str().and_then(schemas_named);
                    let wrong =
                        || RpcError::invalid_params("`schemas` is `auto`, `full` or `brief`");
                    Some(known.ok_or_else(wrong)?)
                }
            },
        })
    }

    /// What the query of an address asks for.
    pub(super) fn of_query(query: &str) -> Result<Self, RpcError> {
        if query.is_empty() {
            return Ok(Self::default());
        }
        let mut params = serde_json::Map::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let known = [
                "toolset",
                "toolsets",
                "groups",
                "allow_tools",
                "exclude_tools",
                "profile",
                "schemas",
            ];
            if known.contains(&key) {
                let value = unescaped(value)
                    .ok_or_else(|| RpcError::invalid_params(format!("`{key}` is badly escaped")))?;
                params.insert(key.to_owned(), Value::String(value));
            }
        }
        Self::of_params(&Value::Object(params))
    }

    /// This selection where it says something, the other where it does not.
    pub(super) fn over(self, other: &Self) -> Self {
        Self {
            toolsets: self.toolsets.or_else(|| other.toolsets.clone()),
            configured: [self.configured, other.configured.clone()].concat(),
            allow_tools: self.allow_tools.or_else(|| other.allow_tools.clone()),
            exclude_tools: match (self.exclude_tools, &other.exclude_tools) {
                (Some(mut own), Some(others)) => {
                    own.extend(others.iter().cloned());
                    Some(own)
                }
                (own, others) => own.or_else(|| others.clone()),
            },
            profile: self.profile.or_else(|| other.profile.clone()),
            pinned: [self.pinned, other.pinned.clone()].concat(),
            schemas: self.schemas.or(other.schemas),
        }
    }

    /// The same, which costs nothing where this says nothing.
    pub(super) fn shared_over(self, other: &Arc<Self>) -> Arc<Self> {
        if self == Self::default() {
            Arc::clone(other)
        } else {
            Arc::new(self.over(other))
        }
    }

    /// Refuses toolsets that nothing belongs to.
    pub(super) fn check<'a>(
        &self,
        listings: impl Iterator<Item = &'a Listing>,
        coming: &'a [String],
        profiles: &[String],
    ) -> Result<(), RpcError> {
        let mut known: Vec<&str> = listings
            .flat_map(|listing| listing.spec.toolsets.iter().map(String::as_str))
            .chain(coming.iter().map(String::as_str))
            .chain([ALL])
            .collect();
        known.sort_unstable();
        known.dedup();
        let toolsets = self.toolsets.iter().flatten().chain(&self.configured);
        if let Some(odd) = toolsets
            .into_iter()
            .find(|set| !known.contains(&set.as_str()))
        {
            let shown: String = odd.chars().take(64).collect();
            let message = format!("Invalid toolset: there is no toolset `{shown}`");
            return Err(RpcError::invalid_params(message).with(known_as("toolsets", &known)));
        }
        if let Some(odd) = self
            .profile
            .as_deref()
            .filter(|name| !profiles.iter().any(|known| known == name))
        {
            let shown: String = odd.chars().take(64).collect();
            let message = format!("Invalid profile: there is no profile `{shown}`");
            return Err(RpcError::invalid_params(message).with(known_as("profiles", profiles)));
        }
        Ok(())
    }

    /// Whether a tool is on a list that holds this much.
    pub(super) fn shows(&self, extent: &Extent<'_>, listing: &Listing) -> bool {
        let spec = &listing.spec;
        let matches =
            |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, &spec.name));
        if self.exclude_tools.as_deref().is_some_and(matches) {
            return false;
        }
        if self
            .allow_tools
            .as_deref()
            .is_some_and(|allowed| !allowed.is_empty() && !matches(allowed))
        {
            return false;
        }
        extent.holds(spec) || matches(&self.pinned)
    }

    /// What was used, for whoever wonders.
    pub(super) fn used(&self, mode: DiscoveryMode, extent: &Extent<'_>) -> Value {
        let mut used = json!({
            "toolsets": extent.toolsets,
            "allow_tools": self.allow_tools.as_deref().unwrap_or_default(),
            "exclude_tools": self.exclude_tools.as_deref().unwrap_or_default(),
            "profile": self.profile,
        });
        if extent.brief {
            used["schemas"] = json!(Schemas::Brief);
        }
        if self.toolsets.is_none() {
            used["mode"] = json!(mode);
            used["servers"] = json!(extent.servers);
        }
        used
    }
}

/// How much of each tool is shown, by its word.
pub(crate) fn schemas_named(word: &str) -> Option<Schemas> {
    match word {
        "auto" => Some(Schemas::Auto),
        "full" => Some(Schemas::Full),
        "brief" => Some(Schemas::Brief),
        _ => None,
    }
}

/// Names between commas.
pub(crate) fn split(names: &str) -> Vec<String> {
    let names = names.split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A pattern may end in a star; every spelling of a name fits as well.
fn fits(pattern: &str, name: &ToolName) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.as_str().starts_with(start),
        // Also written out where clients are given a shorter name.
        None => name.is_spelled(pattern) || pattern == name.as_str().replace(['.', '/'], "_"),
    }
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
            }
            b'+' => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// What there is instead, also under the name that lists of tools have for it.
fn known_as(name: &str, known: &(impl Serialize + ?Sized)) -> Value {
    json!({name: known, format!("available_{name}"): known})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_voice_wins() {
        let config = Selection {
            toolsets: Some(vec!["gate".to_owned()]),
            exclude_tools: Some(vec!["a.*".to_owned()]),
            pinned: vec!["x.y".to_owned()],
            ..Selection::default()
        };
        let query = Selection::of_query("toolsets=one%2Ctwo&profile=p&other=1").unwrap();
        let request = Selection::of_params(&json!({"exclude_tools": ["b.c"]})).unwrap();
        let used = request.over(&query.over(&config));
        assert_eq!(
            used.toolsets,
            Some(vec!["one".to_owned(), "two".to_owned()])
        );
        assert_eq!(
            used.exclude_tools,
            Some(vec!["b.c".to_owned(), "a.*".to_owned()])
        );
        assert_eq!(used.profile.as_deref(), Some("p"));
        assert_eq!(used.pinned, vec!["x.y".to_owned()]);
        let brief = Selection::of_query("schemas=brief").unwrap();
        assert_eq!(brief.clone().over(&config).schemas, Some(Schemas::Brief));
        let full = Selection::of_params(&json!({"schemas": "full"})).unwrap();
        assert_eq!(full.over(&brief).schemas, Some(Schemas::Full));
    }

    #[test]
    fn odd_parameters_are_errors() {
        for params in [
            json!({"toolset": 5}),
            json!({"toolsets": [1]}),
            json!({"profile": []}),
            json!({"allow_tools": {}}),
            json!({"schemas": "short"}),
            json!({"schemas": 1}),
        ] {
            assert!(Selection::of_params(&params).is_err(), "{params}");
        }
        assert!(Selection::of_query("toolsets=%zz").is_err());
    }
}
