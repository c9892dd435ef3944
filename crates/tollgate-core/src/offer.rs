//! What a provider offers beside tools: things to read, prompts to begin with, values
//! to complete.
//!
//! Reading, taking a prompt and completing are calls like any other: they reach the
//! provider through [`crate::Provider::call`] under the names below, and so pass every
//! stage of the path.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::spelled::Spelled;

/// The name under which a provider is asked to read `{uri}`.
pub const READ: &str = "resources/read";
/// The name under which a provider is asked for a prompt `{name, arguments}`.
pub const GET_PROMPT: &str = "prompts/get";
/// The name under which a provider is asked to complete `{ref, argument, context}`.
pub const COMPLETE: &str = "completion/complete";

/// Everything a provider offers beside tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offers {
    /// Things that can be read now.
    pub resources: Vec<ResourceSpec>,
    /// Families of things that can be read.
    pub templates: Vec<TemplateSpec>,
    /// Ways to begin.
    pub prompts: Vec<PromptSpec>,
    /// The beginning of every address that is its to read, also of what it does not list.
    pub base: Option<String>,
    /// Whether it knows values for arguments of its prompts and templates.
    pub completes: bool,
    /// Whether what is read comes from a world nobody here controls.
    pub open_world: bool,
    /// How its owner says it wants to be used.
    pub instructions: Option<String>,
}

impl Offers {
    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.templates.is_empty() && self.prompts.is_empty()
    }

    /// Whether it is the one to ask for a URI, and how exactly: the more, the better.
    pub fn claims(&self, uri: &str) -> Option<usize> {
        if self.resources.iter().any(|resource| resource.uri == uri) {
            return Some(usize::MAX);
        }
        let fits = |template: &TemplateSpec| {
            let fixed = template.uri_template.split('{').next().unwrap_or_default();
            uri.starts_with(fixed).then_some(fixed.len())
        };
        let base = self.base.as_deref().filter(|base| uri.starts_with(base));
        let base = base.map(str::len);
        self.templates.iter().filter_map(fits).max().max(base)
    }
}

/// One thing that can be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSpec {
    /// Its address.
    pub uri: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What kind of content it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Whatever else its owner says of it.
    #[serde(flatten)]
    pub more: Map<String, Value>,
    /// How its owner spells numbers in it, where a tree would not.
    #[serde(skip)]
    pub spelled: Spelled,
}

/// A family of things that can be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSpec {
    /// Its address with gaps (RFC 6570).
    pub uri_template: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What its members hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What kind of content its members are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Whatever else its owner says of it.
    #[serde(flatten)]
    pub more: Map<String, Value>,
    /// How its owner spells numbers in it, where a tree would not.
    #[serde(skip)]
    pub spelled: Spelled,
}

/// A way to begin; it says what to do and does nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptSpec {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What can be filled in.
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
    /// Whatever else its owner says of it.
    #[serde(flatten)]
    pub more: Map<String, Value>,
    /// How its owner spells numbers in it, where a tree would not.
    #[serde(skip)]
    pub spelled: Spelled,
}

/// What can be filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the prompt makes no sense without it, if that is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Whatever else its owner says of it.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl ResourceSpec {
    /// A thing with a name and a kind.
    pub fn new(uri: &str, name: &str, description: &str, mime_type: &str) -> Self {
        Self {
            uri: uri.to_owned(),
            name: name.to_owned(),
            title: None,
            description: Some(description.to_owned()),
            mime_type: Some(mime_type.to_owned()),
            more: Map::new(),
            spelled: Spelled::default(),
        }
    }
}

impl TemplateSpec {
    /// A family with a name and a kind.
    pub fn new(uri_template: &str, name: &str, description: &str, mime_type: &str) -> Self {
        Self {
            uri_template: uri_template.to_owned(),
            name: name.to_owned(),
            title: None,
            description: Some(description.to_owned()),
            mime_type: Some(mime_type.to_owned()),
            more: Map::new(),
            spelled: Spelled::default(),
        }
    }
}

impl PromptSpec {
    /// A prompt with these arguments: name, meaning, whether it is needed.
    pub fn new(name: &str, description: &str, arguments: &[(&str, &str, bool)]) -> Self {
        let arguments = arguments
            .iter()
            .map(|(name, about, required)| PromptArgument {
                name: (*name).to_owned(),
                description: Some((*about).to_owned()),
                required: Some(*required),
                more: Map::new(),
            });
        Self {
            name: name.to_owned(),
            title: None,
            description: Some(description.to_owned()),
            arguments: arguments.collect(),
            more: Map::new(),
            spelled: Spelled::default(),
        }
    }
}

/// What a provider tells the gate of its own accord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// What it offers is no longer what it said.
    ListsChanged,
    /// A thing that can be read has changed.
    ResourceUpdated(String),
    /// A page that a human was sent to is done; this is the name it was asked with.
    PageDone(String),
}

/// Takes notices. They may come at any time and from any thread.
pub trait NoticeSink: Send + Sync {
    /// Takes one notice; must not block.
    fn notice(&self, notice: Notice);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_owner_says_of_an_argument_is_passed_on() {
        let said = r#"{"name":"p","arguments":[{"name":"a","title":"A","x-more":[1]},{"name":"b","required":false}]}"#;
        let prompt: PromptSpec = serde_json::from_str(said).unwrap();
        assert_eq!(serde_json::to_string(&prompt).unwrap(), said);
    }

    #[test]
    fn the_closest_template_claims_a_uri() {
        let template = |text: &str| TemplateSpec::new(text, "t", "", "text/plain");
        let offers = Offers {
            resources: vec![ResourceSpec::new("a://x/fixed", "f", "", "text/plain")],
            templates: vec![template("a://x/{id}"), template("a://x/deep/{+path}")],
            ..Offers::default()
        };
        assert_eq!(offers.claims("a://x/fixed"), Some(usize::MAX));
        assert_eq!(offers.claims("a://x/other"), Some("a://x/".len()));
        assert_eq!(offers.claims("a://x/deep/er"), Some("a://x/deep/".len()));
        assert_eq!(offers.claims("b://x/fixed"), None);
        let based = Offers {
            base: Some("b://".to_owned()),
            ..offers
        };
        assert_eq!(based.claims("b://x/fixed"), Some("b://".len()));
        assert_eq!(based.claims("a://x/other"), Some("a://x/".len()));
    }
}
