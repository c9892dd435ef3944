//! Files into a base, and whether they have changed since.
//!
//! A base is read whole or not at all. A file that changes while it is read is read
//! again, so that no base is ever made of two halves.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use sha2::{Digest, Sha256};

use super::{Base, draft::Draft};
use crate::{
    problem::{Place, Problem, ProblemCode},
    read::{self, Format},
};

/// How often a file that keeps changing is read again.
const TRIES: usize = 3;
/// From so many bytes on, a text is digested by a thread of its own while it is read.
const LARGE_TEXT: usize = 1 << 20;
/// How many digits of the digest name a version.
const VERSION_DIGITS: usize = 16;

/// How much is read at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Files of one base.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 512 << 20,
            files: 1000,
        }
    }
}

/// What the files of a base looked like when they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamp {
    root: PathBuf,
    listed: Option<Vec<PathBuf>>,
    seen: Vec<(PathBuf, Option<Look>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    length: u64,
    changed: Option<SystemTime>,
    number: u64,
}

impl Stamp {
    /// Whether the files still look the same.
    pub fn is_current(&self) -> bool {
        let listed = self
            .listed
            .as_ref()
            .is_none_or(|listed| files_in(&self.root).is_ok_and(|now| now == *listed));
        listed && self.seen.iter().all(|(path, look)| look_at(path) == *look)
    }

    /// What was named: a file or a folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that the names of files count from.
    pub(super) fn folder(&self) -> &Path {
        match self.listed {
            Some(_) => &self.root,
            None => self.root.parent().unwrap_or(Path::new("")),
        }
    }

    /// The files in the order they were read, with their lengths.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.seen
            .iter()
            .filter_map(|(path, look)| Some((path.as_path(), look.as_ref()?.length)))
    }

    /// How many bytes the files have together.
    pub fn bytes(&self) -> u64 {
        self.files().map(|(_, length)| length).sum()
    }
}

fn look_at(path: &Path) -> Option<Look> {
    fs::metadata(path).ok().map(|metadata| look(&metadata))
}

fn look(metadata: &fs::Metadata) -> Look {
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(not(unix))]
    let number = 0;
    Look {
        length: metadata.len(),
        changed: metadata.modified().ok(),
        number,
    }
}

/// Knowledge in a folder: its files by name, without hidden ones and conversations.
fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or(".");
        let is_test = name.contains(".test.");
        if !name.starts_with('.') && !is_test && Format::of(&path).is_some() && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a base from a file or a folder; the stamp holds also when that fails.
pub fn load(path: &Path, limits: Limits) -> (Result<Base, Vec<Problem>>, Stamp) {
    let mut loading = Loading::new(path, limits);
    match loading.everything(path) {
        Err(problem) => (Err(vec![problem]), loading.stamp),
        Ok(()) => loading.finish(),
    }
}

/// Reads a base from one text.
pub fn load_text(name: &str, text: &str, format: Format) -> Result<Base, Vec<Problem>> {
    let file: Arc<str> = Arc::from(name);
    let mut draft = Draft::new();
    draft.begin(&file);
    read::read(text, format, &mut |entry| draft.take(entry))
        .map_err(|fault| vec![fault.in_file(&file)])?;
    let stem = name.split('.').next().unwrap_or(name);
    draft.finish(stem, version(Sha256::new_with_prefix(text)))
}

/// What a file of a base is called in it.
pub(super) fn name_in(folder: &Path, path: &Path) -> String {
    let name = path.strip_prefix(folder).unwrap_or(path);
    name.to_string_lossy().into_owned()
}

/// Says to the digest which file comes now.
pub(super) fn announce(digest: &mut Sha256, name: &str, length: u64) {
    digest.update(name.as_bytes());
    digest.update(length.to_le_bytes());
}

pub(super) fn version(digest: Sha256) -> String {
    let digest = digest.finalize();
    let mut digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.truncate(VERSION_DIGITS);
    digits
}

/// The name and the text of one file, read whole.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<(Arc<str>, String), Problem> {
    let file: Arc<str> = Arc::from(path.display().to_string());
    let (bytes, _) =
        steady(path, limit).map_err(|message| whole(path, ProblemCode::File, &message))?;
    let text = read::decode(bytes).map_err(|fault| fault.in_file(&file))?;
    Ok((file, text))
}

pub(super) struct Loading {
    draft: Draft,
    digest: Sha256,
    stamp: Stamp,
    folder: PathBuf,
    limits: Limits,
}

impl Loading {
    pub(super) fn new(path: &Path, limits: Limits) -> Self {
        Self {
            draft: Draft::new(),
            digest: Sha256::new(),
            stamp: Stamp {
                root: path.to_owned(),
                ..Stamp::default()
            },
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
            limits,
        }
    }

    /// The folder that the names of files count from.
    pub(super) fn within(mut self, folder: &Path) -> Self {
        self.folder = folder.to_owned();
        self
    }

    fn everything(&mut self, path: &Path) -> Result<(), Problem> {
        let trouble = |error: io::Error| whole(path, ProblemCode::File, &error.to_string());
        let metadata = fs::metadata(path).map_err(|error| {
            self.stamp.seen.push((path.to_owned(), None));
            trouble(error)
        })?;
        if !metadata.is_dir() {
            if Format::of(path).is_none() {
                let message = "a knowledge file ends in .json, .yaml, .yml or .xml";
                return Err(whole(path, ProblemCode::File, message));
            }
            return self.file(path);
        }
        self.folder = path.to_owned();
        let files = files_in(path).map_err(trouble)?;
        self.stamp.listed = Some(files.clone());
        if files.is_empty() {
            let message = "there is no .json, .yaml, .yml or .xml file in this folder";
            return Err(whole(path, ProblemCode::File, message));
        }
        for file in files {
            self.file(&file)?;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), Problem> {
        if self.stamp.seen.iter().any(|(seen, _)| seen == path) {
            return Ok(());
        }
        if self.stamp.seen.len() >= self.limits.files {
            return Err(whole(
                path,
                ProblemCode::Limit,
                "the base has too many files",
            ));
        }
        let (bytes, look) = match steady(path, self.limits.file_bytes) {
            Ok(read) => read,
            Err(message) => {
                self.stamp.seen.push((path.to_owned(), look_at(path)));
                return Err(whole(path, ProblemCode::File, &message));
            }
        };
        self.stamp.seen.push((path.to_owned(), Some(look)));
        let file = self.take(path, bytes)?;
        let includes = std::mem::take(&mut self.draft.includes);
        for (include, place) in includes {
            self.include(path, &file, &include, place)?;
        }
        Ok(())
    }

    /// Takes what a file says, without what it includes; gives the name it goes by.
    pub(super) fn take(&mut self, path: &Path, bytes: Vec<u8>) -> Result<Arc<str>, Problem> {
        let name = name_in(&self.folder, path);
        announce(&mut self.digest, &name, bytes.len() as u64);
        let file: Arc<str> = Arc::from(path.display().to_string());
        let text = read::decode(bytes).map_err(|fault| fault.in_file(&file))?;
        self.draft.begin(&file);
        let format = Format::of(path).unwrap_or(Format::Json);
        let (draft, digest) = (&mut self.draft, &mut self.digest);
        let mut read = || read::read(&text, format, &mut |entry| draft.take(entry));
        let read = if text.len() < LARGE_TEXT {
            digest.update(&text);
            read()
        } else {
            std::thread::scope(|scope| {
                let begun = digest.clone();
                let aside = std::thread::Builder::new();
                let hashing = aside.spawn_scoped(scope, || begun.chain_update(&text));
                let read = read();
                // A system that gives no thread leaves both to this one.
                match hashing.ok().and_then(|hashing| hashing.join().ok()) {
                    Some(done) => *digest = done,
                    None => digest.update(&text),
                }
                read
            })
        };
        read.map_err(|fault| fault.in_file(&file))?;
        Ok(file)
    }

    /// The base, if nothing is wrong with it, and what its files looked like.
    pub(super) fn finish(self) -> (Result<Base, Vec<Problem>>, Stamp) {
        let root = &self.stamp.root;
        let name = root.file_stem().and_then(|name| name.to_str());
        let name = name.unwrap_or("knowledge").to_owned();
        let base = self.draft.finish(&name, version(self.digest));
        (base, self.stamp)
    }

    /// Reads a file that another one names; it must lie beside or below that one.
    fn include(
        &mut self,
        from: &Path,
        file: &Arc<str>,
        name: &str,
        place: Place,
    ) -> Result<(), Problem> {
        let wrong = |message: String| Problem::new(ProblemCode::Include, file, place, message);
        let shown = crate::short(name);
        let is_below = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_below {
            return Err(wrong(format!("`{shown}` is not beside or below this file")));
        }
        let path: PathBuf = from
            .parent()
            .unwrap_or(Path::new(""))
            .join(name)
            .components()
            .collect();
        if Format::of(&path).is_none() {
            let message = format!("`{shown}` does not end in .json, .yaml, .yml or .xml");
            return Err(wrong(message));
        }
        if !path.is_file() {
            self.stamp.seen.push((path, None));
            return Err(wrong(format!("there is no file `{shown}`")));
        }
        self.file(&path)
    }
}

/// The bytes of a file that did not change while they were read.
fn steady(path: &Path, limit: u64) -> Result<(Vec<u8>, Look), String> {
    for _ in 0..TRIES {
        let before = fs::metadata(path).map_err(|error| error.to_string())?;
        if !before.is_file() {
            return Err("this is not a file".to_owned());
        }
        if before.len() > limit {
            return Err(format!(
                "the file has {} bytes; at most {limit} are read",
                before.len()
            ));
        }
        let bytes = fs::read(path).map_err(|error| error.to_string())?;
        let after = fs::metadata(path).map_err(|error| error.to_string())?;
        let seen = look(&before);
        if seen == look(&after) && bytes.len() as u64 == seen.length {
            return Ok((bytes, seen));
        }
    }
    Err("the file keeps changing while it is read; try again".to_owned())
}

fn whole(path: &Path, code: ProblemCode, message: &str) -> Problem {
    let file: Arc<str> = Arc::from(path.display().to_string());
    Problem::new(code, &file, Place::default(), message)
}
