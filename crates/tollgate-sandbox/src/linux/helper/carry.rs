//! The workspace while a program runs: in memory, as large as it may be and no larger.
//!
//! What the folder holds is carried in before the program starts, and carried out when
//! nothing inside runs any more. So the kernel itself refuses what is too much, files
//! without a name included, and whoever ends a run halfway leaves the folder as it was.
//!
//! Invariant: nothing is carried while a program runs, no link is ever followed, and a file
//! that is replaced is there whole at every moment, the old one or the new one.

use std::{
    collections::{HashMap, HashSet},
    ffi::{CStr, CString},
    fs::File,
    io::{self, Read, Seek, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, Stat, Timespec, Timestamps, chmodat, fstatvfs,
        linkat, mkdirat, mknodat, openat, readlinkat, renameat, statat, symlinkat, unlinkat,
        utimensat,
    },
    io::Errno,
    mount::{MountFlags, mount},
};

use super::{At, Trouble};
use crate::{
    job::{Limit, Limits},
    linux::workspace::{MAX_DEPTH, empty, force, names},
};

const CHUNK: usize = 64 << 10;
/// A file that is not complete yet; one that a crash left behind is not carried on.
const UNFINISHED: &CStr = c".tollgate-carried";

/// Makes an empty workspace that cannot grow beyond its limits.
pub(super) fn make(at: &Path, limits: &Limits) -> io::Result<()> {
    let options = format!(
        "size={},nr_inodes={},mode=700",
        // Nothing would mean without end.
        limits.disk.max(1),
        // The folder itself counts as well.
        limits.files.saturating_add(1)
    );
    let plain = MountFlags::NOSUID | MountFlags::NODEV;
    mount::<_, _, _, &CStr>("tmpfs", at, "tmpfs", plain, &*CString::new(options)?)?;
    Ok(())
}

/// Carries the folder in; a limit if it is too small for what the folder holds.
pub(super) fn carry_in(folder: &OwnedFd, at: &Path) -> Result<Option<Limit>, Trouble> {
    let inside = open(at).at("workspace")?;
    let mut carrier = Carrier::to(inside.as_fd());
    match carrier.mirror(folder.as_fd(), inside.as_fd(), b"", 0) {
        Ok(()) => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => {
            Ok(Some(exhausted(&inside).unwrap_or(Limit::Disk)))
        }
        Err(error) => Err(error).at("workspace"),
    }
}

/// Carries out what a program left; the limits it came up against.
pub(super) fn carry_out(
    folder: &OwnedFd,
    at: &Path,
    limits: &Limits,
) -> Result<Vec<Limit>, Trouble> {
    let inside = open(at).at("keep")?;
    let mut reached: Vec<Limit> = exhausted(&inside).into_iter().collect();
    let mut carrier = Carrier::to(folder.as_fd());
    carrier.left_out = too_much(inside.as_fd(), limits.disk).at("keep")?;
    if !carrier.left_out.is_empty() {
        reached.push(Limit::Disk);
    }
    carrier
        .mirror(inside.as_fd(), folder.as_fd(), b"", 0)
        .at("keep")?;
    if carrier.is_too_deep {
        reached.push(Limit::Files);
    }
    Ok(reached)
}

fn open(at: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(CWD, at, flags, Mode::empty())?)
}

/// What there is nothing left of.
fn exhausted(inside: &OwnedFd) -> Option<Limit> {
    let about = fstatvfs(inside).ok()?;
    match (about.f_bavail, about.f_ffree) {
        (0, _) => Some(Limit::Disk),
        (_, 0) => Some(Limit::Files),
        _ => None,
    }
}

/// The largest files, as many as have to go. Only what has holes can be larger than the
/// memory it was in.
fn too_much(inside: BorrowedFd<'_>, most: u64) -> io::Result<HashSet<u64>> {
    let mut sizes: HashMap<u64, u64> = HashMap::new();
    measure(inside, 0, &mut sizes)?;
    let mut total = sizes
        .values()
        .fold(0, |sum: u64, size| sum.saturating_add(*size));
    let mut sizes: Vec<(u64, u64)> = sizes.into_iter().map(|(file, size)| (size, file)).collect();
    sizes.sort_unstable();
    let mut left_out = HashSet::new();
    while total > most
        && let Some((size, file)) = sizes.pop()
    {
        total -= size.min(total);
        left_out.insert(file);
    }
    Ok(left_out)
}

fn measure(folder: BorrowedFd<'_>, depth: usize, sizes: &mut HashMap<u64, u64>) -> io::Result<()> {
    for name in names(folder)? {
        let about = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => {
                let size = u64::try_from(about.st_size).unwrap_or(0);
                sizes.insert(about.st_ino, size);
            }
            FileType::Directory if depth + 1 < MAX_DEPTH => {
                measure(force(folder, &name)?.as_fd(), depth + 1, sizes)?;
            }
            FileType::Directory
            | FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }
    Ok(())
}

struct Carrier<'a> {
    /// The top of the folder that is written.
    top: BorrowedFd<'a>,
    /// Files with several names, and the first of them.
    named: HashMap<u64, Vec<u8>>,
    /// Files that do not fit.
    left_out: HashSet<u64>,
    is_too_deep: bool,
}

impl<'a> Carrier<'a> {
    fn to(top: BorrowedFd<'a>) -> Self {
        Self {
            top,
            named: HashMap::new(),
            left_out: HashSet::new(),
            is_too_deep: false,
        }
    }

    /// Makes `to` what `from` is; what is the same already is left alone.
    fn mirror(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        prefix: &[u8],
        depth: usize,
    ) -> io::Result<()> {
        let mut wanted = names(from)?;
        wanted.retain(|name| name.as_c_str() != UNFINISHED);
        let known: HashSet<&CString> = wanted.iter().collect();
        // What goes makes room for what comes.
        for name in names(to)? {
            if !known.contains(&name) {
                remove(to, &name)?;
            }
        }
        for name in &wanted {
            let about = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let place = Place { from, to, name };
            match FileType::from_raw_mode(about.st_mode) {
                FileType::Directory => self.folder(&place, &about, prefix, depth)?,
                FileType::RegularFile => self.file(&place, &about, prefix)?,
                FileType::Symlink => link(&place)?,
                FileType::Fifo => pipe(&place)?,
                // Nobody inside can make these.
                FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => remove(to, name)?,
            }
        }
        Ok(())
    }

    fn folder(
        &mut self,
        place: &Place<'_>,
        about: &Stat,
        prefix: &[u8],
        depth: usize,
    ) -> io::Result<()> {
        if depth + 1 >= MAX_DEPTH {
            self.is_too_deep = true;
            return remove(place.to, place.name);
        }
        if !place.is(FileType::Directory)? {
            remove(place.to, place.name)?;
            mkdirat(place.to, place.name, Mode::RWXU)?;
        }
        let (from, to) = (force(place.from, place.name)?, force(place.to, place.name)?);
        let prefix = [prefix, place.name.to_bytes(), b"/"].concat();
        self.mirror(from.as_fd(), to.as_fd(), &prefix, depth + 1)?;
        place.finish(about)
    }

    fn file(&mut self, place: &Place<'_>, about: &Stat, prefix: &[u8]) -> io::Result<()> {
        if self.left_out.contains(&about.st_ino) {
            return remove(place.to, place.name);
        }
        if about.st_nlink > 1 {
            let path = [prefix, place.name.to_bytes()].concat();
            if let Some(first) = self.named.get(&about.st_ino) {
                remove(place.to, place.name)?;
                return Ok(linkat(
                    self.top,
                    first.as_slice(),
                    place.to,
                    place.name,
                    AtFlags::empty(),
                )?);
            }
            self.named.insert(about.st_ino, path);
        }
        let mut source = read(place.from, place.name, about)?;
        if place.holds(&mut source, about)? {
            return place.finish(about);
        }
        let unfinished = Place {
            name: UNFINISHED,
            ..*place
        };
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let target = openat(place.to, UNFINISHED, flags, mode)?;
        source.rewind()?;
        copy(&mut source, &mut File::from(target), about)?;
        unfinished.finish(about)?;
        if place.is(FileType::Directory)? {
            remove(place.to, place.name)?;
        }
        Ok(renameat(place.to, UNFINISHED, place.to, place.name)?)
    }
}

/// One name in both folders.
struct Place<'a> {
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    name: &'a CStr,
}

impl Place<'_> {
    fn target(&self) -> io::Result<Option<Stat>> {
        match statat(self.to, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => Ok(Some(about)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn is(&self, kind: FileType) -> io::Result<bool> {
        let about = self.target()?;
        Ok(about.is_some_and(|about| FileType::from_raw_mode(about.st_mode) == kind))
    }

    /// Whether the target is a file of its own with this very content. Times say nothing:
    /// who writes through memory leaves them as they are.
    fn holds(&self, source: &mut File, about: &Stat) -> io::Result<bool> {
        let Some(target) = self.target()? else {
            return Ok(false);
        };
        let is_alike = FileType::from_raw_mode(target.st_mode) == FileType::RegularFile
            && target.st_size == about.st_size
            && target.st_nlink == 1;
        Ok(is_alike && is_same(source, &mut read(self.to, self.name, &target)?)?)
    }

    /// Gives the target the mode and the time of the source.
    fn finish(&self, about: &Stat) -> io::Result<()> {
        let mode = Mode::from_raw_mode(about.st_mode & 0o777);
        chmodat(self.to, self.name, mode, AtFlags::empty())?;
        let time = Timespec {
            tv_sec: about.st_mtime,
            tv_nsec: i64::try_from(about.st_mtime_nsec).unwrap_or(0),
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        Ok(utimensat(
            self.to,
            self.name,
            &times,
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }
}

fn link(place: &Place<'_>) -> io::Result<()> {
    let target = readlinkat(place.from, place.name, Vec::new())?;
    if place.is(FileType::Symlink)? && readlinkat(place.to, place.name, Vec::new())? == target {
        return Ok(());
    }
    remove(place.to, place.name)?;
    Ok(symlinkat(&target, place.to, place.name)?)
}

fn pipe(place: &Place<'_>) -> io::Result<()> {
    if place.is(FileType::Fifo)? {
        return Ok(());
    }
    remove(place.to, place.name)?;
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(mknodat(place.to, place.name, FileType::Fifo, mode, 0)?)
}

/// Removes whatever stands there, if anything does.
fn remove(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR) => {
            empty(force(folder, name)?.as_fd())?;
            Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens a plain file whatever its owner did to its mode.
fn read(folder: BorrowedFd<'_>, name: &CStr, about: &Stat) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(folder, name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
            let file = openat(folder, name, flags, Mode::empty())?;
            let mode = Mode::from_raw_mode(about.st_mode & 0o777);
            chmodat(folder, name, mode, AtFlags::empty())?;
            Ok(file.into())
        }
        other => Ok(other?.into()),
    }
}

fn is_same(one: &mut File, other: &mut File) -> io::Result<bool> {
    let (mut ours, mut theirs) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let read = fill(one, &mut ours)?;
        if fill(other, &mut theirs)? != read || ours[..read] != theirs[..read] {
            return Ok(false);
        }
        if read < CHUNK {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or nothing follows.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Copies a file; large holes stay holes.
fn copy(source: &mut File, target: &mut File, about: &Stat) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = fill(source, &mut buffer)?;
        if buffer[..read].iter().all(|byte| *byte == 0) {
            target.seek_relative(i64::try_from(read).unwrap_or(0))?;
        } else {
            target.write_all(&buffer[..read])?;
        }
        if read < CHUNK {
            break;
        }
    }
    target.set_len(u64::try_from(about.st_size).unwrap_or(0))
}
