//! The parts of a packed file, as spreadsheet programs write them.
//!
//! Only what they use: stored and deflated parts, found by the list at the end. What a
//! part claims about its size is not believed; unpacking stops at a bound.

use std::io::Read as _;

use flate2::read::DeflateDecoder;

/// The most bytes of one unpacked part.
const MOST_BYTES: u64 = 256 << 20;
/// The most parts that are listed.
const MOST_PARTS: usize = 10_000;

const END: [u8; 4] = *b"PK\x05\x06";
const LISTED: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// The list at the end has this many bytes, and a comment of at most 64 KiB behind it.
const END_LENGTH: usize = 22;
const MOST_COMMENT: usize = 65_535;

/// What is wrong with the file, for its owner.
pub(super) type Wrong = String;

/// A packed file.
#[derive(Debug)]
pub(super) struct Zip<'a> {
    bytes: &'a [u8],
    parts: Vec<Part<'a>>,
    most: u64,
}

#[derive(Debug)]
struct Part<'a> {
    name: &'a [u8],
    is_locked: bool,
    method: u16,
    length: usize,
    at: usize,
}

fn cut_off() -> Wrong {
    "the file is cut off or damaged".to_owned()
}

/// The number of two bytes at a place.
fn short(bytes: &[u8], at: usize) -> Result<u16, Wrong> {
    let two = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    two.map(u16::from_le_bytes).ok_or_else(cut_off)
}

/// The number of four bytes at a place.
fn long(bytes: &[u8], at: usize) -> Result<usize, Wrong> {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    let number = four.map(u32::from_le_bytes).ok_or_else(cut_off)?;
    usize::try_from(number).map_err(|_| cut_off())
}

impl<'a> Zip<'a> {
    /// Reads the list of parts.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, Wrong> {
        let earliest = bytes.len().saturating_sub(END_LENGTH + MOST_COMMENT);
        let behind = bytes.get(earliest..).unwrap_or_default();
        let end = behind.windows(4).rposition(|four| four == END);
        let end = earliest + end.ok_or_else(cut_off)?;
        let count = usize::from(short(bytes, end + 10)?);
        if count > MOST_PARTS {
            return Err(format!("the file has more than {MOST_PARTS} parts"));
        }
        let mut at = long(bytes, end + 16)?;
        let mut parts = Vec::new();
        for _ in 0..count {
            if bytes.get(at..at + 4) != Some(&LISTED[..]) {
                return Err(cut_off());
            }
            let name_length = usize::from(short(bytes, at + 28)?);
            let more = usize::from(short(bytes, at + 30)?) + usize::from(short(bytes, at + 32)?);
            let name = bytes.get(at + 46..at + 46 + name_length);
            parts.push(Part {
                name: name.ok_or_else(cut_off)?,
                is_locked: short(bytes, at + 8)? & 1 == 1,
                method: short(bytes, at + 10)?,
                length: long(bytes, at + 20)?,
                at: long(bytes, at + 42)?,
            });
            at += 46 + name_length + more;
        }
        Ok(Self {
            bytes,
            parts,
            most: MOST_BYTES,
        })
    }

    /// The same with another bound.
    #[cfg(test)]
    pub(super) fn within(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// The text of a part, if there is one of this name.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Wrong> {
        let part = self.parts.iter().find(|part| part.name == name.as_bytes());
        let Some(part) = part else {
            return Ok(None);
        };
        if part.is_locked {
            return Err("the file is protected by a password".to_owned());
        }
        let bytes = self.bytes;
        if bytes.get(part.at..part.at + 4) != Some(&LOCAL[..]) {
            return Err(cut_off());
        }
        let before = 30
            + usize::from(short(bytes, part.at + 26)?)
            + usize::from(short(bytes, part.at + 28)?);
        let start = part.at + before;
        let packed = bytes.get(start..start + part.length).ok_or_else(cut_off)?;
        let mut text = Vec::new();
        let read = match part.method {
            0 => packed.take(self.most + 1).read_to_end(&mut text),
            8 => DeflateDecoder::new(packed)
                .take(self.most + 1)
                .read_to_end(&mut text),
            other => {
                return Err(format!(
                    "`{name}` is packed in a way ({other}) that is not read"
                ));
            }
        };
        read.map_err(|_| cut_off())?;
        if text.len() as u64 > self.most {
            return Err(format!("`{name}` has more than {} bytes", self.most));
        }
        let text = String::from_utf8(text).map_err(|_| format!("`{name}` is not in UTF-8"))?;
        Ok(Some(text))
    }
}
