//! Walks over the usual answer in one pass over its bytes.
//!
//! Histories are most of an answer, and a list of whole numbers needs little of what JSON allows. Invariant: nothing is
//! refused here. Whatever is not the usual shape is left to JSON's own reader, so both ways read the same, and every error
//! is that reader's.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

/// How deep JSON's reader goes.
const DEEPEST: usize = 127;

/// A place in an answer. Every method goes on behind what it read, or gives nothing.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    body: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning.
    pub(crate) fn new(body: &'a str) -> Self {
        Self { body, at: 0 }
    }

    /// Whether nothing but spaces is left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.skip_spaces();
        self.at == self.body.len()
    }

    fn peek(&self) -> Option<u8> {
        self.body.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Goes on behind a sign if that is what comes.
    fn take(&mut self, sign: u8) -> bool {
        self.skip_spaces();
        let is_there = self.peek() == Some(sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, sign: u8) -> Option<()> {
        self.take(sign).then_some(())
    }

    pub(crate) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &'a str) -> Option<()>,
    ) -> Option<()> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Some(());
        }
        loop {
            let name = self.name()?;
            self.expect(b':')?;
            field(self, name)?;
            if self.take(b'}') {
                return Some(());
            }
            self.expect(b',')?;
        }
    }

    pub(crate) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Some(());
        }
        loop {
            item(self)?;
            if self.take(b']') {
                return Some(());
            }
            self.expect(b',')?;
        }
    }

    /// A name that is spelled without escapes.
    fn name(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let rest = self.body.get(self.at..)?;
        let end = rest
            .bytes()
            .position(|one| one < b' ' || b"\"\\".contains(&one))?;
        let name = rest.get(..end)?;
        self.at += end;
        // Looked at and not looked for: what stops a name may be a space that JSON refuses in there.
        let is_closed = self.body.as_bytes().get(self.at) == Some(&b'"');
        self.at += 1;
        is_closed.then_some(name)
    }

    pub(crate) fn null(&mut self) -> bool {
        self.skip_spaces();
        let rest = self.body.as_bytes().get(self.at..);
        let is_there = rest.is_some_and(|rest| rest.starts_with(b"null"));
        self.at += if is_there { 4 } else { 0 };
        is_there
    }

    /// Any value, read as JSON and not kept.
    pub(crate) fn skip(&mut self) -> Option<()> {
        self.read::<IgnoredAny>().map(drop)
    }

    /// Any value, read as JSON, that lies within so many levels.
    pub(crate) fn value(&mut self, levels: usize) -> Option<Value> {
        let value = self.read()?;
        is_within(&value, DEEPEST - levels).then_some(value)
    }

    fn read<T: Deserialize<'a>>(&mut self) -> Option<T> {
        let rest = self.body.get(self.at..)?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        let value = values.next()?.ok()?;
        self.at += values.byte_offset();
        Some(value)
    }

    /// A list of whole numbers, each of which has to be taken.
    pub(crate) fn numbers(&mut self, mut put: impl FnMut(i64) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Some(());
        }
        loop {
            // A short number and a comma are nearly all there is.
            let mut rest = self.body.as_bytes().get(self.at..)?;
            while let Some(eight) = rest.first_chunk()
                && let Some((number, length)) = short_number(*eight)
                && let Some((b',', after)) = rest.get(length..).and_then(<[u8]>::split_first)
            {
                put(number)?;
                rest = after;
            }
            self.at = self.body.len() - rest.len();
            put(self.number()?)?;
            if self.take(b']') {
                return Some(());
            }
            self.expect(b',')?;
        }
    }

    /// A whole number of at most 18 digits.
    fn number(&mut self) -> Option<i64> {
        let mut rest = self.body.as_bytes().get(self.at..)?;
        if rest.first().is_some_and(|first| *first <= b' ') {
            self.skip_spaces();
            rest = self.body.as_bytes().get(self.at..)?;
        }
        let is_negative = rest.first() == Some(&b'-');
        if is_negative {
            rest = rest.get(1..)?;
        }
        let (number, length) = leading_digits(rest);
        let is_padded = length > 1 && rest.first() == Some(&b'0');
        // Minus zero is a fraction to JSON's reader.
        let is_usual = (1..=18).contains(&length) && !is_padded && !(is_negative && number == 0);
        self.at += length + usize::from(is_negative);
        is_usual.then(|| if is_negative { -number } else { number })
    }
}

/// The number that a text begins with, and how many digits it has. With more than 18 digits it may be any number.
fn leading_digits(text: &[u8]) -> (i64, usize) {
    let digits = text.iter().take_while(|one| one.is_ascii_digit());
    let add = |(number, length): (i64, usize), digit: &u8| {
        let digit = i64::from(digit - b'0');
        (number.wrapping_mul(10).wrapping_add(digit), length + 1)
    };
    digits.fold((0, 0), add)
}

/// The number that eight bytes begin with if it ends within them, and how many digits it has, worked out on all eight
/// at once.
#[inline(always)]
fn short_number(bytes: [u8; 8]) -> Option<(i64, usize)> {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const TWO: u64 = 0x0000_00ff_0000_00ff;
    // A digit becomes its value; what is none is 10 or more, which the sum shows in its highest bit. A carry reaches
    // only bytes behind the first that is no digit, and those do not count.
    let values = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & HIGH;
    let length = others.trailing_zeros() / 8;
    let is_padded = bytes[0] == b'0' && length > 1;
    if !(1..8).contains(&length) || is_padded {
        return None;
    }
    // Digits to the end, zeros in front: then tens and ones are joined, and the pairs with the weights of their places.
    let digits = values << (64 - 8 * length);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let outer = (pairs & TWO).wrapping_mul(100 + (1_000_000 << 32));
    let inner = ((pairs >> 16) & TWO).wrapping_mul(1 + (10_000 << 32));
    let number = outer.wrapping_add(inner) >> 32;
    Some((number as i64, length as usize))
}

/// Whether a value has no more levels than these.
fn is_within(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else {
        return !value.is_array() && !value.is_object();
    };
    match value {
        Value::Array(all) => all.iter().all(|one| is_within(one, left)),
        Value::Object(map) => map.values().all(|one| is_within(one, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
