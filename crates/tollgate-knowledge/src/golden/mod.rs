//! Golden conversations: what a question and a few answers must lead to, as files.
//!
//! An author writes them beside the base, or saves what was tried; whoever changes the
//! base sees at once which conversations no longer go as they should.

mod read;
mod save;

use std::{fmt, fs, path::Path, path::PathBuf, sync::Arc};

pub use read::conversations;
pub use save::Transcript;

use crate::{Library, Place, Session, StepError, View, read::Format};

/// One conversation that has to go as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// What its author calls it.
    pub name: String,
    query: String,
    begins: Expect,
    turns: Vec<Turn>,
    file: Arc<str>,
}

/// One answer of the user, and what follows.
#[derive(Debug, Clone, PartialEq)]
struct Turn {
    option: String,
    input: Option<String>,
    expect: Expect,
}

/// What is expected of an answer; what is left open may be anything.
#[derive(Debug, Clone, Default, PartialEq)]
struct Expect {
    place: Place,
    node: Option<String>,
    says: Vec<String>,
    options: Option<Vec<String>>,
    complete: Option<bool>,
    matched: Option<String>,
    error: Option<String>,
    base: Option<String>,
}

/// Something that went otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The file of the conversation.
    pub file: Arc<str>,
    /// The step in it.
    pub place: Place,
    /// What was expected and what came.
    pub message: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        write!(f, "{}:{line}:{column}: {}", self.file, self.message)
    }
}

/// The files with conversations about a base: `*.test.*` in its folder, or beside its file
/// and named like it.
pub fn conversation_files(base: &Path) -> Vec<PathBuf> {
    let (folder, stem) = if base.is_dir() {
        (base, None)
    } else {
        let folder = base
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        (folder.unwrap_or(Path::new(".")), base.file_stem())
    };
    let stem = stem.map(|stem| format!("{}.test.", stem.to_string_lossy()));
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_named = stem
                .as_ref()
                .is_none_or(|stem| name.starts_with(stem.as_str()));
            is_named && name.contains(".test.") && Format::of(path).is_some()
        })
        .collect();
    files.sort();
    files
}

impl Conversation {
    /// Has the conversation; everything that went otherwise, up to where it cannot go on.
    pub fn run(&self, library: &Library) -> Vec<Mismatch> {
        let mut wrong = Vec::new();
        let begun = self.check(&self.begins, library.start(&self.query), &mut wrong);
        let Some(mut session) = begun else {
            return wrong;
        };
        for turn in &self.turns {
            let answer = library.step(&session, &turn.option, turn.input.as_deref());
            if let Some(next) = self.check(&turn.expect, answer, &mut wrong) {
                session = next;
            } else if turn.expect.error.is_none() {
                break;
            }
        }
        wrong
    }

    /// Notes what differs; gives the session if there is one.
    fn check(
        &self,
        expect: &Expect,
        answer: Result<(Session, View), StepError>,
        wrong: &mut Vec<Mismatch>,
    ) -> Option<Session> {
        let mut differs = |message: String| {
            wrong.push(Mismatch {
                file: Arc::clone(&self.file),
                place: expect.place,
                message,
            });
        };
        let (session, view) = match (answer, &expect.error) {
            (Err(error), Some(code)) if error.code() == code => return None,
            (Err(error), Some(code)) => {
                differs(format!(
                    "expected the error `{code}`, found `{}`",
                    error.code()
                ));
                return None;
            }
            (Err(error), None) => {
                differs(format!("it cannot go on: {error}"));
                return None;
            }
            (Ok((session, _)), Some(code)) => {
                differs(format!(
                    "expected the error `{code}`, but it went on to `{}`",
                    session.node
                ));
                return Some(session);
            }
            (Ok(answer), None) => answer,
        };
        let came = if session.candidates.is_empty() {
            session.node.as_str()
        } else {
            "?"
        };
        if let Some(node) = expect.node.as_ref().filter(|node| *node != came) {
            differs(format!("expected the node `{node}`, came to `{came}`"));
        }
        for words in expect
            .says
            .iter()
            .filter(|words| !view.response.contains(*words))
        {
            let said = crate::short(&view.response);
            differs(format!(
                "expected “{}” in what is said, found “{said}”",
                crate::short(words)
            ));
        }
        let offered: Vec<&String> = view.options.iter().map(|offer| &offer.id).collect();
        if let Some(options) = &expect.options
            && !offered.iter().copied().eq(options)
        {
            let offered: Vec<&str> = offered.into_iter().map(String::as_str).collect();
            let (wanted, found) = (options.join(", "), offered.join(", "));
            differs(format!("expected the options {wanted}; found {found}"));
        }
        if let Some(complete) = expect.complete.filter(|wanted| *wanted != view.is_complete) {
            let word = |complete: bool| if complete { "to be over" } else { "to go on" };
            differs(format!(
                "expected the session {}, found it {}",
                word(complete),
                word(!complete)
            ));
        }
        let matched = view.matched.map_or("none", super::Matched::as_str);
        if let Some(wanted) = expect.matched.as_ref().filter(|wanted| *wanted != matched) {
            differs(format!(
                "expected the words to be taken as `{wanted}`, found `{matched}`"
            ));
        }
        if let Some(base) = expect
            .base
            .as_ref()
            .filter(|base| **base != view.knowledge_base)
        {
            differs(format!(
                "expected the base `{base}`, found `{}`",
                view.knowledge_base
            ));
        }
        Some(session)
    }
}

#[cfg(test)]
mod tests;
