//! Ways to begin: texts that say what to call first. They run nothing.

use serde_json::{Map, Value, json};

use crate::{Error, Kind};

/// One way to begin.
pub struct Prompt {
    /// Its name, with the pack's prefix.
    pub name: &'static str,
    /// What it begins.
    pub about: &'static str,
    /// What can be filled in: name, meaning, whether it is needed.
    pub arguments: &'static [(&'static str, &'static str, bool)],
    text: &'static str,
}

const DOMAIN: (&str, &str, bool) = ("domain", "The marketplace; US if absent.", false);
const GOAL: (&str, &str, bool) = ("goal", "What it is for, such as research or deal.", false);

/// All of them.
pub const PROMPTS: [Prompt; 5] = [
    Prompt {
        name: "keepa.product_research",
        about: "Research one product without wasting tokens.",
        arguments: &[("asin", "The product.", true), DOMAIN, GOAL],
        text: "Research the Amazon product {asin} in {domain}; the goal is {goal}.\n\
               1. Call keepa.workflow_plan with name=product-research, asin={asin}, domain={domain}, goal={goal}.\n\
               2. Call keepa.products_get with asin={asin}, full=true, view=summary: one token.\n\
               3. Read agent_brief, risk_taxonomy and data_quality before anything else.\n\
               4. Ask for offers only if offers.offers is missing and it matters who sells; they cost 13 tokens and need consent.\n\
               Name the evidence path of every claim.",
    },
    Prompt {
        name: "keepa.category_research",
        about: "From a keyword to candidates in a category.",
        arguments: &[
            ("term", "Words for the category.", true),
            DOMAIN,
            (
                "hydrate_top",
                "Leading products to read along; 0 if absent.",
                false,
            ),
        ],
        text: "Find products to look at for \"{term}\" in {domain}.\n\
               1. Call keepa.categories_search with term={term}, domain={domain}.\n\
               2. Choose a category; call keepa.categories_finder_selection for it, which costs nothing.\n\
               3. keepa.categories_products costs 50 tokens and {hydrate_top} more for products read along: call it with dry_run=true first, and with yes=true only after consent.\n\
               4. Compare the leading ones with keepa.products_compare.",
    },
    Prompt {
        name: "keepa.deal_compare",
        about: "Compare products as deals.",
        arguments: &[("asins", "Their ASINs, between commas.", true), DOMAIN],
        text: "Compare {asins} in {domain} as deals.\n\
               Call keepa.products_compare with these ASINs, full=true, view=deal.\n\
               Judge by selection_signals and risk_taxonomy; name the evidence path of every claim; say what is missing.",
    },
    Prompt {
        name: "keepa.project_onboarding",
        about: "Find out how this works before changing anything.",
        arguments: &[],
        text: "Read keepa://context/policy, then keepa://zread/wiki/pages and the pages that fit the task, \
               then keepa://schema/products-agent-view and keepa://evidence/recent. Only then decide what to change.",
    },
    Prompt {
        name: "keepa.research_agent_start",
        about: "Begin a piece of research from a question.",
        arguments: &[("query", "The question.", true), DOMAIN, GOAL],
        text: "Question: {query} (marketplace {domain}, goal {goal}).\n\
               1. keepa.context_policy says what may be done.\n\
               2. keepa.resolve_research_target with query={query} says what is meant.\n\
               3. keepa.query_research_context lists what is already here.\n\
               4. keepa.workflow_plan makes a plan; read its workflow_policy, then run its steps in order.\n\
               Use samples and dry runs until a price was agreed to.",
    },
];

/// What an argument is when it is not given.
const USUAL: [(&str, &str); 3] = [("domain", "US"), ("goal", "research"), ("hydrate_top", "0")];

fn find(name: &str) -> Result<&'static Prompt, Error> {
    let bare = |name: &str| name.strip_prefix("keepa.").unwrap_or(name).to_owned();
    let found = PROMPTS.iter().find(|one| bare(one.name) == bare(name));
    found.ok_or_else(|| {
        let known: Vec<&str> = PROMPTS.iter().map(|one| one.name).collect();
        let error = Error::new(
            Kind::ResourceNotFound,
            format!("there is no prompt {name:?}"),
        );
        error.with("available_prompts", known)
    })
}

/// A prompt with its arguments filled in.
pub fn get(name: &str, arguments: &Map<String, Value>) -> Result<Value, Error> {
    let prompt = find(name)?;
    let unknown = arguments
        .keys()
        .find(|given| !prompt.arguments.iter().any(|(name, _, _)| name == given));
    if let Some(unknown) = unknown {
        return Err(Error::argument(format!(
            "{} takes no {unknown}",
            prompt.name
        )));
    }
    let mut text = prompt.text.to_owned();
    for (name, _, is_needed) in prompt.arguments {
        let given = arguments.get(*name).and_then(Value::as_str).map(str::trim);
        let usual = USUAL
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value);
        let value = match given.filter(|given| !given.is_empty()).or(usual) {
            Some(value) => value,
            None if *is_needed => {
                return Err(Error::argument(format!("{} needs {name}", prompt.name)));
            }
            None => "",
        };
        text = text.replace(&format!("{{{name}}}"), value);
    }
    Ok(json!({
        "description": prompt.about,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }))
}

/// All of them, in short.
pub fn index() -> Value {
    let all: Vec<Value> = PROMPTS.iter().map(listed).collect();
    json!({"prompt_count": all.len(), "prompts": all})
}

/// One of them; filled in where nothing is needed for that.
pub(crate) fn shown(name: &str) -> Result<Value, Error> {
    let prompt = find(name)?;
    let mut shown = json!({"prompt": listed(prompt)});
    if !prompt.arguments.iter().any(|(_, _, is_needed)| *is_needed) {
        shown["rendered"] = get(prompt.name, &Map::new())?;
    }
    Ok(shown)
}

fn listed(prompt: &Prompt) -> Value {
    let arguments: Vec<Value> = prompt
        .arguments
        .iter()
        .map(
            |(name, about, needed)| json!({"name": name, "description": about, "required": needed}),
        )
        .collect();
    json!({
        "name": prompt.name,
        "description": prompt.about,
        "arguments": arguments,
        "uri": format!("keepa://prompts/{}", prompt.name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_must_be_there_and_nothing_stays_open() {
        for prompt in &PROMPTS {
            let all: Map<String, Value> = prompt
                .arguments
                .iter()
                .map(|(name, _, _)| ((*name).to_owned(), Value::from("X1")))
                .collect();
            let text = get(prompt.name, &all).unwrap().to_string();
            assert!(
                !text.contains("{asin") && !text.contains("{term") && !text.contains("{domain"),
                "{text}"
            );
            let needs = prompt.arguments.iter().any(|(_, _, needed)| *needed);
            assert_eq!(
                get(prompt.name, &Map::new()).is_err(),
                needs,
                "{}",
                prompt.name
            );
        }
        assert!(get("keepa.no_such", &Map::new()).is_err());
    }

    #[test]
    fn every_tool_a_prompt_names_exists() {
        for prompt in &PROMPTS {
            for word in prompt
                .text
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            {
                if let Some(name) = word.strip_prefix("keepa.").filter(|name| !name.is_empty()) {
                    let name = name.trim_end_matches('.');
                    assert!(crate::tool::Tool::named(name).is_some(), "{name}");
                }
            }
        }
    }
}
