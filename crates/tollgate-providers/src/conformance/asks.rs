//! Tools that cannot go on before the client has answered something.
//!
//! An answer that is missing or makes no sense is asked for again.

use serde_json::{Value, json};
use tollgate_core::{
    Answer, AskKinds, CallContext, Event, InputAsk, InputRequest, InputResponses, Payload,
};

use super::answers::text;

/// What a tool that asks does next.
pub(super) enum Step {
    /// It asks, and wants this back with the answers.
    Ask(Vec<(&'static str, InputAsk)>, String),
    /// It has heard enough.
    Say(String),
}

/// Serves one of the tools below; nothing if it is none of them.
pub(super) fn call(tool: &str, arguments: &Value, cx: &CallContext) -> Option<Answer> {
    let heard = Heard(cx.responses.as_ref());
    if tool == "test_streaming_elicitation" {
        cx.events.emit(Event::Progress {
            done: 1.0,
            total: Some(2.0),
            message: Some("about to ask".to_owned()),
        });
    }
    Some(match step(tool, arguments, &heard, cx.asks)? {
        Step::Ask(asks, state) => ask(asks, state),
        Step::Say(said) => text(&said),
    })
}

pub(super) fn ask(asks: Vec<(&'static str, InputAsk)>, state: String) -> Answer {
    let asks = asks.into_iter().map(|(id, ask)| (id.to_owned(), ask));
    Answer::NeedsInput(InputRequest {
        asks: asks.collect(),
        state: state.into_bytes(),
    })
}

fn step(tool: &str, arguments: &Value, heard: &Heard<'_>, kinds: AskKinds) -> Option<Step> {
    let given = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    Some(match tool {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            one("user_name", ask_name("What is your name?"), || {
                let name = heard.field("user_name", "name")?;
                Some(format!("Hello, {name}!"))
            })
        }
        "test_input_required_result_sampling" | "test_missing_capability" => one(
            "capital_question",
            ask_model("What is the capital of France?", 100),
            || {
                let said = heard.message("capital_question")?;
                Some(format!("the model says: {said}"))
            },
        ),
        "test_input_required_result_list_roots" => one("client_roots", ask_roots(), || {
            let roots = heard.roots("client_roots")?;
            Some(format!("the roots are {roots}"))
        }),
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => confirmed(heard),
        "test_input_required_result_multiple_inputs" => all_at_once(heard),
        "test_input_required_result_multi_round" => in_rounds(heard),
        "test_input_required_result_capabilities" => whatever_is_possible(heard, kinds),
        "test_sampling" => one("answer", ask_model(&given("prompt"), 100), || {
            let said = heard.message("answer")?;
            Some(format!("LLM response: {said}"))
        }),
        "test_elicitation" => one("answer", ask_contact(&given("message")), || {
            Some(format!("User response: {}", heard.form("answer")?))
        }),
        "test_elicitation_sep1034_defaults" => one("answer", ask_defaults(), || {
            Some(format!("Elicitation completed: {}", heard.form("answer")?))
        }),
        "test_elicitation_sep1330_enums" => one("answer", ask_choices(), || {
            Some(format!("Elicitation completed: {}", heard.form("answer")?))
        }),
        _ => return None,
    })
}

/// Says what follows from the answer, or asks this one thing.
fn one(id: &'static str, ask: InputAsk, said: impl FnOnce() -> Option<String>) -> Step {
    said().map_or_else(|| Step::Ask(vec![(id, ask)], String::new()), Step::Say)
}

fn confirmed(heard: &Heard<'_>) -> Step {
    const STATE: &str = "waiting for a confirmation";
    if heard.state() == STATE && heard.accepted("confirm").is_some() {
        return Step::Say("state-ok".to_owned());
    }
    let form = form(
        "Please confirm",
        json!({"ok": {"type": "boolean"}}),
        &["ok"],
    );
    Step::Ask(vec![("confirm", form)], STATE.to_owned())
}

fn all_at_once(heard: &Heard<'_>) -> Step {
    let said = || {
        let name = heard.field("user_name", "name")?;
        let greeting = heard.message("greeting")?;
        let roots = heard.roots("client_roots")?;
        Some(format!("{greeting} {name}, your roots are {roots}"))
    };
    let asks = vec![
        ("user_name", ask_name("What is your name?")),
        ("greeting", ask_model("Generate a greeting", 50)),
        ("client_roots", ask_roots()),
    ];
    said().map_or_else(|| Step::Ask(asks, "all at once".to_owned()), Step::Say)
}

/// The first answer travels in the state, because the client sends only the newest one.
fn in_rounds(heard: &Heard<'_>) -> Step {
    let state = heard.state();
    let name = match state.strip_prefix("name ") {
        Some(name) => Some(name.to_owned()),
        None => heard.field("step1", "name"),
    };
    let Some(name) = name else {
        let first = ask_name("Step 1: What is your name?");
        return Step::Ask(vec![("step1", first)], "begun".to_owned());
    };
    match heard.field("step2", "color") {
        Some(color) => Step::Say(format!("{name} likes {color}")),
        None => {
            let color = form(
                "Step 2: What is your favorite color?",
                json!({"color": {"type": "string"}}),
                &["color"],
            );
            Step::Ask(vec![("step2", color)], format!("name {name}"))
        }
    }
}

fn whatever_is_possible(heard: &Heard<'_>, kinds: AskKinds) -> Step {
    let mut asks = Vec::new();
    if kinds.elicitation {
        asks.push(("user_name", ask_name("What is your name?")));
    }
    if kinds.sampling {
        asks.push(("greeting", ask_model("Generate a greeting", 50)));
    }
    if kinds.roots {
        asks.push(("client_roots", ask_roots()));
    }
    let missing = asks.iter().any(|(id, _)| heard.answer(id).is_none());
    if missing {
        return Step::Ask(asks, String::new());
    }
    Step::Say(format!("{} questions were answered", asks.len()))
}

/// A form for the human.
pub(super) fn form(message: &str, properties: Value, required: &[&str]) -> InputAsk {
    InputAsk::Elicitation(Payload::from(json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
        },
    })))
}

fn ask_name(message: &str) -> InputAsk {
    form(message, json!({"name": {"type": "string"}}), &["name"])
}

fn ask_contact(message: &str) -> InputAsk {
    let fields = json!({
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    });
    form(message, fields, &["username", "email"])
}

fn ask_defaults() -> InputAsk {
    let fields = json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    });
    form("Please check these values", fields, &[])
}

fn ask_choices() -> InputAsk {
    let titled = json!([
        {"const": "value1", "title": "First"},
        {"const": "value2", "title": "Second"},
        {"const": "value3", "title": "Third"},
    ]);
    let plain = json!(["option1", "option2", "option3"]);
    let fields = json!({
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    });
    form("Please choose", fields, &[])
}

fn ask_model(prompt: &str, max_tokens: u32) -> InputAsk {
    InputAsk::Sampling(Payload::from(json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": max_tokens,
    })))
}

fn ask_roots() -> InputAsk {
    InputAsk::Roots(Payload::empty_object())
}

/// What the client has answered so far.
pub(super) struct Heard<'a>(pub(super) Option<&'a InputResponses>);

impl Heard<'_> {
    fn state(&self) -> &str {
        self.0
            .and_then(|heard| std::str::from_utf8(&heard.state).ok())
            .unwrap_or_default()
    }

    fn answer(&self, id: &str) -> Option<&Value> {
        let answer = self.0?.answers.get(id)?.value();
        answer.is_object().then_some(answer)
    }

    /// What was filled in, if the human agreed.
    fn accepted(&self, id: &str) -> Option<&Value> {
        let answer = self.answer(id)?;
        (answer["action"] == "accept").then(|| &answer["content"])
    }

    /// One box that was ticked or not.
    pub(super) fn chosen(&self, id: &str, name: &str) -> Option<bool> {
        self.accepted(id)?[name].as_bool()
    }

    /// One text that was filled in.
    pub(super) fn field(&self, id: &str, name: &str) -> Option<String> {
        self.accepted(id)?[name].as_str().map(str::to_owned)
    }

    /// How a form was answered, whatever the human chose.
    fn form(&self, id: &str) -> Option<String> {
        let answer = self.answer(id)?;
        let action = answer["action"].as_str()?;
        Some(format!("action={action}, content={}", answer["content"]))
    }

    fn message(&self, id: &str) -> Option<String> {
        let content = &self.answer(id)?["content"];
        content["text"].as_str().map(str::to_owned)
    }

    fn roots(&self, id: &str) -> Option<String> {
        let roots = self.answer(id)?["roots"].as_array()?;
        let uris = roots.iter().filter_map(|root| root["uri"].as_str());
        Some(uris.collect::<Vec<_>>().join(", "))
    }
}
