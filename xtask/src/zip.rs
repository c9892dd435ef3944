//! Writes archives whose entries are stored as they are.
//!
//! A bundle needs no more, and the same files always give the same bytes.

use anyhow::{Context, Result};

/// A file in an archive.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) content: &'a [u8],
    /// Unix permissions.
    pub(crate) mode: u32,
}

const VERSION: u16 = 20;
const MADE_ON_UNIX: u16 = 3 << 8;
const REGULAR_FILE: u32 = 0o100_000;
/// The first day the format knows; a real one would make every bundle different.
const DAY: u16 = 0x0021;

/// The archive of these entries, in this order.
pub(crate) fn archive(entries: &[Entry<'_>]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let start = size(bytes.len())?;
        let shared = shared_fields(entry)?;
        put(
            &mut bytes,
            &[b"PK\x03\x04", &VERSION.to_le_bytes(), &shared],
        );
        put(&mut bytes, &[entry.name.as_bytes(), entry.content]);

        let made_by = (MADE_ON_UNIX | VERSION).to_le_bytes();
        let attributes = ((REGULAR_FILE | entry.mode) << 16).to_le_bytes();
        put(
            &mut directory,
            &[b"PK\x01\x02", &made_by, &VERSION.to_le_bytes(), &shared],
        );
        // No comment, the first disk, no internal attributes.
        put(
            &mut directory,
            &[&[0; 6], &attributes, &start.to_le_bytes()],
        );
        put(&mut directory, &[entry.name.as_bytes()]);
    }
    let count = u16::try_from(entries.len()).context("too many files")?;
    let (place, length) = (size(bytes.len())?, size(directory.len())?);
    put(&mut bytes, &[&directory, b"PK\x05\x06", &[0; 4]]);
    put(&mut bytes, &[&count.to_le_bytes(), &count.to_le_bytes()]);
    put(
        &mut bytes,
        &[&length.to_le_bytes(), &place.to_le_bytes(), &[0; 2]],
    );
    Ok(bytes)
}

/// What an entry's header and its line in the directory both say.
fn shared_fields(entry: &Entry<'_>) -> Result<Vec<u8>> {
    let name = u16::try_from(entry.name.len()).context("the name is too long")?;
    let length = size(entry.content.len())?;
    let mut fields = Vec::new();
    // No flags, no compression, midnight.
    put(&mut fields, &[&[0; 6], &DAY.to_le_bytes()]);
    put(&mut fields, &[&checksum(entry.content).to_le_bytes()]);
    put(&mut fields, &[&length.to_le_bytes(), &length.to_le_bytes()]);
    put(&mut fields, &[&name.to_le_bytes(), &[0; 2]]);
    Ok(fields)
}

fn put(bytes: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}

fn size(length: usize) -> Result<u32> {
    u32::try_from(length).context("larger than the format can say")
}

/// CRC-32 as in IEEE 802.3.
fn checksum(content: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1));
    let table: [u32; 256] = std::array::from_fn(|byte| (0..8).fold(byte as u32, step));
    let next = |crc: u32, byte: &u8| (crc >> 8) ^ table[usize::from(crc as u8 ^ byte)];
    !content.iter().fold(!0, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_the_known_ones() {
        assert_eq!(checksum(b""), 0);
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }
}
