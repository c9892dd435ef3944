//! Views that fit into a context: as much as a budget allows, and what changed since the last.

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::Serialize;

use super::{content::Section, element::Element};
use crate::tab::Tab;

/// How many views of a tab can be asked about.
const KEPT: usize = 8;
/// How much they may hold together; the last one is kept whatever it holds.
const MOST_MARKS: usize = 40_000;

/// How much of a section names it once it is gone.
const BEGINS: usize = 60;

/// What earlier views of a tab showed, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Views {
    next: u64,
    kept: VecDeque<(u64, HashMap<String, u64>)>,
}

/// What changed since a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Which are new or different.
    pub changed: Vec<bool>,
    /// Names of those that are gone.
    pub removed: Vec<String>,
}

impl Views {
    /// Remembers what is shown now and gives it a number.
    fn remember(&mut self, shown: HashMap<String, u64>) -> u64 {
        self.next += 1;
        self.kept.push_back((self.next, shown));
        let marks = |kept: &VecDeque<(u64, HashMap<String, u64>)>| -> usize {
            kept.iter().map(|(_, shown)| shown.len()).sum()
        };
        while self.kept.len() > KEPT || (self.kept.len() > 1 && marks(&self.kept) > MOST_MARKS) {
            self.kept.pop_front();
        }
        self.next
    }

    fn compare(&self, since: u64, now: &[(String, u64)]) -> Option<Changes> {
        let (_, before) = self.kept.iter().find(|(number, _)| *number == since)?;
        let changed = now
            .iter()
            .map(|(name, mark)| before.get(name) != Some(mark));
        let names: std::collections::HashSet<&String> = now.iter().map(|(name, _)| name).collect();
        let mut removed: Vec<String> = before
            .keys()
            .filter(|name| !names.contains(name))
            .cloned()
            .collect();
        removed.sort();
        Some(Changes {
            changed: changed.collect(),
            removed,
        })
    }
}

impl Tab {
    /// Remembers these elements as a view; says its name, and what changed since another.
    ///
    /// A view that nobody remembers is as good as none: everything has changed since.
    pub fn view_of_elements(
        &self,
        elements: &[Element],
        since: Option<&str>,
    ) -> (String, Option<Changes>) {
        let marks = elements.iter().map(|it| {
            let state = (
                &it.label,
                &it.state.value,
                it.state.checked,
                it.state.enabled,
                it.state.visible,
            );
            (it.id.clone(), mark(&state))
        });
        self.view('e', marks.collect(), since)
    }

    /// The same for sections; those that are gone go by their first words.
    pub fn view_of_sections(
        &self,
        sections: &[Section],
        since: Option<&str>,
    ) -> (String, Option<Changes>) {
        let mut seen: HashMap<u64, u32> = HashMap::new();
        let marks = sections.iter().map(|it| {
            let text = mark(&(&it.tag, &it.text));
            let times = seen.entry(text).or_default();
            *times += 1;
            let begins: String = it.text.chars().take(BEGINS).collect();
            (format!("{text:x}.{times} {begins}"), 0)
        });
        let (view, changes) = self.view('c', marks.collect(), since);
        let changes = changes.map(|mut changes| {
            for name in &mut changes.removed {
                *name = name.split_once(' ').map_or("", |(_, text)| text).to_owned();
            }
            changes
        });
        (view, changes)
    }

    fn view(
        &self,
        kind: char,
        now: Vec<(String, u64)>,
        since: Option<&str>,
    ) -> (String, Option<Changes>) {
        let mut views = self
            .views
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let since = since.and_then(|since| since.strip_prefix(kind)?.parse().ok());
        let changes = since.and_then(|since| views.compare(since, &now));
        let number = views.remember(now.into_iter().collect());
        (format!("{kind}{number}"), changes)
    }
}

fn mark(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// About how many tokens a text is, rather too many than too few.
pub fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(3) + other
}

/// The text, or what of its beginning is at most so many tokens.
pub fn shortened(text: String, most: usize) -> String {
    if tokens(&text) <= most {
        return text;
    }
    let mut left = most.saturating_sub(1) * 3;
    let end = text.char_indices().find(|(_, c)| {
        let cost = if c.is_ascii() { 1 } else { 3 };
        let is_over = cost > left;
        left = left.saturating_sub(cost);
        is_over
    });
    let end = end.map_or(text.len(), |(at, _)| at);
    format!("{}…", &text[..end])
}

/// How many of the things, beginning with the first, fit into so many tokens; at least one.
pub fn fitting<T: Serialize>(things: &[T], budget: usize) -> usize {
    let mut left = budget;
    let mut fit = 0;
    for thing in things {
        let cost = serde_json::to_string(thing).map_or(usize::MAX, |text| tokens(&text) + 1);
        if cost > left && fit > 0 {
            break;
        }
        left = left.saturating_sub(cost);
        fit += 1;
    }
    fit
}

/// The order in which elements are worth showing: fields and buttons of the page itself first.
pub fn by_use(elements: &mut [Element]) {
    elements.sort_by_key(|it| {
        let what = match it.r#type {
            "textbox" | "searchbox" | "combobox" | "file" => 0,
            "button" | "checkbox" | "radio" => 1,
            "tab" | "menuitem" | "option" | "treeitem" => 2,
            _ => 3,
        };
        let place = match it.region {
            "dialog" => 0,
            "search" => 1,
            "main" => 2,
            "header" => 3,
            "navigation" => 4,
            "sidebar" => 5,
            _ => 6,
        };
        (
            !it.state.visible,
            place / 3,
            what,
            place,
            it.bounds.y,
            it.bounds.x,
        )
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_tells_what_changed_since_another() {
        let mut views = Views::default();
        let shown = |all: &[(&str, u64)]| -> Vec<(String, u64)> {
            all.iter()
                .map(|(name, mark)| ((*name).to_owned(), *mark))
                .collect()
        };
        let first = views.remember(shown(&[("a", 1), ("b", 1)]).into_iter().collect());
        let changes = views
            .compare(first, &shown(&[("b", 2), ("c", 1), ("a", 1)]))
            .unwrap();
        assert_eq!(changes.changed, [true, true, false]);
        assert!(changes.removed.is_empty());
        let changes = views.compare(first, &shown(&[("a", 1)])).unwrap();
        assert_eq!(
            (changes.changed, changes.removed),
            (vec![false], vec!["b".to_owned()])
        );
        for _ in 0..KEPT {
            views.remember(HashMap::new());
        }
        assert_eq!(views.compare(first, &[]), None);
    }

    #[test]
    fn views_of_huge_pages_make_room_for_each_other() {
        let mut views = Views::default();
        let huge = || (0..MOST_MARKS).map(|it| (it.to_string(), 0)).collect();
        let first = views.remember(huge());
        assert!(views.compare(first, &[]).is_some());
        let second = views.remember(huge());
        assert_eq!(views.compare(first, &[]), None);
        assert!(views.compare(second, &[]).is_some());
    }

    #[test]
    fn what_fits_is_never_nothing() {
        let long = "x".repeat(9000);
        assert_eq!(fitting(&[long.as_str(), "y"], 100), 1);
        assert_eq!(fitting(&["y", "y", long.as_str()], 100), 2);
        assert_eq!(fitting::<&str>(&[], 100), 0);
        assert_eq!(tokens("中文"), 2);
        assert_eq!(shortened("short".to_owned(), 2), "short");
        for text in ["x".repeat(900), "中".repeat(900), "x中".repeat(900)] {
            let short = shortened(text, 50);
            assert!((45..=50).contains(&tokens(&short)), "{short}");
        }
    }
}
