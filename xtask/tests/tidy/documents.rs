//! Rules about Markdown: what a page points to is there.

use std::path::Path;

use crate::files::{all, none, root};

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
