//! Rules about Markdown: what a page points to is there.

use std::{fs, path::Path};

use crate::files::{all, none, root};

/// What stands before the tests that hold a section of SECURITY.md.
const HELD_BY: &str = "Held by:";

#[test]
fn relative_links_resolve() {
    let mut found = Vec::new();
    for page in all().iter().filter(|file| file.path.ends_with(".md")) {
        let folder = root().join(&page.path);
        let folder = folder.parent().unwrap();
        for link in links(&page.content) {
            if !resolves(folder, &link) {
                found.push(format!("{}: {link}", page.path));
            }
        }
    }
    none("links of pages", found);
}

fn resolves(folder: &Path, link: &str) -> bool {
    let is_elsewhere = link.contains("://") || link.starts_with("mailto:");
    let path = link.split('#').next().unwrap_or_default();
    is_elsewhere || path.is_empty() || folder.join(path).exists()
}

/// The targets of `[text](target)` outside of code.
fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        // Every second piece is inside of backticks.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for (at, _) in prose.match_indices("](") {
            let target = prose[at + 2..].split([')', ' ']).next();
            found.extend(target.map(str::to_owned));
        }
    }
    found
}

#[test]
fn links_in_code_do_not_count() {
    let page = "see [a](x.md) and `[b](y.md)` and [c](z.md#top \"title\")\n```\n[d](w.md)\n```\n";
    assert_eq!(links(page), ["x.md", "z.md#top"]);
}

fn security_page() -> String {
    fs::read_to_string(root().join("SECURITY.md")).unwrap()
}

#[test]
fn tests_named_in_security_md_exist() {
    let page = security_page();
    let mut found = Vec::new();
    for (name, file) in cited_tests(&page) {
        let source = fs::read_to_string(root().join(file)).unwrap_or_default();
        if !source.contains(&format!("fn {name}(")) {
            found.push(format!("`{name}` in `{file}`"));
        }
    }
    none("tests named in SECURITY.md", found);
}

#[test]
fn every_section_of_security_md_names_its_tests() {
    let page = security_page();
    let (_, sections) = page.split_once("\n## What protects what\n").unwrap();
    let (sections, _) = sections.split_once("\n## ").unwrap();
    let found = sections
        .split("\n**")
        .skip(1)
        .filter(|section| cited_tests(section).is_empty())
        .map(|section| section.lines().next().unwrap_or_default().to_owned())
        .collect();
    none("sections of SECURITY.md that name no test", found);
}

/// The tests that a page says something is held by, each with its file, which stands behind them.
fn cited_tests(page: &str) -> Vec<(&str, &str)> {
    let mut cited = Vec::new();
    for paragraph in page.split("\n\n") {
        let Some((_, list)) = paragraph.split_once(HELD_BY) else {
            continue;
        };
        let mut names = Vec::new();
        // Every second piece is inside of backticks.
        for piece in list.split('`').skip(1).step_by(2) {
            if piece.ends_with(".rs") {
                cited.extend(names.drain(..).map(|name| (name, piece)));
            } else {
                names.push(piece);
            }
        }
        // Without a file there is no such test.
        cited.extend(names.into_iter().map(|name| (name, "")));
    }
    cited
}

#[test]
fn a_file_stands_behind_its_tests() {
    let page = "The `view`.\nHeld by: `one`, `two` (`a/b.rs`),\n`three` (`c.rs`).\n\n`four` (`d.rs`)\n\nHeld by: `five`.\n";
    let cited = [
        ("one", "a/b.rs"),
        ("two", "a/b.rs"),
        ("three", "c.rs"),
        ("five", ""),
    ];
    assert_eq!(cited_tests(page), cited);
}
