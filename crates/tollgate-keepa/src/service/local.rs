//! What is answered from here alone: prices, plans of tokens, templates, lists.

use serde_json::{Value, json};

use super::{Place, World, made_here};
use crate::{
    Command, Domain, Error, Params, action,
    cost::estimate,
    key::call_key,
    tool::{self, TOOLS, Tool},
};

/// Commands with their parameters, as `audit.cost` and `tokens.plan` take them.
pub(super) fn commands(params: &Params) -> Result<Vec<(Command, Params)>, Error> {
    let pick = |name: &str, params: &Value| {
        let command = Command::named(name)
            .or_else(|| Tool::named(name).map(|tool| tool.command))
            .ok_or_else(|| Error::argument(format!("there is no command {name:?}")))?;
        Ok((command, Params::of(params)))
    };
    if let Some(all) = params.get(&["commands"]).and_then(Value::as_array) {
        return all
            .iter()
            .map(|one| match one.as_str() {
                Some(name) => pick(name, &Value::Null),
                None => pick(
                    one["command"]
                        .as_str()
                        .or(one["tool"].as_str())
                        .unwrap_or_default(),
                    &one["params"],
                ),
            })
            .collect();
    }
    let name = params
        .text(&["target_command"])
        .unwrap_or_else(|| Command::ProductsGet.name().to_owned());
    let inner = params.get(&["params"]).cloned().unwrap_or_default();
    Ok(vec![pick(&name, &inner)?])
}

/// `audit.cost`.
pub(super) fn audit_cost(params: &Params) -> Result<Value, Error> {
    let mut items = Vec::new();
    let (mut estimated, mut worst, mut asks) = (0_u64, 0_u64, false);
    for (command, inner) in commands(params)? {
        let budget = estimate(command, &inner)?;
        estimated = estimated.saturating_add(budget.estimated_tokens);
        worst = worst.saturating_add(budget.worst_case_tokens);
        asks |= budget.requires_confirmation;
        let mut item = json!(budget);
        item["command"] = Value::from(command.name());
        item["params"] = crate::secrets::redacted(&Value::Object(inner.canonical().clone()));
        items.push(item);
    }
    Ok(json!({
        "items": items,
        "totals": {"estimated_tokens": estimated, "worst_case_tokens": worst},
        "requires_confirmation": asks,
        "provenance": made_here(Command::AuditCost, params),
    }))
}

/// `batch.asins`: a file of numbers as calls that each fit one request.
pub(super) fn batch<W: World>(world: &W, params: &Params) -> Result<Value, Error> {
    let path = params.required("input")?;
    let text = world.load(Place::Input(&path))?;
    let domain = params.domain()?.code();
    let view = params
        .text(&["view"])
        .unwrap_or_else(|| "summary".to_owned());
    let mut asins: Vec<String> = Vec::new();
    let mut refused: Vec<&str> = Vec::new();
    for word in text
        .split([',', ';', '\n', '\r', '\t', ' '])
        .map(|word| word.trim_matches('"'))
    {
        let upper = word.to_ascii_uppercase();
        if word.is_empty() {
            continue;
        }
        if !super::is_asin(&upper) {
            refused.push(word);
        } else if !asins.contains(&upper) {
            asins.push(upper);
        }
    }
    let tasks: Vec<Value> = asins
        .chunks(100)
        .map(|part| {
            let inner = json!({"asin": part, "domain": domain, "full": true, "view": view});
            let mut task = action(
                Command::ProductsGet,
                &inner,
                "One request for up to 100 products.",
            );
            task["command"] = Value::from(Command::ProductsGet.name());
            task
        })
        .collect();
    let tokens: u64 = tasks
        .iter()
        .filter_map(|task| task["estimated_tokens"].as_u64())
        .sum();
    Ok(json!({
        "view": "batch_asins",
        "asin_count": asins.len(),
        "not_asins": refused.iter().take(20).collect::<Vec<_>>(),
        "tasks": tasks,
        "totals": {"estimated_tokens": tokens, "worst_case_tokens": tokens},
        "provenance": made_here(Command::BatchAsins, params),
    }))
}

/// Parameters to begin with.
const TEMPLATES: [(&str, &str, &str); 4] = [
    (
        "finder-basic",
        "A finder query: well-rated products with a good rank.",
        r#"{"command":"finder.query","params":{"domain":"US","selection":{"current_SALES_gte":1,"current_SALES_lte":20000,"current_RATING_gte":40,"current_COUNT_REVIEWS_gte":50,"sort":[["current_SALES","asc"]],"perPage":50,"page":0}}}"#,
    ),
    (
        "deals-basic",
        "A deal query: prices that fell by a fifth within a day.",
        r#"{"command":"deals.query","params":{"domain":"US","selection":{"page":0,"domainId":1,"priceTypes":[0],"dateRange":0,"deltaPercentRange":[20,100],"isRangeEnabled":true,"sortType":4}}}"#,
    ),
    (
        "tracking-add",
        "A tracking: told when the price of a product falls below an amount.",
        r#"{"command":"tracking.add","params":{"trackings":[{"asin":"<ASIN>","ttl":720,"expireNotify":true,"desiredPricesInMainCurrency":true,"mainDomainId":1,"updateInterval":3,"thresholdValues":[{"thresholdValue":1999,"domain":1,"csvType":0,"isDrop":true}],"notificationType":[false,false,false,false,false,true,false],"individualNotificationInterval":-1}]}}"#,
    ),
    (
        "batch-report",
        "A file of numbers, read, compared and reported.",
        r#"{"steps":[{"command":"batch.asins","params":{"input":"asins.txt"}},{"command":"products.compare","params":{"asin":["<ASIN_1>","<ASIN_2>"],"full":true}},{"command":"reports.build","params":{"input":"compare.json"}}]}"#,
    ),
];

/// `templates.list`.
pub(super) fn templates() -> Value {
    let all = TEMPLATES.map(|(name, about, _)| json!({"name": name, "description": about}));
    json!({"view": "templates", "templates": all})
}

/// `templates.show`.
pub(super) fn template(params: &Params) -> Result<Value, Error> {
    let wanted = params.required("name")?;
    let found = TEMPLATES.iter().find(|(name, _, _)| *name == wanted);
    let Some((name, about, text)) = found else {
        let known: Vec<&str> = TEMPLATES.iter().map(|(name, _, _)| *name).collect();
        return Err(
            Error::argument(format!("there is no template {wanted:?}")).with("templates", known)
        );
    };
    let template: Value = serde_json::from_str(text).unwrap_or_default();
    Ok(json!({"name": name, "description": about, "template": template}))
}

/// `schema.generate`.
pub(super) fn schemas(params: &Params) -> Result<Value, Error> {
    let one = |command: Command| {
        json!({
            "command": command.name(),
            "tool": Tool::of(command).map(Tool::name),
            "input_schema": tool::input(command),
            "output_schema": tool::output(command),
        })
    };
    match params.text(&["name"]) {
        Some(name) => {
            let command =
                Command::named(&name).or_else(|| Tool::named(&name).map(|tool| tool.command));
            let command =
                command.ok_or_else(|| Error::argument(format!("there is no command {name:?}")))?;
            Ok(json!({"schemas": [one(command)]}))
        }
        None => {
            let all: Vec<Value> = Command::ALL.iter().map(|command| one(*command)).collect();
            Ok(json!({"schemas": all}))
        }
    }
}

/// The set of everything.
const ALL: &str = "all";

/// `capabilities`.
pub(super) fn capabilities() -> Value {
    let commands: Vec<Value> = Command::ALL
        .iter()
        .map(|command| {
            json!({
                "command": command.name(),
                "tool": Tool::of(*command).map(Tool::name),
                "effect": match command.effect() {
                    crate::Effect::Read => "read",
                    crate::Effect::Write => "write",
                    crate::Effect::Local => "local",
                },
            })
        })
        .collect();
    json!({
        "view": "capabilities",
        "command_count": commands.len(),
        "tool_count": TOOLS.len(),
        "toolsets": toolsets(),
        "profiles": super::context::profiles(),
        "schema_version": crate::view::VERSION,
        "mcp": {
            "tool_schema_version": tool::VERSION,
            "start": {
                "stdio": {"command": "tollgate", "args": ["mcp"]},
                "http": {"command": "tollgate", "args": ["serve"]},
            },
            "default_toolset": "research",
            "schema_resource_uri_template": "keepa://tools/{name}",
        },
        "commands": commands,
    })
}

/// The sets and what is in each.
pub(super) fn toolsets() -> Value {
    let sets = [
        "research",
        "docs",
        "audit",
        "reports",
        "tracking-readonly",
        ALL,
    ];
    let entries = sets.map(|set| {
        let tools = TOOLS
            .iter()
            .filter(|tool| set == ALL || tool.sets().any(|one| one == set));
        let names: Vec<String> = tools.map(Tool::name).collect();
        (set.to_owned(), json!(names))
    });
    Value::Object(entries.into_iter().collect())
}

/// `domains.list`.
pub(super) fn domains() -> Value {
    let all = Domain::ALL.map(|domain| {
        json!({
            "code": domain.code(),
            "id": domain.id(),
            "host": format!("amazon.{}", domain.suffix()),
            "currency": domain.currency(),
            "minor_units": domain.minor_units(),
        })
    });
    json!({"view": "domains", "domains": all})
}

/// `cache.explain-key`.
pub(super) fn explain_key(params: &Params) -> Result<Value, Error> {
    let name = params.required("command")?;
    let inner = params
        .get(&["params"])
        .cloned()
        .unwrap_or_else(|| json!({}));
    let inner = inner.as_object().cloned().unwrap_or_default();
    Ok(json!({
        "command": name,
        "params": crate::secrets::redacted(&Value::Object(inner.clone())),
        "cache_key": call_key(&name, &inner),
        "left_out": ["from_cache", "yes"],
        "note": "Equal parameters have equal keys; secrets and consent are no part of them.",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_a_template_can_be_made_as_it_stands() {
        for (name, _, _) in TEMPLATES {
            let shown = template(&Params::of(&json!({"name": name}))).unwrap();
            let whole = vec![shown["template"].clone()];
            let calls = shown["template"]["steps"].as_array().unwrap_or(&whole);
            for call in calls {
                let command = Command::named(call["command"].as_str().unwrap()).unwrap();
                let params = Params::of(&call["params"]);
                let input = tool::input(command);
                for argument in params.canonical().keys() {
                    assert!(
                        input["properties"].get(argument).is_some(),
                        "{name}: {argument}"
                    );
                }
                if command.effect() != crate::Effect::Local {
                    crate::request::build(command, &params).unwrap();
                }
            }
        }
        assert!(template(&Params::of(&json!({"name": "x"}))).is_err());
    }

    #[test]
    fn a_tracking_of_a_template_has_the_fields_keepa_knows() {
        let shown = template(&Params::of(&json!({"name": "tracking-add"}))).unwrap();
        let tracking = shown["template"]["params"]["trackings"][0]
            .as_object()
            .unwrap();
        let known = [
            "asin",
            "ttl",
            "expireNotify",
            "desiredPricesInMainCurrency",
            "mainDomainId",
            "updateInterval",
            "thresholdValues",
            "notifyIf",
            "notificationType",
            "individualNotificationInterval",
            "metaData",
        ];
        assert!(
            tracking.keys().all(|name| known.contains(&name.as_str())),
            "{tracking:?}"
        );
        // A place for each way to be told, and the API is the sixth.
        let ways = tracking["notificationType"].as_array().unwrap();
        assert_eq!((ways.len(), &ways[5]), (7, &json!(true)));
    }
}
