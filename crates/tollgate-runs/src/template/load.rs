//! From a file to a template, or to all that is wrong with it.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{
    ArtifactRule, CallStep, Group, InnerStep, Retry, Step, StepKind, Template,
    check::{self, Order},
    fields::Fields,
};
use crate::{
    expression::Shape,
    read::{self, Fault, Kind, Node, Problem},
};

/// The longest any run may take.
const MOST_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
const DEFAULT_TIMEOUT_MS: u64 = 300_000;
const MOST_STEPS: usize = 200;
/// Items of one step, if the template does not say.
const DEFAULT_ITEMS: u64 = 1000;
const MOST_ITEMS: u64 = 100_000;

/// Reads a template; `file` is what problems call it.
pub fn parse(file: &str, text: &str) -> Result<Template, Vec<Problem>> {
    let mut faults = Vec::new();
    let template = match read::read(text) {
        Ok(node) => Some(template(node, (file, text), &mut faults)),
        Err(fault) => {
            faults.push(fault);
            None
        }
    };
    if let Some(template) = template.filter(|_| faults.is_empty()) {
        return Ok(template);
    }
    let mut problems: Vec<Problem> = faults
        .into_iter()
        .map(|Fault { place, message }| Problem {
            file: file.to_owned(),
            place,
            message,
        })
        .collect();
    problems.sort();
    problems.dedup();
    Err(problems)
}

fn template(node: Node, (file, source): (&str, &str), faults: &mut Vec<Fault>) -> Template {
    let mut fields = Fields::of(node, faults);
    let id = fields.needed_text("id");
    if !id.is_empty() && !is_name(&id) {
        let place = fields.place();
        fields.fault(
            place,
            format!("`{id}` is no id: small letters, digits and `_`"),
        );
    }
    let version = fields.needed_text("version");
    let name = fields.needed_text("name");
    let description = fields.text("description").unwrap_or_else(|| name.clone());
    let trust = trust(&mut fields);
    let supports_partial_success = fields.flag("supportsPartialSuccess");
    let threshold = fields.share("threshold");
    let max_timeout_ms = fields.number("maxTimeoutMs", 1, MOST_TIMEOUT_MS);
    let max_timeout_ms = max_timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    let max_concurrency = fields.number("maxConcurrency", 1, 64).unwrap_or(1);
    let max_items = fields.number("maxItems", 1, MOST_ITEMS);
    let limits = limits(&mut fields, max_concurrency, max_items, max_timeout_ms);
    let sync_if = fields.expression("sync_if");
    let schema_places = [
        fields.place_of("inputsSchema"),
        fields.place_of("outputsSchema"),
    ];
    let inputs_schema = fields.object("inputsSchema");
    let outputs_schema = fields.object("outputsSchema");
    let result = fields.shape("result");
    let (steps, orders) = steps(&mut fields);
    let mut template = Template {
        id,
        version,
        name,
        description,
        trust,
        supports_partial_success,
        threshold,
        max_timeout_ms,
        max_concurrency: u32::try_from(max_concurrency).unwrap_or(1),
        max_items: u32::try_from(max_items.unwrap_or(DEFAULT_ITEMS)).unwrap_or(u32::MAX),
        limits,
        inputs_schema: inputs_schema.unwrap_or_else(|| json!({"type": "object"})),
        outputs_schema: outputs_schema.unwrap_or_else(|| json!({"type": "object"})),
        steps,
        file: file.to_owned(),
        schema_places,
        digest: hex(&Sha256::digest(source.as_bytes())),
        source: source.to_owned(),
        sync_if,
        result,
    };
    check::order(&mut template, &orders, fields.faults());
    fields.end(
        "id, version, name, description, trustLevelSupport, supportsPartialSuccess, threshold, \
         maxTimeoutMs, maxConcurrency, maxItems, limits, sync_if, inputsSchema, outputsSchema, \
         steps and result",
    );
    template
}

fn trust(fields: &mut Fields<'_>) -> Vec<String> {
    let Some(levels) = fields.texts("trustLevelSupport") else {
        return vec!["local".to_owned(), "remote".to_owned()];
    };
    for (level, place) in &levels {
        if !matches!(level.as_str(), "local" | "remote") {
            let message = format!("`{level}` is no trust level; there are local and remote");
            fields.fault(*place, message);
        }
    }
    levels.into_iter().map(|(level, _)| level).collect()
}

/// What the catalogue shows; concurrency, time and items are always among it.
fn limits(
    fields: &mut Fields<'_>,
    concurrency: u64,
    items: Option<u64>,
    timeout_ms: u64,
) -> Map<String, Value> {
    let mut limits = match fields.object("limits") {
        Some(Value::Object(limits)) => limits,
        Some(_) | None => Map::new(),
    };
    limits.insert("maxConcurrency".to_owned(), concurrency.into());
    limits.insert("maxTimeoutMs".to_owned(), timeout_ms.into());
    if let Some(items) = items {
        limits.insert("maxItems".to_owned(), items.into());
    }
    limits
}

fn steps(fields: &mut Fields<'_>) -> (Vec<Step>, Vec<Order>) {
    let place = fields.place();
    let nodes = fields.list("steps").unwrap_or_default();
    if nodes.is_empty() || nodes.len() > MOST_STEPS {
        fields.fault(place, format!("a template has 1 to {MOST_STEPS} `steps`"));
        return (Vec::new(), Vec::new());
    }
    let read = nodes.into_iter().map(|node| step(node, fields.faults()));
    read.unzip()
}

fn step(node: Node, faults: &mut Vec<Fault>) -> (Step, Order) {
    let mut fields = Fields::of(node, faults);
    let id = step_id(&mut fields);
    let place = fields.place();
    let after = fields.texts("after");
    let when = fields.expression("when");
    let always = fields.flag("always");
    let optional = fields.flag("optional");
    let items = fields.expression("for_each");
    let kind = match items {
        None => StepKind::Call(call(&mut fields)),
        Some(items) => {
            let concurrency = fields.expression("concurrency");
            let output = fields.shape("output");
            let steps = match fields.list("steps") {
                Some(nodes) => {
                    let inner = nodes.into_iter().map(|node| inner(node, fields.faults()));
                    inner.collect()
                }
                None => vec![InnerStep {
                    id: id.clone(),
                    always: false,
                    optional: false,
                    when: None,
                    call: call(&mut fields),
                }],
            };
            StepKind::Group(Group {
                steps,
                items,
                concurrency,
                output,
            })
        }
    };
    fields.end(
        "id, after, when, always, optional, tool, args, retry, timeoutMs, fail_when, output, \
         artifacts, and for_each with concurrency and steps",
    );
    let step = Step {
        id,
        after: Vec::new(),
        when,
        always,
        optional,
        kind,
    };
    (step, Order { place, after })
}

fn step_id(fields: &mut Fields<'_>) -> String {
    let id = fields.needed_text("id");
    if !id.is_empty() && !is_name(&id) {
        let place = fields.place();
        fields.fault(
            place,
            format!("`{id}` is no name of a step: small letters, digits and `_`"),
        );
    }
    id
}

fn inner(node: Node, faults: &mut Vec<Fault>) -> InnerStep {
    let mut fields = Fields::of(node, faults);
    let inner = InnerStep {
        id: step_id(&mut fields),
        when: fields.expression("when"),
        always: fields.flag("always"),
        optional: fields.flag("optional"),
        call: call(&mut fields),
    };
    fields.end(
        "id, when, always, optional, tool, args, retry, timeoutMs, fail_when, output and artifacts",
    );
    inner
}

fn call(fields: &mut Fields<'_>) -> CallStep {
    let place = fields.place_of("tool");
    let tool = fields.needed_text("tool");
    let arguments = fields.take("args");
    let arguments = match arguments {
        None => Shape::Fields(Vec::new()),
        Some(node) => match (&node.kind, Shape::read(&node)) {
            (Kind::Map(_), Ok(shape)) => shape,
            (_, Err(fault)) => {
                fields.faults().push(fault);
                Shape::Fields(Vec::new())
            }
            (_, Ok(_)) => {
                fields.fault(node.place, "`args` are fields");
                Shape::Fields(Vec::new())
            }
        },
    };
    CallStep {
        tool,
        place,
        arguments,
        retry: retry(fields),
        timeout_ms: fields.number("timeoutMs", 1, MOST_TIMEOUT_MS),
        fail_when: fields.expression("fail_when"),
        output: fields.shape("output"),
        artifacts: artifacts(fields),
    }
}

fn retry(fields: &mut Fields<'_>) -> Retry {
    let Some(node) = fields.take("retry") else {
        return Retry::default();
    };
    let mut inner = Fields::of(node, fields.faults());
    let on = inner.texts("on").unwrap_or_default();
    let retry = Retry {
        times: u32::try_from(inner.number("times", 0, 10).unwrap_or(1)).unwrap_or(1),
        delay_ms: inner.number("delayMs", 0, 60_000).unwrap_or(0),
        on: on.into_iter().map(|(code, _)| code).collect(),
    };
    inner.end("times, delayMs and on");
    retry
}

fn artifacts(fields: &mut Fields<'_>) -> Vec<ArtifactRule> {
    let nodes = fields.list("artifacts").unwrap_or_default();
    let mut rules = Vec::new();
    for node in nodes {
        let place = node.place;
        let mut inner = Fields::of(node, fields.faults());
        let name = inner.shape("name");
        let rule = ArtifactRule {
            name: name.unwrap_or(Shape::Fixed(Value::Null)),
            kind: inner
                .shape("type")
                .unwrap_or_else(|| Shape::Fixed("text".into())),
            mime: inner.shape("mimeType"),
            each: inner.expression("each"),
            when: inner.expression("when"),
            text: inner.shape("content"),
            base64: inner.shape("base64"),
        };
        if rule.name == Shape::Fixed(Value::Null) {
            inner.fault(place, "`name` is missing");
        }
        if rule.text.is_none() && rule.base64.is_none() {
            inner.fault(place, "an artifact has `content` or `base64`");
        }
        inner.end("name, type, mimeType, each, when, content and base64");
        rules.push(rule);
    }
    rules
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(is_part)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
