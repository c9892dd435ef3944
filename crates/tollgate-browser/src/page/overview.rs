//! What kind of page it is, and what one would do there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::element::Element;
use crate::{error::Error, tab::Tab};

/// What a page is for.
pub type PageType = &'static str;

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Region {
    /// `header`, `navigation`, `main`, `sidebar`, `footer`, `search` or `dialog`.
    pub name: &'static str,
    /// How many elements are in it.
    pub elements: usize,
}

/// A page in short.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Its title.
    pub title: String,
    /// What it is for.
    pub r#type: PageType,
    /// What it says of itself.
    pub summary: String,
    /// Its parts.
    pub regions: Vec<Region>,
    /// What one would do there, with the elements for it.
    pub intents: Vec<(&'static str, Vec<String>)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    title: String,
    description: String,
    items: usize,
    blocks: usize,
    forms: usize,
    passwords: usize,
    searches: usize,
}

const COUNT: &str = "() => { \
    const count = (selector) => document.querySelectorAll(selector).length; \
    const meta = document.querySelector('meta[name=description],meta[property=\"og:description\"]'); \
    const head = document.querySelector('h1'); \
    return { title: document.title.slice(0, 500), \
        description: ((meta && meta.content) || (head && head.innerText) || '').trim().slice(0, 300), \
        items: count('li'), blocks: count('p,article,section'), forms: count('form'), \
        passwords: count('input[type=password]'), \
        searches: count('input[type=search],[role=searchbox],input[name=q],input[name=query]') }; }";

/// Parts of addresses that tell what a page is for.
const BY_ADDRESS: &[(&[&str], PageType)] = &[
    (&["/login", "/signin", "/sign-in", "/sign_in"], "login"),
    (&["/register", "/signup", "/sign-up", "/join"], "register"),
    (&["/search", "?q=", "&q=", "?query="], "search_results"),
    (&["/settings", "/preferences", "/account"], "settings"),
    (&["/checkout", "/cart", "/payment"], "checkout"),
    (&["/inbox"], "email_inbox"),
    (&["/compose"], "email_compose"),
    (&["/dashboard", "/console"], "dashboard"),
];

impl Tab {
    /// The page in short.
    pub async fn overview(&self, elements: &[Element]) -> Result<Overview, Error> {
        let counts: Counts = self.run(COUNT, Vec::new()).await?;
        let r#type = page_type(&self.url(), &counts);
        let mut regions: BTreeMap<&'static str, usize> = BTreeMap::new();
        for element in elements {
            *regions.entry(element.region).or_default() += 1;
        }
        Ok(Overview {
            r#type,
            regions: regions
                .into_iter()
                .map(|(name, elements)| Region { name, elements })
                .collect(),
            intents: intents(r#type, elements),
            title: counts.title,
            summary: counts
                .description
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
        })
    }
}

fn page_type(url: &str, counts: &Counts) -> PageType {
    let url = url.to_ascii_lowercase();
    let found = BY_ADDRESS
        .iter()
        .find(|(parts, _)| parts.iter().any(|part| url.contains(part)));
    if let Some((_, r#type)) = found {
        return r#type;
    }
    if counts.passwords > 0 {
        return if counts.forms == 1 { "login" } else { "form" };
    }
    if counts.searches > 0 && counts.items < 10 && counts.blocks < 5 {
        return "search_engine";
    }
    match (counts.items, counts.blocks) {
        (items, _) if items > 20 => "list",
        (_, blocks) if blocks > 10 => "article",
        _ => "unknown",
    }
}

/// What one would do on such a page, each with the elements for it.
fn intents(r#type: PageType, elements: &[Element]) -> Vec<(&'static str, Vec<String>)> {
    let usable = || {
        elements
            .iter()
            .filter(|it| it.state.visible && it.state.enabled)
    };
    let ids = |wanted: &dyn Fn(&Element) -> bool, most: usize| -> Vec<String> {
        let found = usable().filter(|it| wanted(it));
        found.take(most).map(|it| it.id.clone()).collect()
    };
    let named = |element: &Element, words: &[&str]| {
        let label = element.label.to_lowercase();
        words.iter().any(|word| label.contains(word))
    };
    let is_field = |it: &Element| matches!(it.r#type, "textbox" | "searchbox");
    let is_search =
        |it: &Element| it.r#type == "searchbox" || (is_field(it) && named(it, &["search", "搜索"]));
    let submit = &[
        "submit", "send", "save", "continue", "next", "log in", "login", "sign in", "登录", "提交",
    ];
    let mut found = Vec::new();
    if r#type == "login" {
        let wanted = |it: &Element| is_field(it) || (it.r#type == "button" && named(it, submit));
        found.push(("login", ids(&wanted, 4)));
    }
    let searches = ids(&is_search, 2);
    if !searches.is_empty() {
        found.push(("search", searches));
    }
    if matches!(r#type, "search_results" | "list") {
        let is_result =
            |it: &Element| it.r#type == "link" && it.region == "main" && it.label.len() > 10;
        found.push(("select_result", ids(&is_result, 5)));
    }
    let is_form = usable().any(|it| is_field(it) && !is_search(it));
    if is_form && r#type != "login" {
        let wanted = |it: &Element| it.r#type == "button" && named(it, submit);
        found.push(("submit_form", ids(&wanted, 3)));
    }
    if r#type == "email_compose" {
        let wanted = |it: &Element| it.r#type == "button" && named(it, &["send", "发送"]);
        found.push(("send_email", ids(&wanted, 1)));
    }
    if r#type == "article" || found.is_empty() {
        found.push(("read", Vec::new()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with so many of each.
    fn counts(items: usize, blocks: usize, forms: usize, passwords: usize) -> Counts {
        Counts {
            title: String::new(),
            description: String::new(),
            items,
            blocks,
            forms,
            passwords,
            searches: 0,
        }
    }

    fn element(kind: &'static str, label: &str, region: &'static str) -> Element {
        Element {
            id: label.to_owned(),
            r#type: kind,
            region,
            ..Element::plain(label, "", 0)
        }
    }

    #[test]
    fn addresses_tell_what_a_page_is_for() {
        // Were it not for its address, it would be an article.
        let page = counts(0, 11, 0, 0);
        for (path, expected) in [
            ("/Login?next=/cart", "login"),
            ("/user/sign_in", "login"),
            ("/signup", "register"),
            ("/join", "register"),
            ("/search/lamps", "search_results"),
            ("/?q=lamps", "search_results"),
            ("/find?in=all&q=lamps", "search_results"),
            ("/?query=lamps", "search_results"),
            ("/preferences", "settings"),
            ("/account/ada", "settings"),
            ("/cart", "checkout"),
            ("/payment/2", "checkout"),
            ("/mail/inbox", "email_inbox"),
            ("/mail/compose", "email_compose"),
            ("/dashboard", "dashboard"),
            ("/about", "article"),
        ] {
            let url = format!("https://shop.test{path}");
            assert_eq!(page_type(&url, &page), expected, "{path}");
        }
    }

    #[test]
    fn where_the_address_says_nothing_the_page_does() {
        let searching = |items: usize, blocks: usize| Counts {
            searches: 1,
            ..counts(items, blocks, 1, 0)
        };
        for (page, expected) in [
            (counts(30, 30, 1, 1), "login"),
            (counts(0, 0, 2, 1), "form"),
            (counts(0, 0, 0, 1), "form"),
            (searching(9, 4), "search_engine"),
            (searching(10, 4), "unknown"),
            (searching(9, 5), "unknown"),
            (searching(21, 0), "list"),
            (counts(20, 10, 0, 0), "unknown"),
            (counts(21, 11, 0, 0), "list"),
            (counts(20, 11, 0, 0), "article"),
            (counts(0, 0, 1, 0), "unknown"),
        ] {
            let (items, blocks) = (page.items, page.blocks);
            let found = page_type("https://shop.test/", &page);
            assert_eq!(found, expected, "{items} items, {blocks} blocks");
        }
    }

    #[test]
    fn what_one_would_do_is_told_with_the_elements_for_it() {
        let hidden = {
            let mut it = element("link", "Lamp that nobody sees", "main");
            it.state.visible = false;
            it
        };
        let disabled = {
            let mut it = element("button", "Submit later", "main");
            it.state.enabled = false;
            it
        };
        let page = [
            element("searchbox", "Find", "search"),
            element("textbox", "Search all", "header"),
            element("link", "Home of the shop", "header"),
            element("link", "Lamp", "main"),
            element("link", "Lamp for a desk", "main"),
            hidden,
            element("link", "Lamp for a floor", "main"),
        ];
        let search = ("search", vec!["Find".to_owned(), "Search all".to_owned()]);
        let results = ["Lamp for a desk", "Lamp for a floor"].map(str::to_owned);
        for r#type in ["search_results", "list"] {
            let expected = [search.clone(), ("select_result", results.to_vec())];
            assert_eq!(intents(r#type, &page), expected, "{type}");
        }
        assert_eq!(intents("search_engine", &page), [search]);

        let form = [
            element("textbox", "Name", "main"),
            disabled,
            element("button", "Cancel", "main"),
            element("button", "Save changes", "main"),
            element("link", "Continue elsewhere", "main"),
        ];
        let save = vec!["Save changes".to_owned()];
        for r#type in ["form", "settings", "unknown"] {
            assert_eq!(intents(r#type, &form), [("submit_form", save.clone())]);
        }
        let both = vec!["Name".to_owned(), "Save changes".to_owned()];
        assert_eq!(intents("login", &form), [("login", both)]);

        let mail = [
            element("textbox", "To", "main"),
            element("button", "Send now", "main"),
        ];
        let send = vec!["Send now".to_owned()];
        assert_eq!(
            intents("email_compose", &mail),
            [("submit_form", send.clone()), ("send_email", send)]
        );
        for r#type in ["article", "unknown"] {
            assert_eq!(intents(r#type, &[]), [("read", Vec::new())]);
        }
    }

    #[test]
    fn no_more_elements_are_told_than_anyone_looks_at() {
        let page: Vec<Element> = (0..9)
            .flat_map(|it| {
                [
                    element("link", &format!("Result number {it}"), "main"),
                    element("searchbox", &format!("Search {it}"), "search"),
                ]
            })
            .collect();
        let told: Vec<(&str, usize)> = intents("list", &page)
            .into_iter()
            .map(|(name, ids)| (name, ids.len()))
            .collect();
        assert_eq!(told, [("search", 2), ("select_result", 5)]);
    }
}
