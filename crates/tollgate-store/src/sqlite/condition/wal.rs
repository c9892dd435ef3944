//! Reads the write-ahead log from outside, to see whether it still holds what was written.
//!
//! After a failed sync the system may have dropped what was not on the disk, and SQLite reads
//! frames without looking at their checksums. The format is the one SQLite documents.

use std::{fs::File, io};

const HEADER: usize = 32;
const FRAME: usize = 24;

/// What the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    page: usize,
    is_big_endian: bool,
    /// Changes whenever the log starts over.
    pub(crate) salt: [u8; 8],
    sum: (u32, u32),
}

/// The header; nothing if the log is empty or does not begin like one.
pub(crate) fn header(file: &File) -> io::Result<Option<Header>> {
    let mut bytes = [0; HEADER];
    if !read(file, &mut bytes, 0)? {
        return Ok(None);
    }
    let magic = number(&bytes[..4]);
    if magic & !1 != 0x377f_0682 {
        return Ok(None);
    }
    let is_big_endian = magic & 1 == 1;
    let sum = checksum(&bytes[..24], (0, 0), is_big_endian);
    if sum != (number(&bytes[24..28]), number(&bytes[28..32])) {
        return Ok(None);
    }
    let mut salt = [0; 8];
    salt.copy_from_slice(&bytes[16..24]);
    Ok(Some(Header {
        page: number(&bytes[8..12]) as usize,
        is_big_endian,
        salt,
        sum,
    }))
}

/// How many frames from the first on are as they were written.
pub(crate) fn valid_frames(file: &File, header: Header) -> io::Result<u32> {
    let size = FRAME + header.page;
    let mut frame = vec![0; size];
    let (mut count, mut sum) = (0, header.sum);
    while read(file, &mut frame, (HEADER + size * count as usize) as u64)? {
        sum = checksum(&frame[..8], sum, header.is_big_endian);
        sum = checksum(&frame[FRAME..], sum, header.is_big_endian);
        let is_ours = frame[8..16] == header.salt;
        if !is_ours || sum != (number(&frame[16..20]), number(&frame[20..24])) {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// What a frame, counted from 1, is known by: the salt and the sum over everything up to it.
pub(crate) fn mark(file: &File, header: Header, frame: u32) -> io::Result<Option<[u8; 16]>> {
    let Some(before) = frame.checked_sub(1) else {
        return Ok(None);
    };
    let mut mark = [0; 16];
    let at = HEADER + (FRAME + header.page) * before as usize + 8;
    let is_there = read(file, &mut mark, at as u64)?;
    Ok(is_there.then_some(mark))
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |all, byte| all << 8 | u32::from(*byte))
}

/// The sum SQLite keeps: over pairs of 32-bit words, in the order of the machine that wrote them.
fn checksum(bytes: &[u8], (mut first, mut second): (u32, u32), is_big_endian: bool) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let number = number(bytes);
        if is_big_endian {
            number
        } else {
            number.swap_bytes()
        }
    };
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(word(&pair[..4])).wrapping_add(second);
        second = second.wrapping_add(word(&pair[4..])).wrapping_add(first);
    }
    (first, second)
}

/// Fills `bytes` from a place in the file; `false` if it ends before.
#[cfg(unix)]
fn read(file: &File, bytes: &mut [u8], at: u64) -> io::Result<bool> {
    use std::os::unix::fs::FileExt as _;
    match file.read_exact_at(bytes, at) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn read(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<bool> {
    use std::io::{Read as _, Seek as _};
    file.seek(io::SeekFrom::Start(at))?;
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::OpenOptions, io::Seek as _, io::SeekFrom, io::Write as _};

    use super::*;
    use crate::{settings::Limits, sqlite::open};

    #[test]
    fn a_frame_that_is_not_as_it_was_written_ends_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let connection = open::writer(directory.path(), &Limits::default()).unwrap();
        open::use_log(&connection).unwrap();
        connection.execute_batch("CREATE TABLE a (x)").unwrap();
        for number in 0..20 {
            connection
                .execute("INSERT INTO a VALUES (?1)", [number])
                .unwrap();
        }
        let (frames, _) = connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
                Ok((row.get::<_, u32>(1)?, row.get::<_, u32>(2)?))
            })
            .unwrap();
        let path = directory.path().join(open::LOG);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .unwrap();
        let found = header(&file).unwrap().unwrap();
        assert_eq!(valid_frames(&file, found).unwrap(), frames);
        file.seek(SeekFrom::Start(
            (HEADER + 5 * (FRAME + found.page) + 100) as u64,
        ))
        .unwrap();
        file.write_all(b"lost").unwrap();
        assert_eq!(valid_frames(&file, found).unwrap(), 5);
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(&[0; HEADER]).unwrap();
        assert_eq!(header(&file).unwrap(), None);
        file.set_len(0).unwrap();
        assert_eq!(header(&file).unwrap(), None);
    }
}
