//! A base and its nodes as plain data, for whoever wants to look and not to walk.

use serde_json::{Map, Value, json};

use crate::base::{Base, Link, Phrase, SlotKind, Target};

impl Base {
    /// What a base is and what it asks for, without its nodes.
    pub fn describe(&self) -> Value {
        let slots: Map<String, Value> = self
            .slots
            .iter()
            .map(|slot| {
                let kind = match &slot.kind {
                    SlotKind::Text { .. } => "text",
                    SlotKind::Number { .. } => "number",
                    SlotKind::Choice(_) => "choice",
                    SlotKind::Date { .. } => "date",
                    SlotKind::YesNo { .. } => "yes_no",
                };
                (slot.name.clone(), Value::from(kind))
            })
            .collect();
        let named = self.languages.iter().filter(|name| !name.is_empty());
        json!({
            "id": self.id,
            "title": self.all(self.sentences.title),
            "description": self.all(self.sentences.description),
            "version": self.version,
            "languages": named.collect::<Vec<_>>(),
            "nodes": self.nodes.len(),
            "root": self.id_of(self.root),
            "slots": slots,
        })
    }

    /// Everything about one node, in every language.
    pub fn describe_node(&self, id: &str) -> Option<Value> {
        let node = self.at(self.node(id)?);
        let options: Vec<Value> = self
            .choices(node)
            .iter()
            .map(|choice| {
                let mut option = json!({
                    "id": self.text(choice.id),
                    "description": self.all(choice.description),
                    "next_node": self.leads(&choice.link),
                });
                if let Some(when) = choice.when() {
                    option["when"] = Value::from(when.show(self));
                }
                self.add_return(&mut option, &choice.link);
                option
            })
            .collect();
        let mut shown = json!({
            "id": id,
            "title": self.all(node.title),
            "response": self.all(node.response),
            "options": options,
            "keywords": self.keywords(node.words()).collect::<Vec<_>>(),
        });
        if let Some((_, slot)) = self.asked(node) {
            shown["ask"] = Value::from(slot.name.as_str());
        }
        if let Some(link) = node.link() {
            shown["next_node"] = self.leads(link);
            self.add_return(&mut shown, link);
        }
        Some(shown)
    }

    /// A text in every language it is written in.
    fn all(&self, phrase: Phrase) -> Value {
        match self.spoken(phrase) {
            [] => Value::Null,
            [only] if only.language == 0 => Value::from(self.text(only.text)),
            several => {
                let text = |one: &crate::base::Spoken| {
                    let name = self.languages.get(usize::from(one.language));
                    let name = name.filter(|name| !name.is_empty());
                    let name = name.map_or("und", String::as_str);
                    (name.to_owned(), Value::from(self.text(one.text)))
                };
                Value::Object(several.iter().map(text).collect())
            }
        }
    }

    fn leads(&self, link: &Link) -> Value {
        match link.target {
            Target::End | Target::Broken => Value::Null,
            Target::Node(node) => Value::from(self.id_of(node)),
            Target::Branches(number) => {
                let branches = self.branches.get(number as usize).into_iter().flatten();
                let branch = |branch: &crate::base::Branch| {
                    let mut shown = json!({"next_node": self.leads(&branch.link)});
                    if let Some(when) = &branch.when {
                        shown["when"] = Value::from(when.show(self));
                    }
                    shown
                };
                Value::Array(branches.map(branch).collect())
            }
        }
    }

    fn add_return(&self, shown: &mut Value, link: &Link) {
        if let Some(then) = link.then {
            shown["then"] = Value::from(self.id_of(then));
        }
    }
}
