//! The parts of a packed file, as spreadsheet programs write them.
//!
//! Only what they use: stored and deflated parts, found by the list at the end. What a
//! part claims about its size is not believed; unpacking stops at a bound, and what comes
//! out is what was packed or nothing. Names only find parts: nothing is written anywhere.

use std::io::Read as _;

use flate2::{Crc, read::DeflateDecoder};

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
}

#[derive(Debug)]
struct Part<'a> {
    name: &'a [u8],
    is_locked: bool,
    method: u16,
    checksum: u32,
    length: usize,
    at: usize,
}

fn cut_off() -> Wrong {
    "the file is cut off or damaged".to_owned()
}

/// So many bytes at a place.
fn some(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], Wrong> {
    let rest = bytes.get(at..).ok_or_else(cut_off)?;
    rest.get(..length).ok_or_else(cut_off)
}

/// The number of two bytes at a place.
fn short(bytes: &[u8], at: usize) -> Result<u16, Wrong> {
    let two = some(bytes, at, 2)?.try_into();
    two.map(u16::from_le_bytes).map_err(|_| cut_off())
}

/// The number of four bytes at a place.
fn long(bytes: &[u8], at: usize) -> Result<u32, Wrong> {
    let four = some(bytes, at, 4)?.try_into();
    four.map(u32::from_le_bytes).map_err(|_| cut_off())
}

/// A place or a length of four bytes.
fn size(bytes: &[u8], at: usize) -> Result<usize, Wrong> {
    usize::try_from(long(bytes, at)?).map_err(|_| cut_off())
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
        let mut rest = bytes.get(size(bytes, end + 16)?..).ok_or_else(cut_off)?;
        let mut parts = Vec::new();
        for _ in 0..count {
            if !rest.starts_with(&LISTED) {
                return Err(cut_off());
            }
            let name_length = usize::from(short(rest, 28)?);
            let more = usize::from(short(rest, 30)?) + usize::from(short(rest, 32)?);
            parts.push(Part {
                name: some(rest, 46, name_length)?,
                is_locked: short(rest, 8)? & 1 == 1,
                method: short(rest, 10)?,
                checksum: long(rest, 16)?,
                length: size(rest, 20)?,
                at: size(rest, 42)?,
            });
            rest = rest.get(46 + name_length + more..).ok_or_else(cut_off)?;
        }
        Ok(Self { bytes, parts })
    }

    /// The text of a part, if there is one of this name; one of more bytes is an error.
    pub(super) fn text(&self, name: &str, most: u64) -> Result<Option<String>, Wrong> {
        let part = self.parts.iter().find(|part| part.name == name.as_bytes());
        let Some(part) = part else {
            return Ok(None);
        };
        if part.is_locked {
            return Err("the file is protected by a password".to_owned());
        }
        let local = self.bytes.get(part.at..).ok_or_else(cut_off)?;
        if !local.starts_with(&LOCAL) {
            return Err(cut_off());
        }
        let before = 30 + usize::from(short(local, 26)?) + usize::from(short(local, 28)?);
        let packed = some(local, before, part.length)?;
        let mut text = Vec::new();
        let read = match part.method {
            0 => packed.take(most + 1).read_to_end(&mut text),
            8 => DeflateDecoder::new(packed)
                .take(most + 1)
                .read_to_end(&mut text),
            other => {
                let name = crate::short(name);
                return Err(format!(
                    "`{name}` is packed in a way ({other}) that is not read"
                ));
            }
        };
        read.map_err(|_| cut_off())?;
        let name = crate::short(name);
        if text.len() as u64 > most {
            return Err(format!("`{name}` has more than {most} bytes"));
        }
        let mut checksum = Crc::new();
        checksum.update(&text);
        if checksum.sum() != part.checksum {
            return Err(cut_off());
        }
        let text = String::from_utf8(text).map_err(|_| format!("`{name}` is not in UTF-8"))?;
        Ok(Some(text))
    }
}
