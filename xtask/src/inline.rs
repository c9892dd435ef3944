//! Writes pending inline snapshots into the source.
//!
//! The snapshot library leaves them in `.name.rs.pending-snap` beside the source and expects a
//! separate tool to apply them; this is all of it that the repository needs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::Value;

const ENDING: &str = ".pending-snap";

/// Applies every pending snapshot below a folder; gives the files that were rewritten.
pub(crate) fn apply(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pending = Vec::new();
    find(&root.join("crates"), &mut pending)?;
    find(&root.join("xtask"), &mut pending)?;
    let mut rewritten = Vec::new();
    for file in pending {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let source = name.trim_start_matches('.').trim_end_matches(ENDING);
        let source = file.with_file_name(source);
        let text = fs::read_to_string(&source)?;
        let snapshots = snapshots(&fs::read_to_string(&file)?)?;
        fs::write(&source, rewrite(&text, &snapshots)?)?;
        fs::remove_file(&file)?;
        rewritten.push(source);
    }
    Ok(rewritten)
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, found)?;
        } else if path.to_string_lossy().ends_with(ENDING) {
            found.push(path);
        }
    }
    Ok(())
}

/// The last word on each line: a run that agrees with the source withdraws what was pending.
fn snapshots(pending: &str) -> Result<BTreeMap<usize, String>> {
    let mut wanted = BTreeMap::new();
    for line in pending.lines() {
        let record: Value = serde_json::from_str(line)?;
        let at = record["line"].as_u64().context("a record without a line")?;
        match record["new"]["snapshot"].as_str() {
            Some(text) => wanted.insert(usize::try_from(at)?, text.to_owned()),
            None => wanted.remove(&usize::try_from(at)?),
        };
    }
    Ok(wanted)
}

fn rewrite(source: &str, snapshots: &BTreeMap<usize, String>) -> Result<String> {
    let mut text = source.to_owned();
    // From the end, so that earlier lines keep their numbers.
    for (line, snapshot) in snapshots.iter().rev() {
        let start = line_start(&text, *line);
        let indent = text[start..].len() - text[start..].trim_start_matches(' ').len();
        let (from, to) = literal(&text, start)
            .with_context(|| format!("no snapshot to replace after line {line}"))?;
        text.replace_range(from..to, &quote(snapshot, indent));
    }
    Ok(text)
}

fn line_start(text: &str, line: usize) -> usize {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).nth(line - 1).unwrap_or(0)
}

/// Where the first `@"…"` or `@r#"…"#` literal after a byte begins and ends, without the `@`.
fn literal(text: &str, start: usize) -> Option<(usize, usize)> {
    let mut from = start;
    loop {
        from += text[from..].find('@')? + 1;
        let raw = text[from..].strip_prefix('r');
        let rest = raw.unwrap_or(&text[from..]);
        let body = rest.trim_start_matches('#');
        let hashes = rest.len() - body.len();
        if !body.starts_with('"') || (hashes > 0 && raw.is_none()) {
            continue;
        }
        let body_at = text.len() - body.len() + 1;
        let length = match raw {
            Some(_) => {
                let close = format!("\"{}", "#".repeat(hashes));
                text[body_at..].find(&close)? + close.len()
            }
            None => plain_end(&text[body_at..])?,
        };
        return Some((from, body_at + length));
    }
}

/// Where a literal with escapes ends, its closing quote included.
fn plain_end(body: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            '"' if !escaped => return Some(at + 1),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    None
}

fn quote(snapshot: &str, indent: usize) -> String {
    let text = snapshot.trim_matches('\n');
    let mut hashes = String::new();
    let raw = text.contains(['"', '\\']);
    if text.contains('"') {
        hashes.push('#');
    }
    while text.contains(&format!("\"{hashes}")) && !hashes.is_empty() {
        hashes.push('#');
    }
    let open = if raw {
        format!("r{hashes}")
    } else {
        String::new()
    };
    if !text.contains('\n') {
        return format!("{open}\"{text}\"{hashes}");
    }
    let indent = " ".repeat(indent);
    let mut body = String::from("\n");
    for line in text.lines() {
        if !line.is_empty() {
            body.push_str(&indent);
            body.push_str(line);
        }
        body.push('\n');
    }
    format!("{open}\"{body}{indent}\"{hashes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_replaces_the_literal_of_its_line() {
        let source = "fn a() {\n    check!(a, @\"\");\n    check!(b, @r#\"x \"y\" \"#);\n}\n";
        let wanted = [(2, "one \"word\"\nand more"), (3, "plain")];
        let wanted = wanted.map(|(line, text)| (line, text.to_owned())).into();
        let expected = "fn a() {\n    check!(a, @r#\"\n    one \"word\"\n    and more\n    \"#);\n    check!(b, @\"plain\");\n}\n";
        assert_eq!(rewrite(source, &wanted).unwrap(), expected);
    }

    #[test]
    fn the_last_record_of_a_line_counts() {
        let pending = "{\"line\":3,\"new\":{\"snapshot\":\"a\"}}\n{\"line\":5,\"new\":{\"snapshot\":\"b\"}}\n{\"line\":3,\"new\":null}\n";
        assert_eq!(snapshots(pending).unwrap(), [(5, "b".to_owned())].into());
    }
}
