//! What a human is shown of a call before agreeing to it.
//!
//! Invariant: nothing that would run is hidden. Only scalars of arguments that are called like a
//! secret, and key material in its real form, are masked; objects, arrays and the items of arrays
//! never. Every gap says what it is, how long it is and a keyed digest, and no text of the call can
//! spell a gap. Code is shown in full, and of other arguments only the middle of long texts is left
//! out; otherwise there is no view and nobody is asked.

mod arguments;
mod masks;
mod spelling;

use tollgate_core::canonical::hex;

use crate::{policy::ApprovalKey, sanitize::Cleaner};

pub(crate) use arguments::{Code, can_be_read};

/// Characters of arguments without code that are shown before long strings are shortened.
const ARGUMENTS: usize = 64_000;
/// Characters of code in a call; nobody reads more, so more is refused.
const CODE: usize = 128_000;
/// The digits of a digest in a gap.
const DIGITS: usize = 12;

/// Why a call cannot be shown as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unshowable {
    /// Masking the key would hide a part of the code.
    #[error("`{argument}` is code that holds a {rule}, which may not be shown or left out")]
    KeyInCode {
        /// The argument's name.
        argument: String,
        /// What sort of key it is.
        rule: &'static str,
    },
    /// A part of them would be cut off, and nobody could tell which.
    #[error(
        "the arguments are {characters} characters long with every long text shortened, and {ARGUMENTS} can be shown"
    )]
    ArgumentsTooLong {
        /// How long they are.
        characters: usize,
    },
    /// Nobody would read it to its end.
    #[error("the code is {characters} characters long, and {CODE} can be shown")]
    CodeTooLong {
        /// How long it is.
        characters: usize,
    },
}

/// How much of a view is not what the call says, letter by letter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Scalars and keys that are masked.
    pub(crate) masked: usize,
    /// Characters that move or hide text, spelled out.
    pub(crate) spelled: usize,
    /// Characters left out of long strings.
    pub(crate) hidden: usize,
}

impl Changes {
    /// Whether every view has to say so.
    pub(crate) fn cleaned(self) -> bool {
        self.masked + self.spelled > 0
    }
}

/// The arguments of a call as a human is shown them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arguments {
    /// JSON, in the order sent.
    pub(crate) text: String,
    /// The code in it, line by line.
    pub(crate) code: Vec<Code>,
    pub(crate) changes: Changes,
}

/// Makes views.
pub(crate) struct Viewer<'a> {
    pub(crate) cleaner: &'a Cleaner,
    pub(crate) key: &'a ApprovalKey,
}

impl Viewer<'_> {
    /// A text of several lines, such as what a call would do.
    pub(crate) fn text(&self, text: &str, limit: usize) -> (String, Changes) {
        let mut changes = Changes::default();
        let mut out = String::with_capacity(text.len());
        let masked = masks::keys(self, text, &mut changes);
        for piece in &masked {
            match piece {
                masks::Piece::Text(text) => changes.spelled += spelling::lines(text, &mut out),
                masks::Piece::Gap(gap) => out.push_str(gap),
            }
        }
        if let Some((at, _)) = out.char_indices().nth(limit) {
            changes.hidden = out[at..].chars().count();
            out.truncate(at);
            out.push('…');
        }
        (out, changes)
    }

    /// A name on one line.
    pub(crate) fn line(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        spelling::string(text, &mut out);
        out
    }

    /// What stands for something that is not shown.
    fn gap(&self, word: &str, what: &str, hidden: &str) -> String {
        let digest = hex(&self.key.fingerprint(format!("gap\n{hidden}").as_bytes()));
        let digest = digest.get(..DIGITS).unwrap_or_default();
        let characters = hidden.chars().count();
        format!("[{word}:{what}, {characters} characters #{digest}]")
    }
}

#[cfg(test)]
mod tests;
