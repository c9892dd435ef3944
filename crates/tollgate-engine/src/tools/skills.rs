//! Guides of skills, as resources and as prompts.
//!
//! Invariant: a guide is data that an operator installed; a skill that is off is not listed,
//! and whoever asks for it is told why it is off.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tollgate_core::{
    Answer, CallContext, ErrorCode, Offers, Payload, PromptSpec, Provider, ProviderError,
    ResourceSpec, TemplateSpec, ToolCall, ToolResult, ToolSpec, offer,
};

use crate::skills::{SkillBoard, Standing};

/// What all addresses begin with.
const SCHEME: &str = "skill://";
/// The file that every address ends with.
const FILE: &str = "/SKILL.md";
/// What the names of prompts begin with.
const PROMPT: &str = "skill_";
const MARKDOWN: &str = "text/markdown";

impl SkillBoard {
    /// The provider of the guides.
    pub fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(Guides(self.clone()))
    }

    /// Whether something of ours belongs to a skill that is off.
    pub(crate) fn is_off(&self, address: &str) -> bool {
        let name = address
            .strip_prefix(SCHEME)
            .and_then(|rest| rest.strip_suffix(FILE))
            .or_else(|| address.strip_prefix(PROMPT));
        let judged = self.judged();
        name.and_then(|name| judged.find(name))
            .is_some_and(|standing| !standing.enabled)
    }
}

struct Guides(SkillBoard);

#[async_trait]
impl Provider for Guides {
    fn id(&self) -> &str {
        "skills"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        Ok(Vec::new())
    }

    async fn offers(&self) -> Result<Offers, ProviderError> {
        let skills = self.0.read();
        let mut offers = Offers {
            completes: true,
            base: Some(SCHEME.to_owned()),
            ..Offers::default()
        };
        if skills.is_empty() {
            return Ok(offers);
        }
        offers.resources.push(ResourceSpec::new(
            SCHEME,
            "skills",
            "Every skill, what it needs, and whether it can be used.",
            "application/json",
        ));
        offers.templates.push(TemplateSpec::new(
            "skill://{skill}/SKILL.md",
            "skill",
            "The guide of a skill.",
            MARKDOWN,
        ));
        for skill in skills.iter().filter(|skill| skill.off.is_none()) {
            let (name, about) = (&skill.name, &skill.description);
            let uri = format!("{SCHEME}{name}{FILE}");
            let resource = ResourceSpec::new(&uri, name, about, MARKDOWN);
            offers.resources.push(resource);
            let task = ("task", "What is to be done, in words.", false);
            let prompt = PromptSpec::new(&format!("{PROMPT}{name}"), about, &[task]);
            offers.prompts.push(prompt);
        }
        Ok(offers)
    }

    async fn call(&self, call: ToolCall, _: CallContext) -> Result<Answer, ProviderError> {
        let arguments = call.arguments.value();
        let value = match call.tool.as_str() {
            offer::READ => self.read(arguments["uri"].as_str().unwrap_or_default())?,
            offer::GET_PROMPT => self.prompt(arguments)?,
            offer::COMPLETE => self.complete(arguments),
            other => {
                let message = format!("there is no tool `{other}` here");
                return Err(ProviderError::not_found(message));
            }
        };
        Ok(Answer::Done(ToolResult::ok(Payload::from(value))))
    }
}

impl Guides {
    /// A skill that can be used, or why it cannot.
    fn usable(&self, name: &str) -> Result<Standing, ProviderError> {
        let judged = self.0.judged();
        let found = judged.find(name).cloned().ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            ProviderError::not_found(format!("there is no skill `{shown}`"))
        })?;
        match &found.reason {
            None => Ok(found),
            Some(reason) => Err(ProviderError::new(
                ErrorCode::InactiveTool,
                format!("the skill `{name}` is off: {reason}"),
            )),
        }
    }

    fn read(&self, uri: &str) -> Result<Value, ProviderError> {
        let (mime, text) = match uri.strip_prefix(SCHEME) {
            Some("") => {
                let judged = self.0.judged();
                let all = json!({"skills": judged.all()});
                ("application/json", all.to_string())
            }
            Some(rest) => {
                let name = rest.strip_suffix(FILE).unwrap_or(rest);
                (MARKDOWN, self.usable(name)?.skill.guide)
            }
            None => {
                let message = format!("there is no resource `{uri}`");
                return Err(ProviderError::not_found(message));
            }
        };
        Ok(json!({"contents": [{"uri": uri, "mimeType": mime, "text": text}]}))
    }

    fn prompt(&self, arguments: &Value) -> Result<Value, ProviderError> {
        let name = arguments["name"].as_str().unwrap_or_default();
        let standing = self.usable(name.strip_prefix(PROMPT).unwrap_or(name))?;
        let mut text = standing.skill.guide;
        let task = arguments["arguments"]["task"].as_str().unwrap_or_default();
        if !task.trim().is_empty() {
            text.push_str(&format!("\n\nThe task: {task}\n"));
        }
        Ok(json!({
            "description": standing.skill.description,
            "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        }))
    }

    fn complete(&self, arguments: &Value) -> Value {
        let typed = arguments["argument"]["value"].as_str().unwrap_or_default();
        let is_name = arguments["argument"]["name"] == "skill";
        let judged = self.0.judged();
        let usable = judged.all().iter().filter(|it| it.enabled && is_name);
        let names = usable.map(|standing| standing.skill.name.as_str());
        let values: Vec<&str> = names.filter(|name| name.starts_with(typed)).collect();
        let total = values.len();
        json!({"completion": {"values": values, "total": total, "hasMore": false}})
    }
}
