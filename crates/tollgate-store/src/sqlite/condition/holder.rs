//! Who holds a lock that others wait for, as the kernel tells it.
//!
//! Only read while somebody waits already, so a commit that gets the lock pays nothing for it.
//! Where there is no `/proc/locks` the lock is still noticed as held, without a process id.

use std::{fs, path::Path};

use tollgate_core::store::LockHolder;

use crate::sqlite::lock::{TURN, WRITE};

/// The process that keeps writers out.
pub(crate) fn holder(state_dir: &Path) -> LockHolder {
    holder_of(state_dir, &[WRITE, TURN])
}

/// The process that holds one of these locks; a stopped one first, as it will not let go by itself.
pub(crate) fn holder_of(state_dir: &Path, locks: &[&str]) -> LockHolder {
    let table = fs::read_to_string("/proc/locks").unwrap_or_default();
    let holders: Vec<LockHolder> = locks
        .iter()
        .filter_map(|name| pid(&table, &state_dir.join(name)))
        .map(|pid| LockHolder {
            pid: Some(pid),
            is_stopped: is_stopped(pid),
        })
        .collect();
    let stopped = holders.iter().find(|holder| holder.is_stopped);
    stopped.or(holders.first()).copied().unwrap_or(LockHolder {
        pid: None,
        is_stopped: false,
    })
}

/// The process whose lock of a file is in the table.
fn pid(table: &str, file: &Path) -> Option<u32> {
    let inode = inode(file)?;
    table.lines().find_map(|line| held_by(line, inode))
}

/// Reads `1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF`; a waiter's line has an arrow before its kind.
fn held_by(line: &str, inode: u64) -> Option<u32> {
    let mut words = line.split_whitespace().skip(1);
    if words.next() != Some("FLOCK") {
        return None;
    }
    let pid = words.nth(2)?.parse().ok().filter(|pid| *pid > 0);
    let found = words.next()?.rsplit(':').next()?.parse().ok();
    pid.filter(|_| found == Some(inode))
}

#[cfg(unix)]
fn inode(file: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(file).ok().map(|found| found.ino())
}

#[cfg(not(unix))]
fn inode(_: &Path) -> Option<u64> {
    None
}

/// Whether a signal or a debugger has stopped a process.
fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    state.starts_with(['T', 't'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_file_is_read_off_the_table() {
        let line = "1: FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF";
        assert_eq!(held_by(line, 131), Some(1234));
        assert_eq!(held_by(line, 13), None);
        for other in [
            "1: -> FLOCK  ADVISORY  WRITE 1234 08:01:131 0 EOF",
            "2: POSIX  ADVISORY  WRITE 1234 08:01:131 0 EOF",
            "3: FLOCK  ADVISORY  WRITE 0 08:01:131 0 EOF",
            "4: FLOCK  ADVISORY  WRITE",
            "",
        ] {
            assert_eq!(held_by(other, 131), None, "{other}");
        }
    }

    #[test]
    fn this_process_is_not_stopped() {
        assert!(!is_stopped(std::process::id()));
    }
}
