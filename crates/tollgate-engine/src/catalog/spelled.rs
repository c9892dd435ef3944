//! Names of tools inside sentences, spelled as their reader was listed them.

use std::borrow::Cow;

use tollgate_core::Spelling;

use super::Catalog;

impl Catalog {
    /// The same text with every tool's canonical id in this spelling.
    pub fn spelled<'a>(&self, text: &'a str, spelling: Spelling) -> Cow<'a, str> {
        let is_the_same = match spelling {
            Spelling::Canonical => true,
            Spelling::Dotted => !self.has_long_names && self.listed_as.is_empty(),
            Spelling::Safe => !text.contains('.'),
        };
        if is_the_same {
            return Cow::Borrowed(text);
        }
        let mut spelled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_of_name) {
            let length = rest[start..]
                .find(|c: char| !is_of_name(c))
                .unwrap_or(rest.len() - start);
            let (word, after) = rest[start..].split_at(length);
            let name = word.trim_end_matches('.');
            spelled.push_str(&rest[..start]);
            match self.tools.get(name) {
                Some(listing) => spelled.push_str(&self.name_of(&listing.spec.name, spelling)),
                None => spelled.push_str(name),
            }
            spelled.push_str(&word[name.len()..]);
            rest = after;
        }
        spelled.push_str(rest);
        Cow::Owned(spelled)
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')
}
