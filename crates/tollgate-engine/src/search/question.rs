//! Cuts a question into tokens. Paths in it are arguments: what counts is that there is a file, of which kind and
//! where, not what it is called.

use super::english;
use super::text::{self, Piece, Style};

/// A question is read up to here; what follows would cost time and change little.
const MAX_CHARS: usize = 2_000;
const MAX_TOKENS: usize = 256;
/// Longer endings are not file types.
const MAX_EXTENSION: usize = 5;

/// A word or run of ideographs of a question.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) stem: String,
    /// Tokens of different clauses form no phrases.
    pub(super) clause: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Stop,
    Ideographs,
}

/// Reads the beginning of `query`; where it is all stop words, they have to do.
pub(super) fn tokens(query: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut clause = 0;
    for line in text::first_chars(query, MAX_CHARS).lines() {
        for chunk in line.split_whitespace() {
            read(chunk, &mut clause, &mut tokens);
        }
        clause += 1;
    }
    tokens.truncate(MAX_TOKENS);
    if tokens.iter().all(|token| token.kind == Kind::Stop) {
        tokens.iter_mut().for_each(|token| token.kind = Kind::Word);
    }
    tokens
}

fn read(chunk: &str, clause: &mut usize, tokens: &mut Vec<Token>) {
    let bare = chunk.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '~' | '.'));
    let bare = bare.trim_end_matches('.');
    if is_path(bare) {
        read_path(bare, *clause, tokens);
        *clause += usize::from(chunk.ends_with([',', ';', '.']));
        return;
    }
    text::pieces(chunk, Style::Prose, &mut |piece| match piece {
        Piece::Word(word) => {
            *clause += usize::from(matches!(word, "and" | "then"));
            push(word, *clause, tokens);
        }
        Piece::Ideographs(run) => {
            let (text, stem) = (run.to_owned(), run.to_owned());
            tokens.push(Token {
                text,
                stem,
                clause: *clause,
                kind: Kind::Ideographs,
            });
        }
        Piece::Break => *clause += 1,
    });
}

/// Takes the folders and the kind of file; the file's own name says nothing about tools.
fn read_path(path: &str, clause: usize, tokens: &mut Vec<Token>) {
    let (folders, name) = path.rsplit_once('/').unwrap_or_default();
    text::pieces(folders, Style::Prose, &mut |piece| {
        if let Piece::Word(word) = piece {
            push(word, clause, tokens);
        }
    });
    match name
        .rsplit_once('.')
        .filter(|(_, extension)| extension.len() <= MAX_EXTENSION)
    {
        Some((_, extension)) => {
            push("file", clause, tokens);
            push(&extension.to_lowercase(), clause, tokens);
        }
        None => push("directory", clause, tokens),
    }
}

fn push(word: &str, clause: usize, tokens: &mut Vec<Token>) {
    let kind = if english::is_stop_word(word) {
        Kind::Stop
    } else {
        Kind::Word
    };
    tokens.push(Token {
        text: word.to_owned(),
        stem: english::stem(word).into_owned(),
        clause,
        kind,
    });
}

/// Whether a chunk is an absolute path, or a relative one that says so.
fn is_path(chunk: &str) -> bool {
    let inside = ["/", "~/", "./", "../"]
        .iter()
        .find_map(|start| chunk.strip_prefix(start));
    inside.is_some_and(|rest| rest.chars().any(char::is_alphanumeric))
}
