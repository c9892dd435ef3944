//! A JSON lexer that yields string tokens and checks everything else.

use super::JsonError;
use crate::strip::is_suspect;

const DEEPEST: usize = 512;

/// The inside of a string, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    /// A whole word, because a token with a smaller last field is slow to hand over.
    marks: usize,
}

const ESCAPES: usize = 1;
const SUSPECT: usize = 2;
const NAME: usize = 4;
const PLAIN: usize = 8;

impl Token {
    pub(super) fn has_escapes(&self) -> bool {
        self.marks & ESCAPES != 0
    }

    /// Something in it needs a closer look: digits, `@`, an escape or a suspicious byte.
    pub(super) fn is_suspect(&self) -> bool {
        self.marks & SUSPECT != 0
    }

    /// It has neither an escape nor an `@` nor a suspicious byte.
    pub(super) fn is_plain(&self) -> bool {
        self.marks & PLAIN != 0
    }

    pub(super) fn is_name(&self) -> bool {
        self.marks & NAME != 0
    }
}

/// An open array, with the index of its current element, or an open object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    Array(usize),
    Object,
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// A value or `]`.
    FirstElement,
    /// A name or `}`.
    FirstName,
    Name,
    Colon,
    /// `,` or the end of what is open.
    After,
}

pub(super) struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Frame>,
    expect: Expect,
}

/// What the bytes of a string add up to: digits in the low half, bytes to be looked at above them, and where to stop.
const DIGIT: u64 = 1;
const LOOK: u64 = 1 << 32;
const STOP: u64 = 1 << 63;

/// With fewer digits a string holds no number of interest.
const FEWEST_DIGITS: u64 = 7;

static CLASS: [u64; 256] = classes();

const fn classes() -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if byte < 0x20 || byte == b'"' as usize || byte == b'\\' as usize {
            table[byte] = STOP;
        } else if byte >= b'0' as usize && byte <= b'9' as usize {
            table[byte] = DIGIT;
        } else if is_suspect(byte as u8) || byte == b'@' as usize {
            table[byte] = LOOK;
        }
        byte += 1;
    }
    table
}

impl<'a> Lexer<'a> {
    pub(super) fn new(raw: &'a str) -> Self {
        Lexer {
            bytes: raw.as_bytes(),
            at: 0,
            stack: Vec::new(),
            expect: Expect::Value,
        }
    }

    /// What is open around the last token.
    pub(super) fn stack(&self) -> &[Frame] {
        &self.stack
    }

    /// The next string, or none at the end of a complete document.
    pub(super) fn next(&mut self) -> Result<Option<Token>, JsonError> {
        loop {
            self.skip_whitespace();
            let Some(&byte) = self.bytes.get(self.at) else {
                let complete = self.expect == Expect::After && self.stack.is_empty();
                return if complete {
                    Ok(None)
                } else {
                    Err(self.error())
                };
            };
            if byte == b'"' {
                return self.string().map(Some);
            }
            self.punctuation(byte)?;
        }
    }

    fn string(&mut self) -> Result<Token, JsonError> {
        let is_name = match self.expect {
            Expect::Value | Expect::FirstElement => false,
            Expect::Name | Expect::FirstName => true,
            Expect::Colon | Expect::After => return Err(self.error()),
        };
        let start = self.at + 1;
        let (mut at, mut sum, mut has_escapes) = (start, 0, false);
        loop {
            // Four bytes at a time as long as none of them ends the string.
            while let Some(four) = self.bytes[at..].first_chunk::<4>() {
                let [first, second, third, fourth] = four.map(|byte| CLASS[usize::from(byte)]);
                if (first | second | third | fourth) & STOP != 0 {
                    break;
                }
                sum = u64::wrapping_add(sum, first + second + third + fourth);
                at += four.len();
            }
            let stop = self.bytes[at..].iter().position(|&byte| {
                let class = CLASS[usize::from(byte)];
                sum = u64::wrapping_add(sum, class);
                class == STOP
            });
            let Some(length) = stop else {
                return Err(JsonError::Syntax {
                    offset: self.bytes.len(),
                });
            };
            at += length + 1;
            match self.bytes.get(at - 1) {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    at += self.escape(at)?;
                }
                _ => return Err(JsonError::Syntax { offset: at - 1 }),
            }
        }
        self.at = at;
        self.pass_separator(is_name);
        let end = at - 1;
        let is_suspect = has_escapes || sum & !STOP >= FEWEST_DIGITS;
        let is_plain = !has_escapes && sum & !STOP < LOOK;
        Ok(Token {
            start,
            end,
            marks: (usize::from(has_escapes) * ESCAPES)
                | (usize::from(is_suspect) * SUSPECT)
                | (usize::from(is_name) * NAME)
                | (usize::from(is_plain) * PLAIN),
        })
    }

    /// Goes past the usual byte behind a string, unless that would change what is open around it.
    fn pass_separator(&mut self, is_name: bool) {
        let (expect, passed) = match (self.bytes.get(self.at), is_name, self.stack.last()) {
            (Some(b':'), true, _) => (Expect::Value, 1),
            (Some(b','), false, Some(Frame::Object)) => (Expect::Name, 1),
            (_, true, _) => (Expect::Colon, 0),
            (_, false, _) => (Expect::After, 0),
        };
        self.expect = expect;
        self.at += passed;
    }

    /// Checks the escape whose backslash precedes `at`; gives its length.
    fn escape(&self, at: usize) -> Result<usize, JsonError> {
        match self.bytes.get(at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(1),
            Some(b'u')
                if self
                    .bytes
                    .get(at + 1..at + 5)
                    .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
            {
                Ok(5)
            }
            _ => Err(JsonError::Syntax { offset: at }),
        }
    }

    fn punctuation(&mut self, byte: u8) -> Result<(), JsonError> {
        let value_may_come = matches!(self.expect, Expect::Value | Expect::FirstElement);
        match (byte, self.expect) {
            (b'{', _) if value_may_come => self.open(Frame::Object, Expect::FirstName)?,
            (b'[', _) if value_may_come => self.open(Frame::Array(0), Expect::FirstElement)?,
            (b'}', Expect::FirstName | Expect::After) => self.close(Frame::Object)?,
            (b']', Expect::FirstElement | Expect::After) => self.close(Frame::Array(0))?,
            (b':', Expect::Colon) => {
                self.expect = Expect::Value;
                self.at += 1;
            }
            (b',', Expect::After) => self.comma()?,
            (_, _) if value_may_come => {
                self.at += self.scalar()?;
                self.expect = Expect::After;
            }
            _ => return Err(self.error()),
        }
        Ok(())
    }

    fn open(&mut self, frame: Frame, expect: Expect) -> Result<(), JsonError> {
        if self.stack.len() == DEEPEST {
            return Err(JsonError::TooDeep { limit: DEEPEST });
        }
        self.stack.push(frame);
        self.expect = expect;
        self.at += 1;
        Ok(())
    }

    fn close(&mut self, kind: Frame) -> Result<(), JsonError> {
        let open = self.stack.pop();
        if open.is_none_or(|open| matches!(open, Frame::Object) != matches!(kind, Frame::Object)) {
            return Err(self.error());
        }
        self.expect = Expect::After;
        self.at += 1;
        Ok(())
    }

    fn comma(&mut self) -> Result<(), JsonError> {
        self.expect = match self.stack.last_mut() {
            Some(Frame::Array(index)) => {
                *index += 1;
                Expect::Value
            }
            Some(Frame::Object) => Expect::Name,
            None => return Err(self.error()),
        };
        self.at += 1;
        Ok(())
    }

    /// The length of the literal or number at the current place.
    fn scalar(&self) -> Result<usize, JsonError> {
        let rest = &self.bytes[self.at..];
        let length = match rest.first() {
            Some(b't') => rest.starts_with(b"true").then_some(4),
            Some(b'f') => rest.starts_with(b"false").then_some(5),
            Some(b'n') => rest.starts_with(b"null").then_some(4),
            _ => number_length(rest),
        };
        length.ok_or_else(|| self.error())
    }

    fn skip_whitespace(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn error(&self) -> JsonError {
        JsonError::Syntax { offset: self.at }
    }
}

fn number_length(rest: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        rest[from.min(rest.len())..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut at = usize::from(rest.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && rest[at] == b'0') {
        return None;
    }
    at += whole;
    if rest.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if matches!(rest.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(rest.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    Some(at)
}
