//! How much of a page an answer shows, where the rest of it begins, and all of it for whoever
//! searches.
//!
//! Invariant: cursors leave nothing out. What one answer ends with, in the middle of a text too,
//! the next begins behind.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use tollgate_browser::{Dialog, Section, fitting, shortened, tokens};
use tollgate_core::{Payload, ProviderError, ToolResult, toolset::Output};

/// What all of a view may cost, in tokens.
pub(super) const BUDGET: usize = 4000;
/// What of it what is not the list itself may cost: addresses and titles are as long as pages like.
const URL: usize = 400;
const TITLE: usize = 150;
const METADATA: usize = 450;
const ONE_METADATA: usize = 150;
const MESSAGE: usize = 500;
/// What comes to a view when its list does: commas and a cursor.
const EDGE: usize = 30;
/// How many parts a page is read in at most.
const MOST_PARTS: usize = 10_000;
/// How large a view can be that is kept to be searched, in bytes: a part of a page, and what
/// frames of other sites say beside it.
const WHOLE: usize = 4 << 20;

/// A view, and all of the page if the view is only a part.
pub(super) struct View<T> {
    pub(super) shown: T,
    pub(super) whole: Option<Value>,
}

impl<T: Serialize> View<T> {
    /// The view as an answer.
    pub(super) fn answer(self) -> Result<Output<T>, ProviderError> {
        let Some(whole) = self.whole else {
            return Ok(Output::Data(self.shown));
        };
        let payload = Payload::from_serialize(&self.shown).map_err(ProviderError::unavailable)?;
        let result = ToolResult {
            whole: Some(Box::new(Payload::from(whole))),
            ..ToolResult::ok(payload)
        };
        Ok(Output::Result(Box::new(result)))
    }
}

/// Where a view begins: an item of a part of the page, and how many characters of it have been
/// shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) part: usize,
    item: usize,
    skip: usize,
}

impl Start {
    pub(super) fn of(cursor: Option<&str>) -> Result<Self, ProviderError> {
        let Some(cursor) = cursor else {
            return Ok(Self::default());
        };
        let (part, item) = cursor.split_once('/').unwrap_or(("0", cursor));
        let (item, skip) = item.split_once('.').unwrap_or((item, "0"));
        match (part.parse(), item.parse(), skip.parse()) {
            (Ok(part), Ok(item), Ok(skip)) if part <= MOST_PARTS => Ok(Self { part, item, skip }),
            _ => {
                let why = "`cursor` is one that an earlier answer gave";
                let mut error = ProviderError::rejected(why);
                error.document_code = Some("INVALID_PARAMETER".to_owned());
                Err(error)
            }
        }
    }

    fn cursor(self, item: usize, skip: usize) -> String {
        let part = match self.part {
            0 => String::new(),
            part => format!("{part}/"),
        };
        match skip {
            0 => format!("{part}{item}"),
            _ => format!("{part}{item}.{skip}"),
        }
    }

    /// Where the next part of the page begins.
    pub(super) fn next_part(self) -> String {
        let part = self.part + 1;
        Self { part, ..self }.cursor(0, 0)
    }
}

/// As many as fit, beginning at the cursor, and where the others begin.
pub(super) fn page<T: Serialize>(
    all: Vec<T>,
    start: Start,
    budget: usize,
    most: usize,
) -> (Vec<T>, Option<String>) {
    let total = all.len();
    let rest: Vec<T> = all.into_iter().skip(start.item).collect();
    let fit = fitting(&rest, budget).min(most);
    let shown: Vec<T> = rest.into_iter().take(fit).collect();
    let end = start.item.min(total) + shown.len();
    (shown, (end < total).then(|| start.cursor(end, 0)))
}

/// How much text is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub(super) sections: usize,
    /// Of all of them.
    pub(super) characters: usize,
}

/// The same for text.
pub(super) fn text_page(
    all: Vec<Section>,
    start: Start,
    budget: usize,
    most: Most,
) -> (Vec<Section>, Option<String>) {
    let mut rest: Vec<Section> = all.into_iter().skip(start.item).collect();
    if let Some(first) = rest.first_mut().filter(|_| start.skip > 0) {
        first.text = first.text.chars().skip(start.skip).collect();
    }
    let (total, fit) = (rest.len(), fitting(&rest, budget).min(most.sections));
    let (mut left, mut shown) = (most.characters, Vec::new());
    for (number, mut section) in rest.into_iter().take(fit).enumerate() {
        let item = start.item + number;
        let skipped = if number == 0 { start.skip } else { 0 };
        if left == 0 {
            return (shown, Some(start.cursor(item, skipped)));
        }
        let length = section.text.chars().count();
        if length > left {
            section.text = section.text.chars().take(left).collect();
            shown.push(section);
            return (shown, Some(start.cursor(item, skipped + left)));
        }
        left -= length;
        shown.push(section);
    }
    let next = (shown.len() < total).then(|| start.cursor(start.item + shown.len(), 0));
    (shown, next)
}

/// What is left for the list of a view that costs so much without it.
pub(super) fn left_beside<T: Serialize>(frame: &T, budget: usize) -> usize {
    let cost = serde_json::to_string(frame).map_or(budget, |text| tokens(&text));
    budget.saturating_sub(cost + EDGE)
}

pub(super) fn short_url(url: String) -> String {
    shortened(url, URL)
}

pub(super) fn short_title(title: String) -> String {
    shortened(title, TITLE)
}

pub(super) fn short_dialog(dialog: Dialog) -> Dialog {
    Dialog {
        message: shortened(dialog.message, MESSAGE),
        default_value: dialog.default_value.map(|it| shortened(it, TITLE)),
        url: short_url(dialog.url),
        ..dialog
    }
}

/// What a page says of itself, as far as it is not too much.
pub(super) fn short_metadata(all: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut left = METADATA;
    let mut kept = BTreeMap::new();
    for (name, value) in all {
        let value = shortened(value, ONE_METADATA.min(left));
        let cost = tokens(&value) + tokens(&name);
        if cost <= left {
            left -= cost;
            kept.insert(name, value);
        }
    }
    kept
}

/// The things that fit into so many tokens, and how many do not, if any.
pub(super) fn some<T: Serialize>(mut all: Vec<T>, budget: usize) -> (Vec<T>, Option<usize>) {
    let total = all.len();
    all.truncate(fitting(&all, budget));
    let left_out = total - all.len();
    (all, (left_out > 0).then_some(left_out))
}

/// All of a list, to be searched; says so if even that has an end.
pub(super) fn whole_list(all: impl Iterator<Item = Value>) -> (Vec<Value>, bool) {
    let mut left = WHOLE;
    let mut kept = Vec::new();
    for one in all {
        let size = one.to_string().len();
        if size > left {
            return (kept, true);
        }
        left -= size;
        kept.push(one);
    }
    (kept, false)
}

/// A section of a view that is kept.
pub(super) fn whole_section(section: &Section) -> Value {
    let mut whole = json!({"tag": section.tag, "text": section.text});
    if let Some(heading) = &section.heading {
        whole["heading"] = heading.as_str().into();
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(texts: &[String]) -> Vec<Section> {
        let section = |text: &String| Section {
            tag: "p".to_owned(),
            text: text.clone(),
            attention: 0.5,
            heading: None,
            main: true,
        };
        texts.iter().map(section).collect()
    }

    #[test]
    fn pages_follow_one_another_without_gaps() {
        let all: Vec<String> = (0..1000)
            .map(|it| format!("number {it} {}", "x".repeat(50)))
            .collect();
        let (mut seen, mut start) = (Vec::new(), Start::default());
        loop {
            let (shown, next) = page(all.clone(), start, 900, usize::MAX);
            seen.extend(shown);
            match next {
                Some(next) => start = Start::of(Some(&next)).unwrap(),
                None => break,
            }
        }
        assert_eq!(seen, all);
        let (shown, next) = page(all, Start::default(), usize::MAX, 900);
        assert_eq!((shown.len(), next.as_deref()), (900, Some("900")));
        for bad in ["x", "", "1.x", "-1", "1.2.3", "1/", "/1", "1/2/3"] {
            assert!(Start::of(Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn text_that_is_cut_in_the_middle_goes_on_there() {
        let texts: Vec<String> = (0..40).map(|it| format!("{it} 文字 and words")).collect();
        let all = sections(&texts);
        let whole: String = texts.concat();
        for (characters, sections) in [(1, 9), (7, 9), (16, 1), (33, 2), (500, 9), (500, 50)] {
            let most = Most {
                sections,
                characters,
            };
            for budget in [20, 200, usize::MAX] {
                let (mut read, mut start) = (String::new(), Start::default());
                loop {
                    let (shown, next) = text_page(all.clone(), start, budget, most);
                    assert!(shown.len() <= sections, "{most:?}");
                    let said: String = shown.into_iter().map(|it| it.text).collect();
                    assert!(said.chars().count() <= characters, "{said}");
                    read.push_str(&said);
                    match next {
                        Some(next) => start = Start::of(Some(&next)).unwrap(),
                        None => break,
                    }
                }
                assert_eq!(read, whole, "{most:?} {budget}");
            }
        }
        let exact = Most {
            sections: 50,
            characters: texts[0].chars().count(),
        };
        let (_, next) = text_page(all, Start::default(), usize::MAX, exact);
        assert_eq!(next.as_deref(), Some("1"), "the next one begins whole");
    }

    #[test]
    fn what_a_page_says_of_itself_has_an_end() {
        let names = ["author", "description", "keywords", "og:title", "og:type"];
        let all = names.map(|name| (name.to_owned(), "字".repeat(300)));
        let kept = short_metadata(all.into_iter().collect());
        assert!(tokens(&serde_json::to_string(&kept).unwrap()) <= METADATA + 60);
        assert!(kept["author"].ends_with('…') && kept.len() >= 2);
    }
}
