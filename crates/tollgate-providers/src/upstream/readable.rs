//! What a server offers beside tools, as it is listed here.
//!
//! Invariant: words for people hide nothing. What something is asked for by cannot be changed,
//! so an entry that hides something there is left out, and told.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tollgate_core::{Offers, PromptSpec, ResourceSpec, Spelled, TemplateSpec};
use tollgate_sanitize::visible;

use super::{names::Names, peer::Listed};

/// The longest entry that is taken over, in bytes.
pub(super) const LARGEST: usize = 256 << 10;

const HIDES: &str = "what it is asked for by holds hidden characters";

/// What is offered, and what is not.
pub(super) struct Readable {
    pub(super) offers: Offers,
    /// What is left out, and why.
    pub(super) refused: Vec<String>,
}

/// What a server offers beside tools.
pub(super) fn readable(names: &Names, listed: &Listed) -> Readable {
    let mut refused = Vec::new();
    let place = |uri: &str| hides(uri).or_else(|| names.refused_uri(uri));
    let resources = kept("resource", &listed.resources, &mut refused, |one| {
        let one: &ResourceSpec = one;
        (one.uri.clone(), place(&one.uri))
    });
    let templates = kept("template", &listed.templates, &mut refused, |one| {
        let one: &TemplateSpec = one;
        (one.uri_template.clone(), place(&one.uri_template))
    });
    let prompts = kept("prompt", &listed.prompts, &mut refused, |one| {
        let one: &PromptSpec = one;
        let arguments = one.arguments.iter().map(|argument| argument.name.as_str());
        let hides = hides(&one.name).or_else(|| arguments.into_iter().find_map(hides));
        (one.name.clone(), hides.or_else(|| names.refused(&one.name)))
    });
    let offers = Offers {
        resources: resources
            .map(|(mut one, spelled)| {
                show([&mut one.title, &mut one.description, &mut one.mime_type]);
                ResourceSpec {
                    spelled,
                    uri: names.uri(&one.uri),
                    name: visible(&one.name).into_owned(),
                    ..one
                }
            })
            .collect(),
        templates: templates
            .map(|(mut one, spelled)| {
                show([&mut one.title, &mut one.description, &mut one.mime_type]);
                TemplateSpec {
                    spelled,
                    uri_template: names.uri(&one.uri_template),
                    name: visible(&one.name).into_owned(),
                    ..one
                }
            })
            .collect(),
        prompts: prompts
            .map(|(mut one, spelled)| {
                show([&mut one.title, &mut one.description]);
                for argument in &mut one.arguments {
                    show([&mut argument.description]);
                }
                PromptSpec {
                    spelled,
                    name: names.prompt(&one.name),
                    ..one
                }
            })
            .collect(),
        base: names.rewrites().then(|| names.uri("")),
        completes: listed.completes,
        open_world: true,
        instructions: None,
    };
    Readable { offers, refused }
}

/// As much of a name as is told.
pub(super) fn cut(name: &str) -> String {
    name.chars().take(100).collect()
}

/// Takes out of words for people what they hide.
fn show<const N: usize>(words: [&mut Option<String>; N]) {
    for words in words.into_iter().flatten() {
        *words = visible(words).into_owned();
    }
}

fn hides(own: &str) -> Option<&'static str> {
    (visible(own) != own).then_some(HIDES)
}

/// Reads the entries that can be read and may be listed: `judge` says what one is asked for by,
/// and why it may not.
fn kept<T: DeserializeOwned>(
    kind: &str,
    entries: &[Box<RawValue>],
    refused: &mut Vec<String>,
    judge: impl Fn(&T) -> (String, Option<&'static str>),
) -> std::vec::IntoIter<(T, Spelled)> {
    let mut all = Vec::new();
    for raw in entries {
        let text = raw.get();
        if text.len() > LARGEST {
            let beginning = cut(&visible(text));
            refused.push(format!(
                "{kind} `{beginning}`: it is larger than {LARGEST} bytes"
            ));
            continue;
        }
        let Ok(one) = serde_json::from_str(text) else {
            continue;
        };
        match judge(&one) {
            (_, None) => all.push((one, Spelled::of(text))),
            (own, Some(why)) => {
                refused.push(format!("{kind} `{}`: {why}", cut(&visible(&own))));
            }
        }
    }
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::to_raw_value};

    use super::*;

    fn raw(said: &Value) -> Box<RawValue> {
        to_raw_value(said).unwrap()
    }

    #[test]
    fn what_is_said_of_resources_and_prompts_hides_nothing() {
        let said = |own: Value| {
            let mut all = json!({"name": "n", "title": "a\u{200b}b", "description": "c\u{e0041}d"});
            all.as_object_mut()
                .unwrap()
                .extend(own.as_object().unwrap().clone());
            vec![raw(&all)]
        };
        let listed = Listed {
            resources: said(json!({"uri": "test://one", "name": "o\u{200b}ne"})),
            templates: said(json!({"uriTemplate": "test://{id}", "name": "m\u{202e}any"})),
            prompts: said(json!({"arguments": [{"name": "x", "description": "e\u{202e}f"}]})),
            ..Listed::default()
        };
        let offers = readable(&Names::new("s", true), &listed).offers;
        let (resource, template) = (&offers.resources[0], &offers.templates[0]);
        let prompt = &offers.prompts[0];
        for (title, description) in [
            (&resource.title, &resource.description),
            (&template.title, &template.description),
            (&prompt.title, &prompt.description),
        ] {
            assert_eq!(title.as_deref(), Some("ab"));
            assert_eq!(description.as_deref(), Some("cd"));
        }
        assert_eq!((&*resource.name, &*template.name), ("one", "many"));
        let argument = prompt.arguments[0].description.as_deref();
        assert_eq!(argument, Some("ef"));
    }

    #[test]
    fn what_hides_something_where_it_is_asked_for_is_left_out_and_told() {
        let listed = Listed {
            resources: vec![
                raw(&json!({"uri": "test://o\u{200b}ne", "name": "n"})),
                raw(&json!({"uri": "test://two", "name": "n"})),
                raw(&json!({"uri": "x".repeat(LARGEST), "name": "n"})),
            ],
            templates: vec![raw(
                &json!({"uriTemplate": "test://{i\u{200b}d}", "name": "n"}),
            )],
            prompts: vec![
                raw(&json!({"name": "g\u{200b}reet"})),
                raw(&json!({"name": "ask", "arguments": [{"name": "a\u{e0041}"}]})),
                raw(&json!({"name": "plain", "arguments": [{"name": "a"}]})),
            ],
            ..Listed::default()
        };
        let found = readable(&Names::new("s", true), &listed);
        let uris: Vec<_> = found.offers.resources.iter().map(|one| &*one.uri).collect();
        assert_eq!(uris, ["mcp://s/test://two"]);
        assert_eq!(found.offers.templates, []);
        let prompts: Vec<_> = found.offers.prompts.iter().map(|one| &*one.name).collect();
        assert_eq!(prompts, ["mcp.s.plain"]);
        let told = [
            format!("resource `test://one`: {HIDES}"),
            format!("template `test://{{id}}`: {HIDES}"),
            format!("prompt `greet`: {HIDES}"),
            format!("prompt `ask`: {HIDES}"),
        ];
        assert!(
            told.iter().all(|one| found.refused.contains(one)),
            "{:?}",
            found.refused
        );
        assert_eq!(found.refused.len(), 5, "{:?}", found.refused);
    }

    #[test]
    fn a_server_without_a_prefix_offers_nothing_in_the_place_of_others() {
        let listed = Listed {
            resources: vec![raw(&json!({"uri": "mcp://two/test://one", "name": "n"}))],
            templates: vec![raw(&json!({"uriTemplate": "mcp://two/{x}", "name": "n"}))],
            prompts: vec![raw(&json!({"name": "mcp.two.greet"}))],
            ..Listed::default()
        };
        let bare = readable(&Names::new("s", false), &listed);
        assert!(bare.offers.is_empty());
        assert_eq!(bare.refused.len(), 3, "{:?}", bare.refused);
        let own = readable(&Names::new("s", true), &listed);
        assert_eq!(own.refused, Vec::<String>::new());
    }
}
