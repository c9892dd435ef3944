//! Cuts a question into tokens and tells which of them matter. Arguments in it, such as paths, become words for what
//! kind of thing they are.

use super::argument::Argument;
use super::english;
use super::text::{self, Piece, Style};

/// A question is read up to here; what follows would cost time and change little.
const MAX_CHARS: usize = 2_000;
const MAX_TOKENS: usize = 256;

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
    /// A word that fits almost any request.
    Light,
    /// A word that tells the kind of an argument.
    Argument,
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

/// Whether nothing but one thing is asked for.
pub(super) fn is_one_clause(tokens: &[Token]) -> bool {
    let first = tokens.first().map(|token| token.clause);
    tokens.iter().all(|token| Some(token.clause) == first)
}

fn read(chunk: &str, clause: &mut usize, tokens: &mut Vec<Token>) {
    let bare = chunk.trim_matches(|c: char| !c.is_alphanumeric() && !"/~.".contains(c));
    let bare = bare.trim_end_matches('.');
    if let Some(argument) = Argument::read(bare) {
        argument.words(&mut |word| push(word, *clause, Kind::Argument, tokens));
        *clause += usize::from(chunk.ends_with([',', ';', '.']));
        return;
    }
    text::pieces(chunk, Style::Prose, &mut |piece| match piece {
        Piece::Word(word) => {
            *clause += usize::from(matches!(word, "and" | "then"));
            push(word, *clause, kind(word), tokens);
        }
        Piece::Ideographs(run) => push(run, *clause, Kind::Ideographs, tokens),
        Piece::Break => *clause += 1,
    });
}

fn push(word: &str, clause: usize, kind: Kind, tokens: &mut Vec<Token>) {
    tokens.push(Token {
        text: word.to_owned(),
        stem: english::stem(word).into_owned(),
        clause,
        kind,
    });
}

fn kind(word: &str) -> Kind {
    if english::is_stop_word(word) {
        Kind::Stop
    } else if english::is_light(word) {
        Kind::Light
    } else {
        Kind::Word
    }
}
