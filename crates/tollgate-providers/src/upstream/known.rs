//! What is known of a server's tools and of what it offers to read.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tollgate_core::{Offers, PromptSpec, ResourceSpec, Spelled, TemplateSpec, ToolSpec, offer};
use tollgate_sanitize::visible;

use super::{
    Upstream,
    lock::{Offering, Pinned, Standing, oddities},
    mirror,
    names::Names,
    offered::{self, Offered},
    peer::Listed,
    settings::Transport,
    specs::{self, Definition},
};

/// Odd things of one server that an operator is told of.
const MOST_TOLD: usize = 1000;

/// Everything a server said about itself, ready for use.
#[derive(Default)]
pub(super) struct Known {
    pub(super) tools: BTreeMap<String, Arc<Entry>>,
    pub(super) offers: Offers,
    /// Whether it is known to offer something to read, but not what.
    pub(super) reads: bool,
}

/// One tool.
pub(super) struct Entry {
    /// The server's own name for it.
    pub(super) own: String,
    pub(super) spec: ToolSpec,
    /// How long it may be silent.
    pub(super) timeout: Duration,
    /// Why it cannot be used until a human has looked at it.
    pub(super) quarantined: Option<String>,
    /// Arguments that headers repeat: property and header.
    pub(super) mirrored: Vec<(String, String)>,
    /// Whether it has to be called as a task.
    pub(super) tasks: AtomicBool,
}

impl Upstream {
    /// Takes over what a server lists.
    pub(super) fn learn(&self, listed: Arc<Listed>) {
        for unread in &listed.unread {
            self.journal("mcp.list.failed", unread);
        }
        let mut told = Vec::new();
        let mut seen = HashSet::new();
        for raw in &listed.tools {
            let Ok(definition) = Definition::read(raw.get()) else {
                let shown: String = raw.get().chars().take(200).collect();
                self.journal("mcp.list_tools.failed", &format!("not a tool: {shown}"));
                continue;
            };
            if seen.insert(definition.name.clone()) {
                self.look_twice(&definition.name, raw.get());
                told.push((definition, &**raw));
            }
        }
        for unknown in self
            .settings
            .tools
            .keys()
            .filter(|name| !seen.contains(*name))
        {
            let said = format!("the configuration speaks of `{unknown}`, which it does not offer");
            self.tell_once("mcp.tool.unknown", said);
        }
        for odd in offered::odd(&listed.resources, &listed.templates, &listed.prompts) {
            let said = format!("{} `{}`: {}", odd.kind, odd.name, odd.notes.join(", "));
            self.tell_once("mcp.offer.odd", said);
        }
        let offers = offers(&self.names, &listed);
        let offering = Offering {
            is_any: !offers.is_empty(),
            kept: Offered::of(&listed).filter(|_| !offers.is_empty()),
        };
        let tools = self.reviewed(&told, offering);
        let known = Known {
            tools,
            offers,
            reads: false,
        };
        let mut place = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::new(known));
        drop(place);
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(listed);
    }

    /// Tells the operator of a tool that hides something or commands, once in this process.
    fn look_twice(&self, name: &str, raw: &str) {
        let odd = oddities(raw);
        if odd.is_empty() {
            return;
        }
        let name: String = name.chars().take(100).collect();
        self.tell_once("mcp.tool.odd", format!("`{name}`: {}", odd.join(", ")));
    }

    fn tell_once(&self, event: &'static str, said: String) {
        let mut told = self.odd.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = told.len() < MOST_TOLD && told.insert(said.clone());
        drop(told);
        if is_news {
            self.journal(event, &said);
        }
    }

    /// Looks again at what was listed: a human may have accepted something.
    pub(super) fn learn_again(&self) {
        // Learning takes the same lock, so it must be free by then.
        let listed = {
            let place = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            place.clone()
        };
        if let Some(listed) = listed {
            self.learn(listed);
            self.notice(tollgate_core::Notice::ListsChanged);
        }
    }

    /// What is known of a server that has not been started yet.
    pub(super) fn recall(&self, pinned: &Pinned) {
        if self.lock.is_none() {
            return;
        }
        let accepted = pinned
            .tools
            .values()
            .filter_map(|pin| pin.accepted.as_ref());
        let entries = accepted.filter_map(|told| {
            let definition = Definition::read(told.definition.get()).ok()?;
            self.entry(&definition, None)
        });
        let offered = pinned.offered.as_ref().map(Offered::listed);
        let known = Known {
            tools: entries.map(named).collect(),
            reads: pinned.offers && offered.is_none(),
            offers: offered.map_or_else(Offers::default, |listed| offers(&self.names, &listed)),
        };
        // Tools that wait are only listed once the server has told of them again.
        let is_only_read = pinned.tools.is_empty() && !known.offers.is_empty();
        if !known.tools.is_empty() || is_only_read {
            let mut place = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            *place = Some(Arc::new(known));
        }
    }

    /// The tools as they may be used: what differs from its pin is set aside.
    fn reviewed(
        &self,
        told: &[(Definition, &RawValue)],
        offers: Offering,
    ) -> BTreeMap<String, Arc<Entry>> {
        let named_raw: Vec<(String, &RawValue)> = told
            .iter()
            .map(|(definition, raw)| (definition.name.clone(), *raw))
            .collect();
        let server = &self.settings;
        let standings = match &self.lock {
            Some(lock) => match lock.review(&server.name, &named_raw, server.pin, offers) {
                Ok(standings) => Some(standings),
                Err(error) => {
                    self.journal(
                        "mcp.lock.failed",
                        &format!("nothing can be pinned: {error}"),
                    );
                    None
                }
            },
            None => None,
        };
        let standing = |name: &str| match (&standings, &self.lock) {
            (Some(standings), _) => standings.get(name).copied().unwrap_or(Standing::New),
            // What cannot be compared cannot be trusted.
            (None, Some(_)) => Standing::Changed,
            (None, None) => Standing::Accepted,
        };
        let entries = told.iter().filter_map(|(definition, _)| {
            self.entry(definition, aside(standing(&definition.name), &server.name))
        });
        entries.map(named).collect()
    }

    fn entry(&self, definition: &Definition, quarantined: Option<String>) -> Option<Entry> {
        let server = &self.settings;
        let own = server.tools.get(&definition.name);
        if own.is_some_and(|own| own.hidden) {
            return None;
        }
        let timeout = own.and_then(|own| own.timeout).unwrap_or(server.timeout);
        let mirrored = match mirror::properties(definition.input_schema.as_ref()) {
            Ok(mirrored) => mirrored,
            // Only messages with headers can go wrong by them.
            Err(_) if matches!(server.transport, Transport::Stdio { .. }) => Vec::new(),
            Err(why) => {
                let name: String = definition.name.chars().take(100).collect();
                self.journal("mcp.tool.refused", &format!("`{name}`: {why}"));
                return None;
            }
        };
        Some(Entry {
            own: definition.name.clone(),
            spec: specs::spec(server, &self.names, definition, quarantined.is_some())?,
            quarantined,
            timeout: timeout.min(server.max_timeout),
            mirrored,
            tasks: AtomicBool::new(definition.needs_task()),
        })
    }
}

fn named(entry: Entry) -> (String, Arc<Entry>) {
    (entry.spec.name.as_str().to_owned(), Arc::new(entry))
}

/// Why a tool is set aside.
fn aside(standing: Standing, server: &str) -> Option<String> {
    let what = match standing {
        Standing::Accepted => return None,
        Standing::New => "nobody has accepted it yet",
        Standing::Changed => "it is not what was accepted",
    };
    Some(format!(
        "{what}: `tollgate mcp diff {server}` shows it, `tollgate mcp accept {server}` releases it"
    ))
}

fn offers(names: &Names, listed: &Listed) -> Offers {
    let resources =
        read(&listed.resources)
            .into_iter()
            .map(|(one, spelled): (ResourceSpec, Spelled)| ResourceSpec {
                spelled,
                uri: names.uri(&one.uri),
                title: shown(one.title),
                description: shown(one.description),
                ..one
            });
    let templates =
        read(&listed.templates)
            .into_iter()
            .map(|(one, spelled): (TemplateSpec, Spelled)| TemplateSpec {
                spelled,
                uri_template: names.uri(&one.uri_template),
                title: shown(one.title),
                description: shown(one.description),
                ..one
            });
    let prompts = read(&listed.prompts)
        .into_iter()
        .map(|(one, spelled): (PromptSpec, Spelled)| PromptSpec {
            spelled,
            name: names.prompt(&one.name),
            title: shown(one.title),
            description: shown(one.description),
            arguments: one.arguments.into_iter().map(argument).collect(),
            ..one
        });
    Offers {
        resources: resources.collect(),
        templates: templates.collect(),
        prompts: prompts.collect(),
        base: names.rewrites().then(|| names.uri("")),
        completes: listed.completes,
        open_world: true,
    }
}

/// Words for people, which hide nothing.
fn shown(words: Option<String>) -> Option<String> {
    words.map(|words| visible(&words).into_owned())
}

fn argument(one: offer::PromptArgument) -> offer::PromptArgument {
    offer::PromptArgument {
        description: shown(one.description),
        ..one
    }
}

/// Reads the entries that can be read.
fn read<T: DeserializeOwned>(entries: &[Box<RawValue>]) -> Vec<(T, Spelled)> {
    let entries = entries.iter();
    entries
        .filter_map(|raw| {
            Some((
                serde_json::from_str(raw.get()).ok()?,
                Spelled::of(raw.get()),
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::to_raw_value};

    use super::*;

    #[test]
    fn what_is_said_of_resources_and_prompts_hides_nothing() {
        let said = |own: Value| {
            let mut all = json!({"name": "n", "title": "a\u{200b}b", "description": "c\u{e0041}d"});
            all.as_object_mut()
                .unwrap()
                .extend(own.as_object().unwrap().clone());
            vec![to_raw_value(&all).unwrap()]
        };
        let listed = Listed {
            resources: said(json!({"uri": "test://one"})),
            templates: said(json!({"uriTemplate": "test://{id}"})),
            prompts: said(json!({"arguments": [{"name": "x", "description": "e\u{202e}f"}]})),
            ..Listed::default()
        };
        let offers = offers(&Names::new("s", true), &listed);
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
        let argument = prompt.arguments[0].description.as_deref();
        assert_eq!(argument, Some("ef"));
    }
}
