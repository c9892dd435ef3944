//! What each server said and what happened to it, in a file of its own, so that another
//! process can show it.
//!
//! Invariant: the files of a server never hold more than twice [`HALF`], whatever it says
//! and however many processes run it, and only their owner may read them.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::PathBuf,
};

use tollgate_core::Timestamp;
use tollgate_sanitize::truncate_on_char_boundary;

/// How much is written before the older half is dropped.
const HALF: u64 = 256 << 10;
/// The longest line that is kept whole.
const LINE: usize = 4 << 10;

/// The files of all servers.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    folder: PathBuf,
}

/// One line of them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Word {
    /// When it was written down.
    pub(crate) at: String,
    /// The server's process, where it said it itself.
    pub(crate) process: Option<u32>,
    /// What it said, or what happened to it.
    pub(crate) text: String,
}

/// How far somebody has read what a server said.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    /// The file by its number, since its name goes to the next one.
    file: u64,
    read: u64,
}

impl Words {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Adds lines that are clean already; `process` is the server's own, or nobody's.
    pub(crate) fn add(
        &self,
        at: Timestamp,
        server: &str,
        process: Option<u32>,
        text: &str,
    ) -> io::Result<()> {
        let by = process.map_or_else(|| "-".to_owned(), |process| process.to_string());
        let mut block = String::new();
        for line in text.lines() {
            let line = truncate_on_char_boundary(line, LINE);
            block.push_str(&format!("{at} {by} {line}\n"));
        }
        if block.is_empty() {
            return Ok(());
        }
        let mut folder = DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.folder)?;
        let guard = private(&self.folder.join("guard"))?;
        guard.lock()?;
        let (now, before) = self.files(server);
        let mut file = private(&now)?;
        let size = file.metadata()?.len();
        if size > 0 && size + block.len() as u64 > HALF {
            fs::rename(&now, &before)?;
            file = private(&now)?;
        }
        file.write_all(block.as_bytes())
    }

    /// The last lines of a server.
    pub(crate) fn last(&self, server: &str, count: usize) -> io::Result<Vec<Word>> {
        let (now, before) = self.files(server);
        let mut text = Vec::new();
        for file in [before, now] {
            match fs::read(&file) {
                Ok(bytes) => text.extend(bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let text = String::from_utf8_lossy(&text);
        let words: Vec<Word> = text.lines().filter_map(read).collect();
        let skipped = words.len().saturating_sub(count);
        Ok(words.into_iter().skip(skipped).collect())
    }

    /// The lines of a server behind a mark, which moves on; none is given twice or left out
    /// unless so much is said meanwhile that it is no longer kept.
    pub(crate) fn since(&self, server: &str, mark: &mut Mark) -> io::Result<Vec<Word>> {
        let missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let guard = match File::open(self.folder.join("guard")) {
            Ok(guard) => guard,
            Err(error) if missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        guard.lock_shared()?;
        let (now, before) = self.files(server);
        let mut files = Vec::new();
        for path in [before, now] {
            match File::open(path) {
                Ok(file) => files.push((file.metadata()?.ino(), file)),
                Err(error) if missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let begun = files.iter().position(|(number, _)| *number == mark.file);
        let mut text = Vec::new();
        for (number, mut file) in files.into_iter().skip(begun.unwrap_or(0)) {
            let is_same = number == mark.file && mark.read <= file.metadata()?.len();
            let from = if is_same { mark.read } else { 0 };
            file.seek(SeekFrom::Start(from))?;
            let length = file.read_to_end(&mut text)?;
            *mark = Mark {
                file: number,
                read: from + length as u64,
            };
        }
        let text = String::from_utf8_lossy(&text);
        Ok(text.lines().filter_map(read).collect())
    }

    /// The file that is written, and the one before it.
    fn files(&self, server: &str) -> (PathBuf, PathBuf) {
        let file = |ending: &str| self.folder.join(format!("{server}.{ending}"));
        (file("log"), file("log.1"))
    }
}

fn read(line: &str) -> Option<Word> {
    let (at, rest) = line.split_once(' ')?;
    let (by, text) = rest.split_once(' ')?;
    Some(Word {
        at: at.to_owned(),
        process: by.parse().ok(),
        text: text.to_owned(),
    })
}

/// Opens a file for adding that only its owner may read.
fn private(file: &std::path::Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_follows_misses_nothing_when_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let words = Words::new(folder.path().join("mcp"));
        let mut mark = Mark::default();
        assert!(words.since("s", &mut mark).unwrap().is_empty());
        let line = "x".repeat(1000);
        let mut heard = Vec::new();
        for number in 0..700 {
            let text = format!("{number} {line}");
            words.add(Timestamp(0), "s", Some(7), &text).unwrap();
            if number % 90 == 0 {
                heard.extend(words.since("s", &mut mark).unwrap());
            }
        }
        heard.extend(words.since("s", &mut mark).unwrap());
        assert!(words.since("s", &mut mark).unwrap().is_empty());
        let first = |word: &Word| word.text.split(' ').next().unwrap().to_owned();
        let numbers: Vec<String> = heard.iter().map(first).collect();
        let wanted: Vec<String> = (0..700).map(|number: usize| number.to_string()).collect();
        assert_eq!(numbers, wanted);
    }

    #[test]
    fn the_last_lines_are_kept_and_never_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let words = Words::new(folder.path().join("mcp"));
        assert!(words.last("s", 10).unwrap().is_empty());
        words
            .add(Timestamp(0), "s", None, "mcp.ready: it is there")
            .unwrap();
        words
            .add(Timestamp(1000), "s", Some(7), "one\ntwo three\n")
            .unwrap();
        let last = words.last("s", 2).unwrap();
        assert_eq!(last[1].text, "two three");
        assert_eq!(last[1].process, Some(7));
        assert_eq!(last[1].at, "1970-01-01T00:00:01.000Z");
        assert_eq!(words.last("s", 10).unwrap()[0].process, None);
        let line = "x".repeat(2 * LINE);
        for number in 0..200 {
            words
                .add(Timestamp(0), "s", Some(7), &format!("{number} {line}"))
                .unwrap();
        }
        let size: u64 = ["s.log", "s.log.1"]
            .map(|name| {
                fs::metadata(folder.path().join("mcp").join(name))
                    .unwrap()
                    .len()
            })
            .iter()
            .sum();
        assert!(size <= 2 * HALF, "{size}");
        assert!(words.last("s", 1).unwrap()[0].text.starts_with("199 x"));
        assert!(words.last("other", 10).unwrap().is_empty());
    }
}
