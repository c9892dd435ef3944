//! How large each crate is; no crate should grow without somebody noticing.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;

use crate::run::root;

pub(crate) fn run() -> Result<()> {
    let mut crates: Vec<PathBuf> = fs::read_dir(root().join("crates"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    crates.push(root().join("xtask"));
    crates.sort();
    eprintln!(
        "{:20} {:>6} {:>6} {:>8}",
        "crate", "files", "lines", "longest"
    );
    for folder in crates {
        let mut files = Vec::new();
        sources(&folder, &mut files)?;
        let lines: usize = files.iter().sum();
        let longest = files.iter().max().copied().unwrap_or(0);
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        eprintln!("{name:20} {:>6} {lines:>6} {longest:>8}", files.len());
    }
    Ok(())
}

/// The length of every source file below a folder.
fn sources(folder: &Path, lengths: &mut Vec<usize>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, lengths)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            lengths.push(fs::read_to_string(&path)?.lines().count());
        }
    }
    Ok(())
}
