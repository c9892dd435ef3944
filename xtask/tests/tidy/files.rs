//! Walks the repository: the one place that decides what counts as a project file.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders that hold nothing people wrote.
const SKIPPED: &[&str] = &[".git", ".venv", "node_modules", "target"];

/// What a snapshot test leaves behind; never committed.
const LEFT_BEHIND: &[&str] = &[".pending-snap", ".snap.new"];

/// A text file of the project.
pub(crate) struct Text {
    /// From the repository's root, with `/`.
    pub path: String,
    pub content: String,
}

impl Text {
    pub(crate) fn is_source(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap().to_owned()
}

/// Every text file of the project, in the order of their paths.
pub(crate) fn all() -> Vec<Text> {
    let mut found = Vec::new();
    walk(&root(), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Every Rust source file.
pub(crate) fn sources() -> Vec<Text> {
    all().into_iter().filter(Text::is_source).collect()
}

fn walk(folder: &Path, found: &mut Vec<Text>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        let is_left = LEFT_BEHIND.iter().any(|ending| name.ends_with(ending));
        if path.is_symlink() || is_left || SKIPPED.contains(&name.as_ref()) {
            continue;
        }
        if path.is_dir() {
            walk(&path, found);
        } else if let Ok(content) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root()).unwrap();
            let path = path.to_string_lossy().replace('\\', "/");
            found.push(Text { path, content });
        }
    }
}

/// Fails with every finding at once.
pub(crate) fn none(rule: &str, findings: Vec<String>) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
