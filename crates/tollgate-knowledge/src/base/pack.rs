//! A version of a base as one packed stream, so that it can outlive its files.
//!
//! The files themselves are packed and not what was made of them: a later program reads
//! them again by its own rules. They are read in pieces, so packing a large base takes no
//! memory, and what comes out is this version or nothing: the digest is checked on the way
//! in and on the way out.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    Base,
    load::{Limits, Loading, Stamp, announce, name_in, version},
};

/// How much is read at once.
const PIECE: usize = 64 << 10;
/// The longest list of files that is read back.
const MOST_HEAD: u64 = 4 << 20;

/// Why a version was not packed or could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The files are no longer what the version was read from.
    #[error("the files have changed")]
    Changed,
    /// What is there is not what was packed, or can no longer be read.
    #[error("what was kept cannot be read: {0}")]
    Damaged(String),
    /// The stream itself failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What stands before the files.
#[derive(Serialize, Deserialize)]
struct Head {
    /// What was named: a file or a folder.
    path: String,
    /// The folder that the names count from.
    folder: String,
    /// Name and length of each file, in the order they were read.
    files: Vec<(String, u64)>,
}

/// A version that was read back.
#[derive(Debug)]
pub struct Unpacked {
    /// The base.
    pub base: Base,
    /// The file or folder it came from.
    pub path: PathBuf,
}

impl Stamp {
    /// Packs the files of a version; an error leaves half of it behind in `out`.
    pub fn pack(&self, wanted: &str, out: impl Write) -> Result<(), PackError> {
        let folder = self.folder();
        let head = Head {
            path: self.root().to_string_lossy().into_owned(),
            folder: folder.to_string_lossy().into_owned(),
            files: self
                .files()
                .map(|(path, length)| (name_in(folder, path), length))
                .collect(),
        };
        let mut out = ZlibEncoder::new(out, Compression::fast());
        serde_json::to_writer(&mut out, &head).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
        let mut digest = Sha256::new();
        for ((path, length), (name, _)) in self.files().zip(&head.files) {
            announce(&mut digest, name, length);
            copy(path, length, &mut digest, &mut out)?;
        }
        if version(digest) != wanted {
            return Err(PackError::Changed);
        }
        out.finish()?;
        Ok(())
    }
}

/// Copies one file of this length, piece by piece.
fn copy(
    path: &Path,
    length: u64,
    digest: &mut Sha256,
    out: &mut impl Write,
) -> Result<(), PackError> {
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        return Err(PackError::Changed);
    }
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE];
    let mut rest = length;
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        rest = rest.checked_sub(read as u64).ok_or(PackError::Changed)?;
        digest.update(&piece[..read]);
        out.write_all(&piece[..read])?;
    }
    match rest {
        0 => Ok(()),
        _ => Err(PackError::Changed),
    }
}

/// Reads back what [`Stamp::pack`] wrote.
pub fn unpack(packed: impl Read, limits: Limits) -> Result<Unpacked, PackError> {
    let mut packed = BufReader::new(ZlibDecoder::new(packed));
    let mut head = Vec::new();
    (&mut packed).take(MOST_HEAD).read_until(b'\n', &mut head)?;
    let head: Head =
        serde_json::from_slice(&head).map_err(|error| PackError::Damaged(error.to_string()))?;
    if head.files.len() > limits.files {
        return Err(PackError::Damaged("it has too many files".to_owned()));
    }
    let (path, folder) = (PathBuf::from(head.path), PathBuf::from(head.folder));
    let mut loading = Loading::new(&path, limits).within(&folder);
    for (name, length) in head.files {
        if length > limits.file_bytes {
            return Err(PackError::Damaged(format!("`{name}` is too long")));
        }
        let mut bytes = Vec::new();
        (&mut packed).take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(PackError::Damaged(format!("`{name}` is cut off")));
        }
        loading
            .take(&folder.join(name), bytes)
            .map_err(|problem| PackError::Damaged(problem.to_string()))?;
    }
    // The end is where the checksum of the stream is looked at.
    if packed.read(&mut [0])? != 0 {
        return Err(PackError::Damaged(
            "more follows than was packed".to_owned(),
        ));
    }
    let base = loading.finish().0.map_err(|problems| {
        let first = problems.first().map(ToString::to_string);
        PackError::Damaged(first.unwrap_or_default())
    })?;
    Ok(Unpacked { base, path })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Library, load};

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A folder in three formats, with an include below that is named twice.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            (
                "tea/a.json",
                r#"{"include": ["more/c.xml"], "nodes": {"root": {"response": "Tea?", "next_node": "b"}}}"#,
            ),
            (
                "tea/b.yaml",
                "include: [more/c.xml]\nnodes: {b: {response: B, next_node: c}}\n",
            ),
            (
                "tea/more/c.xml",
                "<k><node id=\"c\"><response>C</response></node></k>",
            ),
        ];
        for (name, text) in files {
            write(folder.path(), name, text);
        }
        folder
    }

    #[test]
    fn a_folder_with_includes_comes_back_as_it_was() {
        let folder = folder();
        let path = folder.path().join("tea");
        let (base, stamp) = load(&path, Limits::default());
        let base = base.unwrap();
        let mut packed = Vec::new();
        stamp.pack(base.version(), &mut packed).unwrap();
        fs::remove_dir_all(&path).unwrap();
        let back = unpack(packed.as_slice(), Limits::default()).unwrap();
        assert_eq!(back.path, path);
        assert_eq!(
            (back.base.id(), back.base.version()),
            (base.id(), base.version())
        );
        assert!(back.base.node_ids().eq(base.node_ids()));
        let said = |base| {
            let library = Library::new(vec![std::sync::Arc::new(base)]);
            library.start("hello").unwrap().1.response
        };
        assert_eq!(said(back.base), said(base));
    }

    #[test]
    fn files_that_changed_are_not_packed() {
        let folder = folder();
        let path = folder.path().join("tea");
        let (base, stamp) = load(&path, Limits::default());
        let version = base.unwrap().version().to_owned();
        let again = |text: &str| {
            write(&path, "b.yaml", text);
            stamp.pack(&version, io::sink())
        };
        let same = "include: [more/c.xml]\nnodes: {b: {response: B, next_node: c}}\n";
        assert!(again(same).is_ok());
        for text in [
            "",
            "longer than it was, by quite a lot of words that stand here for nothing else at all",
            &same.replace("response: B", "response: X"),
        ] {
            assert!(matches!(again(text), Err(PackError::Changed)), "{text}");
        }
    }

    #[test]
    fn what_is_damaged_is_an_error() {
        let folder = folder();
        let (base, stamp) = load(&folder.path().join("tea"), Limits::default());
        let mut packed = Vec::new();
        stamp.pack(base.unwrap().version(), &mut packed).unwrap();
        for length in 0..packed.len() {
            assert!(
                unpack(&packed[..length], Limits::default()).is_err(),
                "{length}"
            );
        }
        packed[10] ^= 0x55;
        assert!(unpack(packed.as_slice(), Limits::default()).is_err());
        let small = Limits {
            file_bytes: 20,
            ..Limits::default()
        };
        packed[10] ^= 0x55;
        assert!(matches!(
            unpack(packed.as_slice(), small),
            Err(PackError::Damaged(_))
        ));
    }
}
